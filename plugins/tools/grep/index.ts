/** Searches in files: contents by pattern, along ignore files, in bounded time. */
import { basename, join } from 'node:path';
import { definePlugin, defineTool, messageOf, z } from 'tappet/kernel';
import { absolute, codeOf, compileGlob, createTimeBox, decodeText, hiddenByRules, judgedPaths, matchPath, pathSubject, readBounded, shownPath, specPath, suggestForPaths, walk } from 'tappet/kit';
import type { Found } from 'tappet/kit';
import type { FsLike, ToolResult, ToolUseContext } from 'tappet/schemas';
import { createSearchAggregator } from './aggregator.ts';
import { add, contentLines, newListing } from './listing.ts';
import type { PageSize } from './listing.ts';
import { compileSearch } from './pattern.ts';
import type { SearchPattern } from './pattern.ts';
import { scanTexts } from './scan.ts';
import { fileType, typeNames } from './types.ts';

const options = () => z.object({
  headLimit: z.number().int().positive().default(250).describe('entries that a call shows where it says nothing else'),
  maxChars: z.number().int().positive().default(60_000).describe('characters that one call shows'),
  timeoutMs: z.number().int().positive().default(20_000).describe('milliseconds after which a search ends with what it has found'),
});
type Limits = z.infer<ReturnType<typeof options>>;

const lines = (what: string) => z.number().int().min(0).optional().describe(what);
const input = () => z.object({
  pattern: z.string().min(1).describe('regular expression, in ripgrep\'s spelling'),
  path: z.string().min(1).optional().describe('file or folder; left out: the working folder'),
  glob: z.string().min(1).optional().describe('names to search, such as *.{ts,tsx}; !name leaves out'),
  type: z.string().min(1).optional().describe('file type, such as ts, py, rust'),
  output_mode: z.enum(['content', 'files_with_matches', 'count']).optional().describe('left out: files_with_matches'),
  '-A': lines('lines after a match'),
  '-B': lines('lines before a match'),
  '-C': lines('lines before and after'),
  context: lines('the same as -C'),
  '-n': z.boolean().optional().describe('line numbers; left out: true'),
  '-i': z.boolean().optional().describe('upper and lower case are the same'),
  '-o': z.boolean().optional().describe('only what matches, not its line'),
  head_limit: lines('entries to show; 0: all; left out: 250'),
  offset: lines('entries to skip'),
  multiline: z.boolean().optional().describe('matches may cross lines'),
});
type Input = z.infer<ReturnType<typeof input>>;
type Mode = NonNullable<Input['output_mode']>;
type Output =
  | {
    readonly mode: Mode; readonly filenames: readonly string[]; readonly numFiles: number; readonly content: string; readonly numLines: number; readonly numMatches: number;
    readonly appliedLimit?: number | undefined; readonly appliedOffset?: number | undefined; readonly timedOut: boolean; readonly notices: readonly string[];
  }
  | { readonly error: string };

export default definePlugin({
  name: 'tools/grep',
  api: 1,
  options,
  apply({ registries, services, options: limits }) {
    services.provide('searchAggregator', createSearchAggregator);
    const judged = judgedPaths();
    registries.tools.add(defineTool<z.ZodType<Input>, Output>({
      name: 'Grep',
      description: 'Searches file contents with a regular expression. output_mode chooses file names (default), the lines, or counts. Leaves out binary files and what .gitignore names, unless path is itself ignored.',
      inputSchema: input,
      isReadOnly: true,
      isConcurrencySafe: true,
      maxResultSizeChars: limits.maxChars + 10_000, // it pages by itself
      subjects: async (args, { fs, cwd, home }) => judged.note(args, await pathSubject(fs, cwd, args.path ?? '.', 'read', home)),
      matches: matchPath,
      fromSpec: (spec) => ({ pattern: '.', path: specPath(spec) }),
      suggest: (_args, subjects, place) => suggestForPaths(subjects, place, 'folder'),
      render: (data) => ('error' in data ? data.error : [...(data.content === '' ? [] : [data.content]), ...data.notices].join('\n')),
      call: async (args, context) => {
        const root = absolute(context.cwd, args.path ?? '.', context.home);
        const found = await judged.find(args, context.fs, root);
        if ('wrong' in found) return wrong(found.wrong);
        const stat = await context.fs.stat(found.real).catch((e: unknown) => { if (NOT_THERE.has(codeOf(e) ?? '')) return null; throw e; });
        if (stat === null) return wrong(`there is no ${root}. The working folder is ${context.cwd}`);
        if (!stat.isDirectory() && !stat.isFile()) return wrong(`${root} is no regular file (a pipe, a socket or a device)`);
        const search = await readWords(args, context.cwd, root);
        if ('error' in search) return wrong(search.error);
        try { return await searchFiles({ args, root, real: found.real, isFile: stat.isFile(), ...search }, limits, context); } catch (e) {
          if (codeOf(e) === 'E_PATTERN_SLOW') return wrong(messageOf(e));
          throw e;
        }
      },
    }));
  },
});
const NOT_THERE = new Set(['ENOENT', 'ENOTDIR', 'EACCES']);

interface Search { readonly args: Input; readonly root: string; readonly real: string; readonly isFile: boolean; readonly pattern: SearchPattern; wanted(way: string): boolean; descends(way: string): boolean }

/** The pattern and the choice of files, or what is wrong with them. */
async function readWords(args: Input, cwd: string, root: string): Promise<Pick<Search, 'pattern' | 'wanted' | 'descends'> | { readonly error: string }> {
  let pattern: SearchPattern;
  try { pattern = compileSearch(args.pattern, { ignoreCase: args['-i'], multiline: args.multiline }); } catch (e) { return { error: `this pattern can't be used: ${messageOf(e)}` }; }
  const type = args.type === undefined ? () => true : fileType(args.type);
  if (type === null) return { error: `there is no file type "${args.type}"; known are ${typeNames().join(' ')}` };
  const words = args.glob?.split(/\s+|,(?![^{]*\})/).filter((word) => word !== '') ?? [];
  try {
    const [only, not] = await Promise.all([words.filter((w) => !w.startsWith('!')), words.filter((w) => w.startsWith('!')).map((w) => w.slice(1))]
      .map((globs) => Promise.all(globs.map((glob) => compileGlob(glob, { anyDepth: true })))));
    const fromCwd = shownPath(cwd, root);
    const matches = (globs: typeof only, way: string) => globs!.some((glob) => glob.matches(way) || glob.matches(`${fromCwd}/${way}`)); // models write both
    return {
      pattern,
      wanted: (way) => type(basename(way)) && (only!.length === 0 || matches(only, way)) && !matches(not, way),
      descends: (way) => !matches(not, way),
    };
  } catch (e) {
    return { error: `the glob "${args.glob}" can't be used: ${messageOf(e)}` };
  }
}

const BATCH = 16;
const MAX_FILE = 16_000_000;
/** After so many files in which the pattern was given up, it is given up. */
const MAX_SLOW = 3;

async function searchFiles(search: Search, limits: Limits, context: ToolUseContext): Promise<ToolResult<Output>> {
  const { args, root, pattern } = search;
  const { cwd, signal } = context;
  const mode = args.output_mode ?? 'files_with_matches';
  const limit = args.head_limit ?? limits.headLimit;
  const page: PageSize = { offset: args.offset ?? 0, limit: limit === 0 ? Infinity : limit, maxChars: limits.maxChars };
  const around = { before: args['-B'] ?? args.context ?? args['-C'] ?? 0, after: args['-A'] ?? args.context ?? args['-C'] ?? 0, numbers: args['-n'] ?? true, onlyMatches: args['-o'] ?? false };
  const scanning = { pattern, onlyMatches: mode === 'content' && around.onlyMatches, firstOnly: mode === 'files_with_matches' };
  const isHidden = hiddenByRules(context.getAppState().toolPermissionContext.rules, ['Read', 'Grep'], context);
  const ends = performance.now() + limits.timeoutMs;
  const listing = newListing();
  const filenames: string[] = [];
  const slow: string[] = [];
  const seen = { matches: 0, large: 0, unreadable: 0, binary: 0 };
  const box = await createTimeBox();
  const late = () => performance.now() > ends;

  const look = async (files: readonly Found[]): Promise<void> => {
    const texts = await Promise.all(files.map((file) => readText(context.fs, file.path)));
    const readable = texts.flatMap((text, i) => (typeof text === 'string' ? [] : [{ ...text, file: files[i]! }]));
    for (const text of texts) if (typeof text === 'string') seen[text]++;
    const scanned = await scanTexts(readable.map((r) => r.text), scanning, box, signal);
    for (const [i, hits] of scanned.entries()) {
      const { file, text, cut } = readable[i]!;
      const path = search.isFile ? root : join(root, file.way);
      const name = shownPath(cwd, path);
      if (cut) seen.large++;
      if (hits?.length === 0 || isHidden(path, file.path)) continue; // not even its name: that it matches would tell of what is in it
      if (hits === null) { slow.push(name); continue; }
      filenames.push(name);
      seen.matches += hits.length;
      if (mode === 'content') for (const line of contentLines(name, text, hits, around)) { add(listing, line, page); if (listing.more) break; }
      else add(listing, mode === 'count' ? `${name}:${hits.length}` : name, page);
    }
  };
  let timedOut = false;
  for await (const batch of batches(search, context, () => seen.unreadable++)) {
    if (timedOut = late()) break;
    await look(batch);
    if (slow.length >= MAX_SLOW || (listing.more && mode !== 'count')) break;
  }
  if (slow.length >= MAX_SLOW && filenames.length === 0) return wrong(`this pattern takes too long, for example in ${slow[0]}. Make it simpler: no repetition within a repetition`);
  const notices = whatToSay();
  return {
    data: {
      mode, filenames: mode === 'files_with_matches' ? listing.lines : filenames, numFiles: filenames.length, content: listing.lines.join('\n'), numLines: listing.lines.length, numMatches: seen.matches,
      ...(listing.more ? { appliedLimit: listing.lines.length } : {}), ...(page.offset > 0 ? { appliedOffset: page.offset } : {}), timedOut, notices,
    },
  };

  function whatToSay(): string[] {
    const nothing = filenames.length === 0 ? [search.isFile && seen.binary > 0 ? 'No matches: the file is binary.' : 'No matches.'] : listing.lines.length === 0 ? [`[offset ${page.offset} is past the last entry]`] : [];
    const hint = context.turnId === undefined ? null : context.searchAggregator?.sample(context.turnId, args.pattern, seen.matches) ?? null;
    const count = (n: number, what: string) => `${n} ${what}${n === 1 ? '' : 's'}`;
    return [
      ...nothing,
      ...(mode === 'count' && filenames.length > 0 ? [`[${count(seen.matches, 'matching line')} in ${count(filenames.length, 'file')}]`] : []),
      ...(listing.more ? [`[there is more: offset ${page.offset + listing.lines.length} goes on]`] : []),
      ...(timedOut ? [`[stopped after ${limits.timeoutMs / 1000} s: there may be more; search a smaller folder]`] : []),
      ...(slow.length > 0 ? [`[the pattern took too long in ${slow.join(', ')}${slow.length >= MAX_SLOW ? ', and the search ended there' : ''}]`] : []),
      ...(seen.large > 0 ? [`[${count(seen.large, 'file')} searched in the first ${MAX_FILE / 1_000_000} MB only]`] : []),
      ...(seen.unreadable > 0 ? [`[${seen.unreadable} files or folders could not be read]`] : []),
      ...(hint === null ? [] : [hint]),
    ];
  }
}

/** Files to look into, some at a time. Links are not followed: what they lead to is found where it is. */
async function* batches({ root, real, isFile, wanted, descends }: Search, { fs, signal }: ToolUseContext, onUnreadable: () => void): AsyncGenerator<readonly Found[]> {
  if (isFile) { yield [{ path: real, way: basename(root), isLink: false }]; return; }
  let batch: Found[] = [];
  for await (const files of walk(fs, real, { signal, descends, onUnreadable })) {
    for (const file of files) {
      if (file.isLink || !wanted(file.way)) continue;
      batch.push(file);
      if (batch.length === BATCH) { yield batch; batch = []; }
    }
  }
  if (batch.length > 0) yield batch;
}

const UNREADABLE = new Set(['EACCES', 'EPERM', 'ENOENT', 'EIO', 'EISDIR', 'E_FILE_MOVED', 'E_FILE_SPECIAL']);
async function readText(fs: FsLike, real: string): Promise<{ readonly text: string; readonly cut: boolean } | 'binary' | 'unreadable'> {
  try {
    const { bytes, cut } = await readBounded(fs, real, MAX_FILE);
    if (bytes[0] === 0xff || bytes[0] === 0xfe) { // perhaps two bytes for each character
      const wide = await decodeText(bytes);
      return wide === null ? 'binary' : { text: wide.text, cut };
    }
    if (bytes.subarray(0, 8192).includes(0)) return 'binary';
    return { text: bytes.toString('utf8', bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0), cut };
  } catch (e) {
    if (UNREADABLE.has(codeOf(e) ?? '')) return 'unreadable';
    throw e;
  }
}

const wrong = (error: string): ToolResult<Output> => ({ data: { error }, isError: true });
