/** What hurt users of other harnesses in streamed answers, each with the very input of the report, over every wire and through a whole turn. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { turnExit } from 'tappet/kit';
import type { TurnEnd } from 'tappet/schemas';
import { signatureOf } from '../../support/messages-law.ts';
import { frame as anthropicFrame, startMockAnthropic } from '../../support/mock-anthropic.ts';
import { chunk, mockGemini, peerReply as geminiReply } from '../../support/mock-gemini.ts';
import { chatChunk, mockOpenai, peerReply as openaiReply, responsesFrames } from '../../support/mock-openai.ts';
import { frame } from '../../support/mock-server.ts';
import { ask, BASIC, project } from '../../support/project.ts';
import { watchedTools } from '../../support/tools.ts';

interface Refusal { readonly refuse: 'rate_limit' | 'overloaded'; readonly retryAfter?: string }
interface Frames { readonly frames: readonly string[]; readonly ending?: 'cut' | 'silent'; readonly pieces?: { readonly comments: true } }
type Step = Frames | Refusal;
interface Wire {
  /** The plugin and the model, and what stands in its provider's options. */
  readonly plugin: string; readonly model: string; readonly key: string; readonly options?: string;
  start(t: TestContext, steps: readonly Step[]): Promise<{ readonly url: string; texts(): readonly string[] }>;
  text(...deltas: readonly string[]): readonly string[];
  thought(words: string): readonly string[];
  /** Calls with their input as it stands on the wire; the id as the server has it. */
  calls(...calls: readonly (readonly [id: unknown, input: string, tool?: string])[]): readonly string[];
  readonly odd: string;
  readonly error: string;
  end(how: 'end' | 'calls' | 'length'): readonly string[];
}
const HALF = '{"path":"a","note":"on';

const block = (index: number, start: object, ...deltas: object[]): string[] => [{ type: 'content_block_start', index, content_block: start }, ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })), { type: 'content_block_stop', index }].map(anthropicFrame);
const item = (index: number, start: object, deltas: readonly object[], done: object): string[] => [frame({ type: 'response.output_item.added', output_index: index, item: start }), ...deltas.map((d) => frame({ output_index: index, ...d })), frame({ type: 'response.output_item.done', output_index: index, item: done })];
const openai = (wire: 'responses' | 'chat', more: Pick<Wire, 'text' | 'thought' | 'calls' | 'odd' | 'error' | 'end'>): Wire => ({
  plugin: 'models/openai', model: 'openai/gpt-5', key: 'OPENAI_API_KEY', options: `{ wire: ${wire} }`, ...more,
  async start(t, steps) {
    const mock = await mockOpenai(steps.map((s) => ('refuse' in s ? openaiReply(s, wire) : s)));
    t.after(() => mock.close());
    return { url: mock.url, texts: () => mock.asked().map((s) => s.text) };
  },
});
const WIRES: Readonly<Record<string, Wire>> = {
  anthropic: {
    plugin: 'models/anthropic', model: 'anthropic/sonnet', key: 'ANTHROPIC_API_KEY',
    async start(t, steps) {
      const mock = await startMockAnthropic(steps.map((s) => ('refuse' in s ? s : { ...s, frames: [{ type: 'message_start', message: { id: 'msg_1', model: 'm', usage: { input_tokens: 1, output_tokens: 1 } } }, ...s.frames] })));
      t.after(() => mock.close());
      return { url: mock.url, texts: () => mock.requests.map((r) => { assert.equal(r.refused, null); return r.text; }) };
    },
    text: (...deltas) => block(0, { type: 'text', text: '' }, ...deltas.map((text) => ({ type: 'text_delta', text }))),
    thought: (thinking) => block(0, { type: 'thinking', thinking: '', signature: '' }, { type: 'thinking_delta', thinking }, { type: 'signature_delta', signature: signatureOf(thinking) }),
    calls: (...calls) => calls.flatMap(([id, partial_json, name = 'Look'], i) => block(i + 1, { type: 'tool_use', id, name, input: {} }, { type: 'input_json_delta', partial_json })),
    odd: anthropicFrame({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 42 } }), error: anthropicFrame({ type: 'error', error: { type: 'overloaded_error', message: 'the kitchen is on fire' } }),
    end: (how) => [{ type: 'message_delta', delta: { stop_reason: { end: 'end_turn', calls: 'tool_use', length: 'max_tokens' }[how] }, usage: { output_tokens: 3 } }, { type: 'message_stop' }].map(anthropicFrame),
  },
  'openai, responses': openai('responses', {
    text: (...deltas) => item(0, { type: 'message' }, deltas.map((delta) => ({ type: 'response.output_text.delta', delta })), { type: 'message', content: [{ type: 'output_text', text: deltas.join('') }] }),
    thought: (text) => item(0, { type: 'reasoning', id: 'rs_1' }, [{ type: 'response.reasoning_summary_text.delta', delta: text }], { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text }] }),
    calls: (...calls) => calls.flatMap(([call_id, args, name = 'Look'], i) => { const base = { type: 'function_call', call_id, name }; return item(i + 1, { ...base, arguments: '' }, [{ type: 'response.function_call_arguments.delta', delta: args }], { ...base, arguments: args }); }),
    odd: frame({ type: 'response.output_text.delta', output_index: 0, delta: 42 }), error: frame({ type: 'error', code: 'server_error', message: 'the kitchen is on fire' }, 'error'),
    end: (how) => responsesFrames({ ...(how === 'length' ? { incomplete: 'max_output_tokens' } : {}) }).slice(-1).map((f) => f.replace('"output":[]', '"output":null')),
  }),
  'openai, chat': openai('chat', {
    text: (...deltas) => deltas.map((content) => chatChunk({ content })), thought: (reasoning_content) => [chatChunk({ reasoning_content })],
    calls: (...calls) => calls.map(([id, args, tool = 'Look'], index) => chatChunk({ content: null, tool_calls: [{ index, id, type: 'function', function: { name: tool, arguments: args } }] })),
    odd: chatChunk({ content: 42 }), error: frame({ error: { message: 'the kitchen is on fire', type: 'server_error' } }), end: (how) => [chatChunk({}, { end: 'stop', calls: 'tool_calls', length: 'length' }[how]), frame('[DONE]')],
  }),
  gemini: {
    plugin: 'models/gemini', model: 'gemini/gemini-3.8-flash', key: 'GEMINI_API_KEY',
    async start(t, steps) {
      const mock = await mockGemini(steps.map((s) => ('refuse' in s ? geminiReply(s) : s)));
      t.after(() => mock.close());
      return { url: mock.url, texts: () => mock.asked().map((s) => s.text) };
    },
    text: (...deltas) => deltas.map((text) => chunk([{ text }])), thought: (text) => [chunk([{ text, thought: true }])],
    // A call comes whole or not at all here.
    calls: (...calls) => [chunk(calls.map(([id, args, tool = 'Look']) => ({ functionCall: { ...(id === undefined ? {} : { id }), name: tool, args: args === HALF ? { path: 'half' } : JSON.parse(args) as object }, thoughtSignature: 'c2ln' })))],
    odd: chunk([{ text: 42 }]), error: frame({ error: { code: 503, message: 'the kitchen is on fire', status: 'UNAVAILABLE' } }), end: (how) => [chunk([], { finish: how === 'length' ? 'MAX_TOKENS' : 'STOP' })],
  },
};

async function set(t: TestContext, w: Wire, steps: readonly Step[], o: { readonly retry?: boolean } = {}) {
  const tools = watchedTools();
  const { url, texts } = await w.start(t, steps);
  const provider = w.plugin.slice('models/'.length);
  const p = project(t, {
    only: [...BASIC, w.plugin, 'recoveries/transport'], plugins: [tools.plugin], env: { [w.key]: 'key' },
    files: { '~/.config/tappet/config.yaml': `providers: { ${provider}: { baseUrl: "${url}", timeouts: { betweenBytesMs: 120 }${w.options === undefined ? '' : `, options: ${w.options}`} } }\nplugins: { recoveries/transport: { with: { firstMs: 1, retries: ${o.retry === true ? 10 : 0} } } }\n` },
  });
  const session = await p.open({ overlay: { model: w.model, mode: 'bypassPermissions' } });
  return { session, tools, texts, go: (): Promise<TurnEnd> => ask(session, 'go') };
}
const done = (w: Wire): Step => ({ frames: [...w.text('done'), ...w.end('end')] });

for (const [name, w] of Object.entries(WIRES)) {
  test(`${name}: an answer that goes on with pings alone ends, and an interrupt ends it at once (F10-01)`, async (t) => {
    const { go, session, texts } = await set(t, w, Array.from({ length: 3 }, (): Step => ({ frames: w.text('half').slice(0, -1).concat(w.text('half')[0]!), ending: 'silent', pieces: { comments: true } })), { retry: true });
    const end = await go();
    assert.deepEqual([end.isError, end.fault?.kind, end.fault?.transient], [true, 'timeout_between_bytes', true]);
    assert.equal(texts().length, 2, 'asked again once');
    const turn = session.submit('again').turn;
    for await (const e of session.events()) if (e.type === 'model.event') break;
    await session.interrupt({ reason: 'person' });
    assert.equal((await turn).reason, 'interrupted');
  });

  test(`${name}: text, then the end of the stream, is no success; it is asked for again where nothing ran (F10-02)`, async (t) => {
    const cut = { frames: w.text('half an ans') };
    const end = await (await set(t, w, [cut])).go();
    assert.deepEqual([end.isError, end.fault?.kind], [true, 'broken_stream']);
    const { go, texts } = await set(t, w, [cut, done(w)], { retry: true });
    assert.equal((await go()).text, 'done');
    assert.equal(texts().length, 2);
  });

  test(`${name}: only thinking, then stop: asked again, then an error whose exit code is not 0 (F10-03)`, async (t) => {
    const empty = { frames: [...w.thought('Hm'), ...w.end('end')] };
    const { go, texts } = await set(t, w, [empty, done(w)], { retry: true });
    assert.equal((await go()).text, 'done');
    assert.equal(texts().length, 2);
    const end = await (await set(t, w, [empty, empty, done(w)], { retry: true })).go();
    assert.deepEqual([end.isError, end.fault?.kind], [true, 'empty_answer']);
    assert.notEqual(turnExit(end), 0);
  });

  test(`${name}: cut at the token limit inside the second of two calls: none runs, each is told to be sent again smaller (F10-05)`, async (t) => {
    const { go, tools, texts } = await set(t, w, [{ frames: [...w.calls(['c1', '{"path":"a"}', 'Change'], ['c2', HALF, 'Change']), ...w.end('length')] }, done(w)]);
    assert.equal((await go()).text, 'done');
    assert.deepEqual(tools.calls, []);
    assert.equal(texts()[1]!.match(/cut off at the token limit[^"]*smaller/g)?.length, 2);
  });

  test(`${name}: the server says that the calls are complete, but one is not: it counts as cut, the model is told how much came, and what is kept can go back (F10-06, F10-07)`, async (t) => {
    if (name === 'gemini') return t.skip('a call comes whole or not at all on this wire');
    const { go, tools, texts } = await set(t, w, [{ frames: [...w.calls(['c1', HALF]), ...w.end('calls')] }, done(w), done(w)]);
    assert.equal((await go()).text, 'done', 'the strict server took the second request');
    assert.deepEqual(tools.calls, []);
    assert.match(texts()[1]!, /cut off/);
    assert.match(texts()[1]!, /22 characters/);
    assert.equal((await go()).text, 'done');
  });

  test(`${name}: ids that are missing, null, or used before become ids of their own, each with one result (F10-09)`, async (t) => {
    const turn = (id: unknown): Step => ({ frames: [...w.calls([id, '{"path":"a"}'], [id, '{"path":"b"}']), ...w.end('calls')] });
    const { go, tools } = await set(t, w, [turn(undefined), turn(null), turn('same'), turn('same'), done(w)]);
    assert.equal((await go()).text, 'done', 'the strict server took every request');
    assert.equal(tools.calls.length, 8);
  });

  test(`${name}: a wait that the server names is kept to, with chance on top, told, and ended by an interrupt; without one it is asked again soon (F10-10)`, async (t) => {
    const { session } = await set(t, w, [{ refuse: 'rate_limit', retryAfter: '7' }, done(w)], { retry: true });
    const { turn } = session.submit('go');
    let told: Readonly<Record<string, unknown>> | undefined;
    for await (const e of session.events({ from: 'start' })) if (e.type === 'message' && e.message.type === 'system' && e.message.format === 'api_retry') { told = e.message.data; break; }
    await session.interrupt({ reason: 'person' });
    assert.equal((await turn).reason, 'interrupted');
    assert.ok(Number(told?.['retry_delay_ms']) >= 7000 && Number(told?.['retry_delay_ms']) <= 8750, JSON.stringify(told));
    const { go, texts } = await set(t, w, [{ refuse: 'overloaded' }, done(w)], { retry: true });
    assert.equal((await go()).text, 'done');
    assert.equal(texts().length, 2);
  });

  test(`${name}: an error frame after two deltas is an error with the server's text (F10-13)`, async (t) => {
    const { go } = await set(t, w, [{ frames: [...w.text('one ', 'two').slice(0, name === 'anthropic' || name === 'openai, responses' ? -1 : undefined), w.error] }]);
    const end = await go();
    assert.deepEqual([end.isError, end.fault?.transient], [true, true]);
    assert.match(end.fault!.message, /the kitchen is on fire/);
    assert.notEqual(turnExit(end), 0);
  });

  test(`${name}: a number where text is due, and a call: the field is skipped and told, the call runs (F10-14)`, async (t) => {
    const text = w.text('a');
    const open = name === 'anthropic' || name === 'openai, responses';
    const { go, tools, session } = await set(t, w, [{ frames: [...(open ? text.slice(0, -1) : text), w.odd, ...(open ? text.slice(-1) : []), ...w.calls(['c1', '{"path":"a"}']), ...w.end('calls')] }, done(w)]);
    const heard: string[] = [];
    const reading = (async () => { for await (const e of session.events({ from: 'start' })) if (e.type === 'notice') heard.push(e.text); })();
    assert.equal((await go()).text, 'done');
    assert.deepEqual(tools.calls.map((c) => c.input.path), ['a']);
    await session.close();
    await reading;
    assert.match(heard.join(), /skipped/);
  });

  test(`${name}: a stream that is lost behind a call that ran is asked for again; the call keeps its result and does not run again (F10-15)`, async (t) => {
    const first = w.calls(['c1', '{"path":"a"}'], ['c2', '{"path":"b"}']);
    const { go, tools, texts } = await set(t, w, [{ frames: [...first, ...w.end('calls')], ending: 'cut' }, done(w)], { retry: true });
    assert.equal((await go()).text, 'done');
    const ran = tools.calls.map((c) => c.input.path);
    assert.deepEqual([...new Set(ran)], ran, 'nothing ran twice');
    assert.ok(ran.includes('a'));
    assert.match(texts()[1]!, /Look a/);
  });
}
