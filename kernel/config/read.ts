/** One file of configuration: its value, and where in the file every part of it stands. */
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Layer } from '../../schemas/index.ts';
import { messageOf, TappetError } from '../errors.ts';
import type { Parsed, Position } from './parse.ts';
import { parseConfig } from './parse.ts';
import { SETTINGS_MAX_BYTES } from './places.ts';

export type { Position } from './parse.ts';
export interface ReadFile {
  readonly file: string;
  readonly value: unknown;
  /** Where the value at a dotted path stands; a map stands where its key does. */
  at(path: string): Position;
  /** Where the key itself stands. */
  keyAt(path: string): Position;
  readonly hash: string;
}

export const POLICY_MAX_BYTES = 256_000;
/** Of what is kept in the cache. */
const CACHE_VERSION = 2;

export interface ReadOptions {
  /** Only the part below this key (`agent` of package.json). */
  readonly below?: string | undefined;
  /** A folder for parsed files; a policy is never cached. */
  readonly cache?: string | undefined;
  readonly layer: Layer;
}

/** @throws E_CONFIG_READ, E_CONFIG_SYNTAX, E_CONFIG_KEY, each with its place. `null` where there is no file, or nothing in it for us. */
export async function readConfigFile(file: string, o: ReadOptions): Promise<ReadFile | null> {
  const text = await textOf(file);
  if (text === null || (o.below !== undefined && !text.includes(`"${o.below}"`))) return null;
  const hash = hashOf(text);
  const kept = o.cache === undefined ? null : await fromCache(o.cache, hash);
  if (kept !== null) return found(file, kept, hash, o.below);
  // The parser and cosmiconfig cost more than all the rest of a start: only a miss pays for them. What counts is what cosmiconfig read.
  const loaded = await loadWithExplorer(file);
  const parsed = await parseConfig(loaded, file, o.layer);
  if (o.cache !== undefined) await toCache(o.cache, hashOf(loaded), parsed);
  return found(file, parsed, hashOf(loaded), o.below);
}

/** Text that was read already: a policy from its own handle, words of the command line, what is about to be written. */
export async function readConfigText(text: string, file: string, o: Pick<ReadOptions, 'layer' | 'below'>): Promise<ReadFile> {
  return found(file, await parseConfig(text, file, o.layer), hashOf(text), o.below);
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
const cannotRead = (file: string, message: string): TappetError => new TappetError('E_CONFIG_READ', { file, message, where: file });

async function textOf(file: string): Promise<string | null> {
  try {
    const info = await stat(file);
    if (info.isDirectory()) throw cannotRead(file, 'it is a folder');
    if (!info.isFile()) throw cannotRead(file, 'it is no regular file');
    if (info.size > SETTINGS_MAX_BYTES) throw cannotRead(file, `it is larger than ${SETTINGS_MAX_BYTES} bytes`);
    const bytes = await readFile(file);
    // Read anyway, a rule with such a name would match nothing.
    if (!isUtf8(bytes)) throw cannotRead(file, 'it is not UTF-8');
    return bytes.toString('utf8');
  } catch (e) {
    if (e instanceof TappetError) throw e;
    const code = (e as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw cannotRead(file, code === 'EACCES' ? 'permission denied' : code === 'ELOOP' ? 'its symbolic links lead in a circle' : messageOf(e));
  }
}
async function loadWithExplorer(file: string): Promise<string> {
  const { loadText } = await import('./explorer.ts');
  try { return await loadText(file); } catch (e) { throw cannotRead(file, messageOf(e)); }
}

function found(file: string, parsed: Parsed, hash: string, below: string | undefined): ReadFile {
  const prefix = below === undefined ? '' : `${below}.`;
  const value = below === undefined ? parsed.value : ownValue(parsed.value, below);
  const find = (table: Readonly<Record<string, Position>>, path: string): Position => {
    for (let p = prefix + path; ; p = p.slice(0, p.lastIndexOf('.'))) {
      const at = Object.hasOwn(table, p) ? table[p] : undefined;
      if (at !== undefined) return at;
      if (!p.includes('.')) return [1, 1];
    }
  };
  return { file, value, hash, at: (path) => find(parsed.values, path), keyAt: (path) => find(parsed.keys, path) };
}
const ownValue = (value: unknown, key: string): unknown => (typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined);

/** Who can write to the cache decides what a configuration says: a file of somebody else's, or one that others may write to, is none. */
async function fromCache(folder: string, hash: string): Promise<Parsed | null> {
  try {
    const handle = await open(join(folder, `${hash}.${CACHE_VERSION}.json`), constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
    try {
      const info = await handle.stat();
      if (!info.isFile() || (process.getuid !== undefined && (info.uid !== process.getuid() || (info.mode & 0o022) !== 0))) return null;
      const kept = JSON.parse(await handle.readFile('utf8')) as Parsed;
      return isTable(kept.values) && isTable(kept.keys) ? kept : null;
    } finally {
      await handle.close();
    }
  } catch { return null; } // missing or spoilt: parsed again
}
const isTable = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);
async function toCache(folder: string, hash: string, parsed: Parsed): Promise<void> {
  const file = join(folder, `${hash}.${CACHE_VERSION}.json`);
  const temp = `${file}.${process.pid}`;
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(temp, JSON.stringify(parsed), { mode: 0o600 });
    await rename(temp, file);
  } catch { await rm(temp, { force: true }).catch(() => {}); } // a cache that can't be written is no error; half a file would only fill the disk further
}
