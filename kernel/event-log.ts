/** The numbered events of a session and their readers: any number, in order; a slow one is told what it missed and never holds the turn. */
import type { EventBody, SessionEvent } from '../schemas/index.ts';

/** Events kept for readers that lag behind or begin at the start. */
export const KEPT_EVENTS = 20_000;

export interface EventLog {
  emit(body: EventBody, stamp: { readonly agentId: string | null; readonly turnId: string | null; readonly sessionId: string }): void;
  read(o: { readonly from: 'now' | 'start'; readonly wants: (event: SessionEvent) => boolean; /** Nothing comes behind it. */ readonly isLast?: (event: SessionEvent) => boolean }): AsyncIterable<SessionEvent>;
  close(): void;
}

export function createEventLog(): EventLog {
  let kept: SessionEvent[] = [];
  let base = 0;
  let seq = 0;
  let closed = false;
  let wake: (() => void)[] = [];
  const wakeAll = (): void => { const list = wake; wake = []; for (const fn of list) fn(); };
  return {
    emit(body, stamp) {
      if (closed) return;
      kept.push({ ...body, seq: seq++, ...stamp, timestamp: new Date().toISOString() });
      if (kept.length > KEPT_EVENTS * 1.25) { const drop = kept.length - KEPT_EVENTS; kept = kept.slice(drop); base += drop; }
      wakeAll();
    },
    read({ from, wants, isLast }) {
      let at = from === 'start' ? 0 : seq;
      return (async function* () {
        for (;;) {
          if (at < base) {
            const { seq: next, sessionId, agentId, turnId, timestamp } = kept[0]!;
            yield { type: 'events.missed', count: base - at, seq: next, sessionId, agentId, turnId, timestamp };
            at = base;
          }
          const event = kept[at - base];
          if (event !== undefined) { at++; if (wants(event)) yield event; if (isLast?.(event) === true) return; continue; }
          if (closed) return;
          await new Promise<void>((r) => wake.push(r));
        }
      })();
    },
    close() { closed = true; wakeAll(); },
  };
}
