import assert from 'node:assert/strict';
import { test } from 'node:test';
import { proxyFor } from '../../../plugins/kit/http-proxy.ts';
import type { ProxyOptions } from '../../../plugins/kit/http-proxy.ts';

const way = async (url: string, o: Partial<ProxyOptions>): Promise<string | null> => (await proxyFor(new URL(url), { env: {}, ...o }))?.host ?? null;

test('the configuration counts before the environment, and the small letters before the large', async () => {
  assert.equal(await way('https://a.test', { proxy: 'http://one:1', env: { HTTPS_PROXY: 'http://two:2' } }), 'one:1');
  assert.equal(await way('https://a.test', { env: { HTTPS_PROXY: 'http://two:2', https_proxy: 'http://three:3', ALL_PROXY: 'http://four:4' } }), 'three:3');
  assert.equal(await way('http://a.test', { env: { HTTPS_PROXY: 'http://two:2' } }), null);
  assert.equal(await way('http://a.test', { env: { ALL_PROXY: 'four:4' } }), 'four:4');
  assert.equal(await way('https://a.test', { env: { HTTPS_PROXY: '' } }), null);
});

for (const [list, url, direct] of [
  ['*', 'https://a.test', true], ['a.test', 'https://a.test', true], ['a.test', 'https://b.a.test', true], ['.a.test', 'https://b.a.test', true], ['*.a.test', 'https://b.a.test', true], ['a.test', 'https://ba.test', false],
  ['A.TEST.', 'https://a.test', true], ['a.test:443', 'https://a.test', true], ['a.test:8443', 'https://a.test', false], ['x, y  a.test', 'https://a.test', true], ['', 'https://a.test', false], [',,', 'https://a.test', false],
  ['10.0.0.0/8', 'https://10.1.2.3', true], ['10.0.0.0/8', 'https://11.1.2.3', false], ['10.0.0.0/99', 'https://10.1.2.3', false], ['10.1.2.3', 'https://10.1.2.3', true], ['2.3', 'https://10.1.2.3', false],
  ['::1', 'https://[::1]:8', true], ['fd00::/8', 'https://[fd12::1]', true], ['fd00::/8', 'https://a.test', false],
] as const) test(`"${list}" ${direct ? 'excepts' : 'does not except'} ${url}`, async () => assert.equal(await way(url, { proxy: 'http://p:1', noProxy: list }) === null, direct));

test("the environment's proxy is not asked for this very machine, one that the configuration names is", async () => {
  for (const url of ['http://localhost:1', 'http://127.0.0.9', 'http://[::1]:1', 'http://a.localhost']) {
    assert.equal(await way(url, { env: { HTTP_PROXY: 'http://p:1' } }), null, url);
    assert.equal(await way(url, { proxy: 'http://p:1' }), 'p:1', url);
  }
});

test('what is no proxy is an error that does not repeat it', async () => {
  await assert.rejects(way('http://a.test', { proxy: 'http://me:secret@' }), (e: Error) => /no URL/.test(e.message) && !/secret/.test(e.message));
  await assert.rejects(way('http://a.test', { proxy: 'socks5://p:1' }), /not socks5/);
});
