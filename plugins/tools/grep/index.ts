/** Searches in files: contents by pattern, along ignore files, in bounded time. */
import { basename } from 'node:path';
import { definePlugin, defineTool, messageOf, z } from 'tappet/kernel';
import { absolute, codeOf, compileGlob, judgedPaths, matchPath, pathSubject, shownPath, specPath, suggestForPaths } from 'tappet/kit';
import type { ToolResult } from 'tappet/schemas';
import { createSearchAggregator } from './aggregator.ts';
import { compileSearch } from './pattern.ts';
import type { SearchPattern } from './pattern.ts';
import { searchFiles } from './search.ts';
import type { Found, Search } from './search.ts';
import { fileType, typeNames } from './types.ts';

const options = () => z.object({
  headLimit: z.number().int().positive().default(250).describe('entries that a call shows where it says nothing else'),
  maxChars: z.number().int().positive().default(60_000).describe('characters that one call shows'),
  timeoutMs: z.number().int().positive().default(20_000).describe('milliseconds after which a search ends with what it has found'),
});

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
type Output = Found | { readonly error: string };

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
        const words = await readWords(args, context.cwd, root);
        if ('error' in words) return wrong(words.error);
        const around = args.context ?? args['-C'] ?? 0;
        const search: Search = {
          root, real: found.real, isFile: stat.isFile(), query: args.pattern, mode: args.output_mode ?? 'files_with_matches', ...words,
          offset: args.offset ?? 0, limit: (args.head_limit ?? limits.headLimit) || Infinity, maxChars: limits.maxChars, timeoutMs: limits.timeoutMs,
          around: { before: args['-B'] ?? around, after: args['-A'] ?? around, numbers: args['-n'] ?? true, onlyMatches: args['-o'] ?? false },
        };
        try { return { data: await searchFiles(search, context) }; } catch (e) {
          if (codeOf(e) === 'E_PATTERN_SLOW') return wrong(messageOf(e));
          throw e;
        }
      },
    }));
  },
});
const NOT_THERE = new Set(['ENOENT', 'ENOTDIR', 'EACCES']);

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

const wrong = (error: string): ToolResult<Output> => ({ data: { error }, isError: true });
