/** The provider against a server of this test. One that streams should pass `modelProviderSuite` of `tappet/testing` as well. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { faultOf } from 'tappet/kernel';
import type { ModelEvent, ModelProvider, NormalizedMessage } from 'tappet/kernel';
import { collect } from 'tappet/testing';
import plugin from '../plugins/house-model.ts';

const KEY = 'house-secret';

/** A server that answers everything with `status` and `body`, and the provider that is led to it. */
async function start(t: TestContext, status: number, body: unknown, env: Record<string, string> = { HOUSE_KEY: KEY }) {
  const asked: { key: string | undefined; body: any }[] = [];
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (c: Buffer) => chunks.push(c)).on('end', () => {
      asked.push({ key: req.headers.authorization, body: JSON.parse(Buffer.concat(chunks).toString()) });
      res.writeHead(status, { 'content-type': 'application/json', 'retry-after': '3' }).end(JSON.stringify(body));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => { server.close(); server.closeAllConnections(); });
  const { modelProviders: [provider] } = await collect(plugin, { env, settings: { providers: { house: { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, apiKeyEnv: 'HOUSE_KEY' } } } });
  return { provider: provider!, asked };
}
async function ask(provider: ModelProvider, messages: readonly NormalizedMessage[], signal = new AbortController().signal): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  const request = { model: 'house-1', system: [], tools: [], messages: messages.map((message) => ({ message, bytes: provider.encode(message) })), sessionId: 's', turnId: 't' };
  for await (const event of provider.stream(request, signal)) events.push(event);
  return events;
}
const HELLO: NormalizedMessage[] = [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }];

test('an answer becomes events: text, calls with ids of their own, the end with its sums', async (t) => {
  const { provider, asked } = await start(t, 200, { text: 'Both.', calls: [{ name: 'Read', input: { file_path: 'a' } }, { name: 'Read', input: {} }], tokens: { in: 7, out: 3 } });
  const events = await ask(provider, HELLO);
  const blocks = events.flatMap((e) => (e.type === 'content_block_stop' ? [e.block] : []));
  assert.deepEqual(blocks.map((b) => (b.type === 'tool_use' ? [b.name, b.input] : b)), [{ type: 'text', text: 'Both.' }, ['Read', { file_path: 'a' }], ['Read', {}]]);
  assert.equal(new Set(blocks.map((b) => (b.type === 'tool_use' ? b.id : ''))).size, 3);
  assert.deepEqual(events.at(-2), { type: 'message_delta', stop_reason: 'tool_use', usage: { input_tokens: 7, output_tokens: 3, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 } });
  assert.equal(events.at(-1)?.type, 'message_stop');
  assert.deepEqual(asked, [{ key: `Bearer ${KEY}`, body: { model: 'house-1', system: '', tools: [], messages: [{ role: 'user', parts: [{ text: 'Hello' }] }] } }]);
});

for (const [status, kind] of [[401, 'auth'], [404, 'not_found'], [413, 'context_too_long'], [429, 'rate_limit'], [500, 'server_error'], [418, 'invalid_request']] as const) {
  test(`a ${status} is the fault ${kind}, without the key`, async (t) => {
    const { provider } = await start(t, status, { error: `no: ${KEY}` });
    await assert.rejects(ask(provider, HELLO), (e) => {
      const fault = faultOf(e);
      assert.deepEqual([fault?.kind, fault?.status, fault?.retryAfterMs], [kind, status, 3000]);
      assert.ok(!JSON.stringify([fault, String(e)]).includes(KEY));
      return true;
    });
  });
}
for (const [what, body] of Object.entries({ 'an empty answer': {}, 'a call without input': { calls: [{ name: 'Read' }] }, 'no object': [1] })) {
  test(`${what} is no success`, async (t) => {
    const { provider } = await start(t, 200, body);
    await assert.rejects(ask(provider, HELLO), (e) => faultOf(e)?.kind === 'broken_stream');
  });
}
test('says that it has no key, and cannot be asked without', async (t) => {
  const { provider } = await start(t, 200, { text: 'hi' }, {});
  assert.match(String(await provider.available()), /HOUSE_KEY is not set/);
  await assert.rejects(ask(provider, HELLO), (e) => faultOf(e)?.kind === 'auth');
});
test('a stopped request ends as one', async (t) => {
  const { provider } = await start(t, 200, { text: 'hi' });
  await assert.rejects(ask(provider, HELLO, AbortSignal.abort()), (e) => faultOf(e)?.kind === 'aborted');
});
