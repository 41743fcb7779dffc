/**
 * What every model provider must do, whatever its vendor's protocol is.
 *
 * To plug a provider in, write a strict mock of its vendor's API that plays `PeerStep`s (one for each request, the last one again and again) and refuses what the real API
 * refuses, then call the suite at the top of a test file:
 *
 *   modelProviderSuite({
 *     name: 'openai',
 *     async start(steps, o) {
 *       const mock = await startMockOpenai(steps);
 *       const { modelProviders } = await collect(plugin, { env: o.key === false ? {} : { OPENAI_API_KEY: SECRET }, settings: { providers: { openai: { baseUrl: mock.url, timeouts: o.timeouts } } } });
 *       return { provider: modelProviders[0]!, model: 'gpt-5', secret: SECRET, requests: () => mock.requests, gone: mock.gone, close: mock.close };
 *     },
 *   });
 *
 * A mock that cannot express a step (a protocol without thinking, say) names it in `cannot`; those tests are left out, visibly.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { faultOf } from 'tappet/kernel';
import type { Block, EncodedMessage, FaultKind, ModelEvent, ModelFault, ModelProvider, ModelRequest, NormalizedMessage, ToolSpec, ToolUseBlock } from 'tappet/schemas';

/** A block of an answer. A call's input as text is sent as it stands: it may be broken. */
export type PeerBlock = { readonly text: string } | { readonly thinking: string } | { readonly call: string; readonly input: Readonly<Record<string, unknown>> | string };
/** How the bytes of a stream travel; nothing of it changes what is said. */
export interface PeerPieces {
  /** Bytes of one write; left out: each event is one. */
  readonly size?: number | undefined;
  readonly crlf?: boolean | undefined;
  /** Comments between events. */
  readonly comments?: boolean | undefined;
  /** What the vendor sends to say that it is there, if it sends something. */
  readonly pings?: boolean | undefined;
  readonly gzip?: boolean | undefined;
}
export type PeerRefusal = Extract<FaultKind, 'rate_limit' | 'overloaded' | 'context_too_long' | 'invalid_request' | 'auth' | 'quota' | 'not_found' | 'server_error'>;
/** What the peer does with one request. */
export interface PeerStep {
  readonly blocks?: readonly PeerBlock[] | undefined;
  /** Why the answer ends; left out: `calls` where one is in it, else `end`. */
  readonly stop?: 'end' | 'calls' | 'length' | undefined;
  readonly pieces?: PeerPieces | undefined;
  /**
   * How the stream ends. `unfinished`: cleanly, but without the vendor's words for the end. `cut`: the connection breaks inside an event. `silent`: it stays open, and nothing but comments
   * (and pings) comes. `error`: with an error in the stream, whose text is `PEER_ERROR`, of the kind `overloaded` or `server_error`.
   */
  readonly ending?: 'whole' | 'unfinished' | 'cut' | 'silent' | 'error' | undefined;
  /** A number stands where the text of a delta is due, before the first call. */
  readonly odd?: boolean | undefined;
  /** An HTTP error instead of an answer, as the vendor words it. */
  readonly refuse?: PeerRefusal | undefined;
  /** The raw value of the header `retry-after` beside a refusal. */
  readonly retryAfter?: string | undefined;
  /** Not even the head of an answer comes. */
  readonly mute?: boolean | undefined;
}
export const PEER_ERROR = 'the peer broke down in the middle';

export interface StartOptions {
  /** `false`: no key is to be found. */
  readonly key?: boolean | undefined;
  readonly timeouts?: { readonly firstByteMs?: number | undefined; readonly betweenBytesMs?: number | undefined } | undefined;
}
export interface ProviderPeer {
  readonly provider: ModelProvider;
  /** A model that the provider knows. */
  readonly model: string;
  /** The key: it may stand in no error. */
  readonly secret: string;
  /** What arrived so far, oldest first. */
  requests(): readonly { readonly model: string; readonly text: string }[];
  /** Resolves when the peer sees that the client closed the connection of a request that was not answered to its end. */
  gone(): Promise<void>;
  close(): Promise<void>;
}
export interface ProviderUnderTest {
  readonly name: string;
  start(steps: readonly PeerStep[], options: StartOptions): Promise<ProviderPeer>;
  readonly cannot?: readonly ('thinking' | 'pings' | 'error' | 'odd' | 'raw' | PeerRefusal)[] | undefined;
}

export const peerTools: readonly ToolSpec[] = ['Read', 'Bash'].map((name) => ({ name, description: `${name} something`, input_schema: { type: 'object', properties: { a: { type: 'string' } } } }));

export function requestTo(provider: ModelProvider, model: string, messages: readonly NormalizedMessage[], more: Partial<ModelRequest> = {}): ModelRequest {
  return { model, system: [{ text: 'Be brief.', cacheScope: 'global' }], messages: messages.map((message): EncodedMessage => ({ message, bytes: provider.encode(message) })), tools: peerTools, sessionId: 'session-1', turnId: 'turn-1', ...more };
}
const user = (...content: Block[]): NormalizedMessage => ({ role: 'user', content });
const assistant = (...content: Block[]): NormalizedMessage => ({ role: 'assistant', content });
const text = (t: string): Block => ({ type: 'text', text: t });
const HELLO = [user(text('Hello'))];

export interface Heard { readonly events: readonly ModelEvent[]; readonly blocks: readonly Block[]; readonly error: unknown; readonly fault: ModelFault | null }
/** All that one request brings, its error too. */
export async function hear(provider: ModelProvider, request: ModelRequest, o: { readonly signal?: AbortSignal; readonly on?: (e: ModelEvent) => void } = {}): Promise<Heard> {
  const events: ModelEvent[] = [];
  let error: unknown;
  try {
    for await (const e of provider.stream(request, o.signal ?? new AbortController().signal)) { events.push(e); o.on?.(e); }
  } catch (e) {
    error = e;
  }
  return { events, blocks: events.flatMap((e) => (e.type === 'content_block_stop' ? [e.block] : [])), error, fault: faultOf(error) };
}

export function modelProviderSuite(sut: ProviderUnderTest): void {
  const can = (what: NonNullable<ProviderUnderTest['cannot']>[number]): boolean => !(sut.cannot ?? []).includes(what);
  const check = (title: string, steps: readonly PeerStep[], body: (peer: ProviderPeer, ask: (messages?: readonly NormalizedMessage[], more?: Partial<ModelRequest>, o?: Parameters<typeof hear>[2]) => Promise<Heard>) => Promise<void>, o: StartOptions & { readonly skip?: boolean } = {}): void => {
    test(`${sut.name} ${title}`, { skip: o.skip === true ? 'its protocol has no such thing' : false }, async () => {
      const peer = await sut.start(steps, o);
      try {
        await body(peer, (messages = HELLO, more = {}, how = {}) => hear(peer.provider, requestTo(peer.provider, peer.model, messages, more), how));
      } finally {
        await peer.close();
      }
    });
  };
  const fails = (heard: Heard, kind: FaultKind, peer: ProviderPeer): ModelFault => {
    assert.equal(heard.fault?.kind, kind, String(heard.error));
    const fault = heard.fault!;
    assert.equal(fault.provider, peer.provider.name);
    assert.notEqual(fault.message.trim(), '');
    assert.ok(!JSON.stringify([fault, String((heard.error as Error).stack)]).includes(peer.secret), 'the key stands in an error');
    assert.ok(!heard.events.some((e) => e.type === 'message_stop'), 'a failed answer must not look complete');
    return fault;
  };

  check('tells which models it has, and why it cannot be used without a key', [], async ({ provider }) => {
    assert.match(provider.name, /^[a-z0-9-]+$/);
    for (const m of provider.models()) { assert.notEqual(m.id, ''); assert.ok(m.contextWindow > 0 && m.maxOutputTokens > 0, m.id); }
    assert.notEqual(await provider.available(), '');
    assert.equal(typeof await provider.available(), 'string');
  }, { key: false });
  check('says that it can be used where a key is', [], async ({ provider }) => assert.equal(await provider.available(), null));

  check('encodes the same message to the same bytes and leaves it as it is', [], async ({ provider }) => {
    await fc.assert(fc.asyncProperty(conversation(peerTools), async (messages) => {
      for (const m of messages) {
        const before = structuredClone(m);
        const bytes = provider.encode(frozen(m));
        assert.deepEqual(m, before);
        assert.deepEqual(Buffer.from(provider.encode(structuredClone(m))), Buffer.from(bytes));
      }
    }), { numRuns: 50 });
  });

  check('streams a text: start, deltas, the whole block, the end', [{ blocks: [{ text: 'Grüße, 世界 👋🏽!' }] }], async (peer, ask) => {
    const { events, blocks, error } = await ask();
    assert.equal(error, undefined);
    assert.equal(events[0]?.type, 'message_start');
    assert.equal(events.at(-1)?.type, 'message_stop');
    assert.deepEqual(blocks.map((b) => b.type === 'text' && b.text), ['Grüße, 世界 👋🏽!']);
    inOrder(events);
    const end = events.findLast((e) => e.type === 'message_delta');
    assert.ok(end?.type === 'message_delta' && end.stop_reason === 'end_turn' && end.usage.input_tokens > 0 && end.usage.output_tokens > 0);
    assert.equal(peer.requests()[0]?.model, peer.model);
  });

  check('hands an unknown model id through', [{ blocks: [{ text: 'ok' }] }], async (peer, ask) => {
    const { error } = await ask(HELLO, { model: 'brand-new-model-9' });
    assert.equal(error, undefined);
    assert.equal(peer.requests()[0]?.model, 'brand-new-model-9');
  });

  check('streams several calls beside a text, with ids of their own', [{ blocks: [{ text: 'Both.' }, { call: 'Read', input: { a: 'é\n"\\' } }, { call: 'Read', input: {} }, { call: 'Bash', input: { b: [1, { c: null }] } }] }], async (_peer, ask) => {
    const { events, blocks, error } = await ask();
    assert.equal(error, undefined);
    inOrder(events);
    const calls = blocks.filter((b): b is ToolUseBlock => b.type === 'tool_use');
    assert.deepEqual(calls.map((c) => [c.name, c.input, c.inputError]), [['Read', { a: 'é\n"\\' }, undefined], ['Read', {}, undefined], ['Bash', { b: [1, { c: null }] }, undefined]]);
    assert.equal(new Set(calls.map((c) => c.id)).size, 3);
    const end = events.findLast((e) => e.type === 'message_delta');
    assert.ok(end?.type === 'message_delta' && end.stop_reason === 'tool_use');
  });

  check('never salvages a call whose input is no JSON, and can send it back', [{ blocks: [{ call: 'Read', input: { a: '1' } }, { call: 'Bash', input: '{"a":"rm -rf /tm' }], stop: 'length' }, { blocks: [{ text: 'ok' }] }], async (_peer, ask) => {
    const { events, blocks } = await ask();
    const [good, bad] = blocks.filter((b): b is ToolUseBlock => b.type === 'tool_use');
    assert.deepEqual([good?.input, good?.inputError], [{ a: '1' }, undefined]);
    assert.deepEqual(bad?.input, {});
    assert.equal(bad?.inputError?.raw, '{"a":"rm -rf /tm');
    assert.notEqual(bad?.inputError?.why, '');
    const end = events.findLast((e) => e.type === 'message_delta');
    assert.ok(end?.type === 'message_delta' && end.stop_reason === 'max_tokens');
    const results = [good!, bad!].map((c): Block => ({ type: 'tool_result', tool_use_id: c.id, content: 'it was cut off', is_error: true }));
    assert.equal((await ask([...HELLO, assistant(...blocks), user(...results)])).error, undefined);
  }, { skip: !can('raw') });

  check('counts a call that breaks off as cut, whatever the server says', [{ blocks: [{ call: 'Bash', input: '{"a":"x' }], stop: 'calls' }], async (_peer, ask) => {
    const { events, blocks } = await ask();
    assert.ok(blocks[0]?.type === 'tool_use' && blocks[0].inputError?.raw === '{"a":"x');
    const end = events.findLast((e) => e.type === 'message_delta');
    assert.ok(end?.type === 'message_delta' && end.stop_reason === 'max_tokens');
  }, { skip: !can('raw') });

  const SAID: readonly PeerBlock[] = [...(can('thinking') ? [{ thinking: 'Hm — 🤔' }] : []), { text: 'Füße 世界 👩‍👩‍👧 end' }, { call: 'Read', input: { path: 'ä/ö 🎉', n: 1 } }];
  for (const [how, pieces] of Object.entries({ 'one byte at a time': { size: 1 }, 'three bytes at a time, with CRLF': { size: 3, crlf: true }, 'between comments and pings': { comments: true, pings: can('pings') }, 'compressed, in pieces': { size: 7, gzip: true } } satisfies Record<string, PeerPieces>)) {
    check(`understands the same when it comes ${how}`, [{ blocks: SAID }, { blocks: SAID, pieces }], async (_peer, ask) => {
      const whole = await ask();
      const pieced = await ask();
      assert.equal(pieced.error, undefined);
      const facts = (h: Heard): unknown => h.blocks.map((b) => (b.type === 'tool_use' ? { ...b, id: '' } : b.type === 'thinking' ? { ...b, signature: b.signature !== undefined } : b));
      assert.deepEqual(facts(pieced), facts(whole));
      assert.equal(pieced.blocks.length, SAID.length);
    });
  }

  check('ends at once when it is stopped before it starts', [{ blocks: [{ text: 'x' }] }], async (peer, ask) => {
    fails(await ask(HELLO, {}, { signal: AbortSignal.abort() }), 'aborted', peer);
    assert.equal(peer.requests().length, 0);
  });
  check('ends at once when it is stopped while the server is silent', [{ mute: true }], async (peer, ask) => {
    const stop = new AbortController();
    const heard = ask(HELLO, {}, { signal: stop.signal });
    while (peer.requests().length === 0) await new Promise((done) => { setImmediate(done); });
    const gone = peer.gone();
    stop.abort();
    assert.equal(fails(await heard, 'aborted', peer).transient, false);
    await gone;
  });
  check('ends at once when it is stopped inside an answer, and closes the connection', [{ blocks: [{ text: 'one two three' }], ending: 'silent' }], async (peer, ask) => {
    const stop = new AbortController();
    const gone = peer.gone();
    const heard = await ask(HELLO, {}, { signal: stop.signal, on: (e) => { if (e.type === 'content_block_delta') stop.abort(); } });
    fails(heard, 'aborted', peer);
    assert.equal(heard.events.at(-1)?.type, 'content_block_delta', 'nothing may come behind the stop');
    await gone;
  });

  const TRANSIENT: Record<PeerRefusal, boolean> = { rate_limit: true, overloaded: true, context_too_long: false, invalid_request: false, auth: false, quota: false, not_found: false, server_error: true };
  for (const [refuse, transient] of Object.entries(TRANSIENT) as [PeerRefusal, boolean][]) {
    check(`names the refusal ${refuse}`, [{ refuse }], async (peer, ask) => {
      const fault = fails(await ask(), refuse, peer);
      assert.equal(fault.transient, transient);
      assert.ok((fault.status ?? 0) >= 400);
      if (refuse === 'context_too_long') assert.ok((fault.tokens?.limit ?? 0) > 0, 'the limit of the text is told');
    }, { skip: !can(refuse) });
  }
  check('waits as long as the server says', [{ refuse: 'rate_limit', retryAfter: '7' }], async (peer, ask) => assert.equal(fails(await ask(), 'rate_limit', peer).retryAfterMs, 7000), { skip: !can('rate_limit') });
  check('understands a date as the end of a wait', [{ refuse: 'rate_limit', retryAfter: new Date(Date.now() + 3_600_000).toUTCString() }], async (peer, ask) => {
    const { retryAfterMs = 0, resetAt } = fails(await ask(), 'rate_limit', peer);
    assert.ok(retryAfterMs > 3_500_000 && retryAfterMs <= 3_600_000, String(retryAfterMs));
    assert.ok(Math.abs(Date.parse(resetAt ?? '') - Date.now() - retryAfterMs) < 60_000);
  }, { skip: !can('rate_limit') });
  for (const junk of ['-5', 'abc', '']) {
    check(`ignores the wait "${junk}"`, [{ refuse: 'rate_limit', retryAfter: junk }], async (peer, ask) => assert.equal(fails(await ask(), 'rate_limit', peer).retryAfterMs, undefined), { skip: !can('rate_limit') });
  }
  check('tells when a long wait ends', [{ refuse: 'rate_limit', retryAfter: '99999' }], async (peer, ask) => {
    assert.ok(Math.abs(Date.parse(fails(await ask(), 'rate_limit', peer).resetAt ?? '') - Date.now() - 99_999_000) < 60_000);
  }, { skip: !can('rate_limit') });

  check('calls a stream that ends without its end broken', [{ blocks: [{ text: 'half' }], ending: 'unfinished' }], async (peer, ask) => {
    const heard = await ask();
    assert.equal(fails(heard, 'broken_stream', peer).transient, true);
    assert.ok(heard.events.some((e) => e.type === 'content_block_delta'), 'what came before is handed out');
  });
  check('calls a connection that breaks inside an event broken', [{ blocks: [{ text: 'half' }], ending: 'cut' }], async (peer, ask) => assert.equal(fails(await ask(), 'broken_stream', peer).transient, true));
  check("hands on the server's words when an error comes inside the stream", [{ blocks: [{ text: 'half' }], ending: 'error' }], async (peer, ask) => {
    const heard = await ask();
    assert.ok(heard.fault?.kind === 'overloaded' || heard.fault?.kind === 'server_error', heard.fault?.kind);
    assert.ok(fails(heard, heard.fault!.kind, peer).message.includes(PEER_ERROR));
  }, { skip: !can('error') });
  check('does not take comments and pings for life', [{ blocks: [{ text: 'x' }], ending: 'silent', pieces: { comments: true, pings: can('pings') } }], async (peer, ask) => {
    assert.equal(fails(await ask(), 'timeout_between_bytes', peer).transient, true);
  }, { timeouts: { betweenBytesMs: 80 } });
  check('does not wait for ever for the first byte', [{ mute: true }], async (peer, ask) => {
    assert.equal(fails(await ask(), 'timeout_first_byte', peer).transient, true);
  }, { timeouts: { firstByteMs: 60 } });
  check('says that nobody listens', [], async (peer, ask) => {
    await peer.close();
    assert.equal(fails(await ask(), 'connection', peer).transient, true);
  });
  check('calls an answer without words and calls empty', [{ blocks: can('thinking') ? [{ thinking: 'Hm' }] : [], stop: 'end' }, { blocks: [], stop: 'end' }], async (peer, ask) => {
    fails(await ask(), 'empty_answer', peer);
    fails(await ask(), 'empty_answer', peer);
  });
  check('skips an odd field, tells it, and keeps the rest', [{ blocks: [{ text: 'before' }, { call: 'Read', input: { a: '1' } }], odd: true }], async (_peer, ask) => {
    const { events, blocks, error } = await ask();
    assert.equal(error, undefined);
    assert.deepEqual(blocks.map((b) => (b.type === 'tool_use' ? b.input : b.type === 'text' && b.text)), ['before', { a: '1' }]);
    assert.ok(events.some((e) => e.type === 'notice' && e.text !== ''));
  }, { skip: !can('odd') });

  check('sends nothing that the API refuses, whatever the conversation holds', [{ blocks: [{ text: 'ok' }] }], async (peer, ask) => {
    await fc.assert(fc.asyncProperty(conversation(peerTools), async (messages) => {
      const before = peer.requests().length;
      const { error } = await ask(messages);
      assert.equal(error, undefined, error instanceof Error ? error.message : String(error));
      assert.equal(peer.requests().length, before + 1, 'it took more than one try');
    }), { numRuns: 60 });
  });
  check('takes its own answers back, thinking and all', [{ blocks: [...(can('thinking') ? [{ thinking: 'Hm' }] : []), { text: 'Two.' }, { call: 'Read', input: { a: '1' } }] }, { blocks: [{ text: 'done' }] }], async (_peer, ask) => {
    const { blocks } = await ask();
    const results = blocks.flatMap((b): Block[] => (b.type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: b.id, content: 'yes' }] : []));
    const second = await ask([...HELLO, assistant(...blocks), user(...results)]);
    assert.equal(second.error, undefined);
    assert.deepEqual(second.blocks.map((b) => b.type === 'text' && b.text), ['done']);
  });
}

/** Blocks one after another, indices that rise, deltas that make the whole. */
export function inOrder(events: readonly ModelEvent[]): void {
  const open: { index: number; said: string }[] = [];
  let last = -1;
  for (const e of events) {
    if (e.type === 'content_block_start') {
      assert.equal(open.length, 0, 'a block starts inside another');
      assert.ok(e.index > last);
      open.push({ index: e.index, said: '' });
    } else if (e.type === 'content_block_delta') {
      assert.equal(open[0]?.index, e.index);
      if (e.delta.type === 'text_delta') open[0]!.said += e.delta.text;
      if (e.delta.type === 'input_json_delta') open[0]!.said += e.delta.partial_json;
    } else if (e.type === 'content_block_stop') {
      const { index, said } = open.pop() ?? { index: -1, said: '' };
      assert.equal(index, e.index);
      if (e.block.type === 'text') assert.equal(e.block.text, said);
      if (e.block.type === 'tool_use' && said !== '' && e.block.inputError === undefined) assert.deepEqual(JSON.parse(said), e.block.input);
      last = e.index;
    }
  }
  assert.equal(open.length, 0, 'a block is not closed');
}

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) { Object.freeze(value); Object.values(value).forEach(frozen); }
  return value;
}

const PNG = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==' };

/** What `normalize()` may hand out: roles alternate, a user begins and ends, every call has its one result; with whatever sessions hold in the blocks. */
export function conversation(tools: readonly ToolSpec[]): fc.Arbitrary<readonly NormalizedMessage[]> {
  const words = fc.oneof(fc.constantFrom('', ' ', '\n', 'Grüße 👋🏽', 'a\ud800b', 'ok'), fc.string({ unit: 'binary', maxLength: 12 }));
  const said = words.map(text);
  const foreign: fc.Arbitrary<Block> = fc.constantFrom<Block>(
    { type: 'thinking', thinking: 'cut off', provider: 'anthropic' }, { type: 'thinking', thinking: 'unsigned' }, { type: 'thinking', thinking: 'theirs', signature: 'c2ln', provider: 'another' },
    { type: 'redacted_thinking', data: 'xxx', provider: 'another' }, { type: 'vendor', provider: 'another', block: { type: 'server_tool_use', id: 's1' } },
  );
  const image: Block = { type: 'image', source: PNG };
  const callName = fc.oneof(fc.constantFrom(...tools.map((t) => t.name)), fc.constantFrom('no such tool', 'functions.Read', 'x'.repeat(200)));
  const callId = fc.oneof(fc.uuid(), fc.constantFrom('call_1|fc_2', 'a b', 'toolu_1', 'é'));
  const call = fc.record({ id: callId, name: callName, input: fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }), broken: fc.boolean() })
    .map(({ id, name, input, broken }): ToolUseBlock => (broken ? { type: 'tool_use', id, name, input: {}, inputError: { why: 'cut', raw: '{"a' } } : { type: 'tool_use', id, name, input: JSON.parse(JSON.stringify(input)) as Record<string, unknown> }));
  const content = fc.oneof(words, fc.array(fc.oneof(words.map((t) => ({ type: 'text' as const, text: t })), fc.constant(image as Extract<Block, { type: 'image' }>)), { maxLength: 3 }));
  const round = fc.record({ before: fc.array(fc.oneof(said, foreign), { maxLength: 3 }), calls: fc.uniqueArray(call, { maxLength: 3, selector: (c) => c.id }), results: fc.array(fc.record({ content, is_error: fc.boolean() }), { minLength: 3, maxLength: 3 }), after: fc.array(fc.oneof(said, fc.constant(image)), { maxLength: 2 }) });
  return fc.tuple(fc.array(fc.oneof(said, fc.constant(image)), { minLength: 1, maxLength: 3 }), fc.array(round, { maxLength: 4 })).map(([first, rounds]) => [
    user(...first),
    ...rounds.flatMap((r, n): NormalizedMessage[] => {
      // Ids are unique in a session.
      const calls = r.calls.map((c) => ({ ...c, id: `${c.id}.${n}` }));
      const results = calls.map((c, i): Block => ({ type: 'tool_result', tool_use_id: c.id, ...r.results[i]! }));
      return [assistant(...r.before, ...calls, ...(r.before.length + calls.length === 0 ? [text('ok')] : [])), user(...results, ...r.after, ...(results.length + r.after.length === 0 ? [text('go on')] : []))];
    }),
  ]);
}
