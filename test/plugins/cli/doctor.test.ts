import assert from 'node:assert/strict';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { cliPlace, runCli } from '../../support/cli.ts';

const O = { plugins: ['cli/parse', 'cli/doctor', 'modes/default'], layer: 'mode: default' };
const check = (json: { checks: { what: string; state: string; text: string }[] }, what: string) => json.checks.find((c) => c.what === what);

test('where all is well it says so and ends with 0', async (t) => {
  const place = await cliPlace(t, O);
  const { code, out, err } = await place.run(['doctor']);
  assert.equal(code, 0, out);
  assert.equal(err, '');
  assert.match(out, /^ok +node +v\d/m);
  assert.match(out, /^ok +bash +\//m);
  assert.match(out, /^ok +policy .* is not there$/m);
  assert.match(out, /\nall is well\n$/);
  const json = await place.json(['doctor']);
  assert.equal(json.ok, true);
  assert.deepEqual(json.problems, []);
});
test('names of keys that are set are shown, values never', async (t) => {
  const place = await cliPlace(t, { ...O, files: { '~/.config/tappet/config.yaml': 'providers: { corp: { apiKeyEnv: CORP_KEY } }\n' } });
  const env = { ANTHROPIC_API_KEY: 'sk-very-secret', CORP_KEY: 'corp-secret', OPENAI_API_KEY: '' };
  const { out } = await place.run(['doctor'], { env });
  assert.match(out, /^ok +keys +set: ANTHROPIC_API_KEY, CORP_KEY$/m);
  assert.doesNotMatch(out + JSON.stringify(await place.json(['doctor'], { env })), /secret/);
  assert.equal(check(await place.json(['doctor']), 'keys')?.state, 'note');
});
test('a broken file is said with its five facts, and the rest is still checked', async (t) => {
  const { code, out } = await runCli(t, ['doctor'], { ...O, files: { 'agent.config.yaml': 'mode: [\n', '~/.config/tappet/config.yaml': 'moode: x\n' } });
  assert.equal(code, 2);
  assert.match(out, /^WRONG +project layer +agent\.config\.yaml is broken/m);
  assert.match(out, /^WRONG +user layer /m);
  assert.match(out, /E_CONFIG_KEY {2}unknown key "moode"\n {2}where/);
  assert.match(out, /^ok +node/m);
  assert.match(out, /\nsomething is broken\n$/);
});
test('what would stop a start is broken too', async (t) => {
  const { code, out } = await runCli(t, ['doctor', '--set', 'moode=x'], O);
  assert.equal(code, 2);
  assert.match(out, /unknown key "moode"/);
});
test('a mode that no plugin brings is broken, with its place', async (t) => {
  const { code, out } = await runCli(t, ['doctor'], { ...O, files: { '~/.config/tappet/config.yaml': 'mode: nope\n' } });
  assert.equal(code, 2);
  assert.match(out, /E_MODE_UNKNOWN {2}there is no permission mode "nope"\n {2}where {3}.*config\.yaml:1:7 \(user\)\n {2}do {6}choose one of: default\n/);
});
test('settings that wait for trust are a note', async (t) => {
  const place = await cliPlace(t, { ...O, files: { 'agent.config.yaml': 'env: { A: b }\n' } });
  const json = await place.json(['doctor']);
  assert.equal(check(json, 'trust')?.state, 'note');
  assert.equal(json.ok, true);
});
test('without bash something is broken', async (t) => {
  const place = await cliPlace(t, O);
  const { code, out } = await place.run(['doctor'], { env: { PATH: place.project } });
  assert.equal(code, 2);
  assert.match(out, /^WRONG +bash +there is none in PATH: install it/m);
});
test('a code cache that others may write to is broken', { skip: process.platform === 'win32' }, async (t) => {
  const place = await cliPlace(t, O);
  const folder = join(place.home, '.cache/tappet/code', `${process.version}-${process.arch}`);
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o777);
  assert.equal(check(await place.json(['doctor']), 'code cache')?.state, 'wrong');
  await chmod(folder, 0o700);
  assert.equal(check(await place.json(['doctor']), 'code cache')?.state, 'ok');
});
test('places that cannot be made are found out without making them', async (t) => {
  const place = await cliPlace(t, O);
  await place.file('blocked', 'a file, not a folder');
  const json = await place.json(['doctor'], { env: { TAPPET_STATE_DIR: join(place.project, 'blocked/state') } });
  assert.equal(check(json, 'sessions and trust')?.state, 'wrong');
  assert.equal(json.ok, false);
});
test('every place of policy is listed with what became of it, also where it stops every start', async (t) => {
  const p = await cliPlace(t, { plugins: ['cli/parse', 'cli/doctor'] });
  assert.match((await p.run(['doctor'])).out, /policy .*policy\.yaml is not there/);
  await p.file('/etc/tappet/policy.yaml', 'mode: [\n');
  const { code, out } = await p.run(['doctor']);
  assert.equal(code, 2);
  assert.match(out, /E_POLICY_BROKEN/);
  assert.match(out, /policy\.yaml:\d+:\d+ \(policy\)/);
  assert.equal((await p.run(['-p', 'hi'])).code, 3);
});
