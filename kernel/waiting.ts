/** Waiting that an interrupt ends, whatever is waited for. */
import { setTimeout as setTimeoutPromise } from 'node:timers/promises';

/** What ignores its signal is waited for a little, then left behind. */
export function orAborted<T>(running: Promise<T>, signal: AbortSignal, graceMs: number): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const onAbort = (): void => { timer = setTimeout(() => reject(new Error('interrupted')), graceMs); };
    if (signal.aborted) onAbort(); else signal.addEventListener('abort', onAbort, { once: true });
    running.then(resolve, reject).finally(() => { clearTimeout(timer); signal.removeEventListener('abort', onAbort); });
  });
}

/** Ends with the signal, though its source does not heed it. One listener for all that comes: an answer has thousands of parts. */
export async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T, void> {
  const it = source[Symbol.asyncIterator]();
  let giveUp: (() => void) | undefined;
  const onAbort = (): void => { setTimeout(() => giveUp?.(), 0); }; // what is there already is still handed on
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    for (;;) {
      const next = await new Promise<IteratorResult<T>>((resolve, reject) => {
        giveUp = () => reject(new Error('interrupted'));
        if (signal.aborted) onAbort(); // while the last part was worked on
        it.next().then(resolve, reject);
      });
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    giveUp = undefined;
    signal.removeEventListener('abort', onAbort);
    void (async () => it.return?.())().catch(() => {}); // it may never hear it
  }
}

/** Not a moment longer than the signal allows. */
export const delay = (ms: number, signal: AbortSignal): Promise<void> => setTimeoutPromise(ms, undefined, { signal }).catch(() => {}); // it rejects for the abort alone
