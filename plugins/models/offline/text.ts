/** Jobs about what stands in files: showing, counting, searching. */
import { describe } from './file-set.ts';
import { IT } from './intents.ts';
import type { Intent, Lines, Sought, Where } from './intents.ts';
import { askOne, failure, Impossible, need } from './job.ts';
import type { Context, Job, Outcome } from './job.ts';
import { countLines, grepPlace, quoted } from './files.ts';
import { lineEntry, parseGlob, parseGrep, parseRead } from './results.ts';
import type { Shown } from './results.ts';
import { count, fenced, inOrder, listed } from './wording.ts';

type Of<K extends Intent['do']> = Extract<Intent, { readonly do: K }>;
const MOST_PAGES = 30;

/** What `it` means; several files where several were spoken of. */
function meant(ctx: Context, file: string): readonly string[] {
  if (file !== IT) return [file];
  if (ctx.files.length === 0) throw new Impossible('No file was spoken of before, so it is not clear which is meant. Name it.');
  return ctx.files;
}
export function oneMeant(ctx: Context, file: string): string {
  const files = meant(ctx, file);
  if (files.length > 1) throw new Impossible(`${count(files.length, 'file')} were spoken of, and one is needed: name it.`);
  return files[0]!;
}

/** A call on one file; where the name leads nowhere, the file of that name is looked for. */
function* onFile(ctx: Context, file: string, call: (path: string) => Job<Outcome>, what: string): Job<{ readonly path: string; readonly outcome: Outcome }> {
  const outcome = yield* call(file);
  if (!outcome.failed) return { path: file, outcome };
  if (!/\bthere is no\b|\bdoes not exist\b|\bno such file\b/i.test(outcome.text) || file.includes('/') || !ctx.tools.has('Glob')) throw new Impossible(failure(outcome, what));
  const bare = !file.includes('.');
  const name = bare ? [...file].map((c) => (/[a-z]/i.test(c) ? `[${c.toLowerCase()}${c.toUpperCase()}]` : c)).join('') : file.replace(/[*?[\]{}\\]/g, '\\$&');
  const search = yield* askOne(ctx, 'Glob', { pattern: `**/${bare ? `${name}{,.*}` : name}` });
  const found = search.failed ? [] : inOrder(parseGlob(search.text).files);
  const top = found.filter((f) => !f.includes('/'));
  const chosen = found.length === 1 ? found[0] : top.length === 1 ? top[0] : undefined;
  if (chosen === undefined) throw new Impossible(found.length === 0 ? failure(outcome, what) : `There is no ${file} here, but there ${found.length === 1 ? 'is' : 'are'} ${found.slice(0, 20).join(', ')}. Say which.`);
  const again = yield* call(chosen);
  if (again.failed) throw new Impossible(failure(again, what));
  return { path: chosen, outcome: again };
}

export interface FileText { readonly path: string; readonly shown: Shown }
/** All lines of a file, page after page. */
export function* wholeText(ctx: Context, file: string): Job<FileText> {
  const { path, outcome } = yield* onFile(ctx, file, (p) => askOne(ctx, 'Read', { file_path: p }), `reading ${file}`);
  let shown = parseRead(outcome.text);
  if (shown.other !== null) return { path, shown };
  const lines = [...shown.lines];
  for (let page = 1; page < MOST_PAGES && lines.length < shown.total; page++) {
    const next = parseRead((yield* need(ctx, 'Read', { file_path: path, offset: lines.length + 1, limit: 2000 }, `reading on in ${path}`)).text);
    if (next.lines.length === 0) break;
    lines.push(...next.lines);
    shown = { ...shown, cutLines: shown.cutLines || next.cutLines };
  }
  return { path, shown: { ...shown, lines, whole: lines.length === shown.total } };
}

export function* read(ctx: Context, { files, lines }: Of<'read'>): Job<string> {
  const answers: string[] = [];
  const paths: string[] = [];
  for (const file of files.flatMap((f) => meant(ctx, f)).slice(0, 20)) {
    const { path, text } = yield* readOne(ctx, file, lines);
    paths.push(path);
    answers.push(text);
  }
  ctx.files = paths;
  return answers.join('\n\n');
}
function* readOne(ctx: Context, file: string, lines: Lines | null): Job<{ readonly path: string; readonly text: string }> {
  const range = lines === null || lines.from < 0 ? {} : { offset: lines.from, ...(lines.to === null ? {} : { limit: lines.to - lines.from + 1 }) };
  const { path, outcome } = yield* onFile(ctx, file, (p) => askOne(ctx, 'Read', { file_path: p, ...range }), `reading ${file}`);
  let shown = parseRead(outcome.text);
  if (shown.other !== null) return { path, text: `${path}:\n\n${shown.other}` };
  if (shown.total === 0) return { path, text: `${path} is empty.` };
  if (lines !== null && lines.from < 0) {
    if (Number.isNaN(shown.total)) throw new Impossible(`${path} is too large to know where its last lines are; with Bash, \`tail\` would show them.`);
    const from = Math.max(1, shown.total + lines.from + 1);
    if (!shown.whole) shown = parseRead((yield* need(ctx, 'Read', { file_path: path, offset: from }, `reading ${path}`)).text);
    shown = { ...shown, lines: shown.lines.slice(Math.max(0, from - shown.first)), first: Math.max(from, shown.first) };
  }
  if (shown.lines.length === 0) return { path, text: `${path} has ${count(shown.total, 'line')}; there is no line ${lines?.from ?? 1}.` };
  const last = shown.first + shown.lines.length - 1;
  const all = shown.first === 1 && last === shown.total;
  const which = shown.first === last ? `line ${last}` : `lines ${shown.first}-${last}`;
  const more = all || lines !== null ? '' : ` There is more: ask for lines ${last + 1}-${Number.isNaN(shown.total) ? last + 500 : Math.min(shown.total, last + 500)} of ${path}.`;
  return { path, text: `${path}${all ? ` (${count(shown.total, 'line')})` : `, ${which}${Number.isNaN(shown.total) ? '' : ` of ${shown.total}`}`}:${more}\n\n${fenced(shown.lines.join('\n'))}${shown.cutLines ? '\nLong lines are cut.' : ''}` };
}

export function* lines(ctx: Context, { files, where }: Of<'lines'>): Job<string> {
  const named = where?.them === true ? [...meant(ctx, IT)] : files.flatMap((f) => meant(ctx, f));
  if (where !== null && where.them !== true) {
    const { sizes, total, note } = yield* countLines(ctx, where);
    const what = where.path ?? `The files ${where.set === undefined ? 'in this folder and the folders below it' : describe(where.set)}`;
    const parts = sizes.length > 1 && sizes.length <= 30 ? `\n${listed(sizes.map((s) => `${s.file}: ${s.n}`))}` : '';
    return `${what} ${where.path === undefined ? 'have' : 'has'} ${count(total, 'line')}${sizes.length === 1 && where.path === sizes[0]!.file ? '' : ` in ${count(sizes.length, 'file')} that ${sizes.length === 1 ? 'is' : 'are'} not empty`}.${note}${parts}`;
  }
  const rows: { readonly file: string; readonly n: number }[] = [];
  for (const file of named) {
    const { path, outcome } = yield* onFile(ctx, file, (p) => (ctx.tools.has('Grep') ? askOne(ctx, 'Grep', { pattern: '^', path: p, output_mode: 'count', head_limit: 0 }) : askOne(ctx, 'Read', { file_path: p })), `counting the lines of ${file}`);
    if (outcome.call.name === 'Read') {
      const shown = parseRead(outcome.text);
      if (shown.other !== null || Number.isNaN(shown.total)) throw new Impossible(`The lines of ${path} cannot be counted with Read alone.`);
      rows.push({ file: path, n: shown.total });
    } else if (/^No matches: the file is binary/m.test(outcome.text)) throw new Impossible(`${path} is binary: it has no lines.`);
    else {
      const found = parseGrep(outcome.text);
      const total = found.lines ?? 0;
      if (found.limits.length > 0) throw new Impossible(`${path} has at least ${count(total, 'line')}: ${found.limits.join('; ')}.`);
      rows.push({ file: path, n: total });
    }
  }
  ctx.files = rows.map((r) => r.file);
  if (rows.length === 1) return `${rows[0]!.file} has ${count(rows[0]!.n, 'line')}.`;
  return `${listed(rows.map((r) => `${r.file}: ${count(r.n, 'line')}`))}\nTogether: ${count(rows.reduce((n, r) => n + r.n, 0), 'line')}.`;
}

export function* textSize(ctx: Context, { file, unit }: Of<'text size'>): Job<string> {
  const name = oneMeant(ctx, file);
  if (unit === 'bytes') {
    const { path, outcome } = yield* onFile(ctx, name, (p) => askOne(ctx, 'Bash', { command: `wc -c -- ${quoted(p)}`, description: 'Count the bytes of a file' }), `counting the bytes of ${name}`);
    ctx.files = [path];
    const n = /^\s*(\d+)/.exec(outcome.text)?.[1];
    if (n === undefined) throw new Impossible(failure(outcome, `counting the bytes of ${path}`));
    return `${path} has ${count(Number(n), 'byte')}.`;
  }
  const { path, shown } = yield* wholeText(ctx, name);
  ctx.files = [path];
  if (shown.other !== null || !shown.whole || shown.cutLines) throw new Impossible(`${path} cannot be shown whole, so its ${unit} cannot be counted.`);
  const n = unit === 'words' ? shown.lines.reduce((sum, l) => sum + (l.match(/\S+/g)?.length ?? 0), 0) : shown.lines.reduce((sum, l) => sum + [...l].length, 0);
  return unit === 'words' ? `${path} has ${count(n, 'word')}.` : `${path} has ${count(n, 'character')}, line ends not counted.`;
}

export function* search(ctx: Context, { sought, where, how }: Of<'search'>): Job<string> {
  const places = where.them === true ? meant(ctx, IT).map((path): Where => ({ path })) : [where];
  const place = where.them === true ? (places.length === 1 ? ` in ${places[0]!.path}` : ` in the ${places.length} files`) : where.path !== undefined ? ` in ${where.path}` : where.set !== undefined ? ` in the files ${describe(where.set)}` : '';
  const [entries, limits, sums] = [[] as string[], new Set<string>(), { lines: 0, files: 0 }];
  for (const one of places) {
    const found = yield* grep(ctx, sought, one, how);
    entries.push(...found.entries);
    sums.lines += found.lines;
    sums.files += found.files;
    for (const l of found.limits) limits.add(l);
  }
  const note = limits.size === 0 ? '' : `\n(At least: ${[...limits].join('; ')}.)`;
  const some = limits.size === 0 ? '' : 'at least ';
  const cased = sought.ignoreCase ? ', upper or lower case' : '';
  switch (how) {
    case 'files': case 'count files':
      ctx.files = inOrder(entries);
      if (entries.length === 0) return `No file${place} has ${sought.shown}${cased}.${note}`;
      return how === 'files' ? `${some === '' ? '' : 'At least '}${count(entries.length, 'file')}${place} ${entries.length === 1 ? 'has' : 'have'} ${sought.shown}${cased}:\n${listed(inOrder(entries))}${note}` : `${sought.shown}${cased} stands in ${some}${count(entries.length, 'file')}${place}.${note}`;
    case 'count lines':
      return `${sought.shown}${cased} stands in ${some}${count(sums.lines, 'line')}${place}${sums.files > 1 ? ` (${sums.files} files)` : ''}.${note}`;
    case 'count times': {
      const byFile = new Map<string, number>();
      for (const e of entries) { const file = lineEntry(e)?.file; if (file !== undefined) byFile.set(file, (byFile.get(file) ?? 0) + 1); }
      ctx.files = [...byFile.keys()];
      const parts = byFile.size > 1 && byFile.size <= 30 ? `\n${listed([...byFile].map(([file, n]) => `${file}: ${n}`))}` : '';
      return `${sought.shown}${cased} occurs ${some}${count(entries.length, 'time')}${place}${byFile.size > 1 ? ` (in ${byFile.size} files)` : ''}.${note}${parts}`;
    }
    case 'lines': {
      const files = [...new Set(entries.flatMap((e) => lineEntry(e)?.file ?? []))];
      ctx.files = files;
      if (entries.length === 0) return `Nothing${place} has ${sought.shown}${cased}.${note}`;
      return `${some === '' ? '' : 'At least '}${count(entries.length, 'line')} in ${count(files.length, 'file')}${place} ${entries.length === 1 ? 'has' : 'have'} ${sought.shown}${cased}:\n${fenced([...entries.slice(0, 300), ...(entries.length > 300 ? [`… and ${entries.length - 300} more`] : [])].join('\n'))}${note}`;
    }
  }
}

interface Hits { readonly entries: readonly string[]; readonly lines: number; readonly files: number; readonly limits: readonly string[] }
function* grep(ctx: Context, sought: Sought, where: Where, how: Of<'search'>['how']): Job<Hits> {
  const mode = how === 'files' || how === 'count files' ? 'files_with_matches' : how === 'count lines' ? 'count' : 'content';
  const input = { pattern: sought.regex, output_mode: mode, head_limit: 0, ...(sought.ignoreCase ? { '-i': true } : {}), ...(how === 'count times' ? { '-o': true } : {}), ...grepPlace(where) };
  const entries: string[] = [];
  const limits: string[] = [];
  for (let [offset, n] = [0, 1]; ; n++) {
    const page = { ...input, ...(offset === 0 ? {} : { offset }) };
    const what = `searching for ${sought.shown}`;
    const outcome = where.path !== undefined && offset === 0 ? (yield* onFile(ctx, where.path, (path) => askOne(ctx, 'Grep', { ...page, path }), what)).outcome : yield* need(ctx, 'Grep', page, what);
    const found = parseGrep(outcome.text);
    entries.push(...found.entries);
    limits.push(...found.limits);
    if (found.next !== null && n === MOST_PAGES) limits.push(`more than ${n} pages of results`);
    if (found.next === null || found.next <= offset || mode === 'count' || n === MOST_PAGES) return { entries, limits, lines: found.lines ?? 0, files: found.files ?? entries.length };
    offset = found.next;
  }
}
