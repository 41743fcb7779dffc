/** Paths as calls are judged by them: absolute, real through all links also where nothing exists yet, inside by component. */
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { FsLike } from '../../schemas/index.ts';

/** Normalised by its letters; a leading `~` is the home folder where one is given. The case stays as it is. */
export function absolute(cwd: string, path: string, home?: string): string {
  if (home !== undefined && (path === '~' || path.startsWith('~/') || path.startsWith(`~${sep}`))) return resolve(home, path.slice(2));
  return resolve(cwd, path);
}

/** The root itself is inside. Both are absolute; never by string prefix, so that `/work-2` is not inside `/work`. */
export function isInside(path: string, root: string): boolean {
  if (!isAbsolute(path) || !isAbsolute(root)) return false;
  const way = relative(root, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** How a person in `cwd` would write it: relative where it is inside, else whole. */
export const shownPath = (cwd: string, path: string): string => (isInside(path, cwd) ? relative(cwd, path) || '.' : path);

const MAX_LINKS = 40;
/**
 * The path behind all links. What does not exist yet is counted from its deepest existing ancestor, and a link that leads nowhere from where it points to: a write
 * would land there. `null` where it can't be found out (a loop, a folder that may not be looked into, a path that is none).
 */
export async function realPath(fs: Pick<FsLike, 'realpath' | 'readlink'>, path: string): Promise<string | null> {
  return isShare(path) ? null : resolveLinks(fs, path, MAX_LINKS);
}
async function resolveLinks(fs: Pick<FsLike, 'realpath' | 'readlink'>, path: string, left: number): Promise<string | null> {
  try { return await fs.realpath(path); } catch (e) { if (!isAbsence(e)) return null; }
  const folder = dirname(path);
  if (left === 0 || folder === path) return null;
  let target: string;
  try { target = await fs.readlink(path); } catch (e) {
    if (!isAbsence(e) && codeOf(e) !== 'EINVAL' && codeOf(e) !== 'UNKNOWN') return null;
    const real = await resolveLinks(fs, folder, left); // there is no link here, and nothing else
    return real === null ? null : join(real, basename(path));
  }
  const from = await resolveLinks(fs, folder, left);
  return from === null ? null : resolveLinks(fs, resolve(from, target), left - 1);
}

/** A Windows share: looking at it would send this user's credentials to whoever it names. */
const isShare = (path: string): boolean => sep === '\\' && /^[\\/]{2}/.test(path);
export const codeOf = (e: unknown): string | undefined => (typeof e === 'object' && e !== null && 'code' in e && typeof e.code === 'string' ? e.code : undefined);
/** Nothing is there, or something on the way is no folder. */
export const isAbsence = (e: unknown): boolean => codeOf(e) === 'ENOENT' || codeOf(e) === 'ENOTDIR';
