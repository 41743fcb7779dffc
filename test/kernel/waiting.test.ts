import assert from 'node:assert/strict';
import { test } from 'node:test';
import { delay, orAborted, untilAborted } from '../../kernel/waiting.ts';

const never = (): Promise<never> => new Promise(() => {});
/** Gives 1 and 2, and then hangs; deaf to every signal. */
async function* deaf(): AsyncGenerator<number> { yield 1; yield 2; await never(); }

test('a source that ends is read to its end', async () => {
  const seen: number[] = [];
  for await (const n of untilAborted((async function* () { yield* [1, 2, 3]; })(), new AbortController().signal)) seen.push(n);
  assert.deepEqual(seen, [1, 2, 3]);
});
for (const when of ['before', 'while a part is worked on', 'while nothing comes'] as const) {
  test(`an abort ${when} ends a source that does not heed it`, async () => {
    const abort = new AbortController();
    if (when === 'before') abort.abort();
    if (when === 'while nothing comes') setImmediate(() => abort.abort());
    await assert.rejects(async () => {
      for await (const n of untilAborted(deaf(), abort.signal)) if (n === 2 && when === 'while a part is worked on') { abort.abort(); await new Promise((r) => setTimeout(r, 5)); }
    }, /interrupted/);
  });
}
test('what a source throws comes through, and a reader that stops closes the source', async () => {
  await assert.rejects(async () => { for await (const _ of untilAborted((async function* () { yield 1; throw new Error('lost'); })(), new AbortController().signal)); }, /lost/);
  let closed = false;
  for await (const _ of untilAborted((async function* () { try { yield 1; yield 2; } finally { closed = true; } })(), new AbortController().signal)) break;
  await new Promise((r) => setImmediate(r));
  assert.ok(closed);
});
test('a wait ends with its signal, also with one that fell before', async () => {
  const abort = new AbortController();
  const waiting = delay(60_000, abort.signal);
  abort.abort();
  await waiting;
  await delay(60_000, abort.signal);
  await assert.rejects(orAborted(never(), abort.signal, 1), /interrupted/);
  assert.equal(await orAborted(Promise.resolve('there'), abort.signal, 1000), 'there');
});
