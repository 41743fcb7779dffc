import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainAt, configKeys, configSchema, isConfigKey, keysAt, valueAt } from 'tappet/kit';
import { configLayer } from 'tappet/schemas';
import type { ChainLink } from 'tappet/schemas';

test('every key of a layer is known, with what stands below it', () => {
  const keys = configKeys();
  for (const key of Object.keys(configLayer().shape).filter((k) => k !== '$schema')) assert.ok(keys.includes(key), key);
  for (const key of ['limits.costUsd', 'permissions.deny', 'plugins.NAME.use', 'models.NAME.prices.input', 'bounds.mode.oneOf', 'env.NAME']) assert.ok(keys.includes(key), key);
  assert.equal(new Set(keys).size, keys.length);
});
test('a key may hold a name with dots and slashes', () => {
  for (const key of ['mode', 'limits', 'limits.turns', 'plugins.tools/read', 'plugins.tools/read.with.maxBytes', 'models.openai/gpt-5.1', 'models.openai/gpt-5.1.contextWindow', 'env.FOO', 'providers.x.timeouts.firstByteMs']) assert.ok(isConfigKey(key), key);
});
test('what nobody may write is no key', () => {
  for (const key of ['', 'moode', 'mode.x', 'limits.', '.mode', 'limits.turn', 'permissions.allow.0', 'providers.x.nope', 'constructor', '__proto__']) assert.ok(!isConfigKey(key), key);
});
test('a value is found below names with dots', () => {
  const settings = { mode: 'plan', models: { 'openai/gpt-5.1': { contextWindow: 5 }, 'openai/gpt-5': { id: 'x' } }, limits: {} };
  assert.equal(valueAt(settings, 'mode'), 'plan');
  assert.equal(valueAt(settings, 'models.openai/gpt-5.1.contextWindow'), 5);
  assert.deepEqual(valueAt(settings, 'models.openai/gpt-5'), { id: 'x' });
  for (const path of ['limits.turns', 'mode.length', 'toString', 'models.none']) assert.equal(valueAt(settings, path), undefined, path);
});
test('who spoke of a key inside of an entry is told by the chain of the entry', () => {
  const origin = { layer: 'user' as const, file: 'f', line: 1, column: 1 };
  const chains: Record<string, ChainLink[]> = { 'plugins.a/b': [{ origin, value: { with: { size: 3 } }, status: 'counts' }, { origin, value: true, status: 'shadowed' }], mode: [] };
  const config = { keys: () => Object.keys(chains), chain: (path: string) => chains[path] ?? [] };
  assert.deepEqual(chainAt(config, 'plugins.a/b.with.size').map((l) => [l.value, l.status]), [[3, 'counts'], [undefined, 'shadowed']]);
  assert.equal(chainAt(config, 'plugins.a/b'), chains['plugins.a/b']);
  assert.deepEqual(chainAt(config, 'plugins'), []);
  assert.deepEqual(keysAt(config, 'plugins'), ['plugins.a/b']);
  assert.deepEqual(keysAt(config, 'plug'), []);
});
test('the schema describes every key', () => {
  const { properties } = configSchema() as { properties: Record<string, { description?: string; properties?: object }> };
  for (const [key, node] of Object.entries(properties)) assert.ok(node.description !== undefined || node.properties !== undefined, key);
});
