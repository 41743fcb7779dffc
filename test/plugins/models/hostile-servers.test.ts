/** Every provider before servers that mean no good, or are none: a fault with a name each time, no secret, nothing left open. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { FAULT_KINDS } from 'tappet/schemas';
import type { Block, FaultKind, NormalizedMessage } from 'tappet/schemas';
import anthropic from '../../../plugins/models/anthropic/index.ts';
import gemini from '../../../plugins/models/gemini/index.ts';
import openai from '../../../plugins/models/openai/index.ts';
import { collect } from '../../contracts/collect.ts';
import { hear, requestTo } from '../../contracts/model-provider.ts';
import type { Heard } from '../../contracts/model-provider.ts';
import { frame as anthropicFrame, framesOf } from '../../support/mock-anthropic.ts';
import { answer as geminiAnswer, chunk } from '../../support/mock-gemini.ts';
import { chatChunk, chatFrames, responsesFrames } from '../../support/mock-openai.ts';
import { frame } from '../../support/mock-server.ts';

const KEY = 'sk-key-of-the-test-01234';
const TOKEN = 'gateway-token-of-the-test';
interface Vendor {
  readonly plugin: typeof anthropic; readonly provider: string; readonly model: string; readonly env: Readonly<Record<string, string>>; readonly options?: Readonly<Record<string, unknown>>;
  /** A whole answer with one call whose input is this JSON. */
  call(json: string): readonly string[];
  /** Something that nobody knows, each time another. */
  odd(n: number): string;
  readonly good: readonly string[];
}
const VENDORS: Readonly<Record<string, Vendor>> = {
  anthropic: {
    plugin: anthropic, provider: 'anthropic', model: 'sonnet', env: { ANTHROPIC_API_KEY: KEY }, call: (input) => framesOf({ blocks: [{ call: 'Read', input }] }, 'm', 1).map(anthropicFrame),
    odd: (n) => anthropicFrame({ type: `new_${n}` }), good: framesOf({ blocks: [{ text: 'ok' }] }, 'm', 1).map(anthropicFrame),
  },
  'openai, responses': {
    plugin: openai, provider: 'openai', model: 'gpt-5', env: { OPENAI_API_KEY: KEY }, options: { wire: 'responses' }, call: (args) => responsesFrames({ calls: [{ id: 'c', name: 'Read', args }] }),
    odd: (n) => frame({ type: 'response.output_text.delta', output_index: 0, delta: n }), good: responsesFrames({ text: ['ok'] }),
  },
  'openai, chat': {
    plugin: openai, provider: 'openai', model: 'gpt-5', env: { OPENAI_API_KEY: KEY }, options: { wire: 'chat' }, call: (args) => chatFrames({ calls: [{ id: 'c', name: 'Read', args }] }),
    odd: (n) => chatChunk({ content: n }), good: chatFrames({ text: ['ok'] }),
  },
  gemini: {
    plugin: gemini, provider: 'gemini', model: 'gemini-3.8-flash', env: { GEMINI_API_KEY: KEY },
    call: (args) => [`data: {"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"id":"c","name":"Read","args":${args}}}]},"finishReason":"STOP"}],"usageMetadata":{}}\n\n`],
    odd: (n) => chunk([{ text: n }]), good: geminiAnswer([{ text: 'ok' }]),
  },
};
const HELLO: readonly NormalizedMessage[] = [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }];

interface Stand { readonly url: string; readonly asked: () => number; /** Resolves when the client has closed a connection. */ gone(): Promise<void>; ask(messages?: readonly NormalizedMessage[]): Promise<Heard> }
async function stand(t: TestContext, v: Vendor, answer: (req: IncomingMessage, res: ServerResponse, n: number) => void, timeouts = { firstByteMs: 5_000, betweenBytesMs: 5_000 }): Promise<Stand> {
  let n = 0;
  let closed: (() => void) | undefined;
  const gone = new Promise<void>((done) => { closed = done; });
  const server = createServer((req, res) => { req.resume(); req.on('end', () => answer(req, res, n++)); });
  server.on('connection', (s) => { s.on('error', () => { /* the client left */ }); s.once('close', () => closed?.()); });
  await new Promise<void>((done) => { server.listen(0, '127.0.0.1', done); });
  t.after(() => { server.closeAllConnections(); server.close(); });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { modelProviders } = await collect(v.plugin, { env: v.env, settings: { providers: { [v.provider]: { baseUrl, timeouts, headers: { 'X-Gateway-Token': TOKEN }, ...(v.options === undefined ? {} : { options: v.options }) } } } });
  const provider = modelProviders[0]!;
  return { url: baseUrl, asked: () => n, gone: () => gone, ask: (messages = HELLO) => hear(provider, requestTo(provider, v.model, messages)) };
}
function fails(h: Heard, kinds: readonly FaultKind[] = FAULT_KINDS): NonNullable<Heard['fault']> {
  assert.ok(h.fault !== null && kinds.includes(h.fault.kind), `${h.fault?.kind}: ${String(h.error)}`);
  assert.ok(!h.events.some((e) => e.type === 'message_stop'));
  const said = JSON.stringify([h.fault, String((h.error as Error).stack), h.events]);
  for (const secret of [KEY, TOKEN]) assert.ok(!said.includes(secret), said);
  return h.fault;
}
const page = '<html><head><style>body { color: red }</style><script>steal()</script></head><body><h1>Please log in</h1></body></html>';

for (const [name, v] of Object.entries(VENDORS)) {
  test(`${name}: a web page is told as what it is, also one without end, and its connection is closed`, async (t) => {
    const log = await stand(t, v, (_req, res) => { res.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page); });
    const f = fails(await log.ask(), ['connection', 'broken_stream']);
    assert.equal(f.transient, false);
    assert.match(f.message, /base URL.*Please log in/);
    assert.doesNotMatch(f.message, /steal|color/);
    const endless = await stand(t, v, (_req, res) => { res.writeHead(200, { 'content-type': 'text/html' }); const go = (): void => { while (!res.destroyed && res.write('<p>and more</p>'.repeat(1000))); }; res.on('drain', go); go(); });
    fails(await endless.ask(), ['connection', 'broken_stream']);
    await endless.gone();
  });

  test(`${name}: other things in the place of an answer are faults, not answers`, async (t) => {
    for (const [status, type, text] of [[200, 'text/plain', 'hello'], [200, 'image/png', '\u0089PNG'], [200, 'application/json', '{}'], [200, 'application/json', 'null'], [200, 'application/json', '[1,2]'], [200, 'application/json', '{"a":'], [200, 'text/event-stream', ''], [200, 'text/event-stream', 'data: \n\n'], [204, 'text/event-stream', '']] as const) {
      const odd = await stand(t, v, (_req, res) => { res.writeHead(status, { 'content-type': type }).end(text); });
      fails(await odd.ask());
    }
    const gateway = await stand(t, v, (_req, res) => { res.writeHead(502, { 'content-type': 'text/html' }).end(page.replace('Please log in', 'Bad gateway')); });
    const f = fails(await gateway.ask(), ['server_error']);
    assert.deepEqual([f.message, f.transient], ['Bad gateway', true]);
  });

  test(`${name}: a redirect is not followed: nobody else sees the key or the conversation`, async (t) => {
    const other = await stand(t, v, (_req, res) => { res.end(); });
    for (const status of [301, 302, 307, 308]) {
      const here = await stand(t, v, (_req, res) => { res.writeHead(status, { location: other.url }).end(); });
      assert.ok(fails(await here.ask(), ['connection']).message.includes(`elsewhere, to ${new URL(other.url).host}`));
    }
    assert.equal(other.asked(), 0);
  });

  test(`${name}: a server that repeats what it was shown gives nothing away`, async (t) => {
    for (const type of ['application/json', 'text/plain']) {
      const { ask } = await stand(t, v, (req, res) => { const text = `no: ${Object.values(req.headers).join(' ')}`; res.writeHead(400, { 'content-type': type }).end(type === 'text/plain' ? text : JSON.stringify({ error: { message: text, type: 'invalid_request_error' } })); });
      assert.match(fails(await ask()).message, /\[key\]/);
    }
  });

  test(`${name}: thousands of odd things are told as a few`, async (t) => {
    const { ask } = await stand(t, v, (_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const [i, f] of v.good.entries()) { res.write(f); if (i === 0) for (let n = 0; n < 3000; n++) res.write(v.odd(n)); }
      res.end();
    });
    const heard = await ask();
    assert.equal(heard.error, undefined);
    const notices = heard.events.filter((e) => e.type === 'notice');
    assert.ok(notices.length > 1 && notices.length < 30, String(notices.length));
  });

  test(`${name}: a call that is nested without end is none, and the conversation can go on`, async (t) => {
    const deep = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`;
    const { ask } = await stand(t, v, (_req, res, n) => { res.writeHead(200, { 'content-type': 'text/event-stream' }).end((n === 0 ? v.call(deep) : v.good).join('')); });
    const heard = await ask();
    // Where the call is an object of its own the whole event is skipped; where it is text it is kept beside an empty input.
    const calls = heard.blocks.flatMap((b) => (b.type === 'tool_use' ? [b] : []));
    for (const c of calls) assert.deepEqual([c.input, c.inputError !== undefined], [{}, true]);
    if (calls.length === 0) return void fails(heard);
    const results = calls.map((c): Block => ({ type: 'tool_result', tool_use_id: c.id, content: 'x' }));
    assert.equal((await ask([...HELLO, { role: 'assistant', content: heard.blocks }, { role: 'user', content: results }])).error, undefined);
  });

  test(`${name}: an answer that stops for ever in the middle, and one that drips comments, are ended`, async (t) => {
    for (const drip of [false, true]) {
      const { ask, gone } = await stand(t, v, (_req, res) => {
        res.writeHead(200, { 'content-type': 'text/event-stream' }).write(v.good[0]!);
        if (drip) { const timer = setInterval(() => res.write(': still here\n\n'), 5); res.once('close', () => clearInterval(timer)); }
      }, { firstByteMs: 5_000, betweenBytesMs: 80 });
      fails(await ask(), ['timeout_between_bytes']);
      await gone();
    }
  });
}
