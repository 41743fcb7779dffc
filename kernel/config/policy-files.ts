/** The policy layer: files that belong to the administrator, judged on the open handle. What is there and can't be trusted stops the start. */
import { isUtf8 } from 'node:buffer';
import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { lstat, open, readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { messageOf, TappetError } from '../errors.ts';
import { POLICY_MAX_BYTES, readConfigText } from './read.ts';
import type { ReadFile } from './read.ts';
import type { Places } from './places.ts';

/** Where policy stands here, in the order in which it counts. @throws E_POLICY_BROKEN where something looks like policy and would not be read */
export async function listPolicyFiles(where: Places['policy']): Promise<readonly string[]> {
  const stray = (await namesIn(dirname(where.main))).find((f) => /^policy\.(ya?ml|json)$/i.test(f) && f !== basename(where.main));
  if (stray !== undefined) throw broken(join(dirname(where.main), stray), `it is not read; its name must be ${basename(where.main)}`);
  const names = await namesIn(where.folder);
  const odd = names.find((f) => /\.(ya?ml|json)$/i.test(f) && !/\.ya?ml$/.test(f));
  if (odd !== undefined) throw broken(join(where.folder, odd), 'it is not read; its name must end with .yaml');
  return [where.main, ...names.filter((f) => /\.ya?ml$/.test(f)).sort().map((f) => join(where.folder, f))];
}
async function namesIn(folder: string): Promise<readonly string[]> {
  try { return await readdir(folder); } catch (e) {
    // Missing is no policy; what is there and is no folder is a policy that can't be read.
    if (isMissing(e) && !(await isThere(folder))) return [];
    throw broken(folder, messageOf(e));
  }
}
const isThere = (path: string): Promise<boolean> => lstat(path).then(() => true, (e: unknown) => !isMissing(e));

/** Null where there is no such file. @throws E_POLICY_BROKEN */
export async function readPolicyFile(file: string, owner: number | null): Promise<ReadFile | null> {
  let handle: FileHandle;
  try {
    handle = await open(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)); // opening a pipe would wait for its other end
  } catch (e) {
    if (isMissing(e)) return null;
    throw broken(file, (e as NodeJS.ErrnoException).code === 'ELOOP' ? 'it is a symbolic link' : messageOf(e));
  }
  try {
    const info = await handle.stat();
    if (!info.isFile()) throw broken(file, 'it is no regular file');
    if (owner !== null) await ownedTo(owner, file, info);
    if (info.size > POLICY_MAX_BYTES) throw broken(file, `it is larger than ${POLICY_MAX_BYTES} bytes`);
    const bytes = await handle.readFile();
    if (!isUtf8(bytes)) throw broken(file, 'it is not UTF-8'); // read anyway, a rule with such a name would match nothing
    return await readConfigText(bytes.toString('utf8'), file, { layer: 'policy' });
  } catch (e) {
    if (!(e instanceof TappetError)) throw broken(file, messageOf(e));
    throw e.code === 'E_POLICY_BROKEN' ? e : new TappetError('E_POLICY_BROKEN', { message: e.message, where: e.facts.where, cause: e.facts.cause });
  } finally {
    await handle.close();
  }
}

/** Who may write to the file or to a folder above it decides what policy says: nobody but its owner, and root. */
async function ownedTo(owner: number, file: string, info: { uid: number; mode: number }): Promise<void> {
  const belongs = (path: string, uid: number): void => { if (uid !== owner && uid !== 0) throw broken(path, `it must belong to ${owner === 0 ? 'root' : `user ${owner}`}`); };
  belongs(file, info.uid);
  if ((info.mode & 0o022) !== 0) throw broken(file, 'others may write to it');
  for (let dir = dirname(file); ; dir = dirname(dir)) {
    const [link, folder] = await Promise.all([lstat(dir), stat(dir)]);
    belongs(dir, link.uid);
    belongs(dir, folder.uid);
    // A sticky folder (like /tmp) lets others write, but not replace what is not theirs.
    if ((folder.mode & 0o022) !== 0 && (folder.mode & 0o1000) === 0) throw broken(dir, 'others may write to it');
    if (dir === dirname(dir)) return;
  }
}
const isMissing = (e: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes((e as NodeJS.ErrnoException).code ?? '');
const broken = (file: string, message: string): TappetError => new TappetError('E_POLICY_BROKEN', { message, where: file });
