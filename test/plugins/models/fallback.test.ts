import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultError, NO_USAGE, TappetError } from 'tappet/kernel';
import type { FaultKind, ModelEvent, ModelFault, ModelProvider, ModelRequest } from 'tappet/kernel';
import fallback from '../../../plugins/models/fallback.ts';
import { assistant, request, speak, standUp, user } from './provider-bench.ts';

type Say = string | { fault: FaultKind; more?: Partial<ModelFault>; after?: 'start' | 'block start' | 'text' } | { stop: string } | { notice: string; text: string };
/** Plays one saying per request; the last one stays. */
function fake(name: string, says: Say[], o: { models?: ReturnType<ModelProvider['models']> } = {}) {
  const seen: ModelRequest[] = [];
  const provider: ModelProvider & { seen: ModelRequest[] } = {
    name, seen,
    models: () => o.models ?? [],
    available: async () => null,
    encode: (m) => new TextEncoder().encode(`${name}:${m.role}`),
    async* stream(r): AsyncGenerator<ModelEvent> {
      const say = says[Math.min(seen.length, says.length - 1)]!;
      seen.push(r);
      const fail = (s: { fault: FaultKind; more?: Partial<ModelFault> }) => faultError({ kind: s.fault, message: `${name} says no`, provider: name, model: r.model, transient: false, ...s.more });
      if (typeof say === 'object' && 'fault' in say && say.after === undefined) throw fail(say);
      yield { type: 'message_start', id: `m-${name}`, model: r.model, usage: NO_USAGE };
      if (typeof say === 'object' && 'notice' in say) yield { type: 'notice', code: 'x', text: say.notice };
      if (typeof say === 'object' && 'fault' in say && say.after === 'start') throw fail(say);
      if (typeof say === 'object' && 'stop' in say) { yield { type: 'message_delta', stop_reason: say.stop, usage: NO_USAGE }; yield { type: 'message_stop' }; return; }
      const text = typeof say === 'string' ? say : 'text' in say ? say.text : 'half';
      yield { type: 'content_block_start', index: 0, block: { type: 'text', text: '' } };
      if (typeof say === 'object' && 'fault' in say && say.after === 'block start') throw fail(say);
      yield { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } };
      if (typeof say === 'object' && 'fault' in say) throw fail(say);
      yield { type: 'content_block_stop', index: 0, block: { type: 'text', text } };
      yield { type: 'message_delta', stop_reason: 'end_turn', usage: NO_USAGE };
      yield { type: 'message_stop' };
    },
  };
  return provider;
}
const stand = async (others: ModelProvider[], options: { stay?: number; patienceMs?: number } = {}) =>
  (await standUp(fallback, { others, options: { stay: 10, patienceMs: 20_000, ...options } })).get('fallback');
const ask = async (provider: ModelProvider, model: string, more: Partial<ModelRequest> = {}) => {
  const said = await speak(provider, request(provider, model, [user('hi')], more));
  return { ...said, notices: said.events.flatMap((e) => (e.type === 'notice' ? [e.text] : [])) };
};

test('the first answers, and nobody else is asked', async () => {
  const [a, b] = [fake('a', ['from a']), fake('b', ['from b'])];
  const said = await ask(await stand([a, b]), 'a/x,b/y');
  assert.deepEqual([said.text, said.notices, b.seen.length, a.seen[0]!.model], ['from a', [], 0, 'x']);
});

for (const kind of ['overloaded', 'quota', 'auth', 'not_found', 'refusal', 'content_filter', 'connection', 'timeout_first_byte', 'server_error', 'rate_limit'] as const) {
  test(`the next answers where the first fails with ${kind}, and a notice says why`, async () => {
    const said = await ask(await stand([fake('a', [{ fault: kind }]), fake('b', ['from b'])]), 'a/x,b/org/y');
    assert.equal(said.text, 'from b');
    assert.match(said.notices.join(), /^a\/x .+ \(a says no\); b\/org\/y is asked instead$/);
    assert.equal(said.events.filter((e) => e.type === 'message_start').length, 1);
  });
}
for (const kind of ['context_too_long', 'invalid_request', 'broken_stream', 'empty_answer', 'timeout_between_bytes', 'aborted'] as const) {
  test(`${kind} is thrown as it is: another model would not do better`, async () => {
    const b = fake('b', ['from b']);
    const said = await ask(await stand([fake('a', [{ fault: kind }]), b]), 'a/x,b/y');
    assert.deepEqual([said.fault?.kind, said.fault?.provider, b.seen.length], [kind, 'a', 0]);
  });
}

test('a fault before the first words lets the next answer; after them it is thrown', async () => {
  for (const after of ['start', 'block start'] as const) {
    const said = await ask(await stand([fake('a', [{ fault: 'overloaded', after }]), fake('b', ['from b'])]), 'a/x,b/y');
    assert.equal(said.text, 'from b');
    assert.equal(said.events.filter((e) => e.type === 'content_block_start').length, 1, 'nothing of the first is seen');
  }
  const b = fake('b', ['from b']);
  const said = await ask(await stand([fake('a', [{ fault: 'overloaded', after: 'text' }]), b]), 'a/x,b/y');
  assert.deepEqual([said.fault?.kind, b.seen.length], ['overloaded', 0]);
});

test('a refusal without a word lets the next answer', async () => {
  const said = await ask(await stand([fake('a', [{ stop: 'refusal' }]), fake('b', ['from b'])]), 'a/x,b/y');
  assert.equal(said.text, 'from b');
});

test('a short rate limit is left to the loop; a long one is not', async () => {
  const limited = (retryAfterMs: number) => fake('a', [{ fault: 'rate_limit', more: { retryAfterMs, transient: true } }]);
  assert.equal((await ask(await stand([limited(1000), fake('b', ['from b'])]), 'a/x,b/y')).fault?.retryAfterMs, 1000);
  assert.equal((await ask(await stand([limited(1000), fake('b', ['from b'])], { patienceMs: 500 }), 'a/x,b/y')).text, 'from b');
});

test('who is not there, or has no key, is passed over', async () => {
  const b = fake('b', ['never']);
  b.stream = async function* () { throw new TappetError('E_MODEL_UNAVAILABLE', { message: 'B_KEY is not set' }); };
  const said = await ask(await stand([b, fake('c', ['from c'])]), 'nobody/x, b/y ,c/z');
  assert.equal(said.text, 'from c');
  assert.match(said.notices[0]!, /nobody\/x is not there \(no provider is named "nobody"\)/);
  assert.match(said.notices[1]!, /b\/y cannot be used \(no model can be used: B_KEY is not set\)/);
});

test('a name without a provider is an alias of any of them', async () => {
  const b = fake('b', ['from b'], { models: [{ id: 'b-large-2', aliases: ['large'], contextWindow: 1, maxOutputTokens: 9, can: ['tools'] }] });
  const said = await ask(await stand([fake('a', ['never']), b]), 'large', { maxOutputTokens: 50, thinking: 'adaptive', effort: 'high' });
  assert.equal(said.text, 'from b');
  const { model, maxOutputTokens, thinking, effort } = b.seen[0]!;
  assert.deepEqual({ model, maxOutputTokens, thinking, effort }, { model: 'b-large-2', maxOutputTokens: 9, thinking: undefined, effort: undefined }, 'what it cannot is not asked of it');
  assert.equal((await ask(await stand([b]), 'unheard-of')).fault?.kind, 'not_found');
});

test('messages are encoded by who answers', async () => {
  const b = fake('b', ['from b']);
  const provider = await stand([fake('a', [{ fault: 'overloaded' }]), b]);
  await speak(provider, request(provider, 'a/x,b/y', [user('hi'), assistant('yes'), user('go')]));
  assert.deepEqual(b.seen[0]!.messages.map((m) => Buffer.from(m.bytes).toString()), ['b:user', 'b:assistant', 'b:user']);
});

test('the next keeps its place for some requests of the session, then the first is tried again', async () => {
  const [a, b] = [fake('a', [{ fault: 'overloaded' }, { fault: 'overloaded' }, 'a is back']), fake('b', ['from b'])];
  const provider = await stand([a, b], { stay: 2 });
  const texts: string[] = [];
  for (let i = 0; i < 7; i++) { const said = await ask(provider, 'a/x,b/y'); texts.push(said.text + (said.notices.length > 0 ? '!' : '')); }
  assert.deepEqual(texts, ['from b!', 'from b', 'from b', 'from b!', 'from b', 'from b', 'a is back!']);
  assert.equal((await ask(provider, 'a/x,b/y', { sessionId: 'other' })).text, 'a is back', 'another session begins at the first');
});

test('a standing substitute that fails lets the first try again', async () => {
  const [a, b] = [fake('a', [{ fault: 'overloaded' }, 'a is back']), fake('b', ['from b', { fault: 'quota' }])];
  const provider = await stand([a, b]);
  await ask(provider, 'a/x,b/y');
  assert.equal((await ask(provider, 'a/x,b/y')).text, 'a is back');
});

test('where nobody answers, all reasons are named, and the wait is the shortest that helps', async () => {
  const said = await ask(await stand([
    fake('a', [{ fault: 'auth' }]), fake('b', [{ fault: 'overloaded', more: { transient: true, retryAfterMs: 900, status: 529 } }]), fake('c', [{ fault: 'rate_limit', more: { transient: true, retryAfterMs: 60_000 } }]),
  ]), 'a/x,b/y,c/z');
  assert.match(said.error!.message, /a\/x cannot be used \(a says no\); b\/y is overloaded .*; c\/z is rate limited/);
  const { kind, transient, retryAfterMs, status, provider } = said.fault!;
  assert.deepEqual({ kind, transient, retryAfterMs, status, provider }, { kind: 'overloaded', transient: true, retryAfterMs: 900, status: 529, provider: 'fallback' });
});

test('one model alone throws its own fault', async () => {
  const said = await ask(await stand([fake('a', [{ fault: 'overloaded', more: { status: 529 } }])]), 'a/x,a/x');
  assert.deepEqual([said.fault?.provider, said.fault?.status], ['a', 529]);
});

test('an interrupted request asks nobody else', async () => {
  const abort = new AbortController();
  const a = fake('a', ['never']);
  a.stream = async function* () { abort.abort(); throw faultError({ kind: 'connection', message: 'socket closed', provider: 'a', model: 'x', transient: true }); };
  const b = fake('b', ['never']);
  const provider = await stand([a, b]);
  await assert.rejects(async () => { for await (const _ of provider.stream(request(provider, 'a/x,b/y', [user('hi')]), abort.signal)); });
  assert.equal(b.seen.length, 0);
});

test('notices of the one who answers pass, and a mistake that is no fault is thrown', async () => {
  const said = await ask(await stand([fake('a', [{ notice: 'a field was skipped', text: 'from a' }])]), 'a/x');
  assert.deepEqual([said.text, said.notices], ['from a', ['a field was skipped']]);
  const a = fake('a', ['never']);
  a.stream = async function* () { throw new TypeError('a bug'); };
  const provider = await stand([a, fake('b', ['never'])]);
  await assert.rejects(speak(provider, request(provider, 'a/x,b/y', [user('hi')])), TypeError);
});

test('it is a chain, and is never the model of somebody who named none', async () => {
  const provider = await stand([]);
  assert.equal(provider.chains, true);
  assert.match((await provider.available())!, /no models are given/);
});

test('an empty list, and a list in a list, are refused with what to write', async () => {
  const provider = await stand([fake('a', ['x'])]);
  for (const list of ['', ' , ', 'a/x,fallback/b/y']) {
    const said = await ask(provider, list);
    assert.ok(said.error instanceof TappetError && said.error.code === 'E_FALLBACK_LIST', list);
    assert.match(said.error.row.do, /provider\/model, separated by commas/);
  }
});
