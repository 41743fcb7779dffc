import assert from 'node:assert/strict';
import { test } from 'node:test';
import { providerAccess } from '../../../plugins/kit/provider-access.ts';
import type { ProviderAccessOptions } from '../../../plugins/kit/provider-access.ts';
import type { KeyStore } from 'tappet/schemas';

const storeOf = (find: KeyStore['find'], forget: () => void = () => {}): KeyStore => ({ find, save: async () => '', remove: async () => false, list: async () => [], forget });
const access = (o: Partial<ProviderAccessOptions> = {}) => providerAccess({ provider: 'openai', settings: undefined, env: {}, keys: () => undefined, needed: true, ...o });
const signal = (): AbortSignal => new AbortController().signal;

test('what can be asked and what is missing agree, with the service and without it', async () => {
  for (const [o, has, why] of [
    [{}, false, /OPENAI_API_KEY is not set/], [{ env: { OPENAI_API_KEY: 'k' } }, true, null], [{ needed: false }, true, null], [{ settings: { headers: { Authorization: 'x' } } }, true, null], [{ settings: { apiKeyEnv: 'MINE' }, env: { OPENAI_API_KEY: 'k' } }, false, /MINE/],
    [{ keys: () => storeOf(async () => ({ key: 'k', from: 'there' })) }, true, null], [{ keys: () => storeOf(async () => null), env: { OPENAI_API_KEY: 'k' } }, false, /no key is stored/],
  ] as const) {
    const a = access(o);
    const missing = await a.missing();
    const key = await a.key(signal());
    assert.equal('found' in key, has, JSON.stringify(o));
    if (why === null) assert.equal(missing, null);
    else { assert.match(missing ?? '', why); assert.ok('fault' in key && key.fault.kind === 'auth' && why.test(key.fault.message)); }
  }
});

test('stored keys that cannot be read are told with their place', async () => {
  const broken = access({ keys: () => storeOf(async () => { throw Object.assign(new Error('it is damaged'), { where: '/home/me/keys.json' }); }) });
  assert.equal(await broken.missing(), 'it is damaged (/home/me/keys.json)');
  const key = await broken.key(signal());
  assert.ok('fault' in key && key.fault.kind === 'auth' && key.fault.message.includes('/home/me/keys.json'));
});

test('a refused key is asked for anew, and shown again only where it is another one', async () => {
  let now = 'one';
  let forgotten = 0;
  const a = access({ keys: () => storeOf(async () => ({ key: now, from: '' }), () => { forgotten++; }) });
  const first = await a.key(signal());
  assert.ok('found' in first);
  assert.equal(await a.another(first.found, signal()), false);
  now = 'two';
  assert.equal(await a.another(first.found, signal()), true);
  assert.equal(await a.another(first.found, signal()), true, 'for who was refused with the first as well');
  assert.equal(await a.another(null, signal()), false);
  assert.equal(forgotten, 3);
});

test('who stops does not wait for a helper', async () => {
  const stop = new AbortController();
  const slow = access({ keys: () => storeOf(() => new Promise(() => { stop.abort(); })) });
  const key = await slow.key(stop.signal);
  assert.ok('fault' in key && key.fault.kind === 'aborted');
  const late = await access({ keys: () => storeOf(async () => assert.fail('it was asked')) }).key(stop.signal);
  assert.ok('fault' in late && late.fault.kind === 'aborted');
});

test('no key that was ever shown stands in a text, nor a header that sounds secret', async () => {
  let now = 'first-key';
  const a = access({ settings: { headers: { 'X-Gateway-Token': 'Bearer gateway-secret', 'X-Team': 'red-team' } }, keys: () => storeOf(async () => ({ key: now, from: '' })) });
  await a.key(signal());
  now = 'second-key';
  await a.key(signal());
  assert.equal(a.hide('first-key, second-key, gateway-secret of red-team'), '[key], [key], [key] of red-team');
  now = 'k';
  await a.key(signal());
  assert.equal(a.hide('ok'), 'ok', 'a key of a letter would tear every text apart');
});
