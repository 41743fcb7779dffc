import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { findKey } from '../../../../plugins/models/anthropic/key.ts';
import { hear, requestTo } from '../../../contracts/model-provider.ts';
import { bench } from './bench.ts';

test('a key goes in its own header, a token as a bearer', async () => {
  assert.deepEqual(await findKey(undefined, { ANTHROPIC_API_KEY: 'k' }).headers(), { 'x-api-key': 'k' });
  assert.deepEqual(await findKey(undefined, { ANTHROPIC_AUTH_TOKEN: 't' }).headers(), { authorization: 'Bearer t' });
  assert.deepEqual(await findKey(undefined, { ANTHROPIC_API_KEY: 'k', ANTHROPIC_AUTH_TOKEN: 't' }).headers(), { 'x-api-key': 'k' });
  assert.deepEqual(await findKey({ apiKeyEnv: 'MINE' }, { MINE: 'm', ANTHROPIC_API_KEY: 'k' }).headers(), { 'x-api-key': 'm' });
  assert.deepEqual(await findKey({ apiKeyEnv: 'MY_AUTH_TOKEN' }, { MY_AUTH_TOKEN: 'm' }).headers(), { authorization: 'Bearer m' });
  assert.deepEqual(await findKey({ options: { auth: 'bearer' } }, { ANTHROPIC_API_KEY: 'k' }).headers(), { authorization: 'Bearer k' });
  assert.deepEqual(await findKey({ headers: { Authorization: 'Bearer own' } }, {}).headers(), {}, 'a header of one\'s own is enough');
});

test('an empty variable is no key, and another key than the named one does not count', async () => {
  for (const [settings, env, missing] of [[undefined, { ANTHROPIC_API_KEY: ' ' }, /ANTHROPIC_API_KEY/], [{ apiKeyEnv: 'MINE' }, { ANTHROPIC_API_KEY: 'k' }, /MINE/]] as const) {
    assert.equal(await findKey(settings, env).headers(), null);
    assert.match(findKey(settings, env).missing()!, missing);
  }
  assert.equal(findKey({ headers: { 'x-api-key': 'own' } }, {}).missing(), null);
});

test('a helper is asked for the key, and once more when the server refuses it', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'tappet-key-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const counter = join(dir, 'n');
  writeFileSync(counter, '0');
  const script = join(dir, 'helper.cjs');
  writeFileSync(script, `const fs = require('fs'); const n = Number(fs.readFileSync(${JSON.stringify(counter)}, 'utf8')) + 1; fs.writeFileSync(${JSON.stringify(counter)}, String(n)); console.log('key-' + n);`);
  const { mock, provider } = await bench(t, ({ headers }) => (headers['x-api-key'] === 'key-1' ? { refuse: 'auth' } : { blocks: [{ text: 'ok' }] }), { env: {}, settings: { keyHelper: `"${process.execPath}" "${script}"` } });
  const request = requestTo(provider, 'sonnet', [{ role: 'user', content: [{ type: 'text', text: 'x' }] }]);
  assert.equal((await hear(provider, request)).error, undefined);
  assert.equal((await hear(provider, request)).error, undefined);
  assert.deepEqual(mock.requests.map((r) => r.headers['x-api-key']), ['key-1', 'key-2', 'key-2']);
  assert.equal(readFileSync(counter, 'utf8'), '2');
});

test('who stops does not wait for a helper', async (t) => {
  const { mock, provider } = await bench(t, undefined, { env: {}, settings: { keyHelper: `"${process.execPath}" -e "setTimeout(() => console.log('late'), 1000)"` } });
  const stop = new AbortController();
  const heard = hear(provider, requestTo(provider, 'sonnet', [{ role: 'user', content: [{ type: 'text', text: 'x' }] }]), { signal: stop.signal });
  setImmediate(() => stop.abort());
  assert.equal((await heard).fault?.kind, 'aborted');
  assert.equal(mock.requests.length, 0);
});
