import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { isTappetError, printError } from 'tappet/kernel';
import { hear, requestTo } from '../../../contracts/model-provider.ts';
import { framesOf } from '../../../support/mock-anthropic.ts';
import { provide } from './bench.ts';

const HELLO = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hello' }] }];

/** A config folder with a made-up SDK in it; what it was asked stands on `globalThis.asked`. */
function folder(t: TestContext, create: string): string {
  const dir = mkdtempSync(join(tmpdir(), 'tappet-cloud-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const home = join(dir, 'node_modules/@anthropic-ai/bedrock-sdk');
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, 'package.json'), JSON.stringify({ name: '@anthropic-ai/bedrock-sdk', version: '0.0.0', main: 'index.js' }));
  writeFileSync(join(home, 'index.js'), `exports.AnthropicBedrock = class { constructor(o) { this.o = o; this.messages = { create: async (body, how) => { ${create} } }; } };`);
  return dir;
}
const frames = JSON.stringify(framesOf({ blocks: [{ text: 'from the cloud' }, { call: 'Read', input: { a: '1' } }] }, 'm', 1));

test("the cloud's SDK is taken from the user's folder and handed the same body", async (t) => {
  const dir = folder(t, `return (async function* () { yield { ...${frames}[0], message: { id: JSON.stringify([this.o, body.model, body.stream, body.messages.length, how.headers, body.thinking]), usage: {} } }; yield* ${frames}.slice(1); }).call(this);`);
  const provider = await provide(undefined, { env: {}, configFolder: dir, settings: { betas: ['b'], options: { via: 'bedrock', client: { awsRegion: 'eu-central-1' } } } });
  assert.equal(await provider.available(), null, 'the cloud has credentials of its own');
  const { events, blocks, error } = await hear(provider, requestTo(provider, 'anthropic.claude-opus-5-5', HELLO));
  assert.equal(error, undefined);
  assert.deepEqual(blocks.map((b) => b.type), ['text', 'tool_use']);
  assert.ok(events[0]?.type === 'message_start');
  assert.deepEqual(JSON.parse(events[0].id), [{ awsRegion: 'eu-central-1', maxRetries: 0 }, 'anthropic.claude-opus-5-5', true, 1, { 'anthropic-beta': 'b' }, { type: 'adaptive', display: 'summarized' }]);
});

test('without the package one is told which, and where to put it', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'tappet-cloud-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const provider = await provide(undefined, { configFolder: dir, settings: { options: { via: 'vertex' } } });
  assert.match((await provider.available())!, /@anthropic-ai\/vertex-sdk.*not installed/);
  const { error } = await hear(provider, requestTo(provider, 'sonnet', HELLO));
  assert.ok(isTappetError(error) && error.code === 'E_MODEL_UNAVAILABLE');
  assert.match(printError(error), new RegExp(`npm install --prefix ${dir} @anthropic-ai/vertex-sdk`));
});

test('a cloud that nobody knows is an error that names the two', async () => {
  const provider = await provide(undefined, { settings: { options: { via: 'azure' } } });
  assert.match((await provider.available())!, /neither bedrock nor vertex/);
  const { error } = await hear(provider, requestTo(provider, 'sonnet', HELLO));
  assert.ok(isTappetError(error) && error.code === 'E_MODEL_UNAVAILABLE');
});

test("the SDK's errors become faults by name", async (t) => {
  const dir = folder(t, `throw Object.assign(new Error('429 Too many'), { status: 429, headers: new Map([['retry-after', '3']]), error: { message: 'Too many tokens' } });`);
  const provider = await provide(undefined, { configFolder: dir, settings: { options: { via: 'bedrock' } } });
  const { fault } = await hear(provider, requestTo(provider, 'sonnet', HELLO));
  assert.deepEqual([fault?.kind, fault?.retryAfterMs, fault?.message], ['rate_limit', 3000, 'Too many tokens']);
});

test('what the SDK says of the credentials is handed on', async (t) => {
  const dir = folder(t, `throw new Error('Could not load credentials from any providers');`);
  const provider = await provide(undefined, { configFolder: dir, settings: { options: { via: 'bedrock' } } });
  assert.match((await hear(provider, requestTo(provider, 'sonnet', HELLO))).fault!.message, /Could not load credentials/);
});

test('a stop and a silence end the stream of an SDK too', async (t) => {
  const dir = folder(t, `return (async function* () { yield* ${frames}.slice(0, 4); await new Promise((_, no) => how.signal.addEventListener('abort', () => no(new Error('Request was aborted.')))); })();`);
  const slow = await provide(undefined, { configFolder: dir, settings: { options: { via: 'bedrock' }, timeouts: { betweenBytesMs: 40 } } });
  const silent = await hear(slow, requestTo(slow, 'sonnet', HELLO));
  assert.equal(silent.fault?.kind, 'timeout_between_bytes');
  const provider = await provide(undefined, { configFolder: dir, settings: { options: { via: 'bedrock' } } });
  const stop = new AbortController();
  const { fault, events } = await hear(provider, requestTo(provider, 'sonnet', HELLO), { signal: stop.signal, on: (e) => { if (e.type === 'content_block_delta') stop.abort(); } });
  assert.equal(fault?.kind, 'aborted');
  assert.equal(events.filter((e) => e.type === 'content_block_delta').length, 1);
  assert.equal((await hear(provider, requestTo(provider, 'sonnet', HELLO), { signal: AbortSignal.abort() })).fault?.kind, 'aborted');
});
