/** The files behind a plugin's `use:`, and the hash of all that would run. */
import { createHash } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { isTappetError, messageOf, TappetError } from '../errors.ts';

export interface PluginFiles {
  /** The module to import. */
  readonly entry: string;
  readonly kind: 'file' | 'package';
  /** All files that count for trust, absolute. */
  readonly files: readonly string[];
  /** `sha256-…` over paths and contents. */
  readonly hash: string;
}

/** What a path may mean without saying it. All that are there count for the hash: which of them is loaded is the loader's choice. */
const EXTENSIONS = ['', '.js', '.mjs', '.cjs', '.ts', '.mts', '.cts', '.tsx', '.jsx', '.json'];
const CANDIDATES = [...EXTENSIONS, ...EXTENSIONS.slice(1).map((e) => `/index${e}`)];
/** `./x.js` may be written where `x.ts` lies. */
const AS_TYPESCRIPT = [[/\.js$/, '.ts'], [/\.js$/, '.tsx'], [/\.mjs$/, '.mts'], [/\.cjs$/, '.cts'], [/\.jsx$/, '.tsx']] as const;
const MAX_FILES = 2000;
const MAX_BYTES = 50_000_000;

/** @throws E_PLUGIN_LOAD where nothing is there to load */
export async function findPlugin(name: string, use: string, fromFile: string): Promise<PluginFiles> {
  try { return await find(name, use, dirname(fromFile)); } catch (e) {
    throw isTappetError(e) ? e : new TappetError('E_PLUGIN_LOAD', { name, message: messageOf(e), cause: `use: ${use}` }, undefined, { cause: e });
  }
}
async function find(name: string, use: string, base: string): Promise<PluginFiles> {
  const isPath = use.startsWith('.') || isAbsolute(use) || /^[A-Za-z]:[\\/]/.test(use);
  const spec = use.replace(/^npm:/, '').replace(/(?<=.)@[^/]*$/, '');
  const at = isPath ? resolve(base, use) : packageFolder(spec, base);
  if (at === null) throw new TappetError('E_PLUGIN_LOAD', { name, message: `the package "${spec}" is not installed`, cause: `looked in the node_modules folders above ${base}`, do: `npm install ${spec}` });
  if (isFile(join(at, 'package.json'))) {
    const folder = await realpath(at);
    const entry = await packageEntry(name, folder);
    const files = await filesBelow(name, folder);
    return { entry, kind: 'package', files, hash: await hashFiles(files, folder) };
  }
  const entry = CANDIDATES.map((e) => at + e).find(isFile);
  if (entry === undefined) throw new TappetError('E_PLUGIN_LOAD', { name, message: `there is no file ${at}`, cause: `use: ${use}`, do: 'correct the path; it counts from the file that says it' });
  const files = await closure(name, await realpath(entry));
  return { entry: files[0]!, kind: 'file', files, hash: await hashFiles(files, dirname(files[0]!)) };
}
const isFile = (path: string): boolean => existsSync(path) && statSync(path).isFile();

function packageFolder(spec: string, base: string): string | null {
  for (let dir = base; ; dir = dirname(dir)) {
    const folder = join(dir, 'node_modules', spec);
    if (isFile(join(folder, 'package.json'))) return folder;
    if (dir === dirname(dir)) return null;
  }
}

async function packageEntry(name: string, folder: string): Promise<string> {
  const where = join(folder, 'package.json');
  let manifest: { main?: unknown; exports?: unknown; tappet?: { entry?: unknown } } | null;
  try { manifest = JSON.parse((await readFile(where, 'utf8')).replace(/^\ufeff/, '')) as typeof manifest; } catch (e) { throw new TappetError('E_PLUGIN_LOAD', { name, message: `its package.json cannot be read: ${messageOf(e)}`, where }); }
  for (const said of [manifest?.tappet?.entry, exported(manifest?.exports), manifest?.main, 'index']) {
    const path = typeof said === 'string' ? CANDIDATES.map((e) => join(folder, said) + e).find(isFile) : undefined;
    if (path === undefined) continue;
    const entry = await realpath(path);
    // Only what lies in the package is part of its hash.
    if (relative(folder, entry).startsWith('..') || isAbsolute(relative(folder, entry))) throw new TappetError('E_PLUGIN_LOAD', { name, message: `its entry ${String(said)} lies outside of the package`, where });
    return entry;
  }
  throw new TappetError('E_PLUGIN_LOAD', { name, message: `${folder} has nothing to load`, cause: 'looked at tappet.entry, exports["."], main and index.js', do: 'author: "tappet": { "entry": "./dist/index.js" }' });
}
function exported(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return undefined;
  const map = value as Record<string, unknown>;
  for (const key of ['.', 'node', 'import', 'default', 'require']) { const found = exported(map[key]); if (found !== undefined) return found; }
  return undefined;
}

const IMPORT = /(?:\bfrom\s*|\bimport\s*(?:\(\s*)?|\brequire\s*\(\s*)(['"`])(\.{1,2}(?:\/[^'"`\n]*)?)\1/g;
/** A file and all that it imports by a relative path, the entry first. */
async function closure(name: string, entry: string): Promise<string[]> {
  const seen = new Set([entry]);
  let bytes = 0;
  for (const file of seen) {
    bytes += (await stat(file)).size;
    if (seen.size > MAX_FILES || bytes > MAX_BYTES) throw tooLarge(name, entry);
    const text = await readFile(file, 'utf8');
    for (const m of text.matchAll(IMPORT)) {
      const target = resolve(dirname(file), m[2]!);
      const others = AS_TYPESCRIPT.filter(([js]) => js.test(target)).map(([js, ts]) => target.replace(js, ts));
      const found = [...CANDIDATES.map((e) => target + e), ...others].filter(isFile);
      for (const f of found) seen.add(await realpath(f));
      // A folder with a manifest names its own entry: all in it counts.
      if (isFile(join(target, 'package.json'))) for (const f of await filesBelow(name, await realpath(target))) seen.add(f);
    }
  }
  return [...seen];
}

/** All that lies in a folder, through links too. */
async function filesBelow(name: string, folder: string): Promise<string[]> {
  const files: string[] = [];
  const visited = new Set<string>();
  let bytes = 0;
  const visit = async (dir: string): Promise<void> => {
    const real = await realpath(dir);
    if (visited.has(real)) return;
    visited.add(real);
    for (const item of (await readdir(dir)).sort()) {
      if (item === '.git') continue;
      const path = join(dir, item);
      const info = await stat(path).catch(() => null); // a link that leads nowhere
      if (info?.isDirectory() === true) await visit(path);
      if (info?.isFile() !== true) continue;
      bytes += info.size;
      files.push(path);
      if (files.length > MAX_FILES || bytes > MAX_BYTES) throw tooLarge(name, folder);
    }
  };
  await visit(folder);
  return files;
}
const tooLarge = (name: string, what: string): TappetError => new TappetError('E_PLUGIN_LOAD', { name, message: `${what} is too large to be checked (over ${MAX_FILES} files or ${MAX_BYTES / 1e6} MB)`, do: 'author: publish one bundled file' });

async function hashFiles(files: readonly string[], base: string): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${relative(base, file)}\0`).update(createHash('sha256').update(await readFile(file)).digest());
  return `sha256-${hash.digest('hex')}`;
}
