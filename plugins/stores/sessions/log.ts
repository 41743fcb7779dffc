/** The open log of one session: its lock, its file, its numbers. */
import { mkdir } from 'node:fs/promises';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { openJsonl, takeLock } from 'tappet/kit';
import type { JsonlWriterOptions, Lock, LockTaken } from 'tappet/kit';
import { messageOf, TappetError } from 'tappet/kernel';
import type { SessionLog } from 'tappet/schemas';
import { encodeLine } from './lines.ts';

export interface LogOptions {
  readonly file: string;
  readonly sessionId: string;
  readonly lock: Lock;
  /** The number of the last line that is there. */
  readonly lastSeq: number;
  readonly isNew: boolean;
  readonly onClose: () => void;
  readonly write?: JsonlWriterOptions['write'];
}

/** `E_SESSION_BUSY` where a living process has it. */
export async function lockSession(file: string, sessionId: string): Promise<Lock> {
  const lockFile = file.replace(/\.jsonl$/, '.lock');
  const answer = await takeLock(lockFile).catch((e: unknown) => { throw storeError(e, lockFile); });
  if ('lock' in answer) return answer.lock;
  throw new TappetError('E_SESSION_BUSY', {
    id: sessionId, owner: nameOf(answer), where: lockFile,
    ...(answer.isElsewhere || answer.owner === null ? { do: `if you know that it has ended, remove ${lockFile}; or take a copy: --fork-session` } : {}),
  });
}
function nameOf({ owner, isElsewhere, isSilent }: LockTaken): string {
  if (owner === null) return 'its record cannot be read';
  if (isElsewhere) return `pid ${owner.pid} on another machine or in a container: ${owner.host.split(' ')[0]}${isSilent ? ', without a sign of life for a minute' : ''}`;
  return owner.pid === process.pid ? `pid ${owner.pid}, this very one` : `pid ${owner.pid}`;
}

export function openLog(o: LogOptions): SessionLog {
  const writer = attempt(() => openJsonl(o.file, { isNew: o.isNew, write: o.write }));
  let seq = o.lastSeq;
  let closing: Promise<void> | null = null;
  const close = async (): Promise<void> => {
    try {
      await writer.sync();
    } catch (e) {
      throw storeError(e, o.file);
    } finally {
      writer.close();
      if (writer.bytes === 0 && o.lock.isHeld()) rmSync(o.file, { force: true });
      o.lock.release();
      o.onClose();
    }
  };
  return {
    sessionId: o.sessionId,
    async append(line) {
      if (closing !== null) throw new TappetError('E_SESSION_CLOSED');
      if (!o.lock.isHeld()) throw new TappetError('E_SESSION_STORE', { message: 'its lock was taken away, so another process may be writing', where: o.file, do: 'open the session again' });
      attempt(() => writer.append(encodeLine(line, o.sessionId, seq + 1, () => new Date())));
      seq++;
    },
    sync: () => (closing !== null ? closing : writer.sync().catch((e: unknown) => { throw storeError(e, o.file); })),
    close: () => (closing ??= close()),
    async outputFolder() {
      const folder = join(o.file.replace(/\.jsonl$/, ''), 'outputs');
      await mkdir(folder, { recursive: true, mode: 0o700 }).catch((e: unknown) => { throw storeError(e, folder); });
      return folder;
    },
  };

  function attempt<T>(work: () => T): T {
    try {
      return work();
    } catch (e) {
      throw storeError(e, o.file);
    }
  }
}

export function storeError(e: unknown, where?: string, what?: string): TappetError {
  const why = (e as NodeJS.ErrnoException | null)?.code === 'ENOSPC' ? 'the disk is full' : messageOf(e);
  return new TappetError('E_SESSION_STORE', { message: what === undefined ? why : `${what}: ${why}`, where }, undefined, { cause: e });
}
