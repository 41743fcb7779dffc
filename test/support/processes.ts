/** Waiting for processes: by condition, bounded, never by time alone. */
import { readFileSync } from 'node:fs';

/** Zombies are dead: who has to collect them is nobody's business here. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return process.platform !== 'linux';
  }
}

/** Asks up to `tries` times, 10 ms apart. */
export async function eventually(isSo: () => boolean, tries = 500): Promise<boolean> {
  for (let i = 0; i < tries; i++) {
    if (isSo()) return true;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return isSo();
}
