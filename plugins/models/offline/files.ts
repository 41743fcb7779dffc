/** Jobs about files by their names: lists, counts, the largest, is it there. */
import { describe, globOf } from './file-set.ts';
import type { FileSet } from './file-set.ts';
import type { Intent } from './intents.ts';
import { ask, askOne, failure, Impossible, need } from './job.ts';
import type { Call, Context, Job } from './job.ts';
import { countEntry, parseGlob, parseGrep } from './results.ts';
import type { Listed } from './results.ts';
import { count, inOrder, listed } from './wording.ts';

type Of<K extends Intent['do']> = Extract<Intent, { readonly do: K }>;
/** Beyond this many the names are not gathered one by one. */
const MOST_FILES = 2000;
const MOST_CALLS = 80;
/** First characters of names, in parts of about the same weight; together they are all there are. */
const PARTS = ['[a-b]', '[c-d]', '[e-g]', '[h-l]', '[m-o]', '[p-r]', '[s]', '[t-z]', '[A-M]', '[N-Z]', '[0-9]', '.', '[^a-zA-Z0-9.]'];

const sorry = (what: string) => `looking for ${what}`;

/** The files of a set, newest first, as far as one call names them. */
function* glob(ctx: Context, set: FileSet): Job<Listed> {
  const { text } = yield* need(ctx, 'Glob', globOf(set), sorry(`files ${describe(set)}`));
  return parseGlob(text);
}

/** All files of a set: where one call does not name all, more calls with narrower patterns do. */
function* allFiles(ctx: Context, set: FileSet): Job<Listed> {
  const first = yield* glob(ctx, set);
  if (first.whole || set.path || !set.names.startsWith('*') || first.total > MOST_FILES) return first;
  const files = new Set<string>();
  let waiting: readonly string[] = PARTS.map((part) => part + set.names);
  for (let calls = 0; waiting.length > 0;) {
    calls += waiting.length;
    if (calls > MOST_CALLS) return first;
    const outcomes = yield* ask(ctx, ...waiting.map((names): Call => ({ name: 'Glob', input: globOf({ ...set, names }) })));
    const narrower: string[] = [];
    for (const [i, outcome] of outcomes.entries()) {
      if (outcome.failed) throw new Impossible(failure(outcome, sorry(`files ${describe(set)}`)));
      const found = parseGlob(outcome.text);
      for (const file of found.files) files.add(file);
      if (found.whole) continue;
      const start = waiting[i]!.slice(0, -set.names.length);
      narrower.push(...PARTS.map((part) => start + part + set.names), start + set.names.slice(1)); // also those that end where the parts do
    }
    waiting = narrower;
  }
  return files.size >= first.total ? { files: [...files], total: files.size, whole: !first.atLeast, atLeast: first.atLeast } : first;
}

export function* files(ctx: Context, { set, how }: Of<'files'>): Job<string> {
  const found = how === 'list' ? yield* allFiles(ctx, set) : yield* glob(ctx, set);
  ctx.files = inOrder(found.files);
  const where = describe(set);
  if (found.total === 0) return found.atLeast ? `No file ${where} was found, but the search did not reach everything.` : `${how === 'any' ? 'No: there is no' : 'There is no'} file ${where}.`;
  const total = `${found.atLeast ? 'at least ' : ''}${count(found.total, 'file')} ${where}`;
  if (how === 'count') return `There ${found.total === 1 ? 'is' : 'are'} ${total}.`;
  const names = found.whole || found.files.length >= found.total ? inOrder(found.files) : found.files;
  const note = found.files.length < found.total ? `\n(The newest ${found.files.length} are named here; ask for a folder or a kind of files to see others.)` : '';
  return `${how === 'any' ? 'Yes: there' : 'There'} ${found.total === 1 ? 'is' : 'are'} ${total}:\n${listed(names)}${note}`;
}

export function* folders(ctx: Context, { folder, how }: Of<'folders'>): Job<string> {
  const set: FileSet = { names: '*', folder, deep: true, path: false };
  const found = yield* allFiles(ctx, set);
  const inside = folder !== null && ctx.cwd !== null && folder.startsWith(`${ctx.cwd}/`) ? folder.slice(ctx.cwd.length + 1) : folder;
  const prefix = inside === null ? '' : `${inside}/`;
  const names = inOrder([...new Set(found.files.filter((f) => f.startsWith(prefix)).map((f) => f.slice(prefix.length)).filter((f) => f.includes('/') && !f.startsWith('/')).map((f) => f.slice(0, f.indexOf('/'))))]);
  const hint = 'Folders without files are not seen.';
  const some = found.whole ? '' : 'at least ';
  const place = folder === null ? 'in this folder' : `in ${folder}`;
  if (names.length === 0) return `There is no folder with files ${place}. ${hint}`;
  return how === 'count' ? `There ${names.length === 1 && found.whole ? 'is' : 'are'} ${some}${count(names.length, 'folder')} directly ${place}. ${hint}` : `There ${names.length === 1 && found.whole ? 'is' : 'are'} ${some}${count(names.length, 'folder')} directly ${place}:\n${listed(names.map((n) => `${prefix}${n}/`))}\n${hint}`;
}

export function them(ctx: Context, { how }: Of<'them'>): string {
  if (ctx.files.length === 0) return 'No files were spoken of before, so it is not clear which are meant.';
  return how === 'count' ? `${count(ctx.files.length, 'file')}.` : listed(ctx.files);
}

export function* exists(ctx: Context, { path, folder, kind }: Of<'exists'>): Job<string> {
  const name = path.replace(/^\.\//, '').replace(/\/+$/, '');
  const literal = name.replace(/[*?[\]{}\\]/g, '\\$&');
  const inside = folder === null ? '' : ` in ${folder}`;
  const base = folder === null ? {} : { path: folder };
  const asFolder = function* (): Job<Listed> {
    const outcome = yield* askOne(ctx, 'Glob', { pattern: `${literal}/**`, ...base });
    return outcome.failed ? { files: [], total: 0, whole: true, atLeast: false } : parseGlob(outcome.text);
  };
  if (kind === 'folder' || path.endsWith('/')) {
    const found = yield* asFolder();
    return found.total > 0 ? `Yes: the folder ${name}${inside} is there, with ${found.atLeast ? 'at least ' : ''}${count(found.total, 'file')} in it.` : `No: there is no folder ${name}${inside} with files in it. (An empty one would not be seen.)`;
  }
  const outcome = yield* askOne(ctx, 'Glob', { pattern: name.includes('/') || name.startsWith('..') ? literal : `**/${literal}`, ...base });
  if (outcome.failed && !/\bthere is no folder\b/.test(outcome.text)) throw new Impossible(failure(outcome, sorry(name)));
  const found = outcome.failed ? { files: [], total: 0 } : parseGlob(outcome.text);
  const whole = folder === null ? name : `${folder}/${name}`;
  const exact = found.files.filter((f) => f === whole || (name.includes('/') && f.endsWith(`/${whole}`)));
  ctx.files = inOrder(exact.length > 0 ? exact : found.files);
  const others = inOrder(found.files.filter((f) => !exact.includes(f)));
  if (exact.length > 0) return `Yes: ${exact[0]} exists.${others.length > 0 ? ` So do ${others.join(', ')}.` : ''}`;
  if (found.total > 0) return `Not directly${inside || ' in this folder'}, but below it: ${others.join(', ')}.`;
  if (kind === null && !/\.\w+$/.test(name)) {
    const there = yield* asFolder();
    if (there.total > 0) return `Yes: ${name}${inside} is a folder, with ${count(there.total, 'file')} in it.`;
  }
  return `No: there is no ${name}${inside}${folder === null ? ', neither in this folder nor in those below it' : ''}.`;
}

export function* extreme(ctx: Context, { by, most, set, n }: Of<'extreme'>): Job<string> {
  const where = describe(set);
  if (by === 'time') {
    const found = yield* glob(ctx, set);
    if (found.total === 0) return `There is no file ${where}.`;
    if (!most && !found.whole) return `There are ${found.total} files ${where}; only the newest are named, so the oldest cannot be told. Ask about a smaller folder.`;
    const chosen = most ? found.files.slice(0, n) : [...found.files].reverse().slice(0, n);
    ctx.files = chosen;
    return n === 1 ? `The ${most ? 'newest' : 'oldest'} file ${where} is ${chosen[0]} (by the time of its last change).` : `The ${chosen.length} ${most ? 'newest' : 'oldest'} files ${where} (by the time of their last change):\n${listed(chosen)}`;
  }
  const { sizes, note, unit } = by === 'bytes' ? yield* bytesOf(ctx, set) : { ...(yield* linesOf(ctx, set)), unit: 'line' };
  if (sizes.length === 0) return `There is no file ${where}.${note}`;
  const sorted = [...sizes].sort((a, b) => (most ? b.n - a.n : a.n - b.n) || (a.file < b.file ? -1 : 1));
  const chosen = sorted.slice(0, n);
  ctx.files = chosen.map((s) => s.file);
  const adjective = unit === 'byte' ? (most ? 'largest' : 'smallest') : most ? 'longest' : 'shortest';
  const ties = n === 1 ? sorted.filter((s) => s.n === chosen[0]!.n).slice(1) : [];
  const equal = ties.length === 0 ? '' : ` Just as ${unit === 'byte' ? (most ? 'large' : 'small') : most ? 'long' : 'short'}: ${ties.map((t) => t.file).join(', ')}.`;
  return n === 1 ? `The ${adjective} file ${where} is ${chosen[0]!.file}, with ${count(chosen[0]!.n, unit)}.${equal}${note}` : `The ${chosen.length} ${adjective} files ${where}:\n${listed(chosen.map((s) => `${s.file}: ${count(s.n, unit)}`))}${note}`;
}

interface Size { readonly file: string; readonly n: number }
/** No tool but a command tells sizes. Where it may not run, lines are counted instead, and that is said. */
function* bytesOf(ctx: Context, set: FileSet): Job<{ readonly sizes: readonly Size[]; readonly note: string; readonly unit: string }> {
  if (!ctx.tools.has('Bash')) return { ...(yield* linesOf(ctx, set, ' (Measured in lines: bytes need the tool Bash, which is not offered here.)')), unit: 'line' };
  const found = yield* allFiles(ctx, set);
  if (found.total === 0) return { sizes: [], note: '', unit: 'byte' };
  if (!found.whole) return { ...(yield* linesOf(ctx, set, ` (Measured in lines: there are too many files to ask for the bytes of each.)`)), unit: 'line' };
  const sizes: Size[] = [];
  for (let at = 0; at < found.files.length; at += 100) {
    const part = found.files.slice(at, at + 100);
    const outcome = yield* askOne(ctx, 'Bash', { command: `wc -c -- ${part.map(quoted).join(' ')}`, description: 'Count the bytes of files' });
    if (outcome.failed) return { ...(yield* linesOf(ctx, set, ` (Measured in lines. ${failure(outcome, 'Counting bytes')})`)), unit: 'line' };
    for (const line of outcome.text.split('\n')) {
      const row = /^\s*(\d+) (.*)$/.exec(line);
      if (row !== null && part.includes(row[2]!)) sizes.push({ file: row[2]!, n: Number(row[1]) });
    }
  }
  const missed = found.files.length - sizes.length;
  return { sizes, note: missed === 0 ? '' : ` (${count(missed, 'file')} could not be measured.)`, unit: 'byte' };
}
export const quoted = (path: string): string => (/^[\w./@+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);

function* linesOf(ctx: Context, set: FileSet, why = ''): Job<{ readonly sizes: readonly Size[]; readonly note: string }> {
  const { sizes, note } = yield* countLines(ctx, { set });
  return { sizes, note: `${why}${note}` };
}

/** Lines of each file that has any; pages until all are there. */
export function* countLines(ctx: Context, where: { readonly path?: string | undefined; readonly set?: FileSet | undefined }): Job<{ readonly sizes: readonly Size[]; readonly total: number; readonly note: string }> {
  const sizes: Size[] = [];
  let offset = 0;
  for (;;) {
    const { text } = yield* need(ctx, 'Grep', { pattern: '^', output_mode: 'count', head_limit: 0, ...grepPlace(where), ...(offset === 0 ? {} : { offset }) }, 'counting lines');
    if (/^No matches: the file is binary/m.test(text)) throw new Impossible('This file is binary: it has no lines.');
    const found = parseGrep(text);
    sizes.push(...found.entries.flatMap((e) => countEntry(e) ?? []));
    if (found.next === null || found.next <= offset) {
      const limits = found.limits.length === 0 ? '' : ` (At least: ${found.limits.join('; ')}.)`;
      return { sizes, total: sizes.reduce((n, s) => n + s.n, 0), note: limits };
    }
    offset = found.next;
  }
}

/** Where Grep is to look. */
export function grepPlace({ path, set }: { readonly path?: string | undefined; readonly set?: FileSet | undefined }): Readonly<Record<string, string>> {
  if (path !== undefined) return { path };
  if (set === undefined) return {};
  const glob = set.path || !set.deep ? `/${set.names.replace(/^\//, '')}` : set.names;
  return { ...(set.folder === null ? {} : { path: set.folder }), ...(glob === '*' ? {} : { glob }) };
}
