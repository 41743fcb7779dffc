import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { cliPlace } from '../../support/cli.ts';

const KEY = 'sk-test-4f9a1c77e0b2d3-secret';
const FILE = '~/.local/state/tappet/keys.json';
const PLUGINS = ['keys/store', 'models/openai', 'cli/parse', 'cli/logout'];
const stored = (...providers: string[]) => ({ [FILE]: JSON.stringify({ version: 1, keys: Object.fromEntries(providers.map((p) => [p, { key: KEY }])) }) });
const at = (t: TestContext, files: Readonly<Record<string, string>>) => cliPlace(t, { plugins: PLUGINS, layer: 'mode: default', files });

test('a stored key is taken away, and the others stay', async (t) => {
  const p = await at(t, stored('openai', 'anthropic'));
  const { code, out } = await p.run(['logout', 'openai']);
  assert.deepEqual([code, out], [0, 'the key of openai is taken away\n']);
  assert.deepEqual(Object.keys(JSON.parse(await p.read(FILE)).keys), ['anthropic']);
});

test('a key that is not stored is no failure; what still gives one is told', async (t) => {
  const p = await at(t, {});
  const { code, out, err } = await p.run(['logout', 'openai'], { env: { OPENAI_API_KEY: KEY } });
  assert.deepEqual([code, out, err], [0, 'no key of openai was stored\n', 'note: the variable OPENAI_API_KEY still gives one\n']);
  await p.file('~/.config/tappet/config.yaml', `providers: { openai: { keyHelper: 'echo ${KEY}' } }\n`);
  assert.deepEqual(await p.json(['logout', 'openai']), { provider: 'openai', removed: false, stillFrom: 'the output of keyHelper' });
});

test('a provider that is gone may still be logged out, one that nobody knows may not', async (t) => {
  const p = await at(t, stored('anthropic'));
  assert.match((await p.run(['logout', 'antropic'])).err, /did you mean "anthropic"/);
  const { code, err } = await p.run(['logout', 'something-else']);
  assert.equal(code, 2);
  assert.match(err, /keys are stored for: anthropic/);
  assert.deepEqual(await p.json(['logout', 'anthropic']), { provider: 'anthropic', removed: true });
});
