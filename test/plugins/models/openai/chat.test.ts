import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ToolUseBlock } from 'tappet/schemas';
import { hear, inOrder, requestTo } from '../../../contracts/model-provider.ts';
import { CHAT_USAGE, chatChunk, chatFrames, refuse } from '../../../support/mock-openai.ts';
import { frame } from '../../../support/mock-server.ts';
import type { Reply } from '../../../support/mock-server.ts';
import { answered, assistant, HELLO, notices, stand, stopOf, text, user } from './stand.ts';
import type { Stand } from './stand.ts';
import type { TestContext } from 'node:test';

const chat = (t: TestContext, frames: readonly string[] | readonly Reply[], o: Parameters<typeof stand>[2] = {}): Promise<Stand> =>
  stand(t, typeof frames[0] === 'string' ? [{ frames: frames as readonly string[] }, { frames: chatFrames({ text: ['ok'] }) }] : frames as readonly Reply[], { wire: 'chat', ...o });
const calls = (blocks: readonly { type: string }[]): ToolUseBlock[] => blocks.filter((b): b is ToolUseBlock => b.type === 'tool_use');
const callPart = (part: object): string => chatChunk({ tool_calls: [part] });

test('sends the system prompt, tools and messages as the wire wants them', async (t) => {
  const { ask, mock } = await chat(t, chatFrames({ text: ['ok'] }));
  await ask(HELLO, { maxOutputTokens: 500, toolChoice: { name: 'Read' }, effort: 'high' });
  const { body, headers } = mock.asked()[0]!;
  assert.equal(headers.authorization, 'Bearer sk-test-1');
  assert.deepEqual(body.messages, [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: 'Hello' }]);
  assert.deepEqual(body.tools[0], { type: 'function', function: { name: 'Read', description: 'Read something', parameters: { type: 'object', properties: { a: { type: 'string' } } } } });
  assert.deepEqual([body.stream, body.stream_options, body.max_tokens, body.tool_choice, body.reasoning_effort], [true, { include_usage: true }, 500, { type: 'function', function: { name: 'Read' } }, 'high']);
});

test('each request begins with the bytes of the one before', async (t) => {
  const { ask, mock } = await chat(t, chatFrames({ text: ['One.'], calls: [{ id: 'c1', name: 'Read', args: '{"a":"1"}' }] }));
  const first = await ask();
  await ask([...HELLO, ...answered(first)]);
  const [a, b] = mock.asked().map((s) => s.text);
  assert.ok(b!.startsWith(a!.slice(0, -2)), 'the prefix changed');
});

test('counts what came from the cache apart', async (t) => {
  const { ask } = await chat(t, chatFrames({ text: ['ok'] }));
  const end = (await ask()).events.find((e) => e.type === 'message_delta');
  assert.deepEqual(end?.type === 'message_delta' && end.usage, { input_tokens: 40, output_tokens: 20, cache_creation_input_tokens: 0, cache_read_input_tokens: 60 });
});

test('makes up ids where they are missing, null, or used already, and they serve in the next request (F10-09)', async (t) => {
  const both = [{ index: 0, type: 'function', function: { name: 'Read', arguments: '{"a":"1"}' } }, { index: 1, id: null, type: 'function', function: { name: 'Bash', arguments: '{}' } }, { index: 2, id: 'call_1', type: 'function', function: { name: 'Read', arguments: '{}' } }, { index: 3, id: 'call_1', type: 'function', function: { name: 'Read', arguments: '{"a":"2"}' } }];
  const { ask } = await chat(t, [chatChunk({ role: 'assistant', content: null, tool_calls: both }), chatChunk({}, 'tool_calls'), frame('[DONE]')]);
  const before = [...HELLO, assistant({ type: 'tool_use', id: 'call_1', name: 'Read', input: {} }), user({ type: 'tool_result', tool_use_id: 'call_1', content: 'x' })];
  const heard = await ask(before);
  inOrder(heard.events);
  const made = calls(heard.blocks);
  assert.deepEqual(made.map((c) => [c.name, c.input]), [['Read', { a: '1' }], ['Bash', {}], ['Read', {}], ['Read', { a: '2' }]]);
  assert.equal(new Set([...made.map((c) => c.id), 'call_1']).size, 5);
  for (const c of made) assert.match(c.id, /^[A-Za-z0-9]{9}$/, 'nine letters and digits are taken by every server');
  assert.equal((await ask([...before, ...answered(heard)])).error, undefined);
});

test('keeps an id that comes only in the first part of its call (F10-09)', async (t) => {
  const { ask } = await chat(t, [callPart({ index: 0, id: 'abc123xyz', function: { name: 'Read', arguments: '{"a"' } }), callPart({ index: 0, function: { arguments: ':"1"}' } }), callPart({ index: 0, id: null, function: { name: null, arguments: '' } }), chatChunk({}, 'tool_calls'), frame('[DONE]')]);
  assert.deepEqual(calls((await ask()).blocks).map((c) => [c.id, c.input]), [['abc123xyz', { a: '1' }]]);
});

test('sends ids of nine characters to a server that wants them (F10-09)', async (t) => {
  const { ask, mock } = await stand(t, (seen) => (seen.body.messages.some((m: any) => m.tool_call_id !== undefined && m.tool_call_id.length !== 9)
    ? refuse(400, 'Tool call id was call_long_one but must be a-z, A-Z, 0-9, with a length of 9.') : { frames: chatFrames({ text: ['ok'] }) }), { wire: 'chat' });
  const messages = [...HELLO, assistant({ type: 'tool_use', id: 'call_long_one', name: 'Read', input: {} }), user({ type: 'tool_result', tool_use_id: 'call_long_one', content: 'x' })];
  assert.equal((await ask(messages)).error, undefined);
  assert.equal((await ask(messages)).error, undefined);
  assert.equal(mock.asked().length, 3, 'what was learnt stays learnt');
});

test('takes several whole calls in one delta, without index or with the same', async (t) => {
  for (const index of [{}, { index: 0 }, { index: null }]) {
    const { ask } = await chat(t, [chatChunk({ tool_calls: [{ ...index, id: 'a1', function: { name: 'Read', arguments: '{"a":"1"}' } }, { ...index, id: 'a2', function: { name: 'Read', arguments: '{"a":"2"}' } }, { ...index, function: { name: 'Bash', arguments: '{}' } }] }), chatChunk({}, 'stop')]);
    const heard = await ask();
    assert.deepEqual(calls(heard.blocks).map((c) => [c.name, c.input]), [['Read', { a: '1' }], ['Read', { a: '2' }], ['Bash', {}]], JSON.stringify(index));
    assert.equal(stopOf(heard), 'tool_use', 'calls are calls, whatever the server says');
  }
});

test('tells calls apart that lack indices, ids or input', async (t) => {
  const fn = (args: string, name = 'Read') => ({ function: { name, arguments: args } });
  for (const parts of [[fn('{"a":"1"}'), fn('{"a":"2"}')], [{ id: 'x', ...fn('{"a":"1"}') }, { id: 'x', ...fn('{"a":"2"}') }], [{ id: 'x', ...fn('') }, { id: 'y', ...fn('') }], [{ index: 0, id: 'x', ...fn('') }, { index: 0, id: 'y', ...fn('') }], [{ index: 0, ...fn('') }, { index: 0, ...fn('', 'Bash') }]]) {
    const { ask } = await chat(t, [...parts.map(callPart), chatChunk({}, 'tool_calls')]);
    const heard = await ask();
    assert.equal(calls(heard.blocks).filter((c) => c.inputError === undefined).length, 2, JSON.stringify(parts));
  }
});

test('says nothing more once it is stopped, not even what came with the same bytes', async (t) => {
  const { provider } = await chat(t, chatFrames({ text: ['one', 'two'] }));
  const stop = new AbortController();
  const heard = await hear(provider, requestTo(provider, 'gpt-5', HELLO), { signal: stop.signal, on: (e) => { if (e.type === 'content_block_start') stop.abort(); } });
  assert.deepEqual([heard.fault?.kind, heard.events.at(-1)?.type], ['aborted', 'content_block_start']);
});

test('puts interleaved calls in order without mixing them', async (t) => {
  const part = (index: number, args: string, more: object = {}): string => callPart({ index, function: { arguments: args, ...more } });
  const { ask } = await chat(t, [callPart({ index: 0, id: 'a', function: { name: 'Read', arguments: '' } }), callPart({ index: 1, id: 'b', function: { name: 'Bash', arguments: '' } }), part(1, '{"a":'), part(0, '{"a":"fi'), part(1, '"second"}'), part(0, 'rst"}'), chatChunk({}, 'tool_calls')]);
  const heard = await ask();
  inOrder(heard.events);
  assert.deepEqual(calls(heard.blocks).map((c) => c.input), [{ a: 'first' }, { a: 'second' }]);
});

test('a call is handed out whole as soon as the next one begins', async (t) => {
  const { ask } = await chat(t, [callPart({ index: 0, id: 'a', function: { name: 'Read', arguments: '{"a":"1"}' } }), callPart({ index: 1, id: 'b', function: { name: 'Bash', arguments: '{"a"' } })]);
  const heard = await ask();
  assert.equal(heard.fault?.kind, 'broken_stream');
  assert.deepEqual(calls(heard.blocks).map((c) => c.id), ['a']);
});

test('takes arguments that come as an object', async (t) => {
  const { ask } = await chat(t, chatFrames({ calls: [{ id: 'a', name: 'Read', args: { a: { b: [1] } } }] }));
  assert.deepEqual(calls((await ask()).blocks)[0]?.input, { a: { b: [1] } });
});

test('counts as cut what breaks off although the server says tool_calls; the call is kept so that it can go back (F10-06, F10-07)', async (t) => {
  const { ask } = await chat(t, chatFrames({ calls: [{ id: 'a', name: 'Read', args: '{"path":"a","text":"on' }], finish: 'tool_calls' }));
  const heard = await ask();
  const [call] = calls(heard.blocks);
  assert.deepEqual(call?.input, {});
  assert.equal(call?.inputError?.raw, '{"path":"a","text":"on');
  assert.match(call?.inputError?.why ?? '', /cut off .* after 22 characters/);
  assert.equal(stopOf(heard), 'max_tokens');
  assert.ok(notices(heard).some((n) => n.includes('unfinished')));
  assert.equal((await ask([...HELLO, ...answered(heard)])).error, undefined);
});

test('what was cut at the limit is said to be cut, the complete call beside it stays complete (F10-05)', async (t) => {
  const { ask } = await chat(t, chatFrames({ calls: [{ id: 'a', name: 'Read', args: '{"a":"1"}' }, { id: 'b', name: 'Bash', args: '{"path":"a","text":"on' }], finish: 'length' }));
  const heard = await ask();
  assert.equal(stopOf(heard), 'max_tokens');
  assert.deepEqual(calls(heard.blocks).map((c) => c.inputError === undefined), [true, false]);
});

test('shows thoughts, whatever their field is called, once', async (t) => {
  for (const delta of [{ reasoning_content: 'Hm.' }, { reasoning: 'Hm.' }, { reasoning: 'Hm.', reasoning_content: 'Hm.' }, { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] }] }]) {
    const { ask } = await chat(t, [chatChunk({ content: '', ...delta }), chatChunk({ content: 'Yes.' }), chatChunk({}, 'stop'), frame('[DONE]')]);
    assert.deepEqual((await ask()).blocks, [{ type: 'thinking', thinking: 'Hm.', provider: 'openai' }, { type: 'text', text: 'Yes.' }]);
  }
});

test('sends thoughts back only to a server that asks for them', async (t) => {
  const { ask, mock } = await stand(t, (seen, n) => (n === 0 ? { frames: chatFrames({ reasoning: ['Hm.'], text: ['Yes.'] }) }
    : seen.body.messages.some((m: any) => m.role === 'assistant' && m.reasoning_content === undefined) ? refuse(400, 'The `reasoning_content` in the thinking mode must be passed back to the API.') : { frames: chatFrames({ text: ['ok'] }) }), { wire: 'chat', rules: { allow: ['reasoning_content'] } });
  const first = await ask();
  assert.equal((await ask([...HELLO, ...answered(first)])).error, undefined);
  assert.deepEqual(mock.asked().slice(1).map((s) => s.body.messages[2].reasoning_content), [undefined, 'Hm.']);
});

test('asks again without the choice of a tool where the server refuses it, and says so', async (t) => {
  const { ask, mock } = await stand(t, (seen) => (seen.body.tool_choice === undefined ? { frames: chatFrames({ text: ['ok'] }) } : refuse(400, 'tool_choice is not supported by this model', { param: 'tool_choice' })), { wire: 'chat' });
  const heard = await ask(HELLO, { toolChoice: 'any' });
  assert.equal(heard.error, undefined);
  assert.equal(notices(heard).length, 1);
  assert.match(notices(heard)[0]!, /which tool/);
  assert.equal(mock.asked().length, 2);
});

test('asks again without stream_options where the server does not know them', async (t) => {
  const { ask, mock } = await stand(t, (seen) => (seen.body.stream_options === undefined ? { frames: chatFrames({ text: ['ok'], usage: null }) } : { status: 422, json: { detail: [{ type: 'extra_forbidden', loc: ['body', 'stream_options'], msg: 'Extra inputs are not permitted' }] } }), { wire: 'chat' });
  const heard = await ask();
  assert.equal(heard.error, undefined);
  assert.ok(notices(heard).some((n) => n.includes('tokens')));
  await ask();
  assert.equal(mock.asked().length, 3);
});

test('names the limit of the answer as the server wants it', async (t) => {
  const { ask, mock } = await stand(t, (seen) => (seen.body.max_tokens !== undefined ? refuse(400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", { param: 'max_tokens', code: 'unsupported_parameter' }) : { frames: chatFrames({ text: ['ok'] }) }), { wire: 'chat' });
  assert.equal((await ask(HELLO, { maxOutputTokens: 100 })).error, undefined);
  assert.equal(mock.asked()[1]?.body.max_completion_tokens, 100);
});

test('does not ask twice for what the same refusal would meet again', async (t) => {
  const { ask, mock } = await stand(t, () => refuse(400, 'tool_choice is broken'), { wire: 'chat' });
  assert.equal((await ask(HELLO, { toolChoice: 'any' })).fault?.kind, 'invalid_request');
  assert.equal(mock.asked().length, 2);
});

test('tells a model that takes no images in words that they are there', async (t) => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } } as const;
  const { ask, mock } = await stand(t, (seen) => (seen.text.includes('image_url') ? { status: 500, json: { error: { code: 500, message: 'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj', type: 'server_error' } } } : { frames: chatFrames({ text: ['ok'] }) }), { wire: 'chat' });
  const messages = [...HELLO, assistant({ type: 'tool_use', id: 'c1', name: 'Read', input: {} }), user({ type: 'tool_result', tool_use_id: 'c1', content: [{ type: 'text', text: 'a picture' }, image] })];
  const heard = await ask(messages);
  assert.equal(heard.error, undefined);
  const [first, second] = mock.asked().map((s) => s.body.messages);
  assert.deepEqual(first.slice(-2).map((m: any) => [m.role, typeof m.content === 'string' ? m.content : m.content.map((p: any) => p.type)]), [['tool', 'a picture'], ['user', ['text', 'image_url']]]);
  assert.match(second.at(-1).content, /a picture\n\[an image, image\/png, which this model is not shown\]/);
});

test('usage that never comes counts as none, and that is said', async (t) => {
  const { ask } = await chat(t, chatFrames({ text: ['ok'], usage: null }));
  const heard = await ask();
  const end = heard.events.find((e) => e.type === 'message_delta');
  assert.ok(end?.type === 'message_delta' && end.usage.input_tokens === 0);
  assert.ok(notices(heard).some((n) => n.includes('how many tokens')));
});

test('takes usage from wherever it stands', async (t) => {
  for (const frames of [[chatChunk({ content: 'ok' }), chatChunk({}, 'stop', { usage: CHAT_USAGE })], [chatChunk({ content: 'ok' }), frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: CHAT_USAGE }] })]]) {
    const { ask } = await chat(t, frames);
    const end = (await ask()).events.find((e) => e.type === 'message_delta');
    assert.equal(end?.type === 'message_delta' && end.usage.output_tokens, 20);
  }
});

test('a finish reason without [DONE] is complete, [DONE] without a reason too, neither is broken (F10-02)', async (t) => {
  const ends = async (o: Parameters<typeof chatFrames>[0]) => { const { ask } = await chat(t, chatFrames({ text: ['half'], ...o })); return ask(); };
  assert.equal((await ends({ done: false })).error, undefined);
  const bare = await ends({ finish: null });
  assert.equal(stopOf(bare), 'end_turn');
  assert.ok(notices(bare).some((n) => n.includes('why')));
  assert.equal((await ends({ finish: null, done: false, usage: null })).fault?.kind, 'broken_stream');
});

test('an error frame in a stream is an error with the text of the server, whatever its form (F10-13)', async (t) => {
  const two = [chatChunk({ content: 'a' }), chatChunk({ content: 'b' })];
  for (const [last, kind] of [
    [frame({ error: { message: 'upstream died', type: 'server_error', code: 502 } }), 'server_error'], [frame({ message: 'upstream died' }, 'error'), 'server_error'], [frame({ object: 'error', message: 'upstream died', code: 400 }), 'invalid_request'],
    [frame({ error: 'upstream died' }), 'server_error'], [frame({ choices: [{ index: 0, delta: {}, error: { code: 429, message: 'upstream died' } }] }), 'rate_limit'], [frame({ error: { code: 502, message: 'Provider returned error', metadata: { raw: 'upstream died' } } }), 'server_error'],
  ] as const) {
    const { ask } = await chat(t, [...two, last]);
    const heard = await ask();
    assert.equal(heard.fault?.kind, kind, last);
    assert.match(heard.fault?.message ?? '', /upstream died/);
  }
});

test('one odd field costs nothing but itself (F10-14)', async (t) => {
  const { ask } = await chat(t, [chatChunk({ content: 42, tool_calls: [{ index: 0, id: 'a', function: { name: 'Read', arguments: '{"a":"1"}' } }, 'junk'] }), frame('no json'), frame('[1]'), chatChunk({}, 'tool_calls'), frame('[DONE]')]);
  const heard = await ask();
  assert.equal(heard.error, undefined);
  assert.deepEqual(calls(heard.blocks).map((c) => c.input), [{ a: '1' }]);
  assert.equal(notices(heard).filter((n) => n.includes('skipped')).length, 4);
});

test('thoughts alone, and blanks alone, are an empty answer (F10-03)', async (t) => {
  for (const o of [{ reasoning: ['only thinking'] }, { text: [' \n'] }, {}]) {
    const { ask } = await chat(t, chatFrames(o));
    assert.equal((await ask()).fault?.kind, 'empty_answer', JSON.stringify(o));
  }
  const { ask } = await chat(t, chatFrames({ reasoning: ['only thinking'], finish: 'length' }));
  assert.equal(stopOf(await ask()), 'max_tokens');
});

test('filters and refusals are faults with the words of the server', async (t) => {
  const filtered = await chat(t, chatFrames({ text: ['half'], finish: 'content_filter' }));
  assert.equal((await filtered.ask()).fault?.kind, 'content_filter');
  const refused = await chat(t, [chatChunk({ refusal: 'I will ' }), chatChunk({ refusal: 'not.' }), chatChunk({}, 'stop')]);
  const { fault } = await refused.ask();
  assert.equal(fault?.kind, 'refusal');
  assert.match(fault?.message ?? '', /I will not\./);
});

test('a server that does not stream is understood all the same', async (t) => {
  const { ask } = await chat(t, [{ json: { id: 'x', model: 'm', choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.', tool_calls: [{ id: 'a', type: 'function', function: { name: 'Read', arguments: '{}' } }] }, finish_reason: 'tool_calls' }], usage: CHAT_USAGE } }]);
  const heard = await ask();
  inOrder(heard.events);
  assert.deepEqual(heard.blocks, [{ type: 'text', text: 'Hi.' }, { type: 'tool_use', id: 'a', name: 'Read', input: {} }]);
});

test('a web page in the place of an answer is told as what it is', async (t) => {
  const { ask } = await chat(t, [{ text: '<html><body>Sign in</body></html>' }]);
  const { fault } = await ask();
  assert.deepEqual([fault?.kind, fault?.transient], ['connection', false]);
  assert.match(fault?.message ?? '', /web page/);
});

test('signatures of Gemini behind this wire go back with their calls', async (t) => {
  const { ask, mock } = await chat(t, [callPart({ index: 0, id: 'a', type: 'function', function: { name: 'Read', arguments: '{}' }, extra_content: { google: { thought_signature: 'c2ln' } } }), chatChunk({}, 'tool_calls')], { rules: { allow: ['extra_content'] } });
  const heard = await ask();
  assert.equal((await ask([...HELLO, ...answered(heard)])).error, undefined);
  assert.deepEqual(mock.asked()[1]!.body.messages[2].tool_calls[0].extra_content, { google: { thought_signature: 'c2ln' } });
});

test('however an answer is cut into chunks, the same blocks come out', async (t) => {
  const args = JSON.stringify({ path: 'ä"\\/\n', list: [1, { deep: null }] });
  const cuts = fc.array(fc.integer({ min: 1, max: args.length - 1 }), { maxLength: 6 });
  const { ask } = await stand(t, (seen) => {
    const at = [0, ...(JSON.parse(seen.body.messages.at(-1).content) as number[]).sort((a, b) => a - b), args.length];
    const pieces = at.slice(1).map((end, i) => args.slice(at[i], end));
    return { frames: [callPart({ index: 0, id: 'a', function: { name: 'Read', arguments: '' } }), ...pieces.map((p) => callPart({ index: 0, function: { arguments: p } })), chatChunk({}, 'tool_calls'), frame('[DONE]')] };
  }, { wire: 'chat' });
  await fc.assert(fc.asyncProperty(cuts, async (list) => {
    const heard = await ask([user(text(JSON.stringify(list)))]);
    assert.deepEqual(calls(heard.blocks)[0]?.input, JSON.parse(args));
  }), { numRuns: 40 });
});

test('who wants no thoughts says so to any server; one that does not know the word is asked without it', async (t) => {
  const { ask, mock } = await stand(t, [{ frames: chatFrames({ text: ['ok'] }) }], { name: 'ollama', model: 'qwen3', settings: { options: { compatible: 'openai' } }, env: {} });
  assert.equal((await ask(HELLO, { thinking: false })).error, undefined);
  assert.equal(mock.asked()[0]!.body.reasoning_effort, 'none');
  const strict = await stand(t, (seen) => (seen.body.reasoning_effort === undefined ? { frames: chatFrames({ text: ['ok'] }) } : refuse(400, 'reasoning_effort: Extra inputs are not permitted')), { name: 'vllm', model: 'm', settings: { options: { compatible: 'openai' } }, env: {} });
  for (let i = 0; i < 2; i++) assert.equal((await strict.ask(HELLO, { thinking: false })).error, undefined);
  assert.deepEqual(strict.mock.asked().map((s) => s.body.reasoning_effort), ['none', undefined, undefined]);
});

test('a conversation that the model itself ends gets a word to go on: some servers refuse it otherwise', async (t) => {
  const { ask, mock } = await stand(t, (seen) => (seen.body.messages.at(-1).role === 'assistant' ? refuse(400, 'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant') : { frames: chatFrames({ text: ['ok'] }) }), { wire: 'chat' });
  assert.equal((await ask([...HELLO, assistant(text('half an ans'))])).error, undefined);
  assert.deepEqual(mock.asked()[0]!.body.messages.slice(-2), [{ role: 'assistant', content: 'half an ans' }, { role: 'user', content: 'The answer broke off here. Go on.' }]);
});
