/** The desk: one per tree of sessions. Questions lie here until a person, a withdrawal or nobody answers. */
import { randomUUID } from 'node:crypto';
import type { Answer, Uuid } from '../schemas/index.ts';

export type Settled = { readonly by: 'person'; readonly answer: Answer } | { readonly by: 'withdrawn' };
export interface Question { readonly id: Uuid; readonly settled: Promise<Settled> }

export interface Desk {
  /** An aborted signal withdraws the question. */
  open(signal: AbortSignal): Question;
  /** False where it is not open any more. */
  answer(id: Uuid, answer: Answer): boolean;
  readonly size: number;
  /** Those who could have answered are gone: all open questions are withdrawn. */
  withdraw(): void;
  /** Nobody will answer: all open questions are withdrawn, later ones at once. */
  close(): void;
}

export function createDesk(): Desk {
  const waiting = new Map<Uuid, (settled: Settled) => void>();
  let closed = false;
  const withdrawAll = (): void => { for (const finish of [...waiting.values()]) finish({ by: 'withdrawn' }); };
  return {
    open(signal) {
      const id = randomUUID();
      if (closed || signal.aborted) return { id, settled: Promise.resolve({ by: 'withdrawn' }) };
      const settled = new Promise<Settled>((resolve) => {
        const withdraw = (): void => finish({ by: 'withdrawn' });
        const finish = (s: Settled): void => {
          waiting.delete(id);
          signal.removeEventListener('abort', withdraw);
          resolve(s);
        };
        waiting.set(id, finish);
        signal.addEventListener('abort', withdraw, { once: true });
      });
      return { id, settled };
    },
    answer(id, answer) {
      const finish = waiting.get(id);
      finish?.({ by: 'person', answer });
      return finish !== undefined;
    },
    get size() { return waiting.size; },
    withdraw: withdrawAll,
    close() {
      closed = true;
      withdrawAll();
    },
  };
}
