import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { isTappetError } from 'tappet/kernel';
import type { ModelProvider, ProviderSettings, Settings } from 'tappet/schemas';
import openai from '../../../../plugins/models/openai/index.ts';
import { USUAL_PLACES } from '../../../../plugins/models/openai/local.ts';
import { collect } from '../../../contracts/collect.ts';
import { hear, requestTo } from '../../../contracts/model-provider.ts';
import { chatFrames } from '../../../support/mock-openai.ts';
import { mockServer } from '../../../support/mock-server.ts';
import type { MockServer, Reply, Seen } from '../../../support/mock-server.ts';
import { BASIC, project } from '../../../support/project.ts';
import { HELLO } from './stand.ts';

type Providers = Settings['providers'];
const list = (...ids: (string | object)[]): Reply => ({ json: { object: 'list', data: ids.map((m) => (typeof m === 'string' ? { id: m, object: 'model' } : m)) } });
async function serve(t: TestContext, models: Reply | ((seen: Seen) => Reply)): Promise<MockServer & { readonly port: number }> {
  const server = await mockServer((seen) => (seen.path === '/v1/models' ? (typeof models === 'function' ? models(seen) : models) : seen.path === '/v1/chat/completions' ? { frames: chatFrames({ text: [`${String(seen.body.model)} speaks`] }) } : { status: 404, text: 'no' }));
  t.after(() => server.close());
  return { ...server, port: Number(new URL(server.url).port) };
}
/** A port where nobody listens. */
async function closed(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => { server.listen(0, '127.0.0.1', done); });
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => { server.close(done); });
  return port;
}
async function local(settings: ProviderSettings, more: { env?: Record<string, string>; models?: Settings['models'] } = {}): Promise<ModelProvider> {
  const { modelProviders } = await collect(openai, { env: more.env ?? {}, settings: { providers: { local: settings }, models: more.models ?? {} } });
  return modelProviders.find((p) => p.name === 'local')!;
}
const at = (...servers: unknown[]): ProviderSettings => ({ options: { servers } });
const says = async (provider: ModelProvider, model: string): Promise<unknown> => (await hear(provider, requestTo(provider, model, HELLO))).blocks.map((b) => b.type === 'text' && b.text);
const refused = async (providers: Providers): Promise<string> => {
  const e: unknown = await collect(openai, { settings: { providers } }).then(() => null, (error: unknown) => error);
  assert.ok(isTappetError(e) && e.code === 'E_CONFIG_VALUE', String(e));
  return e.message;
};

test('is looked for where Ollama, LM Studio, llama.cpp, vLLM and Jan usually are, on this machine only', () => {
  assert.deepEqual(USUAL_PLACES, [11434, 1234, 8080, 8000, 1337].map((port) => `http://127.0.0.1:${port}/v1`));
});

test('the first in the list that serves models is it; its models are those that it lists, the first is the default', async (t) => {
  const [page, foreign, good, later] = await Promise.all([
    serve(t, { text: '<h1>my web application</h1>' }), serve(t, { json: { data: [{ id: 'user-1' }] } }),
    serve(t, list('qwen3', { id: 'nomic-embed-text' }, { id: 'served', max_model_len: 9000 }, { id: 'trained', meta: { n_ctx_train: 1_000_000 } })), serve(t, list('other')),
  ]);
  const provider = await local(at(await closed(), page.port, foreign.port, good.url, later.port), { models: { 'local/served': { aliases: ['s'] }, 'local/unlisted': { contextWindow: 5000 } } });
  assert.deepEqual([provider.kind, provider.models().map((m) => m.id)], ['local', ['served', 'unlisted']], 'nobody was asked yet');
  assert.equal(await provider.available(), null);
  assert.deepEqual(provider.models().map((m) => [m.id, m.contextWindow]), [['qwen3', 32_768], ['served', 9000], ['trained', 32_768], ['unlisted', 5000]]);
  assert.deepEqual(await says(provider, 'qwen3'), ['qwen3 speaks']);
  assert.equal(await provider.available(), null);
  assert.equal(good.seen.filter((s) => s.path === '/v1/models').length, 1, 'what was found is known');
});

test('who asks twice at once is answered by one look', async (t) => {
  const good = await serve(t, list('m'));
  const provider = await local(at(good.port));
  assert.deepEqual(await Promise.all([provider.available(), provider.available(), says(provider, 'm')]), [null, null, ['m speaks']]);
  assert.equal(good.seen.filter((s) => s.path === '/v1/models').length, 1);
});

test('a server that says nothing holds nobody up for long, and the next one counts', async (t) => {
  const mute = await serve(t, { mute: true });
  const half = await serve(t, { frames: ['data: x\n\n'], ending: 'silent' });
  const good = await serve(t, list('m'));
  assert.equal(await (await local(at(good.port, mute.port))).available(), null);
  assert.match(await (await local(at(mute.port, half.port))).available() ?? '', /no server of models answers on this machine \(127\.0\.0\.1:\d+, 127\.0\.0\.1:\d+\)/);
});

test('nothing that is found is no reason to stop looking: who starts later is found later', async (t) => {
  const port = await closed();
  const provider = await local(at(port));
  assert.match(await provider.available() ?? '', new RegExp(`no server .*127\\.0\\.0\\.1:${port}`));
  assert.deepEqual((await hear(provider, requestTo(provider, 'm', HELLO))).fault?.kind, 'connection');
  let there = false;
  const late = await serve(t, () => (there ? list('m') : { status: 404, text: 'no' }));
  const again = await local(at(late.port));
  assert.notEqual(await again.available(), null);
  there = true;
  assert.equal(await again.available(), null);
});

test('one that went away is looked for anew', async (t) => {
  const first = await serve(t, list('m'));
  const second = await serve(t, list('m'));
  const provider = await local(at(first.port, second.port));
  assert.equal(await provider.available(), null);
  await first.close();
  assert.equal((await hear(provider, requestTo(provider, 'm', HELLO))).fault?.kind, 'connection');
  assert.deepEqual(await says(provider, 'm'), ['m speaks']);
  assert.equal(second.seen.at(-1)?.path, '/v1/chat/completions');
});

test('one without models, and one that wants a key, are told; with the key it serves', async (t) => {
  const empty = await serve(t, { json: { object: 'list', data: null } });
  const locked = await serve(t, (seen) => (seen.headers.authorization === 'Bearer jan-key' ? list('m') : { status: 401, json: { error: 'no' } }));
  assert.match(await (await local(at(empty.port, locked.port))).available() ?? '', /has no model; .*wants a key \(providers\.local\.apiKeyEnv\)/);
  const provider = await local({ ...at(empty.port, locked.port), apiKeyEnv: 'JAN' }, { env: { JAN: 'jan-key' } });
  assert.equal(await provider.available(), null);
  assert.ok(empty.seen.every((s) => s.headers.authorization === undefined), 'who wants no key is shown none');
  assert.match(await (await local({ ...at(locked.port), apiKeyEnv: 'JAN' })).available() ?? '', /JAN is not set/);
});

test('a base URL is the only place; false is none; another machine, and what is no place, are refused', async (t) => {
  const good = await serve(t, list('m'));
  assert.equal(await (await local({ baseUrl: good.url })).available(), null);
  assert.match(await (await local({ options: { servers: false } })).available() ?? '', /servers is false/);
  assert.match(await refused({ local: at('http://192.168.1.5:8000') }), /192\.168\.1\.5 is not this machine.*compatible/);
  for (const wrong of [at(0), at('8080'), at(70_000), { options: { servers: 8080 } }]) assert.match(await refused({ local: wrong }), /port/);
  assert.match(await refused({ local: { options: { server: [1] } } }), /no such option/);
});

test('an entry of this name that says where its server is needs no search', async (t) => {
  const good = await serve(t, list('m'));
  const { modelProviders } = await collect(openai, { settings: { providers: { local: { baseUrl: good.url, options: { compatible: 'openai' } } } } });
  assert.deepEqual(modelProviders.map((p) => [p.name, p.kind]), [['openai', 'remote'], ['local', 'local']]);
});

test('answers a session where nothing is configured and no key is there; a named model is taken without a look', async (t) => {
  const good = await serve(t, list('m'));
  const files = (more: string) => ({ '~/.config/tappet/config.yaml': `providers: { local: { options: { servers: [${good.port}] } } }\n${more}` });
  const ready = project(t, { only: [...BASIC, 'models/openai'], files: files('') });
  for (const model of ['test/model', 'default', 'model']) assert.equal((await (await ready.open({ overlay: { model } })).submit('hello').turn).reason, 'answered');
  assert.equal(good.seen.length, 0, 'a remote one that can be used goes first');
  const bare = project(t, { only: [...BASIC, 'models/openai'], files: files('plugins: { test/model: false }\n') });
  const end = await (await bare.open({ overlay: { model: undefined } })).submit('hello').turn;
  assert.deepEqual([end.reason, end.text, good.seen.map((s) => s.path)], ['answered', 'm speaks', ['/v1/models', '/v1/chat/completions']], JSON.stringify(end));
});
