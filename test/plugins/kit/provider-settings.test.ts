import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientOptions, findModel, keySource, mergeModels, retryAfter } from '../../../plugins/kit/provider-settings.ts';

const NOW = Date.parse('2026-11-30T12:00:00Z');
const after = (headers: Record<string, string>) => retryAfter(headers, NOW);

test('a wait is read as milliseconds, seconds or a date; the past and junk say nothing (F10-11)', () => {
  assert.equal(after({ 'retry-after': '7' }).retryAfterMs, 7000);
  assert.equal(after({ 'retry-after': '7', 'retry-after-ms': '250' }).retryAfterMs, 250);
  assert.deepEqual(after({ 'retry-after': 'Mon, 30 Nov 2026 12:00:30 GMT' }), { retryAfterMs: 30_000, resetAt: '2026-11-30T12:00:30.000Z' });
  for (const junk of ['-5', 'abc', '', 'Mon, 30 Nov 2026 11:00:00 GMT', '1e3', 'NaN']) assert.deepEqual(after({ 'retry-after': junk }), {}, junk);
  assert.deepEqual(after({ 'retry-after': '99999' }), { retryAfterMs: 99_999_000, resetAt: '2026-12-01T15:46:39.000Z' });
  assert.deepEqual(after({ 'retry-after': '9'.repeat(20) }).resetAt, undefined);
});

test('the named variable counts before the usual ones, a helper before both, and it is not asked each time', async () => {
  const env = { A: ' ', B: 'b', MINE: 'm', PATH: process.env.PATH };
  assert.equal(await keySource(undefined, env, ['A', 'B']).get(), 'b');
  assert.equal(await keySource({ apiKeyEnv: 'MINE' }, env, ['B']).get(), 'm');
  assert.equal(keySource({ apiKeyEnv: 'GONE' }, env, ['B']).missing(), 'GONE is not set');
  assert.equal(keySource(undefined, env, []).missing(), null);
  let now = 0;
  const helper = keySource({ keyHelper: `"${process.execPath}" -p "process.hrtime.bigint().toString()"` }, env, ['B'], () => now);
  assert.equal(helper.missing(), null);
  const first = await helper.get();
  assert.match(first!, /^\d+$/);
  assert.equal(await helper.get(), first);
  helper.forget();
  const second = await helper.get();
  assert.notEqual(second, first);
  now = 10 * 60_000;
  assert.notEqual(await helper.get(), second);
});

test('a helper that prints nothing, or more than a line, is told, and asked again', async () => {
  for (const script of ['0', "console.log(1);console.log(2)"]) {
    const helper = keySource({ keyHelper: `"${process.execPath}" -e "${script}"` }, { PATH: process.env.PATH }, []);
    await assert.rejects(helper.get(), /one line/);
    await assert.rejects(helper.get(), /one line/);
  }
});

test("the configuration's words about models stand before the table and change it", () => {
  const table = [{ id: 'big', aliases: ['b'], contextWindow: 10, maxOutputTokens: 5, prices: { input: 1, output: 2 } }, { id: 'small', contextWindow: 8, maxOutputTokens: 4 }];
  const defaults = { contextWindow: 1, maxOutputTokens: 1, can: ['tools'] as const };
  const models = mergeModels('p', table, { 'p/b': { contextWindow: 99 }, 'p/new': { maxOutputTokens: 3 }, 'p/long': { id: 'small', contextWindow: 80, aliases: ['l'] }, 'p/team/x': {}, 'q/big': { contextWindow: 7 } }, defaults);
  assert.deepEqual(models.map((m) => [m.id, m.aliases ?? [], m.contextWindow, m.maxOutputTokens]), [['big', ['b'], 99, 5], ['new', [], 1, 3], ['small', ['long', 'l'], 80, 4], ['team/x', [], 1, 1], ['small', [], 8, 4]]);
  assert.deepEqual(models[0]!.prices, { input: 1, output: 2 });
  assert.equal(findModel(models, 'l')?.contextWindow, 80);
  assert.equal(findModel(models, 'nobody'), undefined);
});

test('headers are written in small letters, and patience is that of the configuration', () => {
  const o = clientOptions({ provider: 'p', settings: { headers: { 'X-Team': 'a' }, proxy: 'http://proxy:1', timeouts: { firstByteMs: 5 } }, baseUrl: 'http://x', env: {}, headers: { a: '1' } });
  assert.deepEqual([o.headers, o.proxy, o.firstByteMs, o.betweenBytesMs], [{ a: '1', 'x-team': 'a' }, 'http://proxy:1', 5, 300_000]);
});
