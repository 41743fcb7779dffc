/** Events and their readers: all of them, in order, as often as one likes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEventLog, KEPT_EVENTS } from '../../kernel/event-log.ts';
import type { SessionEvent } from '../../schemas/index.ts';

const stamp = { sessionId: 's', agentId: null, turnId: null };
const notice = (text: string) => ({ type: 'notice', level: 'info', code: 'X', text }) as const;
const all = () => true;
const texts = (events: readonly SessionEvent[]): string[] => events.flatMap((e) => (e.type === 'notice' ? [e.text] : []));
async function read(events: AsyncIterable<SessionEvent>): Promise<SessionEvent[]> { const list: SessionEvent[] = []; for await (const e of events) list.push(e); return list; }

test('a reader from the start hears all, one from now what comes, and both end when the log is closed', async () => {
  const log = createEventLog();
  log.emit(notice('a'), stamp);
  const early = read(log.read({ from: 'start', wants: all }));
  const late = read(log.read({ from: 'now', wants: all }));
  log.emit(notice('b'), stamp);
  await Promise.resolve();
  log.emit(notice('c'), stamp);
  log.close();
  log.emit(notice('never'), stamp);
  assert.deepEqual(texts(await early), ['a', 'b', 'c']);
  assert.deepEqual(texts(await late), ['b', 'c']);
  assert.deepEqual((await early).map((e) => e.seq), [0, 1, 2]);
  assert.deepEqual(texts(await read(log.read({ from: 'start', wants: all }))), ['a', 'b', 'c'], 'what was kept can be read behind the end');
});
test('a reader begins where it was asked for, not where it was first listened to', async () => {
  const log = createEventLog();
  const events = log.read({ from: 'now', wants: all });
  log.emit(notice('between'), stamp);
  log.close();
  assert.deepEqual(texts(await read(events)), ['between']);
});
test('a reader ends behind the event that is its last', async () => {
  const log = createEventLog();
  const events = read(log.read({ from: 'start', wants: (e) => texts([e])[0] !== 'not mine', isLast: (e) => texts([e])[0] === 'last' }));
  for (const t of ['a', 'not mine', 'last', 'b']) log.emit(notice(t), stamp);
  assert.deepEqual(texts(await events), ['a', 'last']);
});
test('one that lags behind is told how many it missed, and goes on with the oldest that is kept', async () => {
  const log = createEventLog();
  const events = log.read({ from: 'start', wants: all })[Symbol.asyncIterator]();
  const total = KEPT_EVENTS * 2;
  for (let i = 0; i < total; i++) log.emit(notice(String(i)), stamp);
  const missed = (await events.next()).value as SessionEvent;
  assert.ok(missed.type === 'events.missed');
  const next = (await events.next()).value as SessionEvent;
  assert.deepEqual(texts([next]), [String(missed.count)]);
  assert.equal(missed.seq, next.seq);
  assert.deepEqual(Object.keys(missed).sort(), ['agentId', 'count', 'seq', 'sessionId', 'timestamp', 'turnId', 'type']);
});
