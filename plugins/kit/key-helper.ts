/** Asks a command of the person's own for a key, as `keyHelper` names it. What it prints is secret: neither of its outputs is ever quoted. */
import { homedir } from 'node:os';
import { runProcess } from './process.ts';

const HELPER_MS = 10_000;
const LONGEST_KEY = 16_384;
/** Room for what is no key, so that it is seen to be none. */
const OUTPUT = { head: 2 * LONGEST_KEY, tail: 0, line: 2 * LONGEST_KEY } as const;

/** Why a text cannot be a key, without quoting it: keys travel in HTTP headers. */
export function keyProblem(text: string): string | null {
  if (text === '') return 'it is empty';
  if (text.length > LONGEST_KEY) return `it is longer than ${LONGEST_KEY} characters`;
  if (/[\r\n]/.test(text)) return 'it is more than one line';
  return /^[\x21-\x7e]+$/.test(text) ? null : 'there are blanks or characters in it that no key has';
}

export type HelperAnswer = { readonly key: string } | { readonly problem: string };
/**
 * The helper gets the whole environment, as it may need tokens of its own: only the person's own or the machine's configuration can name one. It starts in the home and not in
 * the project, where a relative name would find what a stranger put there. What it leaves running is ended.
 */
export async function askKeyHelper(command: string, env: Readonly<Record<string, string | undefined>>, timeoutMs = HELPER_MS): Promise<HelperAnswer> {
  const { spawn } = await import('node:child_process');
  const isWindows = process.platform === 'win32';
  try {
    const ran = await runProcess({
      ...(isWindows ? { command: env['ComSpec'] ?? 'cmd.exe', args: ['/d', '/s', '/c', `"${command}"`] } : { command: '/bin/sh', args: ['-c', command] }),
      cwd: env['HOME'] ?? homedir(), env: Object.fromEntries(Object.entries(env).filter((e): e is [string, string] => e[1] !== undefined)), output: OUTPUT, timeoutMs,
      spawn: (r) => spawn(r.command, [...r.args], { cwd: r.cwd, env: { ...r.env }, stdio: [r.stdin ?? 'ignore', 'pipe', 'pipe'], detached: !isWindows, windowsHide: true, windowsVerbatimArguments: isWindows }),
    });
    if (ran.ended === 'timeout') return { problem: `it did not end in ${timeoutMs / 1000} s` };
    if (ran.exitCode !== 0) return { problem: ran.exitCode === null ? `it was ended by ${ran.signal ?? 'a signal'}` : `its exit code is ${ran.exitCode}` };
    const key = ran.stdout.excerpt(OUTPUT.head).trim();
    const wrong = keyProblem(key);
    return wrong === null ? { key } : { problem: `its output must be one key, and ${wrong}` };
  } catch (e) {
    return { problem: `it cannot be started (${e instanceof Error ? e.message : String(e)})` };
  }
}

/** Keeps what a helper said for as long as nobody refuses it; a failure is not kept. */
export function helperKeys(ask: (command: string) => Promise<HelperAnswer>): { get(provider: string, command: string): Promise<HelperAnswer>; forget(provider: string): void } {
  const asked = new Map<string, { readonly command: string; readonly answer: Promise<HelperAnswer> }>();
  return {
    async get(provider, command) {
      const known = asked.get(provider);
      const mine = known?.command === command ? known : { command, answer: ask(command) };
      asked.set(provider, mine);
      const answer = await mine.answer;
      if ('problem' in answer && asked.get(provider) === mine) asked.delete(provider);
      return answer;
    },
    forget: (provider) => void asked.delete(provider),
  };
}
