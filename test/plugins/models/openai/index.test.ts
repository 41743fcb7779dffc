import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTappetError } from 'tappet/kernel';
import type { ProviderSettings } from 'tappet/schemas';
import { collect } from '../../../contracts/collect.ts';
import { hear, requestTo } from '../../../contracts/model-provider.ts';
import openai from '../../../../plugins/models/openai/index.ts';
import { chatFrames, mockOpenai, refuse, responsesFrames } from '../../../support/mock-openai.ts';
import { HELLO, stand } from './stand.ts';

const providersOf = async (providers: Record<string, ProviderSettings>, env: Record<string, string> = {}) => (await collect(openai, { settings: { providers }, env })).modelProviders;
const refused = async (providers: Record<string, ProviderSettings>): Promise<{ key: unknown; message: string }> => {
  const e: unknown = await providersOf(providers).then(() => null, (error: unknown) => error);
  assert.ok(isTappetError(e) && e.code === 'E_CONFIG_VALUE', String(e));
  return { key: e.facts.key, message: e.message };
};

test('speaks Responses to the vendor and chat to any other server, unless told otherwise', async (t) => {
  for (const [options, path] of [[{}, '/v1/chat/completions'], [{ wire: 'responses' }, '/v1/responses']] as const) {
    const { ask, mock } = await stand(t, (seen) => ({ frames: seen.path.endsWith('responses') ? responsesFrames({ text: ['ok'] }) : chatFrames({ text: ['ok'] }) }), { settings: { options } });
    assert.equal((await ask()).error, undefined);
    assert.equal(mock.seen[0]!.path, path);
  }
});

test('the base URL comes from the configuration, else from the environment', async (t) => {
  const mock = await mockOpenai([{ frames: chatFrames({ text: ['ok'] }) }]);
  t.after(() => mock.close());
  for (const [providers, env] of [[{}, { OPENAI_BASE_URL: `${mock.url}/v1/` }], [{ openai: { baseUrl: `${mock.url}/v1` } }, { OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' }]] as const) {
    const [provider] = await providersOf(providers, env);
    assert.equal((await hear(provider!, requestTo(provider!, 'gpt-5', HELLO))).error, undefined);
  }
  assert.deepEqual(mock.seen.map((s) => s.path), ['/v1/chat/completions', '/v1/chat/completions']);
});

test('every entry that says so becomes a provider of its name', async (t) => {
  const { provider, mock, ask } = await stand(t, [{ frames: chatFrames({ text: ['ok'], reasoning: ['Hm.'] }) }], { name: 'ollama', model: 'qwen3', settings: { options: { compatible: 'openai', body: { top_k: 20 } } }, rules: { allow: ['top_k'] }, env: {} });
  assert.equal(provider.name, 'ollama');
  const heard = await ask();
  assert.equal(heard.error, undefined);
  assert.deepEqual(heard.blocks[0], { type: 'thinking', thinking: 'Hm.', provider: 'ollama' });
  const { body, headers } = mock.asked()[0]!;
  assert.deepEqual([body.model, body.top_k, headers.authorization], ['qwen3', 20, undefined]);
  assert.deepEqual((await providersOf({ ollama: { options: { compatible: 'openai' } }, anthropic: {} })).map((p) => [p.name, p.kind]), [['openai', 'remote'], ['ollama', 'local'], ['local', 'local']]);
});

test('a server of this machine needs no key; its models and their windows are asked of it', async (t) => {
  const { provider, mock } = await stand(t, [], { name: 'vllm', settings: { options: { compatible: 'openai' } }, env: {} });
  assert.equal(await provider.available(), null);
  assert.deepEqual(provider.models().map((m) => [m.id, m.contextWindow]), [['local-model', 16_000], ['other', 32_768]]);
  await mock.close();
  assert.match(await provider.available() ?? '', /no server answers at http:\/\/127\.0\.0\.1/);
});

test('says which key is missing', async () => {
  const [vendor] = await providersOf({});
  assert.equal(await vendor!.available(), 'OPENAI_API_KEY is not set');
  const heard = await hear(vendor!, requestTo(vendor!, 'gpt-5', HELLO));
  assert.equal(heard.fault?.kind, 'auth');
  const [, router] = await providersOf({ openrouter: { apiKeyEnv: 'MY_KEY', options: { compatible: 'openai' } } });
  assert.equal(await router!.available(), 'MY_KEY is not set');
});

test('a helper prints the key, and a failing one says why', async (t) => {
  const { ask, mock } = await stand(t, [{ frames: chatFrames({ text: ['ok'] }) }], { env: {}, settings: { keyHelper: `"${process.execPath}" -p "'sk-'+40"` } });
  assert.equal((await ask()).error, undefined);
  assert.equal(mock.asked()[0]!.headers.authorization, 'Bearer sk-40');
  const failing = await stand(t, [], { env: {}, settings: { keyHelper: `"${process.execPath}" -e "console.error('vault is shut');process.exit(3)"` } });
  const { fault } = await failing.ask();
  assert.equal(fault?.kind, 'auth');
  assert.match(fault?.message ?? '', /keyHelper.*exit code is 3/);
  assert.doesNotMatch(fault?.message ?? '', /vault/, 'what it prints may be secret');
});

test('a helper is asked once more for its key when the server refuses the one it gave', async (t) => {
  const helper = { env: {}, settings: { keyHelper: `"${process.execPath}" -p "'k'+process.hrtime.bigint()"` } };
  const { ask, mock } = await stand(t, (_, n) => (n === 0 ? refuse(401, 'expired') : { frames: chatFrames({ text: ['ok'] }) }), helper);
  assert.equal((await ask()).error, undefined);
  assert.equal(new Set(mock.asked().map((s) => s.headers.authorization)).size, 2);
  const never = await stand(t, () => refuse(401, 'expired'), helper);
  assert.equal((await never.ask()).fault?.kind, 'auth');
  assert.equal(never.mock.asked().length, 2);
});

test('a key among the configured headers counts before any other', async (t) => {
  const { ask, mock, provider } = await stand(t, [{ frames: chatFrames({ text: ['ok'] }) }], { settings: { headers: { Authorization: 'Token abc' }, apiKeyEnv: 'GONE' } });
  assert.equal(await provider.available(), null);
  assert.equal((await ask()).error, undefined);
  assert.equal(mock.asked()[0]!.headers.authorization, 'Token abc');
});

test('Azure has its own header, paths and version', async (t) => {
  for (const [azure, wire, path, model] of [
    [{}, 'responses', '/openai/v1/responses', 'gpt-5'], [{ apiVersion: '2025-04-01-preview', deployment: 'mine' }, 'chat', '/openai/deployments/mine/chat/completions', 'mine'], [{ apiVersion: '2025-04-01-preview' }, 'responses', '/openai/responses', 'gpt-5'],
  ] as const) {
    const { ask, mock } = await stand(t, (seen) => ({ frames: seen.path.endsWith('responses') ? responsesFrames({ text: ['ok'] }) : chatFrames({ text: ['ok'] }) }), { settings: { options: { azure, wire } }, env: { AZURE_OPENAI_API_KEY: 'azure-key' } });
    assert.equal((await ask()).error, undefined);
    const { headers, body, query, path: asked } = mock.seen[0]!;
    assert.deepEqual([asked, headers['api-key'], headers.authorization, body.model, query.get('api-version')], [path, 'azure-key', undefined, model, 'apiVersion' in azure ? azure.apiVersion : null]);
  }
});

test('headers, organization and betas go with each request', async (t) => {
  const { ask, mock } = await stand(t, [{ frames: chatFrames({ text: ['ok'] }) }], { settings: { headers: { 'X-Team': 'a' }, betas: ['b1', 'b2'], options: { organization: 'org-1', project: 'p-1' } } });
  await ask();
  const { headers } = mock.seen[0]!;
  assert.deepEqual([headers['x-team'], headers['openai-organization'], headers['openai-project'], headers['openai-beta']], ['a', 'org-1', 'p-1', 'b1,b2']);
});

test('the table is merged with the configuration, and an alias reaches the model that it names', async (t) => {
  const { provider, ask, mock } = await stand(t, [{ frames: chatFrames({ text: ['ok'] }) }], { model: 'house', models: { 'openai/gpt-5': { contextWindow: 50_000, prices: { input: 1, output: 2 } }, 'openai/house': { id: 'acme-model-7', aliases: ['h'] }, 'other/x': {} } });
  const gpt5 = provider.models().find((m) => m.id === 'gpt-5')!;
  assert.deepEqual([gpt5.contextWindow, gpt5.maxOutputTokens, gpt5.prices], [50_000, 128_000, { input: 1, output: 2 }]);
  assert.deepEqual(provider.models().find((m) => m.id === 'acme-model-7')?.aliases, ['house', 'h']);
  assert.equal(provider.models().filter((m) => m.id === 'gpt-5').length, 1);
  await ask();
  assert.equal(mock.asked()[0]!.body.model, 'acme-model-7');
});

test('a dated id is sent as it is, with the facts of its plain one', async (t) => {
  const { ask, mock } = await stand(t, [{ frames: responsesFrames({ text: ['ok'] }) }], { wire: 'responses', model: 'gpt-5-2025-08-07' });
  await ask();
  assert.deepEqual([mock.asked()[0]!.body.model, mock.asked()[0]!.body.include], ['gpt-5-2025-08-07', ['reasoning.encrypted_content']]);
});

test('every model of the table has facts, and no name stands for two', async () => {
  const models = (await providersOf({}))[0]!.models();
  const names = models.flatMap((m) => [m.id, ...m.aliases ?? []]);
  assert.equal(new Set(names).size, names.length);
  for (const m of models) assert.ok(m.contextWindow > m.maxOutputTokens && m.prices !== undefined && m.prices.output > m.prices.input, m.id);
});

test('settings that cannot be meant are refused with their place', async () => {
  assert.equal((await refused({ openai: { options: { wire: 'websocket' } } })).key, 'providers.openai.options.wire');
  assert.match((await refused({ openai: { options: { wrie: 'chat' } } })).message, /known here: wire/);
  assert.equal((await refused({ mine: { options: { compatible: 'openai' } } })).key, 'providers.mine.baseUrl');
  assert.equal((await refused({ openai: { options: { azure: 'yes' } } })).key, 'providers.openai.options.azure');
  assert.equal((await refused({ openai: { options: { body: [] } } })).key, 'providers.openai.options.body');
});
