/** Ends a child with everything that it started: its process group, and on Linux what has left the group, known by a mark in its environment. */
import { randomBytes } from 'node:crypto';
import { isRunning, newestNumber, pidNamespace, processFacts, processNumbers, processStart, startedWith } from './proc.ts';
import type { ProcessFacts } from './proc.ts';

/** Every job's processes carry this variable: number, start time and namespace of who started it, and a random part. */
export const JOB_MARK = 'TAPPET_JOB';
/** Polls come more seldom the longer it takes, in ms. */
const POLL_FIRST = 5;
const POLL_MOST = 100;
/** Within this time numbers of processes cannot come round, so that all that a job started has a number behind its own. */
const ROUND_MS = 5_000;

/** A job: the leader of a group, started with `mark` in its environment. */
export interface Job { readonly pid: number; readonly mark: string; /** `performance.now()` at its start. */ readonly startedAt: number }

export const jobMark = (): string => [process.pid, processStart(process.pid) ?? '', pidNamespace(), randomBytes(9).toString('base64url')].join('.');

/** TERM to all; what is there after `graceMs` gets KILL. Gives the numbers of those that are there even then: empty as a rule. */
export async function endJob(job: Job, graceMs: number): Promise<readonly number[]> {
  if (process.platform === 'win32') return endWindowsTree(job.pid);
  signalAll(job, 'SIGTERM');
  if (await isGone(job, graceMs)) return [];
  // Rounds: what forked between the look and the blow.
  for (let round = 0; round < 3; round++) {
    signalAll(job, 'SIGKILL');
    if (await isGone(job, 500)) return [];
  }
  return leftOf(job);
}

/** Two looks: in the instant in which a process becomes another program its environment is empty. */
async function isGone(job: Job, ms: number): Promise<boolean> {
  const look = (): boolean => leftOf(job).length === 0;
  return (await until(look, ms)) && (await pause(POLL_FIRST), look());
}

/** Has an ended job left something behind? Cheap where it has not. */
export function hasLeftovers(job: Job): boolean {
  if (process.platform === 'win32') return false;
  if (groupThere(job.pid)) return true;
  if (performance.now() - job.startedAt > ROUND_MS) return leftOf(job).length > 0;
  const newest = newestNumber();
  if (newest === null) return false;
  const later = newest >= job.pid ? (n: number) => n > job.pid && n <= newest : (n: number) => n > job.pid || n <= newest;
  return processNumbers().some((n) => later(n) && startedWith(n, JOB_MARK) === job.mark);
}

/** Ends what jobs left behind whose owner was killed before it could do so. Gives how many processes were ended. */
export async function endOrphans(graceMs = 2_000): Promise<number> {
  const here = pidNamespace();
  if (here === '') return 0;
  const orphans = processNumbers().flatMap((pid) => {
    // An owner of another namespace may well live: its number says nothing here.
    const [owner = '', start = '', namespace = ''] = (startedWith(pid, JOB_MARK) ?? '').split('.');
    if (start === '' || namespace !== here || pidNamespace(pid) !== here || lives(Number(owner), start)) return [];
    const facts = processFacts(pid);
    return facts === null || facts.zombie || pid === process.pid ? [] : [facts];
  });
  for (const one of orphans) signal(one, 'SIGTERM');
  const there = (): ProcessFacts[] => orphans.filter((o) => lives(o.pid, o.start));
  if (orphans.length > 0 && !(await until(() => there().length === 0, graceMs))) for (const one of there()) signal(one, 'SIGKILL');
  return orphans.length;
}

/** A zombie does not. */
function lives(pid: number, start: string): boolean {
  const facts = processFacts(pid);
  return facts !== null && facts.start === start && !facts.zombie;
}

function signalAll(job: Job, name: NodeJS.Signals): void {
  try {
    process.kill(-job.pid, name);
  } catch {
    // The group is empty; those that left it follow.
  }
  for (const one of marked(job)) if (one.group !== job.pid) signal(one, name);
}

/** Never a number without its start time: the process may have ended, and its number may be another's by now. */
function signal(one: ProcessFacts, name: NodeJS.Signals): void {
  if (processStart(one.pid) !== one.start) return;
  try {
    process.kill(one.pid, name);
  } catch {
    // It ended between the look and the blow.
  }
}

/** Numbers of the job's living processes; zombies are not alive, whoever may have to collect them. */
function leftOf(job: Job): number[] {
  if (processNumbers().length === 0) return groupThere(job.pid) ? [job.pid] : [];
  return marked(job).map((p) => p.pid);
}
function marked(job: Job): ProcessFacts[] {
  return processNumbers().flatMap((pid) => {
    const facts = pid === process.pid ? null : processFacts(pid);
    return facts !== null && !facts.zombie && (facts.group === job.pid || startedWith(pid, JOB_MARK) === job.mark) ? [facts] : [];
  });
}
const groupThere = (pid: number): boolean => isRunning(-pid);

/** Asks again and again, with growing pauses, whether it is so; false when the time is over. */
export async function until(isSo: () => boolean, ms: number): Promise<boolean> {
  const end = performance.now() + ms;
  for (let wait = POLL_FIRST; ; wait = Math.min(wait * 2, POLL_MOST)) {
    if (isSo()) return true;
    if (performance.now() >= end) return false;
    await pause(wait);
  }
}
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function endWindowsTree(pid: number): Promise<readonly number[]> {
  const { execFile } = await import('node:child_process');
  await new Promise((resolve) => execFile('taskkill', ['/PID', String(pid), '/T', '/F'], { windowsHide: true }, resolve));
  return isRunning(pid) ? [pid] : [];
}
