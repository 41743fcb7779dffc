/** The policy layer: files that belong to the administrator, judged on the open handle. What is there and can't be trusted stops the start. */
import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { open, readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { messageOf, TappetError } from '../errors.ts';
import { POLICY_MAX_BYTES, readConfigText } from './read.ts';
import type { ReadFile } from './read.ts';
import type { Places } from './places.ts';

/** @throws E_POLICY_BROKEN; a missing file is no policy. */
export async function readPolicyFiles(where: Places['policy'], owner: number | null): Promise<readonly ReadFile[]> {
  const files = [where.main];
  try {
    files.push(...(await readdir(where.folder)).filter((f) => /\.ya?ml$/.test(f)).sort().map((f) => join(where.folder, f)));
  } catch (e) {
    if (!isMissing(e)) throw broken(where.folder, messageOf(e));
  }
  const read = await Promise.all(files.map((f) => readOne(f, owner)));
  return read.filter((r): r is ReadFile => r !== null);
}

async function readOne(file: string, owner: number | null): Promise<ReadFile | null> {
  let handle: FileHandle;
  try {
    handle = await open(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  } catch (e) {
    if (isMissing(e)) return null;
    throw broken(file, (e as NodeJS.ErrnoException).code === 'ELOOP' ? 'it is a symbolic link' : messageOf(e));
  }
  try {
    const info = await handle.stat();
    if (!info.isFile()) throw broken(file, 'it is no regular file');
    if (owner !== null) {
      await ownedBy(owner, file, info);
      for (let dir = dirname(file); ; dir = dirname(dir)) {
        await ownedBy(owner, dir, await stat(dir));
        if (dir === dirname(dir)) break;
      }
    }
    if (info.size > POLICY_MAX_BYTES) throw broken(file, `it is larger than ${POLICY_MAX_BYTES} bytes`);
    return await readConfigText(await handle.readFile('utf8'), file, { layer: 'policy' });
  } catch (e) {
    if (e instanceof TappetError && e.code !== 'E_POLICY_BROKEN') throw new TappetError('E_POLICY_BROKEN', { message: e.message, where: e.facts.where, cause: e.facts.cause });
    throw e instanceof TappetError ? e : broken(file, messageOf(e));
  } finally {
    await handle.close();
  }
}

async function ownedBy(owner: number, path: string, info: { uid: number; mode: number }): Promise<void> {
  if (info.uid !== owner) throw broken(path, `it must belong to ${owner === 0 ? 'root' : `user ${owner}`}`);
  // A sticky folder (like /tmp) lets others write, but not replace what is not theirs.
  if ((info.mode & 0o022) !== 0 && (info.mode & 0o1000) === 0) throw broken(path, 'others may write to it');
}
const isMissing = (e: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes((e as NodeJS.ErrnoException).code ?? '');
const broken = (file: string, message: string): TappetError => new TappetError('E_POLICY_BROKEN', { message, where: file });
