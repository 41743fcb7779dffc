/** The words of a clause that are not grammar: files, places, texts, numbers. Null where the words are no such thing. */
import { BARE_NAMES, HERE, readFileSet, readFolder } from './file-set.ts';
import type { FileSet } from './file-set.ts';
import { IT } from './intents.ts';
import type { Lines, Sought, Where } from './intents.ts';
import { asWritten, hasQuote, quoteOf } from './words.ts';
import type { Quotes } from './words.ts';

const PRONOUN = /^(?:it|its|their|this|that|this file|that file|the file|the same file|the result|its contents?|them|they|these|those|all of them|each of them|these files|those files|each)$/i;

/** Null: the words name no file. */
export function fileOf(words: string, quotes: Quotes): string | null {
  const bare = words.trim();
  if (PRONOUN.test(bare)) return IT;
  const text = bare.replace(/^(?:(?:the|a|an|my|our|this|file|script|document|new|named|called|contents? of|text of|source of)\s+)+/i, '').replace(/(?<=\S)\s+(?:file|script|document)$/i, '');
  const quote = quoteOf(text, quotes);
  if (quote !== undefined) return quote.kind !== 'fence' && quote.text !== '' && !/[\n*?]/.test(quote.text) && quote.text.length < 300 ? quote.text.replace(/^@/, '') : null;
  const path = text.replace(/^@/, '');
  if (!/^[\p{L}\p{N}_.~/\\+:-]+$/u.test(path) || !/\p{L}/u.test(path)) return null;
  return BARE_NAMES.test(path) || /^\.?[^.].*\.[\p{L}\p{N}]+$|[/\\].|^\.\p{L}/u.test(path) ? path : null;
}
export function filesOf(words: string, quotes: Quotes): readonly string[] | null {
  const all = words.trim().replace(/^(?:(?:the|both|all|these|files)\s+)+(?=\S+[,\s])/i, '').split(/\s*(?:,\s*and\b|,|\band\b|&)\s*/i).map((w) => fileOf(w, quotes));
  return all.length > 0 && all.every((f) => f !== null) ? (all as string[]) : null;
}

/** Null: the words name no place. */
export function whereOf(words: string | undefined, quotes: Quotes): Where | null {
  const text = words?.trim() ?? '';
  if (/^(?:in|inside|within|under|of|for|to|from)\s/i.test(text)) return null;
  if (text === '' || HERE.test(text) || /^(?:any|all|every|all the|any of the) files?$/i.test(text)) return {};
  if (/^(?:them|these|those|these files|those files|each of them|all of them)$/i.test(text)) return { them: true };
  const file = fileOf(text, quotes);
  if (file !== null) return file === IT ? { them: true } : { path: file };
  if (!/\s/.test(text) && quoteOf(text, quotes) === undefined && !/[*?]/.test(text)) {
    const folder = readFolder(text, quotes);
    return folder === null ? null : folder === '' ? {} : { path: folder };
  }
  const set = readFileSet(text, quotes);
  if (set !== null) return set.names === '*' && set.deep ? (set.folder === null ? {} : { path: set.folder }) : { set };
  const folder = readFolder(text, quotes);
  return folder === null ? null : folder === '' ? {} : { path: folder };
}

const KIND_OF_TEXT = /^(?:(?:the|a|an|any|all|every|exact|literal|exactly)\s+)*(?:(?:word|string|text|phrase|term|name|function|method|variable|constant|class|type|interface|symbol|identifier|keyword|sentence|substring|expression|value|calls? to|imports? of|occurrences? of|mentions? of|uses? of|references? to)s?\s+)+/i;
/** Null: there are no words to look for. */
export function soughtOf(words: string, quotes: Quotes): Sought | null {
  const announced = /^(?:the\s+|a\s+)?(?:reg(?:ular )?\s?exp?(?:ression)?|regex|pattern)\s+/i.exec(words);
  const text = words.slice(announced?.[0].length ?? 0).trim().replace(KIND_OF_TEXT, '').trim();
  const quote = quoteOf(text, quotes);
  if (quote === undefined && hasQuote(text)) return null;
  const plain = quote?.text ?? text;
  if (plain.trim() === '' || plain.length > 500 || plain.includes('\n')) return null;
  const isRegex = announced !== null || quote?.kind === 'pattern';
  return { regex: isRegex ? plain : plain.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'), shown: isRegex ? `/${plain}/` : JSON.stringify(plain), ignoreCase: false };
}
/** `foo in src`: the first ` in ` whose rest is a place divides. */
export function soughtAndWhere(words: string, quotes: Quotes): { readonly sought: Sought; readonly where: Where } | null {
  for (const joint of words.matchAll(/(?<=\s)(?:in|inside|within|under|across|throughout|from)\s+/gi)) {
    const where = whereOf(words.slice(joint.index + joint[0].length), quotes);
    const sought = where === null ? null : soughtOf(trimmed(words.slice(0, joint.index)), quotes);
    if (where !== null && sought !== null) return { sought, where };
  }
  // A place that was meant and not understood must not become a part of the words that are looked for.
  const sought = !hasQuote(words) && /\s(?:in|inside|under)\s/i.test(words) ? null : soughtOf(trimmed(words), quotes);
  return sought === null ? null : { sought, where: {} };
}
export const trimmed = (words: string): string => words.trim().replace(/\s+(?:(?:is|are|do|does|was|were|can|has|have|been|be)\s+)*(?:there|used|found|mentioned|defined|declared|called|imported|referenced|appear|appears|occur|occurs|exist|exists|anywhere|everywhere|somewhere|we have)$/i, '');

/** What is to be written: in quotes, or a list of quotes, a line each. */
export function contentOf(words: string, quotes: Quotes): string | null {
  const text = words.trim();
  const quote = quoteOf(text, quotes);
  if (quote !== undefined) return quote.kind === 'fence' ? `${quote.text}\n` : quote.kind === 'double' ? unescaped(quote.text) : quote.text;
  const many = text.split(/\s*(?:,\s*and\b|,|\band\b)\s*/i).map((w) => quoteOf(w, quotes));
  if (many.length > 1 && many.every((q) => q !== undefined)) return many.map((q) => `${q!.text}\n`).join('');
  return /^[{[<]/.test(text) ? asWritten(text, quotes) : null; // such as JSON
}
const unescaped = (text: string): string => text.replace(/\\([nt"\\])/g, (_, c: string) => (c === 'n' ? '\n' : c === 't' ? '\t' : c));

const NUMBERS: Readonly<Record<string, number>> = { one: 1, two: 2, three: 3, four: 4, five: 5, six: 6, seven: 7, eight: 8, nine: 9, ten: 10, twelve: 12, twenty: 20 };
export const numberOf = (word: string | undefined): number | null => (word === undefined ? null : /^\d{1,7}$/.test(word) ? Number(word) : (NUMBERS[word.toLowerCase()] ?? null));
export const COUNT = '(\\d+|one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty)';
const RANGES: readonly (readonly [RegExp, (m: RegExpExecArray) => Lines | null])[] = [
  [/^(?:lines?|from line|rows?) (\d+) ?(?:-|–|to|through|until|till|up to|and|\.\.+) ?(?:line )?(\d+)$/i, (m) => (Number(m[1]) >= 1 && Number(m[2]) >= Number(m[1]) ? { from: Number(m[1]), to: Number(m[2]) } : null)],
  [/^(?:line|row)(?: number)? (\d+)$/i, (m) => (Number(m[1]) >= 1 ? { from: Number(m[1]), to: Number(m[1]) } : null)],
  [/^(?:from line|lines? from) (\d+)(?: (?:on|onwards?|to the end))?$/i, (m) => ({ from: Math.max(1, Number(m[1])), to: null })],
  [new RegExp(`^(?:first|top|initial) (?:${COUNT} )?(?:lines?|rows?)$`, 'i'), (m) => ({ from: 1, to: numberOf(m[1]) ?? 1 })],
  [new RegExp(`^(?:last|bottom|final) (?:${COUNT} )?(?:lines?|rows?)$`, 'i'), (m) => ({ from: -(numberOf(m[1]) ?? 1), to: null })],
];
/** `lines 3 to 9`, `the first ten lines`, `line 4`. */
export function linesOf(words: string): Lines | null {
  const text = words.trim().replace(/^the\s+/i, '');
  for (const [pattern, make] of RANGES) {
    const found = pattern.exec(text);
    if (found !== null) return make(found);
  }
  return null;
}

/** Files by their kind, also in the order of words that questions have. */
export const setOf = (words: string, q: Quotes): FileSet | null => readFileSet(
  words.trim()
    .replace(/^(.+?)\s+(?:does|do)\s+(.+?)\s+(?:have|contain|hold|include)$/i, (_, what: string, place: string) => (/^(?:we|you|i|it)$/i.test(place) ? what : `${what} in ${place}`))
    .replace(/\s+(?:(?:are|is) (?:there|located|found|stored)|(?:are|is)|exists?|there are|there is|do we have|we have|can be found|live|lie)(?=\s+(?:in|inside|under|within|below|at)\b|$)/i, ''),
  q,
);
export const named = (file: string, folder: string | null): FileSet => ({ names: file.replace(/^\.\//, '').replace(/[*?[\]{}\\]/g, '\\$&'), folder, deep: true, path: file.includes('/') });
/** Undefined: the words name no folder; null: there are none, or they mean this folder. */
export const folderIn = (words: string | undefined, q: Quotes): string | null | undefined => { if (words === undefined) return null; const f = readFolder(words, q); return f === null ? undefined : f === '' ? null : f; };

/** A place and the kind of files there. */
export function both(where: Where, set: FileSet): Where {
  const folder = where.path ?? where.set?.folder ?? set.folder;
  if (where.them === true) return where;
  const names = where.set ?? set;
  return names.names === '*' && !names.path && names.deep ? (folder === null ? {} : { path: folder }) : { set: { ...names, folder } };
}
