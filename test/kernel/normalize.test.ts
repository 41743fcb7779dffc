/** Whatever lies in a session, what goes to a model is valid. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createNormalizer, INTERRUPTED, normalize } from '../../kernel/normalize.ts';
import { NO_USAGE } from '../../schemas/message.ts';
import type { Block, Message, NormalizedMessage } from '../../schemas/index.ts';

let n = 0;
const id = () => `00000000-0000-4000-8000-${String(n++).padStart(12, '0')}` as const;
const user = (content: string | Block[]): Message => ({ type: 'user', uuid: id(), timestamp: 't', message: { role: 'user', content } });
const assistant = (content: Block[], mid = 'm'): Message => ({ type: 'assistant', uuid: id(), timestamp: 't', message: { id: mid, role: 'assistant', model: 'x', content, stop_reason: null, usage: NO_USAGE } });
const use = (i: number): Block => ({ type: 'tool_use', id: `c${i}`, name: 'Read', input: {} });
const result = (i: number): Block => ({ type: 'tool_result', tool_use_id: `c${i}`, content: `r${i}` });
const system = (): Message => ({ type: 'system', uuid: id(), timestamp: 't', format: 'informational', level: 'info', content: 'for people' });

const message = fc.oneof(
  fc.string().map((t) => user(t)),
  fc.array(fc.nat(6).map(result), { maxLength: 3 }).map((r) => user(r)),
  fc.array(fc.oneof(fc.nat(6).map(use), fc.string().map((text): Block => ({ type: 'text', text }))), { maxLength: 4 }).map((b) => assistant(b)),
  fc.constant(null).map(system),
  fc.constant(null).map((): Message => ({ type: 'progress', uuid: id(), timestamp: 't', toolUseID: 'c1', data: 1 })),
  fc.string({ minLength: 1 }).map((text): Message => ({ type: 'attachment', uuid: id(), timestamp: 't', attachment: { kind: 'hook', text } })),
);

function assertValid(out: readonly NormalizedMessage[]): void {
  out.forEach((m, i) => {
    assert.equal(m.role, i % 2 === 0 ? 'user' : 'assistant', 'roles alternate and begin with the user');
    assert.ok(m.content.length > 0, 'no message is empty');
    const uses = m.content.flatMap((b) => (b.type === 'tool_use' ? [b.id] : []));
    assert.equal(new Set(uses).size, uses.length, 'one message has no two calls of one id');
    if (uses.length > 0) {
      const next = out[i + 1];
      assert.ok(next !== undefined, 'a call is never last');
      assert.deepEqual(next.content.slice(0, uses.length).map((b) => (b.type === 'tool_result' ? b.tool_use_id : '?')), uses, 'results stand first, in the order of the calls');
    }
    const results = m.content.filter((b) => b.type === 'tool_result');
    const before = out[i - 1]?.content.filter((b) => b.type === 'tool_use') ?? [];
    assert.equal(results.length, before.length, 'no result without its call');
  });
}

test('any list of messages becomes a valid request', () => {
  fc.assert(fc.property(fc.array(message, { maxLength: 30 }), (messages) => { assertValid(normalize(messages)); }), { numRuns: 500 });
});
test('every cut of a valid conversation becomes a valid request', () => {
  const talk = [user('a'), assistant([use(1), use(2)]), user([result(1)]), user([result(2)]), assistant([{ type: 'text', text: 'b' }]), user('c'), assistant([use(3)]), user([result(3)]), assistant([{ type: 'text', text: 'd' }])];
  for (let from = 0; from < talk.length; from++) for (let to = from; to <= talk.length; to++) assertValid(normalize(talk.slice(from, to)));
});
test('a call whose result was never written says that its effect is unknown', () => {
  const out = normalize([user('a'), assistant([use(1)]), user('go on')]);
  assert.deepEqual(out[2]!.content[0], { type: 'tool_result', tool_use_id: 'c1', content: INTERRUPTED, is_error: true });
});
test('what is for people only is not sent', () => {
  assert.equal(JSON.stringify(normalize([user('a'), system(), assistant([{ type: 'text', text: 'b' }])])).includes('for people'), false);
});
test('blocks of one message that were written as several lines are one message again', () => {
  const out = normalize([user('a'), assistant([{ type: 'text', text: 'x' }], 'm1'), assistant([use(1)], 'm1'), user([result(1)])]);
  assert.equal(out.length, 3);
  assert.equal(out[1]!.content.length, 2);
});
test('messages that did not change give the same objects again, so that their bytes can be kept', () => {
  const normalizer = createNormalizer();
  const talk: Message[] = [user('a')];
  let before: readonly NormalizedMessage[] = [];
  for (let i = 0; i < 20; i++) {
    talk.push(assistant([use(i)]), user([result(i)]));
    const now = normalizer.normalize([...talk]);
    for (let k = 0; k < before.length; k++) assert.equal(now[k], before[k], `message ${k} was made anew in round ${i}`);
    before = now;
  }
});
