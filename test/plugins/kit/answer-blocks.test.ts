import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { blockQueue, callInput, unfinished } from '../../../plugins/kit/answer-blocks.ts';
import { inOrder } from '../../contracts/model-provider.ts';

test('however blocks grow beside each other, they are told one after another and whole', () => {
  const steps = fc.array(fc.record({ block: fc.nat({ max: 3 }), stop: fc.boolean(), words: fc.string({ minLength: 1, maxLength: 3 }), take: fc.boolean() }), { maxLength: 30 });
  fc.assert(fc.property(steps, (list) => {
    const queue = blockQueue();
    const told: ReturnType<typeof queue.take> = [];
    const open = new Map<number, { said: string; done: boolean; growing: ReturnType<typeof queue.start> }>();
    for (const s of list) {
      if (!open.has(s.block)) open.set(s.block, { said: '', done: false, growing: queue.start({ type: 'text', text: '' }) });
      const one = open.get(s.block)!;
      one.growing.delta({ type: 'text_delta', text: s.words });
      if (!one.done) one.said += s.words;
      if (s.stop) { one.growing.stop({ type: 'text', text: one.said }); one.done = true; }
      if (s.take) told.push(...queue.take());
    }
    for (const one of open.values()) one.growing.stop({ type: 'text', text: one.said });
    told.push(...queue.take());
    inOrder(told);
    assert.equal(told.filter((e) => e.type === 'content_block_stop').length, open.size);
  }));
});

test('what can be told is told at once', () => {
  const queue = blockQueue();
  const first = queue.start({ type: 'text', text: '' });
  first.delta({ type: 'text_delta', text: 'a' });
  assert.deepEqual(queue.take().map((e) => e.type), ['content_block_start', 'content_block_delta']);
  queue.whole({ type: 'text', text: 'b' });
  assert.deepEqual(queue.take(), []);
  first.stop({ type: 'text', text: 'a' });
  assert.deepEqual(queue.take().map((e) => 'index' in e && [e.type, e.index]), [['content_block_stop', 0], ['content_block_start', 1], ['content_block_stop', 1]]);
});

test('the input of a call is an object, whatever it came as; else an empty one with what came beside it', () => {
  assert.deepEqual([{ a: 1 }, '{"a":1}', '"{\\"a\\":1}"', '', '  ', null, undefined, 'null'].map((raw) => callInput(raw)), [...Array(3).fill({ input: { a: 1 }, cut: false }), ...Array(5).fill({ input: {}, cut: false })]);
  for (const raw of ['[1]', '7', '{a:1}', '{"a":1}}', 12, '"text"']) {
    const { input, inputError, cut } = callInput(raw);
    assert.deepEqual([input, inputError?.raw, cut], [{}, typeof raw === 'string' ? raw : JSON.stringify(raw), false]);
  }
});

test('an input that is nested too deep is kept as text, also where the text is text in JSON', () => {
  const deep = `${'{"a":'.repeat(3000)}1${'}'.repeat(3000)}`;
  for (const raw of [deep, JSON.stringify(deep)]) assert.deepEqual(callInput(raw), { input: {}, inputError: { why: 'the input of the call is nested too deep', raw }, cut: false });
});

test('every beginning of an object is known to be cut, and no whole one is', () => {
  fc.assert(fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(), (object, n) => {
    const text = JSON.stringify(object);
    assert.equal(callInput(text).cut, false);
    assert.equal(unfinished(text), false);
    const part = text.slice(0, 1 + (n % (text.length - 1)));
    assert.deepEqual([callInput(part).cut, callInput(part).inputError?.raw], [true, part]);
  }));
});
