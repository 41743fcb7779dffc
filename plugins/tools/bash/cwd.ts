/** Where a command runs, and where the next one will: `cd` carries over as long as it stays inside the working folders. */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { isAbsence, isInside } from 'tappet/kit';
import type { ToolUseContext } from 'tappet/schemas';

export interface Start { readonly cwd: string; readonly note: string | null }
/** Null: not even the project's folder is there. */
export async function startFolder(context: Pick<ToolUseContext, 'cwd' | 'root' | 'fs'>): Promise<Start | null> {
  if (await isFolder(context.fs, context.cwd)) return { cwd: context.cwd, note: null };
  if (!(await isFolder(context.fs, context.root))) return null;
  return { cwd: context.root, note: `the working folder ${context.cwd} is gone; this ran in ${context.root}, and the next command will` };
}
async function isFolder(fs: ToolUseContext['fs'], path: string): Promise<boolean> {
  try {
    return (await fs.stat(path)).isDirectory();
  } catch (e) {
    if (isAbsence(e)) return false;
    throw e;
  }
}

const FLAGS = ['--noprofile', '--norc', '-p', '-c'] as const;
const MOVES = /(?<![\w-])(?:cd|pushd|popd)(?![\w-])/;

export interface Shell {
  readonly args: readonly string[];
  /** The folder in which the shell ended; null where it did not say. */
  endFolder(): Promise<string | null>;
}
/** The shell gets exactly the given bytes. Where they may move it, they are the one argument of a fixed text that reports the last folder: the shell has no other way to tell. */
export async function shellFor(command: string, outputFolder: () => Promise<string>): Promise<Shell> {
  if (!MOVES.test(command)) return { args: [...FLAGS, command], endFolder: async () => null };
  const file = join(await outputFolder(), `.cwd-${randomUUID()}`);
  // The path stands in the text itself: a variable could be changed by the command and lead the report elsewhere.
  const report = `builtin pwd -P >|${quoted(file)} 2>/dev/null`;
  return {
    args: [...FLAGS, `trap ${quoted(report)} EXIT; TAPPET_COMMAND=$1; shift; eval "$TAPPET_COMMAND"`, 'bash', command],
    async endFolder() {
      const text = await readFile(file, 'utf8').catch((e: unknown) => { if (isAbsence(e)) return ''; throw e; });
      await rm(file, { force: true });
      return text.startsWith('/') ? text.replace(/\n$/, '') : null;
    },
  };
}
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

export type Move = { readonly to: string; readonly note: null } | { readonly to: null; readonly note: string | null };
/** Subagents start each command where they were put: their folder belongs to whoever made them. */
export function moveTo(end: string | null, start: string, context: Pick<ToolUseContext, 'roots' | 'agentId'>): Move {
  if (end === null || end === start) return { to: null, note: null };
  if (context.agentId !== undefined) return { to: null, note: `the working folder is ${start} again: in a subagent cd counts for one command only` };
  if (context.roots.some((root) => isInside(end, root))) return { to: end, note: null };
  return { to: null, note: `the working folder was reset to ${start}: ${end} is outside of the folders that may be worked in` };
}
