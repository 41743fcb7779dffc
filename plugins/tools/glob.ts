/** Finds files by their names, newest first. */
import { join } from 'node:path';
import { definePlugin, defineTool, messageOf, z } from 'tappet/kernel';
import { absolute, codeOf, compileGlob, hiddenByRules, judgedPaths, matchPath, pathSubject, shownPath, specPath, splitGlob, suggestForPaths, walk } from 'tappet/kit';
import type { Found } from 'tappet/kit';
import type { FsLike, ToolResult, ToolUseContext } from 'tappet/schemas';

const options = () => z.object({
  maxFiles: z.number().int().positive().default(100).describe('files that one call names'),
  timeoutMs: z.number().int().positive().default(20_000).describe('milliseconds after which a search ends with what it has found'),
});
type Limits = z.infer<ReturnType<typeof options>>;

const input = () => z.object({
  pattern: z.string().min(1).describe('such as src/**/*.{ts,tsx}; * stays in one folder, ** crosses'),
  path: z.string().min(1).optional().describe('folder to search; left out: the working folder'),
});
type Input = z.infer<ReturnType<typeof input>>;
type Output =
  | { readonly filenames: readonly string[]; readonly numFiles: number; readonly durationMs: number; readonly truncated: boolean; readonly totalMatches: number; readonly timedOut: boolean; readonly message: string }
  | { readonly error: string };

export default definePlugin({
  name: 'tools/glob',
  api: 1,
  options,
  apply({ registries, options: limits }) {
    const judged = judgedPaths();
    registries.tools.add(defineTool<z.ZodType<Input>, Output>({
      name: 'Glob',
      description: `Finds files by a name pattern, newest first, up to ${limits.maxFiles}. Files that .gitignore names are left out, unless path lies in an ignored folder.`,
      inputSchema: input,
      isReadOnly: true,
      isConcurrencySafe: true,
      subjects: async (args, { fs, cwd, home }) => judged.note(args, await pathSubject(fs, cwd, rootOf(args, cwd, home), 'read')),
      matches: matchPath,
      fromSpec: (spec) => ({ pattern: '**', path: specPath(spec) }),
      suggest: (_args, subjects, place) => suggestForPaths(subjects, place, 'folder'),
      render: (data) => ('error' in data ? data.error : data.message),
      call: async (args, context) => {
        const root = rootOf(args, context.cwd, context.home);
        const found = await judged.find(args, context.fs, root);
        if ('wrong' in found) return wrong(found.wrong);
        const stat = await context.fs.stat(found.real).catch((e: unknown) => { if (NOT_THERE.has(codeOf(e) ?? '')) return null; throw e; });
        if (stat === null) return wrong(`there is no folder ${root}. The working folder is ${context.cwd}`);
        if (!stat.isDirectory()) return wrong(`${root} is no folder. Read it with Read, or give the folder that it is in`);
        try { return await search(args, root, found.real, limits, context); } catch (e) {
          if (codeOf(e) === 'E_PATTERN_SLOW') return wrong(messageOf(e));
          throw e;
        }
      },
    }));
  },
});

const NOT_THERE = new Set(['ENOENT', 'ENOTDIR', 'EACCES']);
/** The folder that is really searched: a pattern may lead out of `path`, by `../` or as a whole path. */
const rootOf = ({ pattern, path = '.' }: Input, cwd: string, home: string): string => absolute(absolute(cwd, path, home), splitGlob(pattern).base || '.', home);

async function search(args: Input, root: string, real: string, limits: Limits, context: ToolUseContext): Promise<ToolResult<Output>> {
  const { fs, cwd, signal } = context;
  const started = performance.now();
  let glob: Awaited<ReturnType<typeof compileGlob>>;
  try { glob = await compileGlob(splitGlob(args.pattern).rest); } catch (e) { return wrong(`"${args.pattern}" is no pattern: ${messageOf(e)}`); }
  const isHidden = hiddenByRules(context.getAppState().toolPermissionContext.rules, ['Read', 'Glob'], context);
  const found: Found[] = [];
  let timedOut = false;
  for await (const files of walk(fs, real, { signal, descends: glob.descends })) {
    for (const file of files) if (glob.matches(file.way) && !isHidden(join(root, file.way), file.path)) found.push(file);
    timedOut = performance.now() - started > limits.timeoutMs;
    if (timedOut) break;
  }
  const dated = await withTimes(fs, found, signal);
  const filenames = dated.sort((a, b) => b.mtimeMs - a.mtimeMs || (a.way < b.way ? -1 : 1)).slice(0, limits.maxFiles).map((file) => shownPath(cwd, join(root, file.way)));
  const truncated = dated.length > filenames.length;
  const notices = [
    ...(filenames.length === 0 ? ['No files.'] : []),
    ...(truncated ? [`[the newest ${filenames.length} of ${dated.length} files; a narrower pattern shows others]`] : []),
    ...(timedOut ? [`[stopped after ${limits.timeoutMs / 1000} s: there may be more; search a smaller folder]`] : []),
  ];
  const durationMs = Math.round(performance.now() - started);
  return { data: { filenames, numFiles: filenames.length, durationMs, truncated: truncated || timedOut, totalMatches: dated.length, timedOut, message: [...filenames, ...notices].join('\n') } };
}

const AT_ONCE = 64;
/** Files only: a link counts as what it leads to, a link that leads nowhere as itself. */
async function withTimes(fs: FsLike, found: readonly Found[], signal: AbortSignal): Promise<(Found & { readonly mtimeMs: number })[]> {
  const dated: (Found & { readonly mtimeMs: number })[] = [];
  for (let at = 0; at < found.length; at += AT_ONCE) {
    signal.throwIfAborted();
    const part = found.slice(at, at + AT_ONCE);
    const stats = await Promise.all(part.map((file) => fs.stat(file.path).catch(() => fs.lstat(file.path).catch(() => null)))); // null: gone by now
    for (const [i, stat] of stats.entries()) if (stat !== null && !stat.isDirectory()) dated.push({ ...part[i]!, mtimeMs: stat.mtimeMs });
  }
  return dated;
}

const wrong = (error: string): ToolResult<Output> => ({ data: { error }, isError: true });
