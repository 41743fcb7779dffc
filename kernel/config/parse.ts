/** YAML and JSON as data with places: what a stranger wrote costs little, runs nothing, and what is wrong with it is said with line and column. */
import type { CST, Document, LineCounter as Counter, Node } from 'yaml';
import type { Layer } from '../../schemas/index.ts';
import { messageOf, TappetError } from '../errors.ts';
import { makeOrigin } from './origin.ts';

/** Line and column, from 1. */
export type Position = readonly [line: number, column: number];
/** Positions by dotted path: of values (a map's or list's is its key's), and of keys. */
export interface Parsed { readonly value: unknown; readonly values: Readonly<Record<string, Position>>; readonly keys: Readonly<Record<string, Position>> }

const MAX_DEPTH = 100;
/** Words, marks and blanks: some 20 000 lines. More would stop the process for longer than a person notices. */
export const MAX_TOKENS = 100_000;
/** They could change every object of the program. */
export const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype']);
const PLAIN_TAG = /^tag:yaml\.org,2002:(str|int|float|bool|null|map|seq)$/;

type Fail = (code: string, at: Position, facts: Record<string, unknown>) => never;

/** @throws E_CONFIG_SYNTAX, E_CONFIG_KEY */
export async function parseConfig(text: string, file: string, layer: Layer): Promise<Parsed> {
  const yaml = await import('yaml');
  const lines = new yaml.LineCounter();
  const fail: Fail = (code, at, facts) => { throw new TappetError(code, { where: makeOrigin(layer, file, at[0], at[1]), ...facts }); };
  const contents = compose(yaml, text.charCodeAt(0) === 0xfeff ? text.slice(1) : text, lines, fail);
  const values: Record<string, Position> = Object.create(null);
  const keys: Record<string, Position> = Object.create(null);
  const { isAlias, isMap, isScalar, isSeq } = yaml;

  const walk = (node: unknown, path: string, depth: number): unknown => {
    if (depth > MAX_DEPTH) return fail('E_CONFIG_SYNTAX', place(node as Node, lines), { message: `it is nested deeper than ${MAX_DEPTH} levels`, do: 'make it flatter' });
    if (isAlias(node)) return fail('E_CONFIG_SYNTAX', place(node, lines), { message: `aliases (*${node.source}) are not allowed in configuration`, do: 'write the value out' });
    const { tag } = (node ?? {}) as { tag?: string };
    if (tag !== undefined && !PLAIN_TAG.test(tag)) return fail('E_CONFIG_SYNTAX', place(node as Node, lines), { message: `the tag ${tag} is not known here`, do: 'write the value plainly' });
    if (isMap(node)) {
      const map: Record<string, unknown> = {};
      for (const pair of node.items) {
        const at = place(pair.key as Node, lines);
        const key = isScalar(pair.key) ? String(pair.key.value) : fail('E_CONFIG_SYNTAX', at, { message: 'a key must be a word' });
        if (FORBIDDEN_KEYS.has(key)) fail('E_CONFIG_KEY', at, { key, cause: 'this name could change every object of the program' });
        if (Object.hasOwn(map, key)) fail('E_CONFIG_SYNTAX', at, { message: `the key "${key}" stands twice in one map`, do: 'keep one of them' });
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
    return isScalar(node) ? plain(node.value, place(node as Node, lines), fail) : null;
  };
  return { value: walk(contents, '', 0), values, keys };
}

/** Only what JSON can hold: the cache keeps it so, and a value must not depend on whether it came from there. */
function plain(value: unknown, at: Position, fail: Fail): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))) return value;
  return fail('E_CONFIG_SYNTAX', at, { message: `a value must be text, a finite number, true, false or nothing, not ${String(value)}` });
}

/** Counted while it is cut into words: depth, before anything recurses (a deep enough file ends the process), and size. */
function compose(yaml: typeof import('yaml'), source: string, lines: Counter, fail: Fail): unknown {
  const parser = new yaml.Parser(lines.addNewLine);
  const tokens: CST.Token[] = [];
  let count = 0;
  lines.addNewLine(0);
  try {
    for (const lexeme of new yaml.Lexer().lex(source)) {
      for (const token of parser.next(lexeme)) tokens.push(token);
      if (parser.stack.length > 2 * MAX_DEPTH + 10) fail('E_CONFIG_SYNTAX', position(lines, parser.offset), { message: `it is nested deeper than ${MAX_DEPTH} levels`, do: 'make it flatter' });
      if (++count > MAX_TOKENS) fail('E_CONFIG_SYNTAX', position(lines, parser.offset), { message: 'it is too large', do: 'make it smaller' });
    }
    for (const token of parser.end()) tokens.push(token);
    // Unique keys are looked after above, in a time that does not grow with their square.
    const docs = [...new yaml.Composer({ lineCounter: lines, uniqueKeys: false, prettyErrors: false, strict: true, version: '1.2' }).compose(tokens, true, source.length)] as Document.Parsed[];
    const [doc, second] = docs;
    const wrong = doc?.errors[0] ?? doc?.warnings[0];
    if (wrong !== undefined) fail('E_CONFIG_SYNTAX', position(lines, wrong.pos[0]), syntaxFacts(wrong.code, wrong.message));
    if (second !== undefined) fail('E_CONFIG_SYNTAX', position(lines, second.range[0]), { message: 'a second document begins here', do: 'take the --- out' });
    return doc?.contents;
  } catch (e) {
    if (e instanceof TappetError) throw e;
    return fail('E_CONFIG_SYNTAX', [1, 1], { message: messageOf(e) });
  }
}
function syntaxFacts(code: string, message: string): Record<string, unknown> {
  if (code === 'TAB_AS_INDENT') return { message: 'a tab is used to indent', do: 'indent with spaces' };
  return { message: message.replace(/\s+/g, ' ').slice(0, 300) };
}
const position = (lines: Counter, offset: number): Position => { const p = lines.linePos(offset); return [Math.max(1, p.line), Math.max(1, p.col)]; };
const place = (node: Node | null | undefined, lines: Counter): Position => (node?.range ? position(lines, node.range[0]) : [1, 1]);
