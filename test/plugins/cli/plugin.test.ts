import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cliPlace } from '../../support/cli.ts';

const O = {
  plugins: ['cli/parse', 'cli/plugin', 'modes/default', 'modes/plan'], layer: 'mode: default',
  files: { 'agent.config.yaml': 'plugins:\n  acme/x: { use: ./x.ts }\n', 'x.ts': 'export default 1;\n', '~/.config/tappet/config.yaml': 'plugins:\n  modes/plan: false\n  modes/nope: true\n' },
};

test('list tells of each what became of it, whose it is and what it adds', async (t) => {
  const place = await cliPlace(t, O);
  const { code, out } = await place.run(['plugin', 'list']);
  assert.equal(code, 0);
  assert.match(out, /^NAME +STATE +LAYER +FROM +HASH +ADDS\n/);
  assert.match(out, /^acme\/x +untrusted +project +\.\/x\.ts +- +acme\/x: waits until/m);
  assert.match(out, /^modes\/plan +off +user +tappet +-$/m);
  assert.match(out, /^modes\/nope +failed +user +tappet +- +E_PLUGIN_UNKNOWN/m);
  assert.match(out, /^modes\/default +running +built-in +tappet +- +permissionModes:default$/m);
  const reports = await place.json<{ name: string; state: string }[]>(['plugin', 'list']);
  assert.deepEqual(reports.map((r) => [r.name, r.state]).sort(), [['acme/x', 'untrusted'], ['cli/parse', 'running'], ['cli/plugin', 'running'], ['modes/default', 'running'], ['modes/nope', 'failed'], ['modes/plan', 'off']]);
});
test('a narrow terminal gets the last column below, whole', async (t) => {
  const place = await cliPlace(t, O);
  const { out } = await place.run(['plugin', 'list'], { tty: true, columns: 60 });
  assert.match(out, /^acme\/x +untrusted +project +\.\/x\.ts +-\n {4}acme\/x: waits/m);
  assert.ok(out.split('\n').every((l) => l.length <= 60), out);
});
test('why shows who named it, who was beaten and what went wrong', async (t) => {
  const place = await cliPlace(t, O);
  const off = await place.run(['plugin', 'why', 'modes/plan']);
  assert.equal(off.code, 0);
  assert.match(off.out, /state +off\n/);
  assert.match(off.out, /^ {2}user +~\/\.config\/tappet\/config\.yaml:2:15 +false +counts\n {2}built-in .* true +shadowed$/m);
  assert.match((await place.run(['plugin', 'why', 'modes/nope'])).out, /E_PLUGIN_UNKNOWN {2}there is no plugin "modes\/nope"\n {2}where/);
  const { chain, ...report } = await place.json(['plugin', 'why', 'acme/x']);
  assert.equal(report.state, 'untrusted');
  assert.equal(chain[0].status, 'set aside');
});
test('why of an unknown plugin names the nearest', async (t) => {
  const { code, err } = await (await cliPlace(t, O)).run(['plugin', 'why', 'modes/plam']);
  assert.equal(code, 2);
  assert.match(err, /there is no plugin "modes\/plam"\n {2}do {6}did you mean "modes\/plan"\?/);
});
