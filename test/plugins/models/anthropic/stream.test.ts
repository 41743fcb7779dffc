import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { Block, ModelEvent } from 'tappet/schemas';
import { hear, inOrder, requestTo } from '../../../contracts/model-provider.ts';
import type { Heard } from '../../../contracts/model-provider.ts';
import { signatureOf } from '../../../support/messages-law.ts';
import { frame } from '../../../support/mock-anthropic.ts';
import type { MockScript } from '../../../support/mock-anthropic.ts';
import { bench, provide } from './bench.ts';
import type { BenchOptions } from './bench.ts';

const HELLO = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hello' }] }];
async function ask(t: TestContext, script: MockScript, o: BenchOptions = {}): Promise<Heard> {
  const { provider } = await bench(t, script, o);
  const heard = await hear(provider, requestTo(provider, 'sonnet', HELLO));
  if (heard.error === undefined) inOrder(heard.events);
  return heard;
}
const end = (h: Heard): Extract<ModelEvent, { type: 'message_delta' }> => h.events.find((e) => e.type === 'message_delta') as Extract<ModelEvent, { type: 'message_delta' }>;
const notices = (h: Heard): string[] => h.events.flatMap((e) => (e.type === 'notice' ? [e.text] : []));
const start = { type: 'message_start', message: { id: 'msg_1', model: 'claude-x', usage: { input_tokens: 5, output_tokens: 1, cache_read_input_tokens: 7 } } };
const stop = [{ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } }, { type: 'message_stop' }];
const text = (index: number, t: string): Record<string, unknown>[] => [{ type: 'content_block_start', index, content_block: { type: 'text', text: '' } }, { type: 'content_block_delta', index, delta: { type: 'text_delta', text: t } }, { type: 'content_block_stop', index }];

test('thoughts carry their signature and whose it is; hidden ones stay hidden', async (t) => {
  const { blocks } = await ask(t, [{ blocks: [{ thinking: 'Hm' }, { block: { type: 'redacted_thinking', data: 'abc' } }, { text: 'x' }] }]);
  assert.deepEqual(blocks, [{ type: 'thinking', thinking: 'Hm', signature: signatureOf('Hm'), provider: 'anthropic' }, { type: 'redacted_thinking', data: 'abc', provider: 'anthropic' }, { type: 'text', text: 'x' }]);
});

test("blocks of the API's own are kept whole, and go back as they came", async (t) => {
  const use = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} };
  const result = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [{ type: 'web_search_result', url: 'https://a.test', title: 'A', encrypted_content: 'xyz' }] };
  const { mock, provider } = await bench(t, [{ blocks: [{ block: use, input: { query: 'a "b"' } }, { block: result }, { text: 'found' }] }]);
  const { blocks, error } = await hear(provider, requestTo(provider, 'sonnet', HELLO));
  assert.equal(error, undefined);
  assert.deepEqual(blocks.slice(0, 2), [{ type: 'vendor', provider: 'anthropic', block: { ...use, input: { query: 'a "b"' } } }, { type: 'vendor', provider: 'anthropic', block: result }]);
  const again = await hear(provider, requestTo(provider, 'sonnet', [...HELLO, { role: 'assistant', content: blocks }, ...HELLO]));
  assert.equal(again.error, undefined);
  assert.deepEqual((mock.requests[1]!.body.messages as { content: unknown[] }[])[1]!.content.slice(0, 2), [{ ...use, input: { query: 'a "b"' } }, result]);
});

test('citations of a text are kept', async (t) => {
  const citation = { type: 'char_location', cited_text: 'a', document_index: 0 };
  const { blocks } = await ask(t, [{ frames: [start, text(0, 'x')[0]!, { type: 'content_block_delta', index: 0, delta: { type: 'citations_delta', citation } }, ...text(0, 'x').slice(1), ...stop] }]);
  assert.deepEqual(blocks, [{ type: 'text', text: 'x', citations: [citation] }]);
});

test('the use of tokens is summed from both ends of an answer, caches too', async (t) => {
  const heard = await ask(t, [{ blocks: [{ text: 'x' }], usage: { input_tokens: 3, cache_creation_input_tokens: 40, cache_read_input_tokens: 500, output_tokens: 6 } }]);
  assert.deepEqual(end(heard).usage, { input_tokens: 3, output_tokens: 6, cache_creation_input_tokens: 40, cache_read_input_tokens: 500 });
  const gateway = await ask(t, [{ frames: [{ ...start, message: { id: 'm', usage: { input_tokens: 0, output_tokens: 0 } } }, ...text(0, 'x'), { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { input_tokens: 11, output_tokens: 2, cache_read_input_tokens: null } }, { type: 'message_stop' }] }]);
  assert.deepEqual(end(gateway).usage, { input_tokens: 11, output_tokens: 2, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 });
});

test('every end that the API knows is handed on', async (t) => {
  for (const [stop_reason, blocks] of [['end_turn', [{ text: 'x' }]], ['max_tokens', []], ['stop_sequence', [{ text: 'x' }]], ['pause_turn', []], ['model_context_window_exceeded', [{ text: 'x' }]], ['tool_use', [{ call: 'Read', input: {} }]]] as const) {
    const heard = await ask(t, [{ blocks, stop_reason }]);
    assert.equal(heard.error, undefined, stop_reason);
    assert.equal(end(heard).stop_reason, stop_reason);
  }
});

test('a refusal is a fault in its own words; what was used before it is still counted', async (t) => {
  const early = await ask(t, [{ blocks: [], stop_reason: 'refusal', stop_details: { type: 'refusal', category: 'cyber', explanation: 'This looks like an attack.' } }]);
  assert.deepEqual([early.fault?.kind, early.fault?.message, early.fault?.transient], ['refusal', 'the model refuses to answer: This looks like an attack.', false]);
  assert.equal(end(early), undefined);
  const late = await ask(t, [{ blocks: [{ text: 'Well' }], stop_reason: 'refusal' }]);
  assert.equal(late.fault?.kind, 'refusal');
  assert.equal(end(late).stop_reason, 'refusal');
});

test('two calls, the second cut at the limit: the first is whole, the second is none, the end says that it was cut', async (t) => {
  const heard = await ask(t, [{ blocks: [{ call: 'Read', input: { path: 'a' } }, { call: 'Write', input: '{"path":"a","text":"on' }], stop: 'length' }]);
  assert.equal(end(heard).stop_reason, 'max_tokens');
  const [first, second] = heard.blocks as Extract<Block, { type: 'tool_use' }>[];
  assert.deepEqual([first!.input, first!.inputError], [{ path: 'a' }, undefined]);
  assert.match(second!.inputError!.why, /cut off.*22 characters/);
  assert.equal(second!.inputError!.raw, '{"path":"a","text":"on');
});

test('a call that breaks off counts as cut also where the server calls it complete, and people are told', async (t) => {
  const heard = await ask(t, [{ blocks: [{ call: 'Write', input: '{"path":"a' }], stop: 'calls' }]);
  assert.equal(end(heard).stop_reason, 'max_tokens');
  assert.match(notices(heard).join(), /counts as cut off/);
});

test('input that is JSON but no object, or broken in itself, is an error of the call and no cut', async (t) => {
  const heard = await ask(t, [{ blocks: [{ call: 'A', input: '[1]' }, { call: 'B', input: '{"a":}' }, { call: 'C', input: '' }] }]);
  assert.equal(end(heard).stop_reason, 'tool_use');
  assert.deepEqual(heard.blocks.map((b) => b.type === 'tool_use' && [b.inputError !== undefined, b.input]), [[true, {}], [true, {}], [false, {}]]);
});

test('a call without an id, or with one that the conversation has already, gets one of its own', async (t) => {
  const call = (index: number, id: unknown): Record<string, unknown>[] => [{ type: 'content_block_start', index, content_block: { type: 'tool_use', id, name: 'Read', input: { a: index } } }, { type: 'content_block_stop', index }];
  const { provider } = await bench(t, [{ frames: [start, ...call(0, undefined), ...call(1, null), ...call(2, 'old'), ...call(3, 'new'), ...stop] }]);
  const old: Block = { type: 'tool_use', id: 'old', name: 'Read', input: {} };
  const { blocks } = await hear(provider, requestTo(provider, 'sonnet', [...HELLO, { role: 'assistant', content: [old] }, { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'old', content: 'x' }] }]));
  const ids = blocks.map((b) => b.type === 'tool_use' && b.id);
  assert.equal(new Set([...ids, 'old']).size, 5);
  assert.equal(ids[3], 'new');
  assert.deepEqual(blocks.map((b) => b.type === 'tool_use' && b.input), [{ a: 0 }, { a: 1 }, { a: 2 }, { a: 3 }], 'an input that comes at once counts');
});

test('odd things are skipped one by one and told, the rest is kept', async (t) => {
  const heard = await ask(t, [{ frames: [
    start, 'data: {"broken\n\n', 'data: [1]\n\n', { type: 'content_block_start', index: 0, content_block: 'text' }, { type: 'content_block_delta', index: 9, delta: { type: 'text_delta', text: 'lost' } },
    ...text(1, 'a').slice(0, 2), { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: { no: 1 } } }, { type: 'content_block_delta', index: 1, delta: null }, { type: 'content_block_delta', index: 1, delta: { type: 'new_delta' } }, { type: 'new_event' },
    { type: 'content_block_start', index: 2, content_block: { type: 'tool_use', id: 't', name: 'Read', input: {} } }, { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: 7 } }, { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"a":1}' } }, { type: 'content_block_stop', index: 2 },
    ...stop,
  ] }]);
  assert.equal(heard.error, undefined);
  assert.deepEqual(heard.blocks, [{ type: 'text', text: 'a' }, { type: 'tool_use', id: 't', name: 'Read', input: { a: 1 } }], 'a block that was never closed is closed at the end');
  assert.ok(notices(heard).length >= 7, notices(heard).join('\n'));
});

test('an answer without a beginning still has one', async (t) => {
  const { events } = await ask(t, [{ frames: [...text(0, 'x'), ...stop] }]);
  assert.ok(events[0]?.type === 'message_start' && events[0].id !== '' && events[0].model === 'claude-sonnet-5-5');
});

test("an error inside the stream has the provider's text and what came before stays", async (t) => {
  const heard = await ask(t, [{ frames: [start, ...text(0, 'half').slice(0, 2), { type: 'error', error: { type: 'api_error', message: 'upstream fell over' }, request_id: 'req_9' }] }]);
  assert.deepEqual([heard.fault?.kind, heard.fault?.message, heard.fault?.requestId, heard.fault?.transient], ['server_error', 'upstream fell over', 'req_9', true]);
  assert.equal(heard.events.filter((e) => e.type === 'content_block_delta').length, 1);
});

test('pings are life while the model thinks without showing it, and only then', async (t) => {
  const thinking = [start, { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } }];
  const rest = [{ type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 's' } }, { type: 'content_block_stop', index: 0 }, ...text(1, 'x'), ...stop];
  const server = createServer((_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' }).write(thinking.map(frame).join(''));
    let pings = 0;
    const timer = setInterval(() => {
      if (++pings <= 100) return void res.write(frame({ type: 'ping' }));
      clearInterval(timer);
      res.end(rest.map(frame).join(''));
    }, 5);
  });
  await new Promise<void>((done) => { server.listen(0, '127.0.0.1', done); });
  t.after(() => { server.closeAllConnections(); server.close(); });
  const provider = await provide(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { settings: { timeouts: { betweenBytesMs: 250 } } });
  assert.equal((await hear(provider, requestTo(provider, 'sonnet', HELLO))).error, undefined, 'half a second of pings, with a limit of a quarter');
  const quiet = await ask(t, [{ frames: thinking, ending: 'silent', pieces: { comments: true } }], { settings: { timeouts: { betweenBytesMs: 60 } } });
  assert.equal(quiet.fault?.kind, 'timeout_between_bytes', 'comments are none even then');
});

test('what is no stream of events is called so, with its beginning', async (t) => {
  const heard = await ask(t, [{ status: 200, headers: { 'content-type': 'text/html' }, body: '<html>Log in to the Wi-Fi</html>' }]);
  assert.equal(heard.fault?.kind, 'broken_stream');
  assert.match(heard.fault!.message, /text\/html.*Wi-Fi/);
});

test('an error in the form of a success is the error', async (t) => {
  const heard = await ask(t, [{ status: 200, body: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } } }]);
  assert.deepEqual([heard.fault?.kind, heard.fault?.message], ['overloaded', 'Overloaded']);
});

test('connections are kept from request to request', async (t) => {
  const { mock, provider } = await bench(t, [{ blocks: [{ text: 'x' }] }]);
  for (let i = 0; i < 12; i++) {
    await hear(provider, requestTo(provider, 'sonnet', HELLO));
    await new Promise((done) => { setImmediate(done); });
  }
  assert.equal(mock.requests.length, 12);
  assert.ok(mock.connections() < 12, String(mock.connections()));
});
