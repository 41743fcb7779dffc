/** Asks a command of the person's own for a key. What it prints is secret: neither output is ever quoted. */
import { spawn } from 'node:child_process';
import { messageOf } from 'tappet/kernel';
import { runProcess } from 'tappet/kit';
import { keyProblem, LONGEST_KEY } from './codes.ts';

const HELPER_MS = 10_000;
/** Room for what is no key, so that it is seen to be none. */
const OUTPUT = { head: 2 * LONGEST_KEY, tail: 0, line: 2 * LONGEST_KEY } as const;

export interface HelperOptions {
  /** Whole: a helper may need tokens of its own, and nobody but the person's own or the machine's configuration names one. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Not the project: a relative name would find what a stranger put there. */
  readonly cwd: string;
  readonly timeoutMs?: number | undefined;
}
export type HelperAnswer = { readonly key: string } | { readonly problem: string };

export async function askHelper(command: string, o: HelperOptions): Promise<HelperAnswer> {
  const isWindows = process.platform === 'win32';
  const timeoutMs = o.timeoutMs ?? HELPER_MS;
  const env = Object.fromEntries(Object.entries(o.env).filter((e): e is [string, string] => e[1] !== undefined));
  try {
    const ran = await runProcess({
      ...(isWindows ? { command: o.env['ComSpec'] ?? 'cmd.exe', args: ['/d', '/s', '/c', `"${command}"`] } : { command: '/bin/sh', args: ['-c', command] }),
      cwd: o.cwd, env, output: OUTPUT, timeoutMs,
      spawn: (r) => spawn(r.command, [...r.args], { cwd: r.cwd, env: { ...r.env }, stdio: [r.stdin ?? 'ignore', 'pipe', 'pipe'], detached: !isWindows, windowsHide: true, windowsVerbatimArguments: isWindows }),
    });
    if (ran.ended === 'timeout') return { problem: `it did not end in ${timeoutMs / 1000} s` };
    if (ran.exitCode !== 0) return { problem: ran.exitCode === null ? `it was ended by ${ran.signal ?? 'a signal'}` : `its exit code is ${ran.exitCode}` };
    const key = ran.stdout.excerpt(OUTPUT.head).trim();
    const wrong = keyProblem(key);
    return wrong === null ? { key } : { problem: `its output must be one key, and ${wrong}` };
  } catch (e) {
    return { problem: `it cannot be started (${messageOf(e)})` };
  }
}
