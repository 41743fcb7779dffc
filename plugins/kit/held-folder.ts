/** A folder that is held while something is made in it, so that nobody can put another in its place. */
import { constants } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { FsLike } from '../../schemas/index.ts';
import { moved, NO_FOLLOW, placeOf } from './files.ts';
import type { Handle } from './files.ts';
import { codeOf } from './paths.ts';

const FOLDER = constants.O_DIRECTORY ?? 0; // Windows has no such flag

export interface HeldFolder { readonly real: string; /** By the handle, not by the name. */ readonly held: boolean; at(name: string): string; sync(): Promise<void>; close(): Promise<void> }
/** Takes hold of a folder, made with those above it where it is missing, and of no other that somebody put in its place. */
export async function holdFolder(fs: FsLike, real: string): Promise<HeldFolder> {
  const handle = await openFolder(fs, real, real) ?? await makeFolder(fs, real);
  try {
    const place = handle === 'unknown' ? null : await placeOf(fs, handle);
    if ((place ?? await fs.realpath(real)) !== real) throw moved(real);
    const held = handle !== 'unknown' && place !== null;
    return {
      real, held,
      at: (name) => (held ? `/proc/self/fd/${handle.fd}/${name}` : join(real, name)),
      sync: async () => { if (handle !== 'unknown') await handle.sync().catch((e: unknown) => { if (!CANT_SYNC.has(codeOf(e) ?? '')) throw e; }); },
      close: async () => { if (handle !== 'unknown') await handle.close(); },
    };
  } catch (e) {
    if (handle !== 'unknown') await handle.close();
    throw e;
  }
}
const CANT_SYNC = new Set(['EINVAL', 'ENOTSUP', 'EPERM', 'EISDIR']);
async function makeFolder(fs: FsLike, real: string): Promise<Handle | 'unknown'> {
  const above = await holdFolder(fs, dirname(real));
  try {
    const at = above.at(basename(real));
    await fs.mkdir(at).catch((e: unknown) => { if (codeOf(e) !== 'EEXIST') throw e; });
    const made = await openFolder(fs, at, real);
    if (made === null) throw moved(real);
    return made;
  } finally {
    await above.close();
  }
}
/** `null`: there is none. `unknown`: this system does not open folders. */
async function openFolder(fs: FsLike, at: string, real: string): Promise<Handle | 'unknown' | null> {
  try { return await fs.open(at, constants.O_RDONLY | FOLDER | NO_FOLLOW); } catch (e) {
    const code = codeOf(e);
    if (code === 'ENOENT' && dirname(real) !== real) return null;
    if (code === 'ELOOP' || (code === 'ENOTDIR' && (await fs.lstat(at)).isSymbolicLink())) throw moved(real);
    if (process.platform === 'win32' && (code === 'EISDIR' || code === 'EPERM')) return 'unknown';
    throw e;
  }
}
