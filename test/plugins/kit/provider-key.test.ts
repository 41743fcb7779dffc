import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allKeyVariables, keyVariables, providerKey } from 'tappet/kit';
import type { KeyStore } from 'tappet/schemas';

const storeOf = (find: KeyStore['find'], forget: (provider: string) => void = () => {}): KeyStore =>
  ({ find, save: async () => '', remove: async () => false, list: async () => [], forget });

test('the configured variable counts alone, else the usual ones', () => {
  assert.deepEqual(keyVariables('gemini'), ['GEMINI_API_KEY', 'GOOGLE_API_KEY']);
  assert.deepEqual(keyVariables('gemini', { apiKeyEnv: 'MINE' }), ['MINE']);
  assert.deepEqual(keyVariables('openai', { options: { azure: true } }), ['AZURE_OPENAI_API_KEY', 'OPENAI_API_KEY']);
  for (const unknown of ['my-server', 'constructor', '__proto__']) assert.deepEqual(keyVariables(unknown), []);
  assert.ok(allKeyVariables().includes('AZURE_OPENAI_API_KEY') && allKeyVariables().includes('ANTHROPIC_API_KEY'));
});

test('the service is asked with the names and the helper, each time', async () => {
  const asked: unknown[] = [];
  let store: KeyStore | undefined;
  const key = providerKey({ provider: 'openai', settings: { keyHelper: 'x' }, env: {}, keys: () => store });
  store = storeOf(async (...given) => { asked.push(given); return { key: 'k', from: 'there' }; });
  assert.deepEqual(await key.get(), { key: 'k', from: 'there' });
  assert.deepEqual(asked, [['openai', { env: ['OPENAI_API_KEY'], helper: 'x' }]]);
});

test('what is missing is named with what to do; a helper is not asked for that', async () => {
  const none = storeOf(async () => null);
  const missing = (provider: string, settings: object | undefined, keys: KeyStore | undefined, env = {}) => providerKey({ provider, settings, env, keys: () => keys }).missing();
  assert.equal(await missing('gemini', undefined, none), 'GEMINI_API_KEY or GOOGLE_API_KEY is not set, and no key is stored (`tappet login gemini`)');
  assert.equal(await missing('my-server', undefined, none), 'no key is stored (`tappet login my-server`)');
  assert.equal(await missing('openai', undefined, storeOf(async () => ({ key: 'k', from: '' }))), null);
  assert.equal(await missing('openai', { keyHelper: 'exit 1' }, storeOf(async () => assert.fail('it was asked'))), null);
  await assert.rejects(missing('openai', undefined, storeOf(async () => { throw new Error('damaged'); })), /damaged/);
});

test('without the service variables and a helper are still asked', async () => {
  const without = (settings: object | undefined, env: object) => providerKey({ provider: 'openai', settings, env: { PATH: process.env['PATH'], ...env }, keys: () => undefined });
  assert.deepEqual(await without(undefined, { OPENAI_API_KEY: ' k\n' }).get(), { key: 'k', from: 'the variable OPENAI_API_KEY', variable: 'OPENAI_API_KEY' });
  assert.equal(await without(undefined, { OPENAI_API_KEY: ' ' }).get(), null);
  assert.equal(await without(undefined, {}).missing(), 'OPENAI_API_KEY is not set');
  await assert.rejects(without({ keyHelper: 'echo hidden-word; exit 3' }, {}).get(), (e: Error) => /exit code is 3/.test(e.message) && !e.message.includes('hidden'));
  const helped = without({ keyHelper: `"${process.execPath}" -p "'k'+process.hrtime.bigint()"` }, {});
  const first = await helped.get();
  assert.equal(first?.from, 'the output of keyHelper');
  assert.deepEqual(await helped.get(), first);
  helped.forget();
  assert.notEqual((await helped.get())?.key, first?.key);
});

test('a refused key is forgotten where the service can', () => {
  const forgotten: string[] = [];
  const forget = (keys: KeyStore): void => providerKey({ provider: 'openai', settings: undefined, env: {}, keys: () => keys }).forget();
  forget(storeOf(async () => null, (p) => { forgotten.push(p); }));
  forget(storeOf(async () => null));
  assert.deepEqual(forgotten, ['openai']);
});
