/** Runs one child to its end: output in bounded memory, a limit of time, and nothing of it alive afterwards. */
import type { ChildProcess } from 'node:child_process';
import type { SpawnRequest } from '../../schemas/index.ts';
import { collectOutput } from './output.ts';
import type { CollectedOutput, OutputLimits, OutputStream } from './output.ts';
import { endJob, hasLeftovers, JOB_MARK, jobMark, until } from './process-tree.ts';

export interface RunRequest extends Omit<SpawnRequest, 'stdin'> {
  /** Starts the child as the leader of a group of its own: `context.process.spawn`. */
  readonly spawn: (request: SpawnRequest) => ChildProcess;
  readonly output: OutputLimits;
  /** What the child reads; left out, it finds the end at once. */
  readonly input?: string | undefined;
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** From TERM to KILL. */
  readonly graceMs?: number | undefined;
}
export interface RunResult extends CollectedOutput {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly ended: 'exit' | 'timeout' | 'abort';
  /** Numbers of processes that even KILL did not end; empty as a rule. */
  readonly left: readonly number[];
}

const GRACE_MS = 2_000;
/** After the end the pipes are read on for as long as they are open and data comes at least this often, but not longer than `DRAIN_MS`. */
const QUIET_MS = 100;
const DRAIN_MS = 1_000;

/**
 * Resolves when the child has exited, never later than a grace time after the limit. What it left running in the background is ended with it, whether or not it holds
 * the pipes open: a call's processes end with the call. Rejects with the error of `spawn` where the child cannot be started.
 */
export async function runProcess(o: RunRequest): Promise<RunResult> {
  const output = collectOutput(o.output);
  if (o.signal?.aborted === true) return { ...(await output.finish()), exitCode: null, signal: null, ended: 'abort', left: [] };
  const mark = jobMark();
  const startedAt = performance.now();
  const child = o.spawn({ command: o.command, args: o.args, cwd: o.cwd, env: { ...o.env, [JOB_MARK]: mark }, stdin: o.input === undefined ? 'ignore' : 'pipe' });
  let exit: { code: number | null; signal: NodeJS.Signals | null } | null = null;
  const exited = new Promise<'exit'>((resolve) => child.once('exit', (code, signal) => { exit = { code, signal }; resolve('exit'); }));
  const failed = new Promise<never>((_, reject) => child.on('error', reject));
  // A child need not read what it is given.
  child.stdin?.on('error', () => {}).end(o.input);
  const pipes = readPipes(child, output.add);
  const limit = stopper(o.timeoutMs, o.signal);
  const graceMs = o.graceMs ?? GRACE_MS;
  try {
    const ended = await Promise.race([exited, limit.stopped, failed]);
    const job = { pid: child.pid!, mark, startedAt };
    const left = ended !== 'exit' || hasLeftovers(job) ? await endJob(job, graceMs) : [];
    if (exit === null) await until(() => exit !== null, graceMs);
    await pipes.drain();
    const { code, signal } = exit ?? { code: null, signal: null };
    return { ...(await output.finish()), exitCode: code, signal, ended, left };
  } finally {
    limit.clear();
  }
}

function stopper(timeoutMs: number | undefined, signal: AbortSignal | undefined): { stopped: Promise<'timeout' | 'abort'>; clear(): void } {
  let clear = (): void => {};
  const stopped = new Promise<'timeout' | 'abort'>((resolve) => {
    const timer = timeoutMs === undefined ? undefined : setTimeout(resolve, timeoutMs, 'timeout');
    const onAbort = (): void => resolve('abort');
    signal?.addEventListener('abort', onAbort, { once: true });
    clear = () => { clearTimeout(timer); signal?.removeEventListener('abort', onAbort); };
  });
  return { stopped, clear };
}

function readPipes(child: ChildProcess, add: (stream: OutputStream, chunk: Buffer) => Promise<void> | undefined): { drain(): Promise<void> } {
  let chunks = 0;
  let behind = 0;
  let open = 0;
  for (const stream of ['stdout', 'stderr'] as const) {
    const pipe = child[stream];
    if (pipe === null) continue;
    open++;
    pipe.once('close', () => { open--; });
    // A pipe that breaks has no more to say; its end is the child's matter.
    pipe.on('error', () => {});
    pipe.on('data', (chunk: Buffer) => {
      chunks++;
      const written = add(stream, chunk);
      if (written === undefined) return;
      behind++;
      pipe.pause();
      void written.then(() => { behind--; pipe.resume(); });
    });
  }
  return {
    async drain() {
      const end = performance.now() + DRAIN_MS;
      for (let before = -1; open > 0 && (chunks > before || behind > 0) && performance.now() < end;) {
        before = chunks;
        await until(() => open === 0, QUIET_MS);
      }
      // Somebody out of reach may hold them open for ever.
      child.stdout?.destroy();
      child.stderr?.destroy();
    },
  };
}
