/** One command from start to words: runs it, and says what came of it. */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:os';
import { join } from 'node:path';
import { childEnv, codeOf, runProcess } from 'tappet/kit';
import type { OutputStream, RunResult } from 'tappet/kit';
import { messageOf } from 'tappet/kernel';
import type { ToolResult, ToolUseContext } from 'tappet/schemas';
import { moveTo, shellFor, startFolder } from './cwd.ts';
import { answerOf } from './exit-codes.ts';

export interface BashInput { readonly command: string; readonly timeout?: number | undefined; readonly description?: string | undefined; readonly run_in_background?: boolean | undefined }
export interface BashOptions { readonly bash: string; readonly timeoutMs: number; readonly maxTimeoutMs: number; readonly inlineChars: number; readonly excerptChars: number; readonly lineChars: number }
export interface BashData {
  readonly stdout: string;
  readonly stderr: string;
  /** Both in the order in which they came; only where both said something. */
  readonly output?: string;
  /** 128 and the signal's number where one ended it; null where it did not run to its end. */
  readonly exitCode: number | null;
  readonly interrupted: boolean;
  readonly timedOutAfterMs?: number;
  readonly returnCodeInterpretation?: string;
  readonly persistedOutputPath?: string;
  /** Bytes. */
  readonly persistedOutputSize?: number;
  /** What the harness adds. */
  readonly notes: readonly string[];
}

/** The world outside of a call. */
export interface BashWorld { readonly options: BashOptions; readonly env: Readonly<Record<string, string | undefined>> }

export async function runBash(input: BashInput, context: ToolUseContext, { options, env }: BashWorld): Promise<ToolResult<BashData>> {
  if (input.run_in_background === true) return refused('background tasks do not exist yet: run it in the foreground, with a timeout that is long enough');
  if (input.command.includes('\0')) return refused('a command cannot hold NUL characters');
  const start = await startFolder(context);
  if (start === null) return refused(`neither the working folder ${context.cwd} nor the project's folder ${context.root} is there; nothing was run`);
  const timeoutMs = Math.min(input.timeout ?? options.timeoutMs, options.maxTimeoutMs);
  const shell = await shellFor(input.command, context.outputFolder);
  const live = liveOutput((stream, text) => context.emit({ type: 'tool.output.delta', stream, text }));
  let result: RunResult;
  try {
    result = await runProcess({
      spawn: context.process.spawn, command: options.bash, args: shell.args, cwd: start.cwd, env: childEnv(env, context.options.env), timeoutMs, signal: context.signal,
      output: { head: options.inlineChars, tail: options.excerptChars, line: options.lineChars, spill: async () => join(await context.outputFolder(), `bash-${randomUUID()}.txt`), onText: live.add },
    });
  } catch (e) {
    return refused(codeOf(e) === 'ENOENT'
      ? `there is no bash on this system: "${options.bash}" was not found. Install bash, or say where it is: plugins: { tools/bash: { with: { bash: /path/to/bash } } }`
      : `bash could not be started: ${messageOf(e)}`);
  }
  live.end();
  const end = await shell.endFolder();
  const move = result.ended === 'exit' ? moveTo(end, start.cwd, context) : { to: null, note: null };
  const notes = [
    start.note, move.note,
    input.timeout !== undefined && input.timeout > timeoutMs ? `the timeout of ${input.timeout} ms was lowered to ${timeoutMs} ms, the most that is allowed` : null,
    result.left.length > 0 ? `these processes could not be ended: ${result.left.join(', ')}` : null,
    result.spill?.lacks != null ? `the whole output is not kept: ${result.spill.lacks}` : null,
  ].filter((note) => note !== null);
  const to = move.to ?? (start.note === null ? null : start.cwd);
  const data = told(input.command, result, options, timeoutMs, notes);
  return {
    data,
    ...(data.exitCode === 0 || data.returnCodeInterpretation !== undefined ? {} : { isError: true }),
    ...(to === null ? {} : { contextModifier: (later: ToolUseContext) => ({ ...later, cwd: to }) }),
  };
}

const refused = (note: string): ToolResult<BashData> => ({ isError: true, data: { stdout: '', stderr: '', exitCode: null, interrupted: false, notes: [note] } });

function told(command: string, result: RunResult, options: BashOptions, timeoutMs: number, notes: readonly string[]): BashData {
  const exitCode = result.ended !== 'exit' ? null : result.signal === null ? result.exitCode : 128 + constants.signals[result.signal];
  const answer = answerOf(command, exitCode);
  const isFine = exitCode === 0 || answer !== null;
  const most = isFine && result.both.chars <= options.inlineChars ? options.inlineChars : options.excerptChars;
  const [stdout, stderr] = [result.stdout.excerpt(most), result.stderr.excerpt(most)];
  return {
    stdout, stderr,
    ...(stdout !== '' && stderr !== '' ? { output: result.both.excerpt(most) } : {}),
    exitCode,
    interrupted: result.ended === 'abort',
    ...(result.ended === 'timeout' ? { timedOutAfterMs: timeoutMs } : {}),
    ...(answer === null ? {} : { returnCodeInterpretation: answer }),
    ...(result.spill === null || result.spill.bytes === 0 ? {} : { persistedOutputPath: result.spill.file, persistedOutputSize: result.spill.bytes }),
    notes,
  };
}

/** As the model reads it. */
export function shown(data: BashData): string {
  const output = (data.output ?? `${data.stdout}${data.stderr}`).replace(/\n+$/, '');
  const ran = data.exitCode !== null || data.interrupted || data.timedOutAfterMs !== undefined;
  return [
    data.timedOutAfterMs !== undefined ? `Timed out after ${data.timedOutAfterMs} ms; the command and all that it had started were ended.` : null,
    data.interrupted ? 'Interrupted; the command and all that it had started were ended.' : null,
    data.exitCode !== null && data.exitCode !== 0 && data.returnCodeInterpretation === undefined ? `Exit code ${data.exitCode}` : null,
    output !== '' ? output : ran ? '(no output)' : null,
    data.returnCodeInterpretation === undefined ? null : `(exit code ${data.exitCode}: ${data.returnCodeInterpretation})`,
    data.persistedOutputPath === undefined ? null : `The whole output (${data.persistedOutputSize} bytes) is in ${data.persistedOutputPath}`,
    ...data.notes.map((note) => `Note: ${note}.`),
  ].filter((line) => line !== null).join('\n');
}

const WINDOW_MS = 100;
const WINDOW_CHARS = 16_384;
/** What watchers see while it runs: all of an ordinary output, of a flood a part in each tenth of a second. */
function liveOutput(emit: (stream: OutputStream, text: string) => void): { add(stream: OutputStream, text: string): void; end(): void } {
  let windowStart = 0;
  let room = 0;
  let unseen = 0;
  const tellUnseen = (): void => {
    if (unseen > 0) emit('stdout', `\n… [${unseen} characters not shown live]\n`);
    unseen = 0;
  };
  return {
    add(stream, text) {
      const now = performance.now();
      if (now - windowStart > WINDOW_MS) { windowStart = now; room = WINDOW_CHARS; }
      const part = unseen > 0 && room < WINDOW_CHARS ? '' : text.slice(0, room);
      if (part !== '') {
        tellUnseen();
        emit(stream, part);
      }
      room -= part.length;
      unseen += text.length - part.length;
    },
    end: tellUnseen,
  };
}
