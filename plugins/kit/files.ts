/** Files as tools read them: regular ones, with a bound, and from where they were judged to be. */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import type { Stats } from 'node:fs';
import type { FsLike } from '../../schemas/index.ts';
import { codeOf } from './paths.ts';

export type Handle = Awaited<ReturnType<FsLike['open']>>;
/** One version of a file, as it was read or written. */
export interface SeenFile { readonly mtimeMs: number; readonly size: number; /** SHA-256 of all bytes, hexadecimal. */ readonly hash: string }

export type FileProblem = 'E_FILE_SPECIAL' | 'E_FILE_MOVED' | 'E_FILE_CHANGED' | 'E_FILE_READONLY' | 'EISDIR';
export const problem = (code: FileProblem, message: string): Error => Object.assign(new Error(message), { code });
export const moved = (path: string) => problem('E_FILE_MOVED', `${path} is not where it was a moment ago: a folder or link on the way was exchanged`);

export const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

// Windows has no such flags.
export const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;
export const NO_WAIT = constants.O_NONBLOCK ?? 0; // opening a pipe would wait for its other end

export interface FileRead { readonly bytes: Buffer; readonly size: number; readonly mtimeMs: number; /** There is more than was read. */ readonly cut: boolean }
/** Regular files only. `real` is a path without links, as it was judged. `goesOn` sees the start and may say that this is enough. */
export async function readBounded(fs: FsLike, real: string, maxBytes: number, goesOn: (start: Buffer) => boolean = () => true): Promise<FileRead> {
  const { handle, stat } = await openRegular(fs, real, real);
  try {
    const chunks: Buffer[] = [];
    let length = 0;
    while (length <= maxBytes) {
      const chunk = Buffer.allocUnsafe(Math.min(Math.max(stat.size - length, 4096) + 1, maxBytes + 1 - length, 1 << 20));
      const { bytesRead } = await handle.read(chunk, 0, chunk.length, null);
      if (bytesRead === 0) break;
      chunks.push(chunk.subarray(0, bytesRead));
      length += bytesRead;
      if (length === stat.size) break; // some files say 0 and hold more
      if (chunks.length === 1 && !goesOn(chunks[0]!)) return { bytes: chunks[0]!.subarray(0, maxBytes), size: stat.size, mtimeMs: stat.mtimeMs, cut: true };
    }
    const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, length);
    return { bytes: bytes.subarray(0, maxBytes), size: Math.max(stat.size, length), mtimeMs: stat.mtimeMs, cut: length > maxBytes };
  } finally {
    await handle.close();
  }
}

/** Opened first and judged then, so that nothing can change between. The caller closes. */
export async function openRegular(fs: FsLike, at: string, real: string): Promise<{ handle: Handle; stat: Stats }> {
  const handle = await fs.open(at, constants.O_RDONLY | NO_FOLLOW | NO_WAIT).catch((e: unknown) => { throw codeOf(e) === 'ELOOP' ? moved(real) : e; });
  try {
    const stat = await handle.stat();
    refuseSpecial(stat, real);
    const place = await placeOf(fs, handle) ?? await fs.realpath(real);
    if (place !== real) throw moved(real);
    return { handle, stat };
  } catch (e) {
    await handle.close();
    throw e;
  }
}

export function refuseSpecial(stat: Stats, path: string): void {
  if (stat.isDirectory()) throw problem('EISDIR', `${path} is a folder`);
  if (!stat.isFile()) throw problem('E_FILE_SPECIAL', `${path} is no regular file (a pipe, a socket or a device)`);
}

/** Where an open file lies; `null` on systems that can't say. */
export async function placeOf(fs: FsLike, handle: Handle): Promise<string | null> {
  if (process.platform !== 'linux' || typeof handle.fd !== 'number') return null;
  return fs.readlink(`/proc/self/fd/${handle.fd}`).catch(() => null);
}
