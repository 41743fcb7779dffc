/** Starts the binary: the one place where the process's own streams, folder and environment are taken. */
import { sourceBuiltins } from './builtins.ts';
import type { Builtins } from './builtins.ts';
import { messageOf, printError, TappetError } from './errors.ts';
import { main } from './main.ts';
import { processIo } from './process-io.ts';
import type { Io } from '../schemas/index.ts';

export async function start(builtins: Builtins): Promise<void> {
  const leave = (code: number): never => process.exit(code);
  const io = processIo(process, leave);
  // stdout is the answer and nothing else: what plugins print goes beside it.
  Object.assign(console, { log: console.error, info: console.error, debug: console.error });
  // A promise or a timer that nobody waits for, mostly of a plugin. What it left behind is not known, so this ends; sessions are whole at any instant.
  process.on('uncaughtException', (e: unknown) => {
    const at = e instanceof Error ? /^\s+(at .+)$/m.exec(e.stack ?? '')?.[1] : undefined;
    const error = new TappetError('E_INTERNAL', { message: messageOf(e), cause: `nobody caught it${at === undefined ? '' : `; ${at}`}`, do: 'where that is a file of a plugin: mend it, or switch it off; else run again with --debug and report what it prints' });
    io.err(`${printError(error)}\n${process.argv.includes('--debug') && e instanceof Error ? `${e.stack ?? ''}\n` : ''}`);
    leave(error.exit);
  });
  const code = await main({ argv: process.argv.slice(2), cwd: folderOr(io, leave), env: io.env, io, builtins });
  await io.flush();
  leave(code);
}

/** Somebody may have taken it away. */
function folderOr(io: Io, leave: (code: number) => never): string {
  try { return process.cwd(); } catch {
    const error = new TappetError('E_USAGE', { message: 'the folder that this was started in is gone', do: 'go to one that exists' });
    io.err(`${printError(error)}\n`);
    return leave(error.exit);
  }
}

/** Set by the bundle, which has its own built-ins and starts itself. */
if ((globalThis as Record<symbol, unknown>)[Symbol.for('tappet.bundled')] === undefined && process.argv[1]?.endsWith('cli.ts') === true) void start(sourceBuiltins());
