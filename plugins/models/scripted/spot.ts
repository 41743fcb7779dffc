/** A script as a tree of values, each with its place: read from a YAML file, or made of an object. */
import { readFile, stat } from 'node:fs/promises';
import type { Node } from 'yaml';
import { isTappetError, messageOf } from 'tappet/kernel';
import { scriptError } from './codes.ts';

export interface Entry { readonly key: string; readonly keyAt: string; readonly value: Spot }
export type Scalar = string | number | boolean | null;
/** `at` is `file:line:column`, or a path of keys where there is no file. */
export type Spot = { readonly at: string } & (
  | { readonly kind: 'map'; readonly entries: readonly Entry[] }
  | { readonly kind: 'list'; readonly items: readonly Spot[] }
  | { readonly kind: 'scalar'; readonly value: Scalar; /** As it was written: `1.10` stays so where a text is meant. */ readonly source: string }
);

const MAX_BYTES = 4_000_000;
const MAX_DEPTH = 60;

/** Made of plain objects; own keys only. */
export function plain(spot: Spot): unknown {
  if (spot.kind === 'scalar') return spot.value;
  if (spot.kind === 'list') return spot.items.map(plain);
  return Object.fromEntries(spot.entries.map((e) => [e.key, plain(e.value)]));
}

/** @throws E_SCRIPT_READ, E_SCRIPT_SYNTAX */
export async function readScriptFile(file: string): Promise<Spot> {
  return spotOfYaml(await text(file), file);
}

async function text(file: string): Promise<string> {
  const fail = (message: string) => scriptError('E_SCRIPT_READ', { file, message, where: file });
  try {
    const info = await stat(file);
    if (info.isDirectory()) throw fail('it is a folder');
    if (!info.isFile()) throw fail('it is no regular file');
    if (info.size > MAX_BYTES) throw fail(`it is larger than ${MAX_BYTES} bytes`);
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file)); // takes a leading byte order mark away
  } catch (e) {
    if (isTappetError(e)) throw e;
    const { code } = e as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') throw fail('there is no such file');
    if (code === 'EACCES' || code === 'EPERM') throw fail('permission denied');
    throw fail(code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'it is not UTF-8 text' : messageOf(e));
  }
}

export async function spotOfYaml(source: string, file: string): Promise<Spot> {
  const { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } = await import('yaml');
  const lines = new LineCounter();
  const at = (offset: number): string => { const p = lines.linePos(offset); return `${file}:${Math.max(1, p.line)}:${Math.max(1, p.col)}`; };
  const fail = (where: string, message: string, todo?: string) => scriptError('E_SCRIPT_SYNTAX', { message, where, ...(todo === undefined ? {} : { do: todo }) });
  let doc: ReturnType<typeof parseDocument>;
  try {
    doc = parseDocument(source, { lineCounter: lines, uniqueKeys: true, prettyErrors: false, strict: true, version: '1.2' });
  } catch (e) {
    throw fail(`${file}:1:1`, e instanceof RangeError ? 'it is nested too deep' : messageOf(e));
  }
  // The parser hands out a value even where it found errors; a half-read script is none. A warning is a tag that nobody knows.
  const wrong = doc.errors[0] ?? doc.warnings[0];
  if (wrong !== undefined) throw fail(at(wrong.pos[0]), ...inWords(wrong.code, wrong.message));
  if (doc.contents === null) throw fail(`${file}:1:1`, 'the script is empty', 'begin with `steps:` and a list of what the model says and calls');

  const walk = (node: Node | null, around: string, depth: number): Spot => {
    const here = node?.range ? at(node.range[0]) : around;
    if (depth > MAX_DEPTH) throw fail(here, `it is nested deeper than ${MAX_DEPTH} levels`);
    // Aliases would let a few lines grow into gigabytes.
    if (isAlias(node)) throw fail(here, `aliases (*${node.source}) are not used in scripts`, 'write the value out');
    if (isMap(node)) {
      const entries = node.items.map(({ key, value }): Entry => {
        const keyAt = (key as Node | null)?.range ? at((key as Node).range![0]) : here;
        if (!isScalar(key) || key.value === null) throw fail(keyAt, 'a key must be a word', 'put braces that are meant as text into quotes');
        const word = String(key.value);
        if (word === '__proto__') throw fail(keyAt, 'the key "__proto__" is not allowed', 'take it out');
        if (word === '<<') throw fail(keyAt, 'merge keys (<<) are not used in scripts', 'write the values out');
        return { key: word, keyAt, value: walk(value as Node | null, keyAt, depth + 1) };
      });
      return { at: here, kind: 'map', entries };
    }
    if (isSeq(node)) return { at: here, kind: 'list', items: node.items.map((item) => walk(item as Node | null, here, depth + 1)) };
    if (!isScalar(node)) return { at: here, kind: 'scalar', value: null, source: '' };
    const { value } = node;
    if (value !== null && typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') throw fail(here, 'this kind of value is not used in scripts');
    return { at: here, kind: 'scalar', value, source: typeof value === 'string' ? value : node.source ?? String(value) };
  };
  try {
    return walk(doc.contents, `${file}:1:1`, 0);
  } catch (e) {
    if (e instanceof RangeError) throw fail(`${file}:1:1`, 'it is nested too deep');
    throw e;
  }
}

/** Of an object that came with the options. */
export function spotOfObject(value: unknown, at: string, depth = 0): Spot {
  if (depth > MAX_DEPTH) throw scriptError('E_SCRIPT_SYNTAX', { message: `it is nested deeper than ${MAX_DEPTH} levels`, where: at });
  if (value === null || value === undefined) return { at, kind: 'scalar', value: null, source: '' };
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return { at, kind: 'scalar', value, source: String(value) };
  if (Array.isArray(value)) return { at, kind: 'list', items: value.map((item, i) => spotOfObject(item, `${at}[${i}]`, depth + 1)) };
  if (typeof value !== 'object') throw scriptError('E_SCRIPT_SYNTAX', { message: `a ${typeof value} is no value of a script`, where: at });
  const entries = Object.entries(value).filter(([, v]) => v !== undefined).map(([key, v]): Entry => {
    if (key === '__proto__') throw scriptError('E_SCRIPT_SYNTAX', { message: 'the key "__proto__" is not allowed', where: at, do: 'take it out' });
    return { key, keyAt: `${at}.${key}`, value: spotOfObject(v, `${at}.${key}`, depth + 1) };
  });
  return { at, kind: 'map', entries };
}

function inWords(code: string, message: string): [string, string?] {
  if (code === 'TAB_AS_INDENT') return ['a tab is used to indent', 'indent with spaces'];
  if (code === 'DUPLICATE_KEY') return ['this key stands twice in one map', 'keep one of them'];
  if (code === 'MULTIPLE_DOCS') return ['there is a second document in this file', 'one file holds one script'];
  if (code === 'TAG_RESOLVE_FAILED') return [message.replace(/\s+/g, ' '), 'put a text that begins with "!" into quotes'];
  return [message.replace(/\s+/g, ' ')];
}
