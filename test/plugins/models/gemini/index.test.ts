import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTappetError } from 'tappet/kernel';
import type { ToolUseBlock } from 'tappet/schemas';
import { collect } from '../../../contracts/collect.ts';
import { hear, inOrder, requestTo } from '../../../contracts/model-provider.ts';
import gemini from '../../../../plugins/models/gemini/index.ts';
import { answer, chunk, refuse, STALE } from '../../../support/mock-gemini.ts';
import { frame } from '../../../support/mock-server.ts';
import { answered, assistant, HELLO, notices, stand, stopOf, text, user } from './stand.ts';

const ok = { frames: answer([{ text: 'ok' }]) };

test('sends the prompt, tools and messages as the vendor wants them, with the messages last', async (t) => {
  const { ask, mock } = await stand(t, [ok]);
  await ask(HELLO, { maxOutputTokens: 500, toolChoice: { name: 'Read' }, thinking: 'adaptive', effort: 'max' });
  const { body, headers, path } = mock.asked()[0]!;
  assert.deepEqual([path, headers['x-goog-api-key']], ['/v1beta/models/gemini-3.8-flash:streamGenerateContent', 'gm-test-1']);
  assert.deepEqual(body, {
    systemInstruction: { parts: [{ text: 'Be brief.' }] },
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['Read'] } },
    generationConfig: { maxOutputTokens: 500, thinkingConfig: { includeThoughts: true, thinkingLevel: 'high' } },
    tools: [{ functionDeclarations: ['Read', 'Bash'].map((name) => ({ name, description: `${name} something`, parameters: { type: 'OBJECT', properties: { a: { type: 'STRING' } } } })) }],
    contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
  });
  assert.equal(Object.keys(body).at(-1), 'contents');
});

test('counts thinking in tokens before the third generation, in levels from then on', async (t) => {
  for (const [model, more, config] of [
    ['gemini-2.5-flash', { thinking: { budgetTokens: 5000 } }, { includeThoughts: true, thinkingBudget: 5000 }], ['gemini-2.5-flash', { thinking: 'adaptive' }, { includeThoughts: true, thinkingBudget: -1 }],
    ['gemini-2.5-pro', { effort: 'low' }, { thinkingBudget: 2048 }], ['gemini-4-argon', { thinking: { budgetTokens: 5000 } }, { includeThoughts: true, thinkingLevel: 'medium' }], ['gemini-4-argon', { effort: 'xhigh' }, { thinkingLevel: 'xhigh' }], ['gemini-4-argon', {}, undefined],
  ] as const) {
    const { ask, mock } = await stand(t, [ok], { model });
    assert.equal((await ask(HELLO, more)).error, undefined);
    assert.deepEqual(mock.asked()[0]!.body.generationConfig?.thinkingConfig, config);
  }
});

test('who wants no thoughts gets as few as the model can do with, and sees none', async (t) => {
  for (const [model, config] of [
    ['gemini-2.5-flash', { thinkingBudget: 0 }], ['gemini-2.5-flash-lite', { thinkingBudget: 0 }], ['gemini-2.5-pro', { thinkingBudget: 128 }], ['gemini-3.6-flash', { thinkingLevel: 'minimal' }], ['gemini-3.1-flash-lite', { thinkingLevel: 'minimal' }],
    ['gemini-3.8-flash', { thinkingLevel: 'low' }], ['gemini-3.1-pro-preview', { thinkingLevel: 'low' }], ['gemini-4-argon', { thinkingLevel: 'low' }],
  ] as const) {
    const { ask, mock } = await stand(t, [{ frames: answer([{ text: 'ok' }]) }], { model });
    for (const more of [{ thinking: false }, { thinking: false, effort: 'high' }] as const) assert.equal((await ask(HELLO, more)).error, undefined, model);
    assert.deepEqual(mock.asked().map((s) => s.body.generationConfig?.thinkingConfig), [config, config], model);
  }
});

test('an effort that the model does not know is left out, once told', async (t) => {
  for (const [model, left] of [['gemini-4-argon', { includeThoughts: true }], ['gemini-2.5-pro', { includeThoughts: true }]] as const) {
    const { ask, mock } = await stand(t, (seen) => (Object.keys(seen.body.generationConfig.thinkingConfig).length === 1 ? ok : refuse(400, 'INVALID_ARGUMENT', 'Thinking level XHIGH is not supported for this model.')), { model });
    const heard = await ask(HELLO, { effort: 'xhigh', thinking: 'adaptive' });
    assert.equal(heard.error, undefined);
    assert.equal(notices(heard).length, 1);
    assert.deepEqual(notices(await ask(HELLO, { effort: 'xhigh', thinking: 'adaptive' })), []);
    assert.deepEqual(mock.asked().at(-1)!.body.generationConfig.thinkingConfig, left);
    assert.equal(mock.asked().length, 3);
  }
});

test('signatures stay with their parts and go back on the same: thoughts, calls, texts, empty texts', async (t) => {
  const parts = [[{ text: 'Hm', thought: true }, { text: ' so.', thought: true, thoughtSignature: 'dGg=' }], [{ text: 'I look' }, { text: ' at it.', thoughtSignature: 'dHg=' }], [{ text: 'More.' }], [{ functionCall: { id: 'f1', name: 'Read', args: { a: '1' } }, thoughtSignature: 'Zm4=' }, { functionCall: { id: 'f2', name: 'Bash', args: {} } }], [{ text: '', thoughtSignature: 'ZW5k' }]];
  const { ask, mock } = await stand(t, [{ frames: answer(...parts) }, ok]);
  const heard = await ask();
  inOrder(heard.events);
  assert.deepEqual(heard.blocks.filter((b) => b.type !== 'vendor'), [
    { type: 'thinking', thinking: 'Hm so.', provider: 'gemini', signature: 'dGg=' }, { type: 'text', text: 'I look at it.' }, { type: 'text', text: 'More.' },
    { type: 'tool_use', id: 'f1', name: 'Read', input: { a: '1' }, signature: 'Zm4=' }, { type: 'tool_use', id: 'f2', name: 'Bash', input: {} },
  ]);
  assert.equal((await ask([...HELLO, ...answered(heard)])).error, undefined);
  const [a, b] = mock.asked();
  assert.ok(b!.text.startsWith(a!.text.slice(0, -2)), 'the prefix changed');
  assert.deepEqual(b!.body.contents[1], { role: 'model', parts: [{ text: 'Hm so.', thought: true, thoughtSignature: 'dGg=' }, { text: 'I look at it.', thoughtSignature: 'dHg=' }, { text: 'More.' }, parts[3]![0], parts[3]![1], { text: '', thoughtSignature: 'ZW5k' }] });
  assert.deepEqual(b!.body.contents[2].parts.map((p: any) => p.functionResponse), [{ id: 'f1', name: 'Read', response: { output: 'done' } }, { id: 'f2', name: 'Bash', response: { output: 'done' } }]);
});

test('calls of other vendors get the vendor\'s word for unsigned, and only where it is needed', async (t) => {
  const foreign = [...HELLO, assistant({ type: 'tool_use', id: 'toolu_1', name: 'Read', input: {} }, { type: 'tool_use', id: 'toolu_2', name: 'Read', input: {} }), user({ type: 'tool_result', tool_use_id: 'toolu_1', content: 'x' }, { type: 'tool_result', tool_use_id: 'toolu_2', content: 'no', is_error: true })];
  for (const [model, signature] of [['gemini-3.8-flash', 'skip_thought_signature_validator'], ['gemini-2.5-flash', undefined]] as const) {
    const { ask, mock } = await stand(t, [ok], { model });
    assert.equal((await ask(foreign)).error, undefined);
    assert.deepEqual(mock.asked()[0]!.body.contents[1].parts.map((p: any) => p.thoughtSignature), [signature, undefined]);
    assert.deepEqual(mock.asked()[0]!.body.contents[2].parts[1].functionResponse.response, { error: 'no' });
  }
});

test('goes on without signatures that the vendor does not take any more, and says so once', async (t) => {
  const { ask, mock } = await stand(t, [ok]);
  const messages = [...HELLO, assistant({ type: 'thinking', thinking: 'old', provider: 'gemini', signature: STALE }, { type: 'tool_use', id: 'f', name: 'Read', input: {}, signature: STALE }), user({ type: 'tool_result', tool_use_id: 'f', content: 'x' })];
  const heard = await ask(messages);
  assert.equal(heard.error, undefined);
  assert.equal(notices(heard).length, 1);
  assert.deepEqual(notices(await ask(messages)), []);
  assert.equal(mock.asked().length, 3);
});

test('images of a result follow it, since a result cannot hold them', async (t) => {
  const { ask, mock } = await stand(t, [ok]);
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } } as const;
  const { error } = await ask([...HELLO, assistant({ type: 'tool_use', id: 'f', name: 'Read', input: {} }), user({ type: 'tool_result', tool_use_id: 'f', content: [{ type: 'text', text: 'a picture' }, image] }, text('Look.'))]);
  assert.equal(error, undefined);
  assert.deepEqual(mock.asked()[0]!.body.contents.slice(2), [
    { role: 'user', parts: [{ functionResponse: { id: 'f', name: 'Read', response: { output: 'a picture' } } }] },
    { role: 'user', parts: [{ text: '[of the result of Read, call f:]' }, { inlineData: { mimeType: 'image/png', data: 'AAAA' } }, { text: 'Look.' }] },
  ]);
});

test('makes up ids where they are missing or used already (F10-09)', async (t) => {
  const { ask } = await stand(t, [{ frames: answer([{ functionCall: { name: 'Read', args: {} }, thoughtSignature: 'YQ==' }], [{ functionCall: { id: null, name: 'Read' } }], [{ functionCall: { id: 'old', name: 'Read', args: {} } }]) }, ok]);
  const before = [...HELLO, assistant({ type: 'tool_use', id: 'old', name: 'Read', input: {} }), user({ type: 'tool_result', tool_use_id: 'old', content: '' })];
  const heard = await ask(before);
  assert.equal(new Set(['old', ...heard.blocks.map((b) => (b as ToolUseBlock).id)]).size, 4);
  assert.equal((await ask([...before, ...answered(heard)])).error, undefined);
});

test('usage has thoughts in its output and the cache apart', async (t) => {
  const { ask } = await stand(t, [ok]);
  const end = (await ask()).events.find((e) => e.type === 'message_delta');
  assert.deepEqual(end?.type === 'message_delta' && end.usage, { input_tokens: 40, output_tokens: 25, cache_creation_input_tokens: 0, cache_read_input_tokens: 60 });
});

test('each way to end has its meaning', async (t) => {
  for (const [finish, kind, transient] of [['SAFETY', 'content_filter', false], ['PROHIBITED_CONTENT', 'content_filter', false], ['RECITATION', 'content_filter', false], ['BLOCKLIST', 'content_filter', false], ['MALFORMED_FUNCTION_CALL', 'server_error', true], ['UNEXPECTED_TOOL_CALL', 'server_error', true], ['OTHER', 'server_error', true], ['STOP', 'empty_answer', true]] as const) {
    const { ask } = await stand(t, [{ frames: [chunk([], { finish, candidate: { finishMessage: 'Malformed function call: print(default_api.Read())', safetyRatings: [{ category: 'HARM_CATEGORY_HARASSMENT', probability: 'HIGH', blocked: true }] } })] }]);
    const { fault } = await ask();
    assert.deepEqual([fault?.kind, fault?.transient], [kind, transient], finish);
    if (finish !== 'STOP') assert.match(fault!.message, new RegExp(`${finish}.*Malformed function call.*harassment`));
  }
  const limit = await stand(t, [{ frames: [chunk([{ text: 'half' }]), chunk([], { finish: 'MAX_TOKENS' })] }]);
  assert.equal(stopOf(await limit.ask()), 'max_tokens');
  const odd = await stand(t, [{ frames: [chunk([{ text: 'whole' }]), chunk([], { finish: 'BRAND_NEW' })] }]);
  const heard = await odd.ask();
  assert.deepEqual([stopOf(heard), notices(heard).some((n) => n.includes('BRAND_NEW'))], ['end_turn', true]);
});

test('a text that ends without a finish reason is broken, not done (F10-02)', async (t) => {
  const { ask } = await stand(t, [{ frames: [chunk([{ text: 'text' }])] }]);
  const { fault, events } = await ask();
  assert.deepEqual([fault?.kind, fault?.transient, events.some((e) => e.type === 'message_stop')], ['broken_stream', true, false]);
});

test('only thinking, then stop, is an empty answer (F10-03)', async (t) => {
  const { ask } = await stand(t, [{ frames: answer([{ text: 'Hm', thought: true }]) }]);
  assert.equal((await ask()).fault?.kind, 'empty_answer');
});

test('an error frame after two chunks is an error with its text (F10-13)', async (t) => {
  const { ask } = await stand(t, [{ frames: [chunk([{ text: 'a' }]), chunk([{ text: 'b' }]), frame({ error: { code: 429, message: 'the quota went away', status: 'RESOURCE_EXHAUSTED' } }, 'error')] }]);
  const { fault } = await ask();
  assert.equal(fault?.kind, 'rate_limit');
  assert.match(fault!.message, /the quota went away/);
});

test('one odd field costs nothing but itself (F10-14)', async (t) => {
  const { ask } = await stand(t, [{ frames: [chunk([{ text: 42 }, { functionCall: { id: 'f', name: 'Read', args: { a: '1' } } }, { functionCall: { id: 'g', name: 'Read', args: 'junk' } }]), chunk([], { finish: 'STOP' })] }]);
  const heard = await ask();
  const [good, bad] = heard.blocks as ToolUseBlock[];
  assert.deepEqual([good?.input, bad?.inputError?.raw, notices(heard).length], [{ a: '1' }, '"junk"', 2]);
});

test('a prompt that is not taken is told with the reason', async (t) => {
  const { ask } = await stand(t, [{ frames: [frame({ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, usageMetadata: { promptTokenCount: 5 } })] }]);
  const { fault } = await ask();
  assert.equal(fault?.kind, 'content_filter');
  assert.match(fault!.message, /PROHIBITED_CONTENT/);
});

test('parts of its own tools go back as they came', async (t) => {
  const code = { executableCode: { language: 'PYTHON', code: 'print(1)' } };
  const result = { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1\n' } };
  const { ask, mock } = await stand(t, [{ frames: answer([code], [result], [{ text: '1' }]) }, ok]);
  const heard = await ask();
  assert.equal((await ask([...HELLO, ...answered(heard)])).error, undefined);
  assert.deepEqual(mock.asked()[1]!.body.contents[1].parts, [code, result, { text: '1' }]);
});

test('an answer that is not streamed is understood all the same', async (t) => {
  const whole = { candidates: [{ content: { parts: [{ text: 'Hi.' }], role: 'model' }, finishReason: 'STOP' }], usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 } };
  for (const body of [whole, [whole]]) {
    const { ask } = await stand(t, [{ json: body }]);
    assert.deepEqual((await ask()).blocks, [{ type: 'text', text: 'Hi.' }]);
  }
});

test('counts tokens by the vendor, with the tools and the prompt', async (t) => {
  const { provider, mock } = await stand(t, [ok]);
  assert.equal(await provider.countTokens!(requestTo(provider, 'gemini-3.8-flash', HELLO, { maxOutputTokens: 5, thinking: 'adaptive' }), new AbortController().signal), 4321);
  const { generateContentRequest: inner } = mock.seen[0]!.body;
  assert.deepEqual([inner.model, inner.contents.length, inner.tools.length], ['models/gemini-3.8-flash', 1, 1]);
  const refused = await stand(t, [ok], { rules: { key: 'other' } });
  await assert.rejects(refused.provider.countTokens!(requestTo(refused.provider, 'gemini-3.8-flash', HELLO), new AbortController().signal), /API key not valid/);
});

test('the address and the key come from the usual places, and what is missing is named', async () => {
  const [plain] = (await collect(gemini)).modelProviders;
  assert.equal(await plain!.available(), 'GEMINI_API_KEY or GOOGLE_API_KEY is not set');
  assert.equal((await hear(plain!, requestTo(plain!, 'gemini-3.8-flash', HELLO))).fault?.kind, 'auth');
  const [keyed] = (await collect(gemini, { env: { GOOGLE_API_KEY: 'k' } })).modelProviders;
  assert.equal(await keyed!.available(), null);
  const [local] = (await collect(gemini, { env: { GEMINI_BASE_URL: 'http://127.0.0.1:9' } })).modelProviders;
  assert.equal(await local!.available(), null);
});

test('a helper is asked again for its key when the vendor refuses the one it gave', async (t) => {
  const { ask, mock } = await stand(t, (_, n) => (n === 0 ? { status: 401, json: { error: { code: 401, status: 'UNAUTHENTICATED', message: 'expired' } } } : ok), { env: {}, settings: { keyHelper: `"${process.execPath}" -p "'k'+process.hrtime.bigint()"` } });
  assert.equal((await ask()).error, undefined);
  const keys = mock.asked().map((s) => s.headers['x-goog-api-key']);
  assert.equal(new Set(keys).size, 2);
});

test('every model of the table has facts, and no name stands for two', async () => {
  const models = (await collect(gemini)).modelProviders[0]!.models();
  const names = models.flatMap((m) => [m.id, ...m.aliases ?? []]);
  assert.equal(new Set(names).size, names.length);
  for (const m of models) assert.ok(m.contextWindow > m.maxOutputTokens && m.prices !== undefined && m.prices.output > m.prices.input, m.id);
});

test('more fields of the body come from the options; an unknown option is refused with its place', async (t) => {
  const { ask, mock } = await stand(t, [ok], { settings: { options: { body: { safetySettings: [], generationConfig: { temperature: 0 } } } } });
  assert.equal((await ask(HELLO, { maxOutputTokens: 9 })).error, undefined);
  assert.deepEqual([mock.asked()[0]!.body.safetySettings, mock.asked()[0]!.body.generationConfig], [[], { maxOutputTokens: 9, temperature: 0 }]);
  for (const [settings, key] of [[{ options: { wire: 'x' } }, 'options.wire'], [{ options: { body: 1 } }, 'options.body'], [{ baseUrl: 'ftp://x' }, 'baseUrl']] as const) {
    await assert.rejects(collect(gemini, { settings: { providers: { gemini: settings } } }), (e) => isTappetError(e) && e.facts.key === `providers.gemini.${key}`);
  }
});
