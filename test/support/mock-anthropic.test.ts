import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import { brokenLaw, signatureOf } from './messages-law.ts';
import { startMockAnthropic } from './mock-anthropic.ts';

const HEADERS = { 'x-api-key': 'k', 'anthropic-version': '2023-06-01', 'content-type': 'application/json' };
const text = (t: string, more = {}): object => ({ type: 'text', text: t, ...more });
const use = (id: string, more = {}): object => ({ type: 'tool_use', id, name: 'Read', input: {}, ...more });
const result = (id: string, more = {}): object => ({ type: 'tool_result', tool_use_id: id, content: 'x', ...more });
const MARK = { cache_control: { type: 'ephemeral' } };
const thought = (t: string): object => ({ type: 'thinking', thinking: t, signature: signatureOf(t) });
const hello = { role: 'user', content: 'hi' };
const body = (messages: unknown[], more: object = {}): object => ({ model: 'claude-sonnet-4-5', max_tokens: 2000, messages, ...more });
const law = (b: unknown, headers: Record<string, string> = HEADERS): string | null => { const broken = brokenLaw(typeof b === 'string' ? b : JSON.stringify(b), headers); return broken === null ? null : `${broken.status} ${broken.message}`; };
const turns = (...contents: unknown[]): object[] => contents.map((content, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content }));
const tools = [{ name: 'Read', description: 'd', input_schema: { type: 'object' } }];

test('what the API takes is taken', () => {
  for (const b of [
    body([hello]), body([hello, hello]), body(turns('a', [text('b'), use('t1'), use('t2')], [result('t1'), result('t2', { is_error: true }), text('c')])), body([hello], { tools, tool_choice: { type: 'any' } }),
    body(turns('a', [thought('x'), use('t')], [result('t')]), { thinking: { type: 'enabled', budget_tokens: 1024 } }), body([hello], { model: 'claude-opus-5-5', thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'max' } }),
    body(turns([text('a', MARK)], 'b', [text('c', MARK)]), { system: [text('s', MARK)], tools: [{ ...tools[0], ...MARK }] }), body([{ role: 'user', content: [text('👋 \\ud800')] }]),
  ]) assert.equal(law(b), null, JSON.stringify(b));
});

for (const [why, b] of [
  [/max_tokens/, { model: 'm', messages: [hello] }], [/model/, { max_tokens: 1, messages: [hello] }], [/at least one message/, body([])], [/temprature: Extra inputs/, body([hello], { temprature: 1 })],
  [/first message/, body([{ role: 'assistant', content: 'a' }])], [/role/, body([{ role: 'system', content: 'a' }])], [/non-empty/, body([{ role: 'user', content: '' }])], [/non-empty/, body([{ role: 'user', content: [] }])],
  [/non-whitespace/, body([{ role: 'user', content: [text(' \n')] }])], [/non-whitespace/, body([hello], { system: [text('')] })],
  [/without `tool_result`/, body(turns('a', [use('t')]))], [/without `tool_result`.*t2/, body(turns('a', [use('t1'), use('t2')], [result('t1')]))], [/without `tool_result`/, body(turns('a', [use('t')], 'b'))],
  [/unexpected `tool_use_id`/, body(turns('a', 'b', [result('t')]))], [/must come first/, body(turns('a', [use('t')], [text('b'), result('t')]))], [/unique/, body(turns('a', [use('t')], [result('t')], [use('t')], [result('t')]))],
  [/single result/, body(turns('a', [use('t')], [result('t'), result('t')]))], [/content cannot be empty/, body(turns('a', [use('t')], [result('t', { content: '', is_error: true })]))],
  [/must be type "text"|type "text"/, body(turns('a', [use('t')], [result('t', { content: [{ type: 'image', source: {} }], is_error: true })]))],
  [/id: String should match/, body(turns('a', [use('a|b')], [result('a|b')]))], [/name: String should match/, body(turns('a', [use('t', { name: 'a.b' })], [result('t')]))], [/valid dictionary/, body(turns('a', [use('t', { input: 'x' })], [result('t')]))],
  [/Extra inputs/, body(turns('a', [use('t', { inputError: {} })], [result('t')]))], [/does not match any/, body(turns('a', [{ type: 'image', source: {} }], 'b'))], [/does not match any/, body([{ role: 'user', content: [use('t')] }])],
  [/signature: Field required/, body(turns('a', [{ type: 'thinking', thinking: 'x' }], 'b'))], [/Invalid `signature`/, body(turns('a', [{ type: 'thinking', thinking: 'x', signature: 'y' }], 'b'))],
  [/final block.*cannot be `thinking`/, body(turns('a', [text('b'), thought('x')], 'c'))], [/Expected `thinking`/, body(turns('a', [use('t')], [result('t')]), { thinking: { type: 'enabled', budget_tokens: 1024 } })], [/cache_control/, body(turns('a', [{ ...thought('x'), ...MARK }], 'b'))],
  [/greater than `thinking.budget_tokens`/, body([hello], { thinking: { type: 'enabled', budget_tokens: 2000 } })], [/greater than or equal to 1024/, body([hello], { thinking: { type: 'enabled', budget_tokens: 5 } })],
  [/"thinking.type.enabled" is not supported/, body([hello], { model: 'claude-opus-5-5', thinking: { type: 'enabled', budget_tokens: 1024 } })], [/adaptive thinking is not supported/, body([hello], { thinking: { type: 'adaptive' } })],
  [/disabled" is not supported.*adaptive/, body([hello], { model: 'claude-opus-5-5', thinking: { type: 'disabled' } })], [/disabled" is not supported.*between_tools/, body([hello], { model: 'claude-sonnet-5-5', thinking: { type: 'disabled' } })],
  [/not supported at effort max/, body([hello], { model: 'claude-opus-5', thinking: { type: 'disabled' }, output_config: { effort: 'max' } })], [/between_tools/, body([hello], { model: 'claude-haiku-5-5', thinking: { type: 'between_tools' } })],
  [/block_binding: Extra/, body([hello], { model: 'claude-opus-5-5', thinking: { type: 'adaptive', block_binding: {} } })], [/forced tool use/, body([hello], { model: 'claude-opus-5-5', tools, tool_choice: { type: 'any' } })],
  [/Found 5/, body([hello, { role: 'user', content: [text('a', MARK), text('b', MARK)] }], { system: [text('a', MARK), text('b', MARK), text('c', MARK)] })],
  [/names must be unique/, body([hello], { tools: [...tools, ...tools] })], [/custom.name/, body([hello], { tools: [{ ...tools[0], name: 'a b' }] })], [/input_schema/, body([hello], { tools: [{ name: 'a', input_schema: {} }] })],
  [/only be specified while providing tools/, body([hello], { tool_choice: { type: 'any' } })], [/not found in provided tools/, body([hello], { tools, tool_choice: { type: 'tool', name: 'X' } })],
  [/effort/, body([hello], { output_config: { effort: 'high' } })], [/prefill/, body([hello, { role: 'assistant', content: 'I' }], { model: 'claude-opus-5-5' })],
  [/no low surrogate/, '{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"\\ud83d"}]}'], [/not valid JSON/, '{"model":'],
] as const) test(`is refused: ${String(why)}`, () => assert.match(law(b) ?? 'was taken', why));

test('a request without a key, a version or JSON is refused', () => {
  assert.match(law(body([hello]), { ...HEADERS, 'x-api-key': undefined as never }) ?? '', /^401/);
  assert.equal(law(body([hello]), { 'anthropic-version': 'x', 'content-type': 'application/json', authorization: 'Bearer t' }), null);
  assert.match(law(body([hello]), { ...HEADERS, 'anthropic-version': undefined as never }) ?? '', /anthropic-version/);
});

test('the mock plays its steps to those who keep the law, and keeps what it was asked', async (t) => {
  const mock = await startMockAnthropic([{ blocks: [{ text: 'one' }] }, { refuse: 'overloaded' }]);
  t.after(() => mock.close());
  const ask = (b: unknown): Promise<[number, string]> => new Promise((done, fail) => {
    const req = request(`${mock.url}/v1/messages`, { method: 'POST', headers: HEADERS, agent: false }, async (res) => { let all = ''; for await (const c of res) all += String(c); done([res.statusCode!, all]); });
    req.on('error', fail).end(JSON.stringify(b));
  });
  assert.match((await ask(body([])))[1], /at least one message/);
  const [status, said] = await ask(body([hello]));
  assert.ok(status === 200 && said.includes('event: message_stop') && said.includes('"text":"one"'));
  assert.equal((await ask(body([hello])))[0], 529);
  assert.deepEqual(mock.requests.map((r) => r.refused !== null), [true, false, false]);
});
