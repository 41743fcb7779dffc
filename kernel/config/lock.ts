/** One writer across processes, and files that are old or new and never half. A lock whose owner is dead is broken at once, a living one's never. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { link, mkdir, open, readdir, readFile, rename, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';

interface Owner { readonly pid: number; /** With `pid`: this very process, not a later one of the same number; null where the system does not tell. */ readonly start: string | null; readonly host: string; readonly nonce: string }

/** How long a living owner is waited for. */
const PATIENCE_MS = 10_000;

/** `work` runs while nobody else holds `file`. @throws a sentence that names the owner */
export async function withLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const me = self();
  await take(file, me, performance.now() + PATIENCE_MS);
  try {
    await sweep(dirname(file));
    return await work();
  } finally {
    if ((await ownerOf(file))?.nonce === me.nonce) await unlink(file);
  }
}

async function take(file: string, me: Owner, until: number): Promise<void> {
  for (;;) {
    if (await publish(file, me)) return;
    const owner = await ownerOf(file);
    if (owner !== null && isDead(owner)) {
      // Who breaks it is settled by a lock named after the victim, so that nobody takes away the lock of whoever came after it.
      const breaking = `${file}.${owner.nonce}`;
      await take(breaking, me, until);
      if ((await ownerOf(file))?.nonce === owner.nonce) await unlink(file);
      await unlink(breaking);
    } else {
      if (performance.now() > until) throw new Error(owner === null ? `the lock ${file} cannot be read; take it away` : `process ${owner.pid} on ${owner.host} holds ${file}`);
      await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 15));
    }
  }
}

/** A finished file gets the name, or nobody does: no reader sees half a record. */
async function publish(file: string, me: Owner): Promise<boolean> {
  const draft = tempName(file);
  try {
    await fill(draft, JSON.stringify(me), 0o600);
    await link(draft, file);
    return true;
  } catch (e) {
    const { code } = e as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    if (code !== 'EPERM' && code !== 'ENOSYS' && code !== 'ENOTSUP' && code !== 'EOPNOTSUPP') throw e;
  } finally {
    await unlink(draft).catch(() => {}); // there may be none
  }
  // A file system without hard links: a reader may come between name and content, and then waits.
  try { await fill(file, JSON.stringify(me), 0o600); return true; } catch (e) { if (isCode(e, 'EEXIST')) return false; throw e; }
}
/** Null: gone, or no record. */
async function ownerOf(file: string): Promise<Owner | null> {
  try {
    const o = JSON.parse(await readFile(file, 'utf8')) as Owner;
    return Number.isInteger(o.pid) && o.pid > 0 && typeof o.host === 'string' && /^\w+$/.test(o.nonce) ? o : null;
  } catch { return null; }
}
const isDead = (o: Owner): boolean => o.host === hostname() && (!isRunning(o.pid) || (o.start !== null && startOf(o.pid) !== o.start));
function isRunning(pid: number): boolean {
  try { process.kill(pid, 0); return true; } catch (e) { return isCode(e, 'EPERM'); }
}
const self = (): Owner => ({ pid: process.pid, start: startOf(process.pid), host: hostname(), nonce: randomBytes(8).toString('hex') });
/** Clock ticks since the machine started; only Linux tells. */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch { return null; }
}

// ---- whole files -----------------------------------------------------------------------------------------------------------

/** A temporary file beside it takes its place when it is whole and on the disk. `mode` null: as any new file. */
export async function replaceFile(file: string, text: string, mode: number | null): Promise<void> {
  const temp = tempName(file);
  try {
    await fill(temp, text, mode, true);
    await rename(temp, file);
  } catch (e) {
    await unlink(temp).catch(() => {}); // there may be none
    throw e;
  }
}
async function fill(file: string, text: string, mode: number | null, durable = false): Promise<void> {
  const handle = await open(file, 'wx', mode ?? 0o666);
  try {
    if (mode !== null) await handle.chmod(mode); // whatever the umask says
    await handle.writeFile(text);
    if (durable) await handle.sync();
  } finally {
    await handle.close();
  }
}

const tempName = (file: string): string => join(dirname(file), `.${basename(file)}.${process.pid}.${randomBytes(4).toString('hex')}.tmp`);
/** What writers that were killed left behind. */
async function sweep(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const pid = /^\..+\.(\d+)\.[0-9a-f]{8}\.tmp$/.exec(name)?.[1];
    if (pid !== undefined && !isRunning(Number(pid))) await unlink(join(folder, name)).catch(() => {}); // another sweeper was quicker
  }
}
const isCode = (e: unknown, code: string): boolean => (e as NodeJS.ErrnoException).code === code;
