/** What Linux tells of processes; elsewhere every answer is `null` or empty, and callers do with less. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** `start` (clock ticks since boot) tells a process from a later one with the same number. */
export interface ProcessFacts { readonly pid: number; readonly start: string; readonly group: number; readonly zombie: boolean }

export function processFacts(pid: number): ProcessFacts | null {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === null) return null;
  // The name may hold blanks and brackets: the fields begin behind the last one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const start = fields[19];
  return start === undefined ? null : { pid, start, group: Number(fields[2]), zombie: fields[0] === 'Z' || fields[0] === 'X' };
}
export const processStart = (pid: number): string | null => processFacts(pid)?.start ?? null;

/** Is a process with this number there? One of another user counts. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (e) {
    return (e as NodeJS.ErrnoException).code === 'EPERM';
  }
}

export const bootId = (): string => read('/proc/sys/kernel/random/boot_id')?.trim() ?? '';
export const machineId = (): string => read('/etc/machine-id')?.trim() ?? '';
/** Numbers of processes mean something only within one namespace. */
export function pidNamespace(pid: number | 'self' = 'self'): string {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return '';
  }
}

export function processNumbers(): number[] {
  try {
    return readdirSync('/proc').map(Number).filter((n) => n > 0);
  } catch {
    return [];
  }
}
/** The number that was given out last. */
export const newestNumber = (): number | null => {
  const last = Number(read('/proc/loadavg')?.trim().split(' ').at(-1));
  return last > 0 ? last : null;
};
/** The value of one variable in the environment that a process was started with; `null` too where it may not be read. */
export function startedWith(pid: number, name: string): string | null {
  const environ = read(`/proc/${pid}/environ`);
  const text = `\0${environ ?? ''}`;
  const at = text.indexOf(`\0${name}=`);
  return at === -1 ? null : text.slice(at + name.length + 2).split('\0', 1)[0]!;
}

function read(file: string): string | null {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return null;
  }
}
