import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { KeyStore, ProviderSettings } from 'tappet/schemas';
import { hear, requestTo } from '../../../contracts/model-provider.ts';
import { bench } from './bench.ts';

const HELLO = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'x' }] }];
const shown = async (t: TestContext, settings: ProviderSettings, env: Record<string, string>): Promise<[unknown, unknown]> => {
  const { mock, provider } = await bench(t, undefined, { env, settings });
  assert.equal(await provider.available(), null);
  assert.equal((await hear(provider, requestTo(provider, 'sonnet', HELLO))).error, undefined);
  const { headers } = mock.requests[0]!;
  return [headers['x-api-key'], headers.authorization];
};

test('a key goes in its own header, a token as a bearer', async (t) => {
  assert.deepEqual(await shown(t, {}, { ANTHROPIC_API_KEY: 'k' }), ['k', undefined]);
  assert.deepEqual(await shown(t, {}, { ANTHROPIC_AUTH_TOKEN: 't' }), [undefined, 'Bearer t']);
  assert.deepEqual(await shown(t, {}, { ANTHROPIC_API_KEY: 'k', ANTHROPIC_AUTH_TOKEN: 't' }), ['k', undefined]);
  assert.deepEqual(await shown(t, { apiKeyEnv: 'MINE' }, { MINE: 'm', ANTHROPIC_API_KEY: 'k' }), ['m', undefined]);
  assert.deepEqual(await shown(t, { apiKeyEnv: 'MY_AUTH_TOKEN' }, { MY_AUTH_TOKEN: 'm' }), [undefined, 'Bearer m']);
  assert.deepEqual(await shown(t, { options: { auth: 'bearer' } }, { ANTHROPIC_API_KEY: 'k' }), [undefined, 'Bearer k']);
  assert.deepEqual(await shown(t, { headers: { Authorization: 'Bearer own' } }, {}), [undefined, 'Bearer own'], 'a header of one\'s own is enough');
});

test('an empty variable is no key, and another key than the named one does not count; both for asking and for being asked', async (t) => {
  for (const [settings, env, missing] of [[{}, { ANTHROPIC_API_KEY: ' ' }, /ANTHROPIC_API_KEY/], [{ apiKeyEnv: 'MINE' }, { ANTHROPIC_API_KEY: 'k' }, /MINE/]] as const) {
    const { mock, provider } = await bench(t, undefined, { env, settings });
    assert.match(await provider.available() ?? '', missing);
    const { fault } = await hear(provider, requestTo(provider, 'sonnet', HELLO));
    assert.equal(fault?.kind, 'auth');
    assert.match(fault!.message, missing);
    assert.equal(mock.requests.length, 0);
  }
});

test('a stored key is found by the service at the time of the request, with the names and the helper', async (t) => {
  let stored: string | null = null;
  const asked: unknown[] = [];
  const keys: KeyStore = { find: async (...o) => { asked.push(o); return stored === null ? null : { key: stored, from: 'the key ring' }; }, forget: () => {}, save: async () => '', remove: async () => false, list: async () => [] };
  const { mock, provider } = await bench(t, undefined, { env: { ANTHROPIC_API_KEY: 'not looked at here' }, settings: { keyHelper: 'x' }, keys });
  assert.equal((await hear(provider, requestTo(provider, 'sonnet', HELLO))).fault?.kind, 'auth');
  stored = 'sk-stored';
  assert.equal(await provider.available(), null);
  assert.equal((await hear(provider, requestTo(provider, 'sonnet', HELLO))).error, undefined);
  assert.equal(mock.requests[0]!.headers['x-api-key'], 'sk-stored');
  assert.deepEqual(asked.at(-1), ['anthropic', { env: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'], helper: 'x' }]);
});

test('a helper is asked for the key, and once more when the server refuses it', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'tappet-key-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const counter = join(dir, 'n');
  writeFileSync(counter, '0');
  const script = join(dir, 'helper.cjs');
  writeFileSync(script, `const fs = require('fs'); const n = Number(fs.readFileSync(${JSON.stringify(counter)}, 'utf8')) + 1; fs.writeFileSync(${JSON.stringify(counter)}, String(n)); console.log('key-' + n);`);
  const { mock, provider } = await bench(t, ({ headers }) => (headers['x-api-key'] === 'key-1' ? { refuse: 'auth' } : { blocks: [{ text: 'ok' }] }), { env: {}, settings: { keyHelper: `"${process.execPath}" "${script}"` } });
  const request = requestTo(provider, 'sonnet', HELLO);
  assert.equal((await hear(provider, request)).error, undefined);
  assert.equal((await hear(provider, request)).error, undefined);
  assert.deepEqual(mock.requests.map((r) => r.headers['x-api-key']), ['key-1', 'key-2', 'key-2']);
  assert.equal(readFileSync(counter, 'utf8'), '2');
});

test('a key that is refused and stays the same is not shown again', async (t) => {
  const { mock, provider } = await bench(t, [{ refuse: 'auth' }], { env: { ANTHROPIC_API_KEY: 'k' } });
  assert.equal((await hear(provider, requestTo(provider, 'sonnet', HELLO))).fault?.kind, 'auth');
  assert.equal(mock.requests.length, 1);
});

test('who stops does not wait for a helper', async (t) => {
  const { mock, provider } = await bench(t, undefined, { env: {}, settings: { keyHelper: `"${process.execPath}" -e "setTimeout(() => console.log('late'), 1000)"` } });
  const stop = new AbortController();
  const heard = hear(provider, requestTo(provider, 'sonnet', HELLO), { signal: stop.signal });
  setImmediate(() => stop.abort());
  assert.equal((await heard).fault?.kind, 'aborted');
  assert.equal(mock.requests.length, 0);
});
