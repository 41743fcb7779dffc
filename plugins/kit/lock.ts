/** One writer across processes: a record of the owner under one name. A dead owner's lock is broken at once, that of a living one never, even if it stands still. */
import { randomBytes } from 'node:crypto';
import { closeSync, fstatSync, linkSync, openSync, readFileSync, rmSync, statSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname, uptime } from 'node:os';
import { bootId, isRunning, machineId, pidNamespace, processFacts, processStart } from './proc.ts';

export interface LockOwner {
  readonly pid: number;
  /** With `pid`: this very process, not a later one of the same number. `null` where the system does not tell. */
  readonly start: string | null;
  readonly boot: string;
  readonly host: string;
  readonly namespace: string;
  readonly nonce: string;
}
export interface Lock {
  /** The fence: ask before each write. False when somebody took the lock away by hand. */
  isHeld(): boolean;
  /** Takes away only what is one's own. */
  release(): void;
}
/** `owner` is null where the record cannot be read; `isElsewhere`: it lives where nobody can look; `isSilent`: and gave no sign for a minute. */
export interface LockTaken { readonly owner: LockOwner | null; readonly isElsewhere: boolean; readonly isSilent: boolean }
export type LockAnswer = { readonly lock: Lock } | LockTaken;

const HEARTBEAT_MS = 20_000;
const SILENT_MS = 60_000;
/** How long somebody who is breaking a dead owner's lock is waited for. */
const BREAKING_MS = 1_000;

export async function takeLock(file: string): Promise<LockAnswer> {
  const me = self();
  const answer = await seize(file, me);
  return typeof answer === 'number' ? { lock: hold(file, answer, me) } : answer;
}

/** A descriptor of the lock's file: ours. */
async function seize(file: string, me: LockOwner): Promise<number | LockTaken> {
  for (const end = performance.now() + BREAKING_MS; ;) {
    const fd = publish(file, me);
    if (fd !== null) return fd;
    const found = look(file);
    if (found === null) continue;
    if (!found.isDead) return { owner: found.owner, isElsewhere: found.isElsewhere, isSilent: found.isSilent };
    // Who breaks it is settled by a lock named after the victim, so that nobody takes away the lock of whoever came after it; a breaker that dies is itself broken like this.
    const victim = nameOf(found.owner);
    const breaking = `${file}.${victim}`;
    const breaker = await seize(breaking, me);
    if (typeof breaker === 'number') {
      closeSync(breaker);
      const now = look(file);
      if (now?.isDead && nameOf(now.owner) === victim) unlinkSync(file);
      rmSync(draftOf(file, victim), { force: true });
      unlinkSync(breaking);
    } else if (performance.now() > end) return breaker;
    else await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
const draftOf = (file: string, nonce: string): string => `${file}.${nonce}.draft`;
const nameOf = (owner: LockOwner | null): string => owner?.nonce ?? 'unreadable';

/** A finished file gets the name, or nobody does: no reader ever sees half a record. Null: the name is taken. */
function publish(file: string, me: LockOwner): number | null {
  const draft = draftOf(file, me.nonce);
  const fd = openSync(draft, 'wx', 0o600);
  try {
    writeFileSync(fd, JSON.stringify(me));
    linkSync(draft, file);
    return fd;
  } catch (e) {
    closeSync(fd);
    const { code } = e as NodeJS.ErrnoException;
    if (code === 'EEXIST') return null;
    if (code === 'EPERM' || code === 'ENOSYS' || code === 'ENOTSUP' || code === 'EOPNOTSUPP') return publishWithoutLinks(file, me);
    throw e;
  } finally {
    unlinkSync(draft);
  }
}
/** File systems without hard links: a reader may come between name and content, and then takes the owner for alive. */
function publishWithoutLinks(file: string, me: LockOwner): number | null {
  try {
    const fd = openSync(file, 'wx', 0o600);
    writeFileSync(fd, JSON.stringify(me));
    return fd;
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code === 'EEXIST') return null;
    throw e;
  }
}

/** Null: it is gone. */
function look(file: string): (LockTaken & { readonly isDead: boolean }) | null {
  let text: string;
  let modified: number;
  try {
    text = readFileSync(file, 'utf8');
    modified = statSync(file).mtimeMs;
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw e;
  }
  const owner = asOwner(text);
  // Only a power cut leaves an unreadable record, and no process outlives that.
  if (owner === null) return { owner, isDead: modified < Date.now() - uptime() * 1000, isElsewhere: false, isSilent: false };
  const me = self();
  const isElsewhere = owner.host !== me.host || owner.namespace !== me.namespace;
  return { owner, isDead: isDead(owner, me), isElsewhere, isSilent: isElsewhere && Date.now() - modified > SILENT_MS };
}
function isDead(owner: LockOwner, me: LockOwner): boolean {
  if (owner.host !== me.host) return false;
  if (owner.boot !== me.boot) return true;
  if (owner.namespace !== me.namespace) return false;
  if (!isRunning(owner.pid)) return true;
  const facts = processFacts(owner.pid);
  return facts !== null && owner.start !== null && (facts.start !== owner.start || facts.zombie);
}

function hold(file: string, fd: number, me: LockOwner): Lock {
  // As long as it is open its inode cannot be given to another file: the name leads to the same inode, or the lock is lost.
  const { ino, dev } = fstatSync(fd);
  const heartbeat = setInterval(() => {
    try {
      if (isHeld()) utimesSync(file, new Date(), new Date());
    } catch {
      // A beat that is missed only makes the lock look older to other machines.
    }
  }, HEARTBEAT_MS);
  heartbeat.unref();
  let isReleased = false;
  const isHeld = (): boolean => {
    const now = isReleased ? undefined : statSync(file, { throwIfNoEntry: false });
    return now !== undefined && now.ino === ino && now.dev === dev;
  };
  return {
    isHeld,
    release() {
      if (isReleased) return;
      clearInterval(heartbeat);
      if (isHeld() && look(file)?.owner?.nonce === me.nonce) unlinkSync(file);
      isReleased = true;
      closeSync(fd);
    },
  };
}

const self = (): LockOwner => ({
  pid: process.pid, start: processStart(process.pid), boot: bootId(), host: `${hostname()} ${machineId()}`.trim(), namespace: pidNamespace(), nonce: randomBytes(12).toString('hex'),
});
function asOwner(text: string): LockOwner | null {
  try {
    const o = JSON.parse(text) as LockOwner;
    const isOwner = Number.isInteger(o.pid) && o.pid > 0 && typeof o.boot === 'string' && typeof o.host === 'string' && typeof o.namespace === 'string' && /^\w+$/.test(o.nonce);
    return isOwner ? o : null;
  } catch {
    return null;
  }
}
