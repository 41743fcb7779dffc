import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ToolUseBlock } from 'tappet/schemas';
import { inOrder, requestTo } from '../../../contracts/model-provider.ts';
import { refuse, responsesFrames } from '../../../support/mock-openai.ts';
import type { ResponsesAnswer } from '../../../support/mock-openai.ts';
import { frame } from '../../../support/mock-server.ts';
import { answered, assistant, HELLO, notices, stand, stopOf, text, user } from './stand.ts';
import type { StandOptions } from './stand.ts';

const wire = (o: StandOptions = {}): StandOptions => ({ wire: 'responses', ...o });
const plays = (...answers: ResponsesAnswer[]) => answers.map((a) => ({ frames: responsesFrames(a) }));
const ok = plays({ text: ['ok'] });

test('sends instructions, tools and items, keeps nothing at the vendor, and asks for the reasoning to carry back', async (t) => {
  const { ask, mock } = await stand(t, ok, wire());
  await ask(HELLO, { maxOutputTokens: 500, toolChoice: 'any', effort: 'high', thinking: 'adaptive' });
  const { body } = mock.asked()[0]!;
  assert.equal(body.instructions, 'Be brief.');
  assert.deepEqual(body.input, [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] }]);
  assert.deepEqual(body.tools[0], { type: 'function', name: 'Read', description: 'Read something', parameters: { type: 'object', properties: { a: { type: 'string' } } }, strict: false });
  assert.deepEqual([body.store, body.stream, body.include, body.reasoning, body.max_output_tokens, body.tool_choice, body.prompt_cache_key], [false, true, ['reasoning.encrypted_content'], { effort: 'high', summary: 'auto' }, 500, 'required', 'session-1']);
});

test('reasoning comes as a thinking block and as an item of the vendor that goes back as it was, before its call', async (t) => {
  const { ask, mock } = await stand(t, plays({ reasoning: [{ id: 'rs_1', summary: ['First.', 'Second.'], encrypted: 'gAAA' }], calls: [{ id: 'call_1', name: 'Read', args: { a: '1' } }] }, { text: ['done'] }), wire());
  const first = await ask();
  inOrder(first.events);
  const item = { id: 'rs_1', type: 'reasoning', summary: [{ type: 'summary_text', text: 'First.' }, { type: 'summary_text', text: 'Second.' }], encrypted_content: 'gAAA' };
  assert.deepEqual(first.blocks, [{ type: 'thinking', thinking: 'First.\n\nSecond.', provider: 'openai' }, { type: 'vendor', provider: 'openai', block: item }, { type: 'tool_use', id: 'call_1', name: 'Read', input: { a: '1' } }]);
  assert.equal((await ask([...HELLO, ...answered(first)])).error, undefined);
  const [a, b] = mock.asked();
  assert.ok(b!.text.startsWith(a!.text.slice(0, -2)), 'the prefix changed');
  assert.deepEqual(b!.body.input.slice(1, 4), [item, { type: 'function_call', call_id: 'call_1', name: 'Read', arguments: '{"a":"1"}' }, { type: 'function_call_output', call_id: 'call_1', output: 'done' }]);
});

test('reasoning that lost its answer, or that is another vendor\'s, is not sent', async (t) => {
  const { ask, mock } = await stand(t, ok, wire());
  const item = (id: string) => ({ type: 'reasoning', id, summary: [], encrypted_content: 'x' });
  const { error } = await ask([...HELLO, assistant({ type: 'vendor', provider: 'azure', block: item('rs_1') }, text('Hi.'), { type: 'vendor', provider: 'openai', block: item('rs_2') }), user(text('Go on.'))]);
  assert.equal(error, undefined);
  assert.deepEqual(mock.asked()[0]!.body.input.map((i: any) => i.type), ['message', 'message', 'message']);
});

test('goes on without old reasoning when the vendor cannot read it any more, and says so once', async (t) => {
  const { ask, mock } = await stand(t, (seen) => (seen.text.includes('stale') ? refuse(400, 'The encrypted content for item rs_1 could not be verified.', { code: 'invalid_encrypted_content' }) : { frames: responsesFrames({ text: ['ok'] }) }), wire());
  const old = assistant({ type: 'vendor', provider: 'openai', block: { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'stale' } }, text('Hi.'));
  const messages = [...HELLO, old, user(text('Go on.'))];
  const heard = await ask(messages);
  assert.equal(heard.error, undefined);
  assert.equal(notices(heard).length, 1);
  const fresh = assistant({ type: 'vendor', provider: 'openai', block: { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'new' } }, text('Yes.'));
  const next = await ask([...messages, fresh, user(text('And?'))]);
  assert.deepEqual(notices(next), []);
  assert.equal(mock.asked().length, 3);
  assert.ok(mock.asked()[2]!.text.includes('rs_2'), 'what is new still goes back');
});

test('a vendor that complains again and again is not asked for ever', async (t) => {
  const { ask, mock } = await stand(t, () => refuse(400, 'The encrypted content could not be verified.', { code: 'invalid_encrypted_content' }), wire());
  assert.equal((await ask()).fault?.kind, 'invalid_request');
  assert.equal(mock.asked().length, 2);
});

test('the phase of a text goes back with it', async (t) => {
  const { ask, mock } = await stand(t, plays({ text: ['Let me look.'], phase: 'commentary', calls: [{ id: 'c', name: 'Read', args: {} }] }, { text: ['ok'] }), wire());
  const first = await ask();
  assert.equal((await ask([...HELLO, ...answered(first)])).error, undefined);
  assert.deepEqual(mock.asked()[1]!.body.input[1], { type: 'message', role: 'assistant', phase: 'commentary', content: [{ type: 'output_text', text: 'Let me look.' }] });
});

test('images and documents of a result go with it', async (t) => {
  const { ask, mock } = await stand(t, ok, wire());
  const source = { type: 'base64', media_type: 'image/png', data: 'AAAA' };
  const { error } = await ask([...HELLO, assistant({ type: 'tool_use', id: 'c', name: 'Read', input: {} }), user({ type: 'tool_result', tool_use_id: 'c', is_error: true, content: [text('broken') as never, { type: 'image', source }, { type: 'document', title: 'paper', source: { ...source, media_type: 'application/pdf' } }] })]);
  assert.equal(error, undefined);
  assert.deepEqual(mock.asked()[0]!.body.input[2].output, [{ type: 'input_text', text: 'Error: broken' }, { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' }, { type: 'input_file', filename: 'paper.pdf', file_data: 'data:application/pdf;base64,AAAA' }]);
});

test('an answer cut at its limit says so; the call in it is not salvaged (F10-05)', async (t) => {
  const { ask } = await stand(t, plays({ calls: [{ id: 'a', name: 'Read', args: '{"a":"1"}' }, { id: 'b', name: 'Bash', args: '{"path":"a","text":"on' }], incomplete: 'max_output_tokens' }), wire());
  const heard = await ask();
  assert.equal(stopOf(heard), 'max_tokens');
  assert.deepEqual(heard.blocks.map((b) => (b as ToolUseBlock).inputError?.raw), [undefined, '{"path":"a","text":"on']);
});

test('filters, refusals and failures are faults with the words of the vendor', async (t) => {
  const filtered = await stand(t, plays({ text: ['half'], incomplete: 'content_filter' }), wire());
  assert.equal((await filtered.ask()).fault?.kind, 'content_filter');
  const refused = await stand(t, plays({ refusal: 'I will not.' }), wire());
  const { fault } = await refused.ask();
  assert.deepEqual([fault?.kind, fault?.message.includes('I will not.')], ['refusal', true]);
  for (const [error, kind] of [[{ code: 'server_error', message: 'it broke' }, 'server_error'], [{ code: 'rate_limit_exceeded', message: 'it broke; try again in 1.5s' }, 'rate_limit'], [{ code: 'invalid_prompt', message: 'it broke' }, 'content_filter']] as const) {
    const failing = await stand(t, [{ frames: [...responsesFrames({ text: ['half'] }).slice(0, 4), frame({ type: 'response.failed', response: { id: 'r', status: 'failed', error } }, 'response.failed')] }], wire());
    const heard = await failing.ask();
    assert.equal(heard.fault?.kind, kind);
    assert.match(heard.fault?.message ?? '', /it broke/);
    if (kind === 'rate_limit') assert.equal(heard.fault?.retryAfterMs, 1500);
  }
});

test('an error event after two deltas is an error with its text (F10-13)', async (t) => {
  const frames = [...responsesFrames({ text: ['a', 'b'] }).slice(0, 6), frame({ type: 'error', code: null, message: 'the backend went away', param: null }, 'error')];
  const { ask } = await stand(t, [{ frames }], wire());
  const { fault, events } = await ask();
  assert.equal(fault?.kind, 'server_error');
  assert.match(fault?.message ?? '', /the backend went away/);
  assert.ok(!events.some((e) => e.type === 'message_stop'));
});

test('a server that only tells finished items, or only the finished answer, is understood', async (t) => {
  const all = responsesFrames({ text: ['Hi.'], calls: [{ id: 'a', name: 'Read', args: { a: '1' } }] });
  const doneOnly = all.filter((f) => /output_item\.done|response\.completed/.test(f));
  for (const frames of [doneOnly, all.slice(-1)]) {
    const { ask } = await stand(t, [{ frames }], wire());
    const heard = await ask();
    inOrder(heard.events);
    assert.deepEqual(heard.blocks, [{ type: 'text', text: 'Hi.' }, { type: 'tool_use', id: 'a', name: 'Read', input: { a: '1' } }]);
  }
  const { ask } = await stand(t, [{ json: JSON.parse(all.at(-1)!.split('data: ')[1]!).response }], wire());
  assert.equal((await ask()).blocks.length, 2);
});

test('calls without ids, with one id, or with an id of before get their own (F10-09)', async (t) => {
  const { ask } = await stand(t, plays({ calls: [{ name: 'Read', args: {} }, { id: null, name: 'Read', args: {} }, { id: 'old', name: 'Read', args: {} }, { id: 'x', name: 'Read', args: {} }, { id: 'x', name: 'Read', args: {} }] }, { text: ['ok'] }), wire());
  const before = [...HELLO, assistant({ type: 'tool_use', id: 'old', name: 'Read', input: {} }), user({ type: 'tool_result', tool_use_id: 'old', content: '' })];
  const heard = await ask(before);
  assert.equal(new Set(['old', ...heard.blocks.map((b) => (b as ToolUseBlock).id)]).size, 6);
  assert.equal((await ask([...before, ...answered(heard)])).error, undefined);
});

test('thoughts alone are an empty answer (F10-03)', async (t) => {
  const { ask } = await stand(t, plays({ reasoning: [{ id: 'rs_1', summary: ['only thinking'], encrypted: 'x' }] }), wire());
  assert.equal((await ask()).fault?.kind, 'empty_answer');
});

test('asks again without what a model does not know, and says what was lost', async (t) => {
  const { ask, mock } = await stand(t, plays({ text: ['ok'] }), wire({ rules: { noReasoning: true }, models: { 'openai/odd': { can: ['tools', 'thinking'] } }, model: 'odd' }));
  const heard = await ask(HELLO, { effort: 'high', thinking: 'adaptive' });
  assert.equal(heard.error, undefined);
  assert.ok(notices(heard).length > 0);
  const { length } = mock.asked();
  await ask(HELLO, { effort: 'high', thinking: 'adaptive' });
  assert.equal(mock.asked().length, length + 1, 'what was learnt stays learnt');
});

test('names of tools that are too long for the vendor are shortened there and nowhere else', async (t) => {
  const long = `mcp__${'server'.repeat(6)}__${'tool'.repeat(12)}`;
  const { ask, mock, provider } = await stand(t, (seen) => ({ frames: responsesFrames(seen.body.input.length > 1 ? { text: ['ok'] } : { calls: [{ id: 'a', name: seen.body.tools[0].name, args: {} }] }) }), wire());
  const tools = [{ name: long, description: 'far', input_schema: { type: 'object', anyOf: [{ required: ['a'] }] } }];
  const heard = await ask(HELLO, { tools });
  assert.equal((heard.blocks[0] as ToolUseBlock).name, long);
  assert.equal((await ask([...HELLO, ...answered(heard)], { tools })).error, undefined);
  assert.equal(mock.asked()[0]!.body.tools[0].name.length, 64);
  assert.equal(provider.name, 'openai');
});

test('counts tokens by the vendor where it is the vendor', async (t) => {
  const { provider, mock } = await stand(t, ok, { settings: { options: { azure: {} } }, env: { AZURE_OPENAI_API_KEY: 'k' } });
  const count = await provider.countTokens!(requestTo(provider, 'gpt-5', HELLO, { maxOutputTokens: 5, effort: 'low' }), new AbortController().signal);
  assert.equal(count, 1234);
  assert.equal(mock.seen[0]!.path, '/openai/v1/responses/input_tokens');
});

const vendor = (model: string): Parameters<typeof stand>[2] => ({ model, settings: { options: { azure: {} } }, env: { AZURE_OPENAI_API_KEY: 'azure-key' } });

test('who wants no thoughts gets the least effort that the model takes, and no summary', async (t) => {
  for (const [model, reasoning] of [['gpt-6.2-sol', { effort: 'none' }], ['gpt-5.1', { effort: 'none' }], ['gpt-5.1-codex', { effort: 'low' }], ['gpt-5', { effort: 'minimal' }], ['gpt-5-mini-2025-08-07', { effort: 'minimal' }], ['o3', { effort: 'low' }], ['gpt-4.1', undefined]] as const) {
    const { ask, mock } = await stand(t, [{ frames: responsesFrames({ text: ['ok'] }) }], vendor(model));
    assert.equal((await ask(HELLO, { thinking: false })).error, undefined);
    assert.deepEqual(mock.asked().map((s) => s.body.reasoning), [reasoning], model);
  }
  const { ask, mock } = await stand(t, [{ frames: responsesFrames({ text: ['ok'] }) }], vendor('gpt-5.1'));
  await ask(HELLO, { thinking: false, effort: 'high' });
  assert.deepEqual(mock.asked()[0]!.body.reasoning, { effort: 'none' }, 'no thoughts counts before an effort');
});

test('the least effort is learnt from a refusal that names it, once', async (t) => {
  const { ask, mock } = await stand(t, (seen) => (seen.body.reasoning.effort === 'none'
    ? refuse(400, "Unsupported value: 'none' is not supported with the 'gpt-6-astra' model. Supported values are: 'low', 'medium', 'high', and 'xhigh'.", { param: 'reasoning.effort', code: 'unsupported_value' }) : { frames: responsesFrames({ text: ['ok'] }) }), vendor('gpt-6-astra'));
  for (let i = 0; i < 2; i++) {
    const heard = await ask(HELLO, { thinking: false });
    assert.deepEqual([heard.error, notices(heard)], [undefined, []]);
  }
  assert.deepEqual(mock.asked().map((s) => s.body.reasoning.effort), ['none', 'low', 'low']);
  const fickle = await stand(t, (_, n) => (n > 9 ? { frames: responsesFrames({ text: ['ok'] }) } : refuse(400, `Unsupported value for reasoning.effort. Supported values are: '${n % 2 === 0 ? 'low' : 'medium'}'.`, { param: 'reasoning.effort' })), vendor('gpt-6-astra'));
  assert.equal((await fickle.ask(HELLO, { thinking: false })).fault?.kind, 'invalid_request');
  assert.ok(fickle.mock.asked().length <= 4, 'a server that changes its mind is not asked for ever');
});
