/** One file of configuration: its value, and where in the file every part of it stands. */
import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Document, LineCounter as Counter, Node } from 'yaml';
import { messageOf, TappetError } from '../errors.ts';

/** Line and column, from 1. */
export type Position = readonly [line: number, column: number];
export interface ReadFile {
  readonly file: string;
  readonly value: unknown;
  /** Where the value at a dotted path stands; a map stands where its key does. */
  at(path: string): Position;
  /** Where the key itself stands. */
  keyAt(path: string): Position;
  readonly hash: string;
}
/** As kept in the cache. */
interface Parsed { readonly value: unknown; readonly values: Readonly<Record<string, Position>>; readonly keys: Readonly<Record<string, Position>> }

export const SETTINGS_MAX_BYTES = 1_000_000;
export const POLICY_MAX_BYTES = 256_000;
const MAX_DEPTH = 100;
const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype']);
const CACHE_VERSION = 1;

export interface ReadOptions {
  /** Only the part below this key (`agent` of package.json). */
  readonly below?: string | undefined;
  /** A folder for parsed files; a policy is never cached. */
  readonly cache?: string | undefined;
  readonly maxBytes?: number;
  /** How the file is named in messages. */
  readonly layer: string;
}

/** @throws E_CONFIG_READ, E_CONFIG_SYNTAX, E_CONFIG_KEY, each with its place. `null` where there is no file. */
export async function readConfigFile(file: string, o: ReadOptions): Promise<ReadFile | null> {
  let text: string;
  try {
    const info = await stat(file);
    if (info.isDirectory()) throw new TappetError('E_CONFIG_READ', { file, message: 'it is a folder', where: file });
    if (!info.isFile()) throw new TappetError('E_CONFIG_READ', { file, message: 'it is no regular file', where: file });
    if (info.size > (o.maxBytes ?? SETTINGS_MAX_BYTES)) throw new TappetError('E_CONFIG_READ', { file, message: `it is larger than ${o.maxBytes ?? SETTINGS_MAX_BYTES} bytes`, where: file });
    text = await readFile(file, 'utf8');
  } catch (e) {
    if (e instanceof TappetError) throw e;
    const code = (e as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new TappetError('E_CONFIG_READ', { file, message: code === 'EACCES' ? 'permission denied' : messageOf(e), where: file });
  }
  const hash = hashOf(text);
  const cached = o.cache === undefined ? null : await fromCache(o.cache, hash);
  if (cached !== null) return asReadFile(file, cached, hash, o.below);
  // cosmiconfig and the parser cost more than all the rest of a start: only a miss pays for them.
  const { loadText } = await import('./explorer.ts');
  return readConfigText(await loadText(file), file, o);
}

export async function readConfigText(text: string, file: string, o: ReadOptions): Promise<ReadFile> {
  const hash = hashOf(text);
  const parsed = await parse(text, file, o.layer);
  if (o.cache !== undefined) await toCache(o.cache, hash, parsed);
  return asReadFile(file, parsed, hash, o.below);
}
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

function asReadFile(file: string, parsed: Parsed, hash: string, below: string | undefined): ReadFile {
  const prefix = below === undefined ? '' : `${below}.`;
  const value = below === undefined ? parsed.value : (parsed.value as Record<string, unknown> | null)?.[below];
  const find = (table: Readonly<Record<string, Position>>, path: string): Position => {
    for (let p = prefix + path; ; p = p.slice(0, p.lastIndexOf('.'))) {
      const found = Object.hasOwn(table, p) ? table[p] : undefined;
      if (found !== undefined) return found;
      if (!p.includes('.')) return [1, 1];
    }
  };
  return { file, value, hash, at: (path) => find(parsed.values, path), keyAt: (path) => find(parsed.keys, path) };
}

async function parse(text: string, file: string, layer: string): Promise<Parsed> {
  const { isAlias, isMap, isPair, isScalar, isSeq, LineCounter, parseDocument } = await import('yaml');
  const lines = new LineCounter();
  const source = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  const fail = (code: string, at: Position, facts: Record<string, unknown>): never => { throw new TappetError(code, { where: `${file}:${at[0]}:${at[1]} (${layer})`, ...facts }); };
  let doc: Document.Parsed;
  try {
    doc = parseDocument(source, { lineCounter: lines, uniqueKeys: true, prettyErrors: false, strict: true, version: '1.2' });
  } catch (e) {
    return fail('E_CONFIG_SYNTAX', [1, 1], { message: e instanceof RangeError ? 'it is nested too deep' : messageOf(e) });
  }
  const wrong = doc.errors[0] ?? doc.warnings[0];
  if (wrong !== undefined) return fail('E_CONFIG_SYNTAX', position(lines, wrong.pos[0]), syntaxFacts(wrong.code, wrong.message));
  const values: Record<string, Position> = Object.create(null);
  const keys: Record<string, Position> = Object.create(null);
  const walk = (node: unknown, path: string, depth: number): unknown => {
    if (depth > MAX_DEPTH) return fail('E_CONFIG_SYNTAX', place(node as Node, lines), { message: `it is nested deeper than ${MAX_DEPTH} levels` });
    if (isAlias(node)) return fail('E_CONFIG_SYNTAX', place(node, lines), { message: `aliases (*${node.source}) are not allowed in configuration`, do: 'write the value out' });
    if (isMap(node)) {
      const map: Record<string, unknown> = {};
      for (const pair of node.items) {
        if (!isPair(pair)) continue;
        const at = place(pair.key as Node, lines);
        const key = isScalar(pair.key) ? String(pair.key.value) : fail('E_CONFIG_SYNTAX', at, { message: 'a key must be a word' });
        if (FORBIDDEN_KEYS.has(key)) fail('E_CONFIG_KEY', at, { key, cause: 'this name could change every object of the program', do: 'take it out' });
        const inner = path === '' ? key : `${path}.${key}`;
        keys[inner] = at;
        values[inner] = pair.value !== null && !isMap(pair.value) && !isSeq(pair.value) ? place(pair.value as Node, lines) : at;
        map[key] = walk(pair.value, inner, depth + 1);
      }
      return map;
    }
    if (isSeq(node)) return node.items.map((item, i) => {
      const inner = path === '' ? String(i) : `${path}.${i}`;
      keys[inner] = values[inner] = place(item as Node, lines);
      return walk(item, inner, depth + 1);
    });
    return isScalar(node) ? node.value : null;
  };
  try {
    return { value: walk(doc.contents, '', 0), values, keys };
  } catch (e) {
    if (e instanceof RangeError) return fail('E_CONFIG_SYNTAX', [1, 1], { message: 'it is nested too deep' });
    throw e;
  }
}

const position = (lines: Counter, offset: number): Position => { const p = lines.linePos(offset); return [Math.max(1, p.line), Math.max(1, p.col)]; };
const place = (node: Node | null | undefined, lines: Counter): Position => (node?.range ? position(lines, node.range[0]) : [1, 1]);
function syntaxFacts(code: string, message: string): Record<string, unknown> {
  if (code === 'TAB_AS_INDENT') return { message: 'a tab is used to indent', do: 'indent with spaces' };
  if (code === 'DUPLICATE_KEY') return { message: 'this key stands twice in one map', do: 'keep one of them' };
  return { message: message.replace(/\s+/g, ' ') };
}

async function fromCache(folder: string, hash: string): Promise<Parsed | null> {
  try {
    const kept = JSON.parse(await readFile(join(folder, `${hash}.${CACHE_VERSION}.json`), 'utf8')) as Parsed;
    return typeof kept.values === 'object' && typeof kept.keys === 'object' ? kept : null;
  } catch { return null; } // missing or spoilt: parsed again
}
async function toCache(folder: string, hash: string, parsed: Parsed): Promise<void> {
  const file = join(folder, `${hash}.${CACHE_VERSION}.json`);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(`${file}.${process.pid}`, JSON.stringify(parsed), { mode: 0o600, flag: 'wx' });
    await rename(`${file}.${process.pid}`, file);
  } catch { /* a cache that can't be written is no error */ }
}
