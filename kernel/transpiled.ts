/** What a loose file became when it was transpiled, kept by its content: the transpiler itself is loaded only where something is new. */
import { createHash } from 'node:crypto';
import { closeSync, constants, existsSync, fstatSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Source { readonly source: string; readonly ts?: boolean | undefined; readonly async?: boolean | undefined; readonly filename?: string | undefined }
export type Transpile = (source: Source) => { code: string };

export interface Transpiled {
  /** Is this text, read as what its name says, there already? */
  has(file: string): boolean;
  /** From the cache, else by `transpiler`. @throws where both fail */
  readonly transform: Transpile;
  transpiler: Transpile | null;
}

/** Raised whenever the transpiler or what it is told changes. */
const VERSION = 1;
const isTypeScript = (file: string): boolean => /\.[cm]?tsx?$/.test(file);

export function createTranspiled(folder: string): Transpiled {
  const nameOf = (s: Source): string => join(folder, `${createHash('sha256').update(`${VERSION} ${s.ts === true} ${s.async === true}\0`).update(s.source).digest('hex')}.js`);
  const cache: Transpiled = {
    transpiler: null,
    has: (file) => { try { return existsSync(nameOf({ source: readFileSync(file, 'utf8'), ts: isTypeScript(file), async: false })); } catch { return false; } },
    transform(source) {
      const name = nameOf(source);
      const kept = read(folder, name);
      if (kept !== null) return { code: kept };
      if (cache.transpiler === null) throw new Error(`${source.filename ?? 'a file'} must be transpiled, and the transpiler is not loaded`);
      const made = cache.transpiler(source);
      keep(folder, name, made.code);
      return made;
    },
  };
  return cache;
}

/** Whoever writes there runs code here: only a folder and files of our own count. */
const isOurs = (s: { uid: number; mode: number }): boolean => process.getuid === undefined || (s.uid === process.getuid() && (s.mode & 0o022) === 0);
function read(folder: string, name: string): string | null {
  try {
    if (!isOurs(statSync(folder))) return null;
    const handle = openSync(name, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
    try { return isOurs(fstatSync(handle)) ? readFileSync(handle, 'utf8') : null; } finally { closeSync(handle); }
  } catch { return null; } // missing: made again
}
function keep(folder: string, name: string, code: string): void {
  const temp = `${name}.${process.pid}`;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(temp, code, { mode: 0o600, flag: 'wx' });
    renameSync(temp, name);
  } catch { rmSync(temp, { force: true }); } // a cache that can't be written is no error; half a file would only fill the disk further
}
