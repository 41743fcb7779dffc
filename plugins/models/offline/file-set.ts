/** Which files are meant: `the TypeScript files in src`, `*.md`, `files named index.ts`. */
import { lower, quoteOf, QUOTE } from './words.ts';
import type { Quotes } from './words.ts';

export interface FileSet {
  /** Of the names, without a folder: `*`, `*.{ts,tsx}`, `index.ts`. */
  readonly names: string;
  /** Null: the working folder. */
  readonly folder: string | null;
  readonly deep: boolean;
  /** Part of a path instead of a name: `docs/*.md`. */
  readonly path: boolean;
}

const LANGUAGES: Readonly<Record<string, readonly string[]>> = {
  typescript: ['ts', 'tsx', 'mts', 'cts'], javascript: ['js', 'jsx', 'mjs', 'cjs'], python: ['py'], markdown: ['md', 'markdown'], yaml: ['yml', 'yaml'], html: ['html', 'htm'], rust: ['rs'], golang: ['go'], c: ['c', 'h'],
  'c++': ['cpp', 'cc', 'cxx', 'hpp', 'hh'], 'c#': ['cs'], ruby: ['rb'], shell: ['sh', 'bash'], bash: ['sh', 'bash'], text: ['txt'], image: ['png', 'jpg', 'jpeg', 'gif', 'svg', 'webp'], kotlin: ['kt', 'kts'], perl: ['pl', 'pm'],
  swift: ['swift'], haskell: ['hs'], elixir: ['ex', 'exs'], scala: ['scala'], java: ['java'], php: ['php'], lua: ['lua'], css: ['css'], json: ['json'], xml: ['xml'], sql: ['sql'], toml: ['toml'], csv: ['csv'],
};
/** Short words that say what files are like, not how they end. */
const NO_ENDING = new Set('new old big main core other same many few more most good bad last first long huge tiny root base such some open empty large small hidden unused important recent only just these those that this changed the all any every each of my our your its file files in inside under within from with for at to on about containing named called word text line lines where which what how do does is are and or not no me you i it we'.split(' '));
export const HERE = /^(?:(?:this|the|our|my|current|whole|entire|root|top-level|working|present) ?)*(?:project|repo|repository|codebase|code base|folder|directory|dir|workspace|tree|package|code)?(?: root)?$|^(?:here|\.|\.\/|everywhere|all (?:the )?files|total|there)$/i;
const DEEP = /[\s,(]*(?:\brecursively|\b(?:including|with|and) (?:all )?(?:its |their |the )?(?:sub-?folders|sub-?directories)|\band below|\bat any depth|\bin (?:all|any) (?:sub)?folders)\)?$/i;
const SHALLOW = /[\s,(]*(?:\bdirectly|\bnon-?recursively|\bnot recursively?|\b(?:only )?at the top level(?: only)?|\bwithout (?:its |the )?sub-?(?:folders|directories)|\b(?:not|excluding) (?:in |the |its )?sub-?(?:folders|directories))\)?$/i;
/** Names of files that have no ending. */
export const BARE_NAMES = /^(?:readme|license|licence|changelog|contributing|makefile|dockerfile|gemfile|rakefile|procfile|jenkinsfile|vagrantfile|authors|notice|codeowners|todo)$/i;
/** A path in one word, or in quotes. */
export const WORD = `(?:${QUOTE}|[\\w.~@/\\\\+-]*[\\w~/+-])`;

/** A folder in words: `the src folder`. Null: the words name none; the empty text is the working folder. */
export function readFolder(words: string, quotes: Quotes): string | null {
  const text = words.trim();
  if (HERE.test(text)) return '';
  const found = new RegExp(`^(?:(?:the|a|this|my|our)\\s+)?(?:(?:folder|directory|dir|path)\\s+)?(?:(?:named|called)\\s+)?(${WORD})(?:\\s+(?:sub-?)?(?:folder|directory|dir))?$`, 'i').exec(text);
  if (found === null) return null;
  const path = lower(found[1]!, quotes).replace(/^@/, '').replace(/(?<=.)[/\\]+$/, '').replace(/^\.\/(?=.)/, '');
  return path === '.' ? '' : path;
}

/** Null: the words name no files. */
export function readFileSet(words: string, quotes: Quotes): FileSet | null {
  let text = words.trim();
  let deep = true;
  for (let before = ''; before !== text;) {
    before = text;
    if (SHALLOW.test(text)) deep = false;
    text = text.replace(SHALLOW, '').replace(DEEP, '').trim();
  }
  if (/^(?:(?:the|all)\s+)*top-level\s/i.test(text)) { deep = false; text = text.replace(/top-level\s+/i, ''); }
  const whole = readNames(text, quotes, null, deep);
  if (whole !== null) return whole;
  // Where the folder begins: `files ending in .ts in src` has two places that look like it.
  for (const found of text.matchAll(/(?:^|[\s,]+)(directly )?(?:in|inside|under|underneath|within|below|beneath|from|of)\s+/gi)) {
    const folder = readFolder(text.slice(found.index + found[0].length), quotes);
    const isFile = folder !== null && (/\.[A-Za-z]\w*$/.test(folder) || BARE_NAMES.test(folder)) && !/\b(?:folder|directory)\b|\/$/i.test(text);
    if (isFile && /\b(?:contents?|text|things|stuff)$/i.test(text.slice(0, found.index).trim())) continue; // what stands in a file
    const names = folder === null ? null : readNames(text.slice(0, found.index), quotes, folder === '' ? null : folder, deep && found[1] === undefined);
    if (names !== null) return names;
  }
  return null;
}

type MakeSet = (names: string, path?: boolean) => FileSet;
const THING = `(${QUOTE}|\\S+)`;
const form = (pattern: string): RegExp => new RegExp(`^(?:${pattern})$`, 'i');
/** What follows the determiners; `m[1]` is the word that matters. */
const FORMS: readonly (readonly [RegExp, (word: string, set: MakeSet, quotes: Quotes) => FileSet | null])[] = [
  [form('files?|filenames|everything|contents?|stuff|things|all|'), (_, set) => set('*')],
  [form(`(?:files? )?(?:that are |which are )?(?:matching|that match|which match|like) (?:the )?(?:glob |pattern )*${THING}`), (word, set, q) => ofGlob(value(word, q), set)],
  [form('(?:files? )?(?:with|having|have|of|that have|which have) (?:the |an? )?(?:file )?(?:extensions?|suffix(?:es)?|endings?|types?) (?:of )?(.+)'), (word, set, q) => ofEndings(word, q, set)],
  [form('(?:files? )?(?:ending|ends?|that ends?|which ends?|whose names? ends?) (?:in|with|on) (.+)'), (word, set, q) => ofEndings(word, q, set)],
  [form(`(?:files? )?(?:starting|beginning|(?:that |which )?(?:start|begin)s?|whose names? (?:starts?|begins?)) with ${THING}`), (word, set, q) => set(`${literal(value(word, q))}*`)],
  [form(`(?:files? )?whose (?:file)?names? (?:contains?|includes?|has|have) ${THING}`), (word, set, q) => set(`*${literal(value(word, q))}*`)],
  [form(`(?:files? )?(?:with|that have|having) ${THING} in (?:the|their|its) names?`), (word, set, q) => set(`*${literal(value(word, q))}*`)],
  [form(`(?:(?:file|folder)s? )?(?:that (?:are|is) |which (?:are|is) )?(?:named|called|by the name(?: of)?|with the name) ${THING}`), (word, set, q) => { const name = value(word, q); return /[*?]/.test(name) ? ofGlob(name, set) : set(literal(name), name.includes('/')); }],
  [form('(?:unit )?(?:tests?|specs?|test files?|spec files?)'), (_, set) => set('{*.test.*,*.spec.*,*_test.*,test_*.*}')],
  [form('(?:hidden|dot) ?files?'), (_, set) => set('.*')],
  [form('images?|pictures?'), (_, set) => set(`*.{${LANGUAGES['image']!.join(',')}}`)],
  [form(`(${QUOTE}|\\S*[*?]\\S*)(?: files?)?`), (word, set, q) => (/[*?{]/.test(value(word, q)) ? ofGlob(value(word, q), set) : null)],
  [form('(.+?)[ -]+(?:(?:source|code|script|program) )?(?:files?|sources|scripts|modules|documents|docs|programs)'), (word, set, q) => ofEndings(word, q, set)],
];
const BEFORE = /^(?:(?:all|the|every|each|any|of|my|our|existing|available|different|these|those|list of|names of)\s+)+/i;
const BEHIND = /\s+(?:there are|that exist|are there|there|we have|you can find|you find|it has|overall|in total)$/i;
const value = (word: string, quotes: Quotes): string => lower(word.trim(), quotes).replace(/^@/, '');

function readNames(words: string, quotes: Quotes, folder: string | null, deep: boolean): FileSet | null {
  const text = words.trim().replace(BEFORE, '').replace(BEHIND, '').trim();
  const set: MakeSet = (names, path = false) => ({ names, folder, deep, path });
  for (const [pattern, make] of FORMS) {
    const found = pattern.exec(text);
    const made = found === null ? null : make(found[1] ?? '', set, quotes);
    if (made !== null) return made;
  }
  return null;
}

function ofGlob(glob: string, set: MakeSet): FileSet {
  const plain = glob.replace(/^\.\//, '');
  if (plain.startsWith('**/') && !plain.slice(3).includes('/')) return { ...set(plain.slice(3)), deep: true };
  return set(plain, plain.includes('/'));
}
function ofEndings(words: string, quotes: Quotes, set: MakeSet): FileSet | null {
  const endings: string[] = [];
  for (const word of words.split(/\s*(?:,|\/|\bor\b|\band\b|&|\s)\s*/i)) {
    const one = lower(word, quotes).trim().replace(/^\*?\./, '').toLowerCase();
    if (one === '') continue;
    if (LANGUAGES[one] !== undefined && !word.includes('.')) endings.push(...LANGUAGES[one]);
    else if (/^[\w+.-]{1,12}$/.test(one) && !NO_ENDING.has(one) && (word.includes('.') || one.length <= 5 || quoteOf(word, quotes) !== undefined)) endings.push(one);
    else return null;
  }
  const unique = [...new Set(endings)];
  return unique.length === 0 ? null : set(unique.length === 1 ? `*.${unique[0]}` : `*.{${unique.join(',')}}`);
}
/** A name as it is, in a pattern. */
const literal = (name: string): string => name.replace(/[*?[\]{}\\]/g, '\\$&');

/** The pattern that the tools take, and where they are to start. */
export function globOf({ names, deep, path, folder }: FileSet): { readonly pattern: string; readonly path?: string } {
  return { pattern: path || !deep ? names : `**/${names}`, ...(folder === null ? {} : { path: folder }) };
}
/** The files in words, as they were understood. */
export function describe({ names, deep, path, folder }: FileSet): string {
  const what = names === '*' && !path ? '' : ` matching ${names}`;
  return `${what}${folder === null ? ' in this folder' : ` in ${folder}`}${deep && !path ? ' and the folders below it' : ''}`.trimStart();
}
