/** Starts the binary: the one place where the process's own streams, folder and environment are taken. */
import { sourceBuiltins } from './builtins.ts';
import type { Builtins } from './builtins.ts';
import { main } from './main.ts';
import { processIo } from './process-io.ts';

export async function start(builtins: Builtins): Promise<void> {
  const leave = (code: number): never => process.exit(code);
  const io = processIo(process, leave);
  const code = await main({ argv: process.argv.slice(2), cwd: process.cwd(), env: io.env, io, builtins });
  await io.flush();
  leave(code);
}

/** Set by the bundle, which has its own built-ins and starts itself. */
if ((globalThis as Record<symbol, unknown>)[Symbol.for('tappet.bundled')] === undefined && process.argv[1]?.endsWith('cli.ts') === true) void start(sourceBuiltins());
