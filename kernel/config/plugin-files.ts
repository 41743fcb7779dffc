/** The files behind a plugin's `use:`, and the hash of all that would run. */
import { createHash } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { messageOf, TappetError } from '../errors.ts';

export interface PluginFiles {
  /** The module to import. */
  readonly entry: string;
  readonly kind: 'file' | 'package';
  /** All files that count for trust, absolute. */
  readonly files: readonly string[];
  /** `sha256-…` over paths and contents. */
  readonly hash: string;
}

const EXTENSIONS = ['', '.ts', '.mts', '.js', '.mjs', '.cjs', '/index.ts', '/index.js', '/index.mjs'];
const MAX_FILES = 2000;
const MAX_BYTES = 50_000_000;

/** @throws E_PLUGIN_LOAD where nothing is there to load */
export async function findPlugin(name: string, use: string, fromFile: string): Promise<PluginFiles> {
  const base = dirname(fromFile);
  const local = use.startsWith('.') || use.startsWith('/') || /^[A-Za-z]:[\\/]/.test(use);
  const spec = use.replace(/^npm:/, '').replace(/(?<=.)@[^/]*$/, '');
  const at = local ? resolve(base, use) : packageFolder(spec, base);
  if (at === null) throw new TappetError('E_PLUGIN_LOAD', { name, message: `the package "${spec}" is not installed`, cause: `looked in the node_modules folders above ${base}`, do: `npm install ${spec}` });
  const manifest = join(at, 'package.json');
  if (existsSync(at) && statSync(at).isDirectory() && existsSync(manifest)) {
    const entry = packageEntry(name, at, await readFile(manifest, 'utf8'));
    const files = await allFiles(name, at);
    return { entry: await realpath(entry), kind: 'package', files, hash: await hashFiles(files, at) };
  }
  const entry = EXTENSIONS.map((e) => at + e).find((f) => existsSync(f) && statSync(f).isFile());
  if (entry === undefined) throw new TappetError('E_PLUGIN_LOAD', { name, message: `there is no file ${at}`, cause: `use: ${use}` });
  const files = await closure(await realpath(entry));
  return { entry: files[0]!, kind: 'file', files, hash: await hashFiles(files, dirname(files[0]!)) };
}

function packageFolder(spec: string, base: string): string | null {
  for (let dir = base; ; dir = dirname(dir)) {
    const folder = join(dir, 'node_modules', spec);
    if (existsSync(join(folder, 'package.json'))) return folder;
    if (dir === dirname(dir)) return null;
  }
}

function packageEntry(name: string, folder: string, manifestText: string): string {
  let manifest: { main?: string; exports?: unknown; tappet?: { entry?: string } };
  try { manifest = JSON.parse(manifestText) as typeof manifest; } catch (e) { throw new TappetError('E_PLUGIN_LOAD', { name, message: `its package.json cannot be read: ${messageOf(e)}`, where: join(folder, 'package.json') }); }
  const looked = [manifest.tappet?.entry, exported(manifest.exports), manifest.main, 'index.js', 'index.mjs', 'index.ts'];
  for (const candidate of looked) if (candidate !== undefined && existsSync(join(folder, candidate))) return join(folder, candidate);
  throw new TappetError('E_PLUGIN_LOAD', { name, message: `${folder} has nothing to load`, cause: 'looked at tappet.entry, exports["."], main and index.js', do: 'author: "tappet": { "entry": "./dist/index.js" }' });
}
function exported(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return undefined;
  const map = value as Record<string, unknown>;
  for (const key of ['.', 'node', 'import', 'default', 'require']) if (map[key] !== undefined) { const found = exported(map[key]); if (found !== undefined) return found; }
  return undefined;
}

/** A file and all that it imports by a relative path, the entry first. */
async function closure(entry: string): Promise<string[]> {
  const seen = new Set([entry]);
  for (const file of seen) {
    if (seen.size > MAX_FILES) break;
    const text = await readFile(file, 'utf8');
    for (const m of text.matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*)(['"`])(\.{1,2}\/[^'"`\n]+)\1/g)) {
      const target = resolve(dirname(file), m[2]!);
      const found = [...EXTENSIONS.map((e) => target + e), target.replace(/\.js$/, '.ts'), target.replace(/\.mjs$/, '.mts')].find((f) => existsSync(f) && statSync(f).isFile());
      if (found !== undefined) seen.add(await realpath(found));
    }
  }
  return [...seen];
}

async function allFiles(name: string, folder: string): Promise<string[]> {
  const files: string[] = [];
  let bytes = 0;
  const visit = async (dir: string): Promise<void> => {
    for (const item of (await readdir(dir, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(dir, item.name);
      if (item.name === '.git') continue;
      if (item.isDirectory()) { await visit(path); continue; }
      if (!item.isFile() && !item.isSymbolicLink()) continue;
      const info = await stat(path).catch(() => null);
      if (info?.isFile() !== true) continue;
      bytes += info.size;
      files.push(path);
      if (files.length > MAX_FILES || bytes > MAX_BYTES) throw new TappetError('E_PLUGIN_LOAD', { name, message: `${folder} is too large to be checked (over ${MAX_FILES} files or ${MAX_BYTES / 1e6} MB)`, do: 'author: publish one bundled file' });
    }
  };
  await visit(await realpath(folder));
  return files;
}

export async function hashFiles(files: readonly string[], base: string): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${relative(base, file)}\0`).update(createHash('sha256').update(await readFile(file)).digest());
  return `sha256-${hash.digest('hex')}`;
}
