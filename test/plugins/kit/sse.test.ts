import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { sseEvents } from '../../../plugins/kit/sse.ts';
import type { SseEvent } from '../../../plugins/kit/sse.ts';

async function read(pieces: Iterable<Uint8Array>): Promise<SseEvent[]> {
  const all: SseEvent[] = [];
  for await (const e of sseEvents((async function* () { yield* pieces; })())) all.push(e);
  return all;
}
const bytes = (s: string): Uint8Array => new TextEncoder().encode(s);

test('reads names, ids, several data lines and leaves comments out', async () => {
  assert.deepEqual(await read([bytes(': hi\nevent: a\ndata: one\ndata: two\nid: 7\n\n:ping\n\ndata:{"x":1}\n\n')]), [
    { event: 'a', data: 'one\ntwo', id: '7' },
    { event: null, data: '{"x":1}' },
  ]);
});

test('an event without its last blank line still counts at a clean end', async () => {
  assert.deepEqual(await read([bytes('data: a\n\ndata: [DONE]')]), [{ event: null, data: 'a' }, { event: null, data: '[DONE]' }]);
});

test('the cut of the bytes and the kind of line end change nothing', async () => {
  await fc.assert(fc.asyncProperty(
    fc.array(fc.record({ event: fc.constantFrom('a', 'message_delta'), data: fc.string({ unit: 'grapheme', minLength: 1 }).map((s) => JSON.stringify(s)) }), { maxLength: 5 }),
    fc.constantFrom('\n', '\r\n', '\r'), fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 10 }),
    async (events, eol, sizes) => {
      const whole = bytes(events.map((e) => `: c${eol}event: ${e.event}${eol}data: ${e.data}${eol}${eol}`).join(''));
      const pieces: Uint8Array[] = [];
      for (let at = 0, i = 0; at < whole.length; i++) { const n = sizes[i % sizes.length]!; pieces.push(whole.subarray(at, at + n)); at += n; }
      assert.deepEqual(await read(pieces), events.map((e) => ({ ...e })));
    },
  ));
});
