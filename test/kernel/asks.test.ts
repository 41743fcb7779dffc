/** Questions at the desk: each is settled once, by a person or by nobody. */
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import fc from 'fast-check';
import { createDesk } from '../../kernel/asks.ts';

const allow = { behavior: 'allow' } as const;

test('an answer settles its question once; a second one is refused', async () => {
  const desk = createDesk();
  const q = desk.open(new AbortController().signal);
  assert.equal(desk.answer(q.id, allow), true);
  assert.equal(desk.answer(q.id, { behavior: 'deny' }), false);
  assert.deepEqual(await q.settled, { by: 'person', answer: allow });
  assert.equal(desk.size, 0);
});
test('an abort withdraws a question, before it is asked too, and leaves no listener', async () => {
  const desk = createDesk();
  const abort = new AbortController();
  const first = desk.open(abort.signal);
  const answered = desk.open(abort.signal);
  desk.answer(answered.id, allow);
  assert.equal(getEventListeners(abort.signal, 'abort').length, 1);
  abort.abort();
  assert.deepEqual(await first.settled, { by: 'withdrawn' });
  assert.deepEqual(await desk.open(abort.signal).settled, { by: 'withdrawn' });
  assert.equal(getEventListeners(abort.signal, 'abort').length, 0);
  assert.equal(desk.answer(first.id, allow), false);
});
test('who could answer is gone: open questions are withdrawn, later ones can be asked', async () => {
  const desk = createDesk();
  const gone = desk.open(new AbortController().signal);
  desk.withdraw();
  assert.deepEqual(await gone.settled, { by: 'withdrawn' });
  const next = desk.open(new AbortController().signal);
  assert.equal(desk.answer(next.id, allow), true);
});
test('a closed desk withdraws all, now and later', async () => {
  const desk = createDesk();
  const q = desk.open(new AbortController().signal);
  desk.close();
  assert.deepEqual(await q.settled, { by: 'withdrawn' });
  assert.deepEqual(await desk.open(new AbortController().signal).settled, { by: 'withdrawn' });
});
test('in whatever order questions are answered, withdrawn and closed, each settles', async () => {
  await fc.assert(fc.asyncProperty(fc.array(fc.constantFrom('open', 'answer', 'abort', 'withdraw'), { maxLength: 30 }), async (moves) => {
    const desk = createDesk();
    const asked: { id: `${string}-${string}-${string}-${string}-${string}`; settled: Promise<unknown>; abort: AbortController }[] = [];
    for (const [i, m] of moves.entries()) {
      if (m === 'open') { const abort = new AbortController(); asked.push({ ...desk.open(abort.signal), abort }); }
      const one = asked[i % Math.max(1, asked.length)];
      if (m === 'answer' && one !== undefined) desk.answer(one.id, allow);
      if (m === 'abort') one?.abort.abort();
      if (m === 'withdraw') desk.withdraw();
    }
    desk.close();
    assert.equal((await Promise.all(asked.map((a) => a.settled))).length, asked.length);
    assert.equal(desk.size, 0);
  }));
});
