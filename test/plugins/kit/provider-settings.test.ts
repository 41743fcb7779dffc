import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientOptions, findModel, headerSecrets, mergeModels, retryAfter, shownUrl } from '../../../plugins/kit/provider-settings.ts';

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

test('of the headers those are secrets that sound so, with and without the word before them', () => {
  assert.deepEqual(headerSecrets({ headers: { Authorization: 'Bearer abc', 'X-Team-Token': 't', 'X-Team': 'red' } }), ['Bearer abc', 'abc', 't', 't']);
  assert.deepEqual(headerSecrets(undefined), []);
});

test('an address is shown without what may be secret in it', () => {
  assert.equal(shownUrl('https://me:secret@host.test:8/v1/?key=abc#x'), 'https://host.test:8/v1');
  assert.equal(shownUrl('no address'), 'the base URL');
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
