/** Whole-file writes that are never half done, never lose another's version, and never land anywhere but where they were judged. */
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import type { Stats } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { FsLike } from '../../schemas/index.ts';
import { hashOf, moved, NO_FOLLOW, NO_WAIT, openRegular, placeOf, problem, refuseSpecial } from './files.ts';
import type { Handle, SeenFile } from './files.ts';
import { holdFolder } from './held-folder.ts';
import type { HeldFolder } from './held-folder.ts';
import { codeOf } from './paths.ts';

export interface WriteOptions {
  /** What must be there: a version that was seen, or `null`: nothing. Left out: whatever is there. */
  readonly expect?: Pick<SeenFile, 'size' | 'hash'> | null | undefined;
  readonly signal?: AbortSignal | undefined;
}
/**
 * Replaces a file as a whole, or makes it with its folders. `real` is a path without links, as it was judged. Mode, owner and hard links stay as they are; a new file
 * has the rights that the process gives. Writers of one file in one process stand in line, so a version that was expected is not lost to another writer.
 */
export function writeWhole(fs: FsLike, real: string, bytes: Uint8Array, options: WriteOptions = {}): Promise<{ readonly created: boolean; readonly seen: SeenFile }> {
  return inTurn(fs, real, async () => {
    const folder = await holdFolder(fs, dirname(real));
    try {
      const at = folder.at(basename(real));
      const old = await lookAt(fs, at, real);
      await expectVersion(fs, at, real, old, options.expect);
      options.signal?.throwIfAborted();
      const replaced = old === null || old.nlink === 1 ? await replace(fs, folder, real, old, bytes, options.signal) : null;
      const stat = replaced ?? await overwrite(fs, at, real, old!, bytes);
      await folder.sync();
      return { created: old === null, seen: { mtimeMs: stat.mtimeMs, size: stat.size, hash: hashOf(bytes) } };
    } finally {
      await folder.close();
    }
  });
}

/** The file system owns the queues of its files: they go with it. */
const queues = new WeakMap<object, Map<string, Promise<void>>>();
async function inTurn<T>(fs: FsLike, real: string, work: () => Promise<T>): Promise<T> {
  const queue = queues.get(fs) ?? new Map<string, Promise<void>>();
  queues.set(fs, queue);
  const done = (queue.get(real) ?? Promise.resolve()).then(work);
  const settled = done.then(() => {}, () => {});
  queue.set(real, settled);
  try { return await done; } finally { if (queue.get(real) === settled) queue.delete(real); }
}

/** What stands at the place of a write; a link there came after the judging. */
async function lookAt(fs: FsLike, at: string, real: string): Promise<Stats | null> {
  let stat: Stats;
  try { stat = await fs.lstat(at); } catch (e) { if (codeOf(e) === 'ENOENT') return null; throw e; }
  if (stat.isSymbolicLink()) throw moved(real);
  refuseSpecial(stat, real);
  if ((stat.mode & 0o222) === 0) throw problem('E_FILE_READONLY', `${real} is read-only (mode ${(stat.mode & 0o777).toString(8)})`); // a rename would not care
  return stat;
}

async function expectVersion(fs: FsLike, at: string, real: string, old: Stats | null, expect: WriteOptions['expect']): Promise<void> {
  if (expect === undefined) return;
  if (expect === null) { if (old !== null) throw problem('E_FILE_CHANGED', `${real} exists by now`); return; }
  if (old === null) throw problem('E_FILE_CHANGED', `${real} is gone`);
  const { handle } = await openRegular(fs, at, real);
  try {
    if (old.size !== expect.size || hashOf(await handle.readFile()) !== expect.hash) throw problem('E_FILE_CHANGED', `${real} has been changed since it was read`);
  } finally {
    await handle.close();
  }
}

/** Not possible here, but possible in place: somebody else's folder or file, a file that is mounted by itself. */
const IN_PLACE = new Set(['EACCES', 'EPERM', 'EROFS', 'EBUSY']);
/** A finished file under another name takes the place of the old one. `null`: the folder does not let us; nothing has changed. */
async function replace(fs: FsLike, folder: HeldFolder, real: string, old: Stats | null, bytes: Uint8Array, signal?: AbortSignal): Promise<Stats | null> {
  const name = `.tappet-${process.pid}-${randomBytes(6).toString('hex')}.tmp`;
  const temp = folder.at(name);
  let handle: Handle | undefined;
  try {
    handle = await fs.open(temp, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | NO_FOLLOW, old === null ? 0o666 : 0o600);
    const mine = await handle.stat();
    if (!folder.held) await sameFile(fs, temp, join(folder.real, name), mine); // still empty: nothing can have leaked
    if (old !== null) {
      if (old.uid !== mine.uid || old.gid !== mine.gid) await handle.chown(old.uid, old.gid);
      await handle.chmod(old.mode & 0o7777);
    }
    await handle.writeFile(bytes);
    await handle.sync();
    const stat = await handle.stat();
    signal?.throwIfAborted();
    const now = await lookAt(fs, folder.at(basename(real)), real);
    refuseChanged(real, old, now);
    await fs.rename(temp, folder.at(basename(real)));
    return stat;
  } catch (e) {
    if (handle !== undefined) await fs.unlink(temp).catch((gone: unknown) => { if (codeOf(gone) !== 'ENOENT') throw gone; });
    if (old !== null && IN_PLACE.has(codeOf(e) ?? '')) return null;
    throw e;
  } finally {
    await handle?.close();
  }
}
function refuseChanged(real: string, old: Stats | null, now: Stats | null): void {
  if (now?.ino !== old?.ino || now?.mtimeMs !== old?.mtimeMs || now?.size !== old?.size) throw problem('E_FILE_CHANGED', `${real} has been changed by somebody else just now`);
}
async function sameFile(fs: FsLike, at: string, real: string, mine: Stats): Promise<void> {
  const [place, there] = await Promise.all([fs.realpath(at), fs.lstat(at)]);
  if (place !== real || there.ino !== mine.ino) throw moved(real);
}

/** Into the very file: its other names see it too. */
async function overwrite(fs: FsLike, at: string, real: string, old: Stats, bytes: Uint8Array): Promise<Stats> {
  const handle = await fs.open(at, constants.O_WRONLY | NO_FOLLOW | NO_WAIT).catch((e: unknown) => { throw codeOf(e) === 'ELOOP' ? moved(real) : e; });
  try {
    const mine = await handle.stat();
    if ((await placeOf(fs, handle) ?? await fs.realpath(real)) !== real) throw moved(real);
    refuseChanged(real, old, mine);
    await handle.writeFile(bytes);
    await handle.truncate(bytes.length);
    await handle.sync();
    return await handle.stat();
  } finally {
    await handle.close();
  }
}

const TEMP = /^\.tappet-(\d+)-[0-9a-f]{12}\.tmp$/;
/** Long enough that a living writer on another machine or in another container is done. */
const ABANDONED_MS = 60_000;
/** Takes away the unfinished files of processes that are no more; says how many. */
export async function sweepTemps(fs: FsLike, folder: string, now = Date.now(), isAlive: (pid: number) => boolean = alive): Promise<number> {
  let swept = 0;
  for (const name of await fs.readdir(folder)) {
    const pid = TEMP.exec(name)?.[1];
    if (pid === undefined || isAlive(Number(pid))) continue;
    const at = join(folder, name);
    try {
      if (now - (await fs.lstat(at)).mtimeMs < ABANDONED_MS) continue;
      await fs.unlink(at);
      swept++;
    } catch (e) { if (codeOf(e) !== 'ENOENT') throw e; } // somebody else swept it
  }
  return swept;
}
function alive(pid: number): boolean {
  try { return process.kill(pid, 0); } catch (e) { return codeOf(e) === 'EPERM'; }
}
