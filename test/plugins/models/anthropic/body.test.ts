import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Block, EncodedMessage, ModelRequest, NormalizedMessage, SystemPromptBlock } from 'tappet/schemas';
import { hear, peerTools, requestTo } from '../../../contracts/model-provider.ts';
import { signatureOf } from '../../../support/messages-law.ts';
import { bench } from './bench.ts';

const user = (...content: (string | Block)[]): NormalizedMessage => ({ role: 'user', content: content.map((c) => (typeof c === 'string' ? { type: 'text', text: c } : c)) });
const assistant = (...content: (string | Block)[]): NormalizedMessage => ({ ...user(...content), role: 'assistant' });
const HELLO = [user('Hello')];
const MARK = ',"cache_control":{"type":"ephemeral"}';
const system = (...scopes: SystemPromptBlock['cacheScope'][]): SystemPromptBlock[] => scopes.map((cacheScope, i) => ({ text: `part ${i}`, cacheScope }));
interface Sent { system?: { text: string; cache_control?: unknown }[]; tools?: { name: string; cache_control?: unknown }[]; messages: { content: { cache_control?: unknown }[] }[]; [more: string]: unknown }

test('over a hundred turns all that was sent before is sent again, byte for byte, but for the markers', async (t) => {
  const { mock, provider } = await bench(t);
  const messages: EncodedMessage[] = [];
  const add = (message: NormalizedMessage): void => { messages.push({ message, bytes: provider.encode(message) }); };
  const system: ModelRequest['system'] = [{ text: 'core', cacheScope: 'global' }, { text: 'memory', cacheScope: 'session' }, { text: 'today', cacheScope: null }];
  add(user('Do it'));
  for (let n = 0; n < 100; n++) {
    const calls = Array.from({ length: 1 + (n % 3) }, (_, i): Block => ({ type: 'tool_use', id: `t${n}_${i}`, name: 'Read', input: { a: `é${i}` } }));
    const { error } = await hear(provider, { model: 'sonnet', system, messages: [...messages], tools: peerTools, sessionId: 's', turnId: 't' });
    assert.equal(error, undefined);
    add(assistant(`step ${n}`, ...calls));
    add(user(...calls.map((_, i): Block => ({ type: 'tool_result', tool_use_id: `t${n}_${i}`, content: `result ${n} – ${i}` }))));
  }
  assert.equal(mock.requests.length, 100);
  const unmarked = mock.requests.map((r) => r.text.replaceAll(MARK, ''));
  for (let n = 1; n < 100; n++) {
    const before = unmarked[n - 1]!.slice(0, -2);
    assert.ok(unmarked[n]!.startsWith(before), `turn ${n} changed what was said before`);
    assert.ok(unmarked[n]!.startsWith(',{', before.length), 'the rest begins with the next message');
  }
  for (const [n, { body }] of mock.requests.entries()) {
    const sent = body as unknown as Sent;
    assert.deepEqual(sent.system?.map((b) => b.cache_control !== undefined), [true, true, false]);
    const marked = sent.messages.flatMap((m, i) => (m.content.some((b) => b.cache_control !== undefined) ? [i] : []));
    assert.deepEqual(marked, n === 0 ? [0] : [sent.messages.length - 3, sent.messages.length - 1], 'at the end, and where the last request ended');
    assert.ok(sent.messages[marked.at(-1)!]!.content.at(-1)!.cache_control !== undefined, 'on the last block');
  }
});

test('markers stand behind what stays longest, at most four, and never behind a block that changes', async (t) => {
  const { mock, provider } = await bench(t);
  const marks = async (blocks: SystemPromptBlock[], more: Partial<ModelRequest> = {}): Promise<readonly [string, string]> => {
    await hear(provider, requestTo(provider, 'sonnet', HELLO, { system: blocks, ...more }));
    const { system: s, tools } = mock.requests.at(-1)!.body as unknown as Sent;
    const show = (list: readonly { cache_control?: unknown }[] | undefined): string => (list ?? []).map((b) => (b.cache_control === undefined ? '.' : 'x')).join('');
    return [show(s), show(tools)];
  };
  assert.deepEqual(await marks(system('global', 'global', 'project', 'session', null)), ['.x.x.', '..']);
  assert.deepEqual(await marks(system('global')), ['x', '..']);
  assert.deepEqual(await marks(system('session', 'session')), ['.x', '..']);
  assert.deepEqual(await marks(system('global', null, 'session')), ['x..', '..']);
  assert.deepEqual(await marks(system(null)), ['.', '.x'], 'tools are marked where no system block is');
  assert.deepEqual(await marks([]), ['', '.x']);
  assert.deepEqual(await marks([{ text: '  ', cacheScope: 'global' }]), ['', '.x'], 'empty blocks are not sent');
  assert.deepEqual(await marks(system('global'), { tools: [] }), ['x', '']);
  assert.equal(mock.requests.every((r) => r.refused === null), true);
});

test('a model without a cache gets no markers', async (t) => {
  const { mock, provider } = await bench(t, undefined, { models: { 'anthropic/plain': { can: ['tools'] } } });
  await hear(provider, requestTo(provider, 'plain', HELLO));
  assert.ok(!mock.requests[0]!.text.includes('cache_control'));
});

test('an answer that ends in thoughts, or in nothing, takes no part in the markers', async (t) => {
  const { mock, provider } = await bench(t);
  const { error } = await hear(provider, requestTo(provider, 'sonnet', [user('a'), assistant({ type: 'thinking', thinking: 'unsigned' }), user('b'), assistant('c'), user('d')]));
  assert.equal(error, undefined);
  const { messages } = mock.requests[0]!.body as unknown as Sent;
  assert.equal(messages.length, 4);
  assert.deepEqual(messages.map((m) => m.content.at(-1)!.cache_control !== undefined), [false, true, false, true]);
});

test('an answer that broke off is followed by a word to go on, and never ends in thoughts; a pause of the API itself is left as it is', async (t) => {
  const { mock, provider } = await bench(t);
  const thought: Block = { type: 'thinking', thinking: 'Hm', signature: signatureOf('Hm'), provider: 'anthropic' };
  const paused: Block = { type: 'vendor', provider: 'anthropic', block: { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} } };
  for (const messages of [[user('a'), assistant('half an ans')], [user('a'), assistant(thought)], [user('a'), assistant('half', thought)], [user('a'), assistant(thought), user('b')], [user('a'), assistant(paused)]]) assert.equal((await hear(provider, requestTo(provider, 'sonnet', messages))).error, undefined);
  assert.deepEqual(mock.requests.map((r) => r.refused), [null, null, null, null, null]);
  const sent = mock.requests.map((r) => (r.body.messages as { role: string; content: { type: string; text?: string }[] }[]).map((m) => m.content.map((c) => c.text ?? c.type).join()));
  assert.deepEqual(sent, [['a', 'half an ans', 'The answer broke off here. Go on.'], ['a'], ['a', 'half', 'The answer broke off here. Go on.'], ['a', 'b'], ['a', 'server_tool_use']]);
});

test('aliases become ids, dated and cloud forms of an id stay as they are, with the facts of the plain one', async (t) => {
  const { mock, provider } = await bench(t);
  for (const model of ['haiku', 'claude-haiku-4-5-20251001', 'us.anthropic.claude-opus-4-5-20251101-v1:0', 'never-heard-of']) await hear(provider, requestTo(provider, model, HELLO));
  assert.deepEqual(mock.requests.map((r) => [r.model, r.body.max_tokens]), [['claude-haiku-5-5', 128_000], ['claude-haiku-4-5-20251001', 64_000], ['us.anthropic.claude-opus-4-5-20251101-v1:0', 64_000], ['never-heard-of', 32_000]]);
});

const BOUND = { block_binding: { prefix_mismatch_behavior: 'drop_block' } };
const adaptive = { type: 'adaptive', display: 'summarized' };
for (const [model, wish, expected] of [
  ['claude-opus-5-5', undefined, { ...adaptive, ...BOUND }], ['claude-opus-5-5', 'adaptive', { ...adaptive, ...BOUND }], ['claude-opus-5-5', { budgetTokens: 4000 }, { ...adaptive, ...BOUND }],
  ['claude-opus-5', undefined, adaptive], ['claude-opus-4-8', undefined, undefined], ['claude-opus-4-8', 'adaptive', adaptive], ['claude-opus-4-8', { budgetTokens: 4000 }, adaptive],
  ['claude-opus-4-6', { budgetTokens: 4000 }, { type: 'enabled', budget_tokens: 4000 }], ['claude-opus-4-6', 'adaptive', adaptive],
  ['claude-haiku-4-5', undefined, undefined], ['claude-haiku-4-5', 'adaptive', { type: 'enabled', budget_tokens: 16_000 }], ['claude-haiku-4-5', { budgetTokens: 10 }, { type: 'enabled', budget_tokens: 1024 }],
  ['claude-haiku-4-5', { budgetTokens: 999_999 }, { type: 'enabled', budget_tokens: 63_999 }], ['other', 'adaptive', { type: 'adaptive' }], ['other', { budgetTokens: 4000 }, { type: 'enabled', budget_tokens: 4000 }], ['other', undefined, undefined],
] as const) {
  test(`${model} is told to think in its own form: ${JSON.stringify(wish) ?? 'nothing said'}`, async (t) => {
    const { mock, provider } = await bench(t);
    const { error } = await hear(provider, requestTo(provider, model, HELLO, { thinking: wish }));
    assert.equal(error, undefined);
    assert.deepEqual(mock.requests.map((r) => r.body.thinking), [expected], 'at the first try');
  });
}

for (const [model, effort, expected, sent, told] of [
  ['claude-haiku-4-5', undefined, undefined, undefined, null], ['claude-opus-4-8', undefined, undefined, undefined, null], ['other', undefined, undefined, undefined, null],
  ['claude-opus-5', undefined, { type: 'disabled' }, undefined, null], ['claude-sonnet-5', undefined, { type: 'disabled' }, undefined, null], ['claude-haiku-5-5', 'high', { type: 'disabled' }, 'high', null],
  ['claude-haiku-5-5', 'max', { type: 'disabled' }, 'high', /no effort above high/], ['claude-sonnet-5-5', undefined, { type: 'between_tools' }, undefined, null],
  ['claude-opus-5-5', 'max', { type: 'adaptive', ...BOUND }, 'max', /cannot do without thoughts/], ['claude-fable-5', undefined, { type: 'adaptive' }, undefined, /cannot do without thoughts/],
] as const) {
  test(`${model}${effort === undefined ? '' : ` at effort ${effort}`} is told not to think as far as it can be told`, async (t) => {
    const { mock, provider } = await bench(t);
    const { error, events } = await hear(provider, requestTo(provider, model, HELLO, { thinking: false, effort }));
    assert.equal(error, undefined);
    assert.equal(mock.requests.length, 1, 'at the first try');
    assert.deepEqual([mock.requests[0]!.body.thinking, (mock.requests[0]!.body.output_config as { effort?: string } | undefined)?.effort], [expected, sent]);
    const notices = events.flatMap((e) => (e.type === 'notice' ? [e.text] : []));
    if (told === null) assert.deepEqual(notices, []);
    else assert.match(notices.join(), told);
  });
}

test('a budget that does not fit beside a small answer makes the answer larger, or is left out aloud', async (t) => {
  const { mock, provider } = await bench(t, undefined, { models: { 'anthropic/tiny': { maxOutputTokens: 900 } } });
  await hear(provider, requestTo(provider, 'claude-haiku-4-5', HELLO, { thinking: { budgetTokens: 8000 }, maxOutputTokens: 1000 }));
  assert.deepEqual([mock.requests[0]!.body.thinking, mock.requests[0]!.body.max_tokens], [{ type: 'enabled', budget_tokens: 8000 }, 9000]);
  const { events } = await hear(provider, requestTo(provider, 'tiny', HELLO, { thinking: { budgetTokens: 8000 } }));
  assert.equal(mock.requests[1]!.body.thinking, undefined);
  assert.ok(events.some((e) => e.type === 'notice' && /leave no room/.test(e.text)));
});

test('effort, the choice of a tool and the session go along; a model that cannot take them gets them not, and people are told', async (t) => {
  const { mock, provider } = await bench(t, undefined, { settings: { betas: ['a-1', 'b-2'], headers: { 'X-Team': 'red', 'Anthropic-Beta': 'own-1' } } });
  const ask = async (model: string, more: Partial<ModelRequest>): Promise<string[]> => {
    const { events, error } = await hear(provider, requestTo(provider, model, HELLO, more));
    assert.equal(error, undefined);
    return events.flatMap((e) => (e.type === 'notice' ? [e.text] : []));
  };
  assert.deepEqual(await ask('claude-opus-5', { effort: 'high', toolChoice: { name: 'Bash' } }), []);
  const first = mock.requests[0]!;
  assert.deepEqual([first.body.output_config, first.body.tool_choice, first.body.thinking, first.body.metadata], [{ effort: 'high' }, { type: 'tool', name: 'Bash' }, { type: 'disabled' }, { user_id: 'session-1' }]);
  assert.deepEqual([first.headers['anthropic-beta'], first.headers['x-team'], first.headers['anthropic-version']], ['own-1,a-1,b-2', 'red', '2023-06-01']);
  assert.equal((await ask('claude-haiku-4-5', { effort: 'high', thinking: 'adaptive', toolChoice: 'any' })).length, 1);
  assert.deepEqual([mock.requests[1]!.body.output_config, mock.requests[1]!.body.tool_choice, mock.requests[1]!.body.thinking], [undefined, { type: 'any' }, undefined]);
  assert.match((await ask('sonnet', { toolChoice: 'any' })).join(), /cannot be told which tool/);
  assert.deepEqual([mock.requests[2]!.body.tool_choice, mock.requests[2]!.headers['anthropic-beta']], [undefined, 'own-1,a-1,b-2,thinking-binding-controls-2026-08-01']);
  assert.deepEqual(await ask('sonnet', { toolChoice: 'any' }), [], 'people are told once');
  await ask('sonnet', { toolChoice: 'none' });
  assert.deepEqual(mock.requests[4]!.body.tool_choice, { type: 'none' });
  await ask('sonnet', { toolChoice: 'any', tools: [] });
  assert.equal(mock.requests[5]!.body.tool_choice, undefined);
});

test('tokens are counted by the API, without what a count does not take', async (t) => {
  const { mock, provider } = await bench(t);
  const count = await provider.countTokens!(requestTo(provider, 'sonnet', HELLO, { effort: 'low' }), new AbortController().signal);
  assert.ok(count > 0);
  assert.equal(mock.counted[0]!.refused, null);
  assert.equal(mock.requests.length, 0);
});

// ---- what is tried once more -----------------------------------------------------------------------------------------------

const refusal = (message: string): { status: number; body: Record<string, unknown> } => ({ status: 400, body: { type: 'error', error: { type: 'invalid_request_error', message } } });
const OK = { blocks: [{ text: 'ok' }] };

test('an answer that would not fit is asked for shorter, as the server says, and for that model from then on', async (t) => {
  const { mock, provider } = await bench(t, [refusal('max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for other'), OK]);
  for (let i = 0; i < 2; i++) assert.equal((await hear(provider, requestTo(provider, 'other', HELLO))).error, undefined);
  assert.deepEqual(mock.requests.map((r) => r.body.max_tokens), [32_000, 8192, 8192]);
});

test('a server that is never content is asked no more than twice', async (t) => {
  const { mock, provider } = await bench(t, [refusal('max_tokens: 32000 > 8192, which is the maximum')]);
  assert.equal((await hear(provider, requestTo(provider, 'other', HELLO))).fault?.kind, 'invalid_request');
  assert.equal(mock.requests.length, 2);
});

test('an answer that would not fit beside this conversation is asked for shorter this once', async (t) => {
  const { mock, provider } = await bench(t, [refusal('input length and `max_tokens` exceed context limit: 188240 + 32000 > 200000, decrease input length or `max_tokens` and try again'), OK]);
  for (let i = 0; i < 2; i++) assert.equal((await hear(provider, requestTo(provider, 'other', HELLO))).error, undefined);
  assert.deepEqual(mock.requests.map((r) => r.body.max_tokens), [32_000, 11_760, 32_000]);
});

test('where there is no room left for an answer, the context is too long', async (t) => {
  const { mock, provider } = await bench(t, [refusal('input length and `max_tokens` exceed context limit: 199900 + 32000 > 200000, decrease input length or `max_tokens` and try again')]);
  const { fault } = await hear(provider, requestTo(provider, 'other', HELLO));
  assert.deepEqual([fault?.kind, fault?.tokens], ['context_too_long', { sent: 199_900, limit: 200_000 }]);
  assert.equal(mock.requests.length, 1);
});

test('thoughts that the server does not take back any more are left out, once and for all later requests', async (t) => {
  const { mock, provider } = await bench(t);
  const thought = (text: string, signature = signatureOf(text)): Block => ({ type: 'thinking', thinking: text, signature, provider: 'anthropic' });
  const messages = [user('a'), assistant(thought('good'), 'b'), user('c'), assistant(thought('changed by one byte', signatureOf('changed by one bytf')), 'd'), user('e')].map((message): EncodedMessage => ({ message, bytes: provider.encode(message) }));
  const request = { ...requestTo(provider, 'sonnet', []), messages };
  const { events, error } = await hear(provider, request);
  assert.equal(error, undefined);
  assert.ok(events.some((e) => e.type === 'notice' && /thoughts of earlier answers/.test(e.text)));
  assert.equal(mock.requests.length, 2);
  assert.equal((await hear(provider, request)).error, undefined);
  assert.equal(mock.requests.length, 3, 'the next request knows it already');
  assert.ok(!mock.requests[2]!.text.includes('"type":"thinking","thinking"'));
});

test('settings that a gateway does not know are left out aloud, for that model from then on', async (t) => {
  const { mock, provider } = await bench(t, [refusal('thinking.block_binding: Extra inputs are not permitted'), refusal('thinking.display: Extra inputs are not permitted'), refusal('output_config: Extra inputs are not permitted'), refusal('thinking: Extra inputs are not permitted'), refusal('system.0.cache_control: Extra inputs are not permitted'), OK]);
  const { error, events } = await hear(provider, requestTo(provider, 'sonnet', HELLO, { effort: 'high' }));
  assert.equal(error, undefined);
  const last = mock.requests.at(-1)!;
  assert.deepEqual([last.body.thinking, last.body.output_config, last.text.includes('cache_control'), last.headers['anthropic-beta']], [undefined, undefined, false, undefined]);
  assert.ok(events.filter((e) => e.type === 'notice').length >= 3);
  await hear(provider, requestTo(provider, 'sonnet', HELLO, { effort: 'high' }));
  assert.equal(mock.requests.length, 7);
});

test('a refusal of the conversation itself is not tried again', async (t) => {
  const { mock, provider } = await bench(t, [refusal('messages.0.content.0.image.source.base64: image exceeds 5 MB maximum')]);
  const { fault } = await hear(provider, requestTo(provider, 'sonnet', HELLO));
  assert.deepEqual([fault?.kind, fault?.field], ['invalid_request', 'messages.0.content.0.image.source.base64']);
  assert.equal(mock.requests.length, 1);
});
