import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cliPlace } from '../../support/cli.ts';

const PLUGINS = ['cli/parse', 'cli/explain', 'targets/host', 'guards/rules', 'guards/workspace', 'guards/protected-paths', 'modes/default', 'modes/plan', 'modes/accept-edits', 'tools/read', 'tools/write', 'tools/bash'];
const POLICY = 'bounds:\n  mode: { oneOf: [default, plan] }\npermissions:\n  deny: [Read(/etc/shadow)]\n';
const USER = 'mode: plan\nlimits: { turns: 9 }\npermissions:\n  deny:\n    - Bash(rm *)\n    - Read(~/.ssh/**)\n';
const PROJECT = 'mode: acceptEdits\npermissions:\n  allow: [Read(src/**)]\n  deny: [Read(.env)]\nplugins:\n  acme/x: { use: ./x.ts, with: { size: 3 } }\n';
const ALL = { plugins: PLUGINS, layer: 'mode: default\nlimits: { turns: 50 }', files: { '/etc/tappet/policy.yaml': POLICY, '~/.config/tappet/config.yaml': USER, 'agent.config.yaml': PROJECT, 'x.ts': 'export default 1;' } };
const PLAIN = { plugins: PLUGINS, layer: 'mode: default' };

test('a value: what counts, and each layer below and above with the reason', async (t) => {
  const place = await cliPlace(t, ALL);
  const { code, out, err } = await place.run(['explain', 'mode']);
  assert.equal(code, 0);
  assert.equal(err, '');
  assert.equal(out.replaceAll(place.policy, 'POLICY').replace(/ +/g, ' '), [
    'mode = plan',
    ' policy POLICY/policy.yaml:2:3 bound: one of default, plan',
    ' project agent.config.yaml:1:7 acceptEdits set aside: waits until this folder is trusted (`tappet trust`)',
    ' user ~/.config/tappet/config.yaml:1:7 plan counts',
    ' built-in (built-in) default shadowed', '',
  ].join('\n'));
  const json = await place.json(['explain', 'mode']);
  assert.equal(json.value, 'plan');
  assert.deepEqual(json.chain.map((l: { status: string }) => l.status), ['bound', 'set aside', 'counts', 'shadowed']);
});
test('a map explains each of its values, a key inside of an entry what each layer said of it', async (t) => {
  const place = await cliPlace(t, ALL);
  assert.match((await place.run(['explain', 'limits'])).out, /^limits\.turns = 9\n {2}user +~\S+:2:18 +9 +counts\n {2}built-in +\(built-in\) +50 +shadowed\n$/);
  assert.match((await place.run(['explain', 'plugins.acme/x.with.size'])).out, /^plugins\.acme\/x\.with\.size = \(nothing\)\n {2}project +agent\.config\.yaml:6:3 +3 +set aside/);
  assert.match((await place.run(['explain', 'effort'])).out, /^effort = \(nothing\)\n {2}no layer speaks of it\n$/);
});
test('permissions: rule by rule, the strictest list and the highest layer first', async (t) => {
  const place = await cliPlace(t, ALL);
  const { out } = await place.run(['explain', 'permissions']);
  assert.deepEqual(out.replaceAll(place.policy, 'POLICY').trimEnd().split('\n').map((l) => l.replace(/ +/g, ' ')), [
    'deny policy POLICY/policy.yaml:4:10 Read(/etc/shadow) counts',
    'deny project agent.config.yaml:4:10 Read(.env) counts',
    'deny user ~/.config/tappet/config.yaml:5:7 Bash(rm *) counts',
    'deny user ~/.config/tappet/config.yaml:6:7 Read(~/.ssh/**) counts',
    'allow project agent.config.yaml:3:3 Read(src/**) set aside: waits until this folder is trusted (`tappet trust`)',
  ]);
  assert.deepEqual((await place.json(['explain', 'permissions.allow'])).rules.map((r: { rule: string; status: string }) => [r.rule, r.status]), [['Read(src/**)', 'set aside']]);
  assert.equal((await (await cliPlace(t, PLAIN)).run(['explain', 'permissions'])).out, 'no layer says a rule\n');
});
test('a call that a rule denies: the rule and its place', async (t) => {
  const place = await cliPlace(t, { ...PLAIN, files: { 'agent.config.yaml': PROJECT } });
  const { code, out } = await place.run(['explain', 'Read(.env)']);
  assert.equal(code, 0);
  assert.match(out, /^call +Read \{"file_path":"\.env"\}\nanswer +denied\nmode +default, said at \(built-in\) \(built-in\)\nbecause +the rule Read\(\.env\)\nsaid at +agent\.config\.yaml:4:10 \(project\)\n/);
  assert.match(out, /opinions\n(?: {2}.*\n)* {2}deny +project +agent\.config\.yaml:4:10 +the rule Read\(\.env\)\n/);
  const json = await place.json(['explain', 'Read(.env)']);
  assert.equal(json.answer, 'deny');
  assert.equal(json.decision.wouldAsk, false);
  assert.deepEqual(json.wouldAllow, []);
});
test('a call that would be asked: until what, and which rule would allow it', async (t) => {
  const place = await cliPlace(t, PLAIN);
  const { out } = await place.run(['explain', 'Write(a.txt)']);
  assert.match(out, /^answer +a person would be asked; where nobody can be, denied$/m);
  assert.match(out, /^allowed by +\S/m);
  assert.equal((await place.json(['explain', 'Write(a.txt)'])).answer, 'ask');
  assert.equal((await place.json(['explain', 'Write(a.txt)', '--mode', 'acceptEdits'])).answer, 'allow');
  assert.equal((await place.json(['explain', 'Write(a.txt)', '--mode', 'plan'])).answer, 'deny');
  assert.equal((await place.json(['explain', 'Read(a.txt)'])).answer, 'allow');
});
test('the rule that is named does allow the call', async (t) => {
  const place = await cliPlace(t, PLAIN);
  const outside = JSON.stringify({ file_path: place.at('~/notes.txt') });
  const { answer, wouldAllow } = await place.json(['explain', 'Read', '--input', outside]);
  assert.equal(answer, 'ask');
  const rule = wouldAllow.flatMap((u: { rules?: { toolName: string; ruleContent?: string }[] }) => u.rules ?? [])[0];
  await place.file('~/.config/tappet/config.yaml', `permissions:\n  allow: [${JSON.stringify(`${rule.toolName}(${rule.ruleContent})`)}]\n`);
  assert.equal((await place.json(['explain', 'Read', '--input', outside])).answer, 'allow');
});
test('a plugin, or all of them', async (t) => {
  const place = await cliPlace(t, ALL);
  assert.match((await place.run(['explain', 'acme/x'])).out, /^plugin +acme\/x\nstate +untrusted\n/);
  assert.equal((await place.json(['explain', 'acme/x'])).state, 'untrusted');
  assert.match((await place.run(['explain', 'plugins'])).out, /^NAME +STATE/);
  assert.equal((await place.json<unknown[]>(['explain', 'plugins'])).length, PLUGINS.length + 1);
});
test('what nobody knows gets the nearest that somebody does', async (t) => {
  const place = await cliPlace(t, PLAIN);
  for (const [word, near] of [['moode', 'mode'], ['limits.turn', 'limits.turns'], ['modes/plam', 'modes/plan'], ['Raed(x)', 'Read'], ['permission', 'permissions']] as const) {
    const { code, out, err } = await place.run(['explain', word]);
    assert.equal(code, 2, word);
    assert.equal(out, '');
    assert.match(err, new RegExp(`did you mean "${near}"\\?`), word);
  }
  assert.match((await place.run(['explain', 'qqqqqqqqqq'])).err, /name a key/);
});
test('a tool without a call, a broken input and a doubled one are refused', async (t) => {
  const place = await cliPlace(t, PLAIN);
  for (const [argv, message] of [
    [['Read'], /which call of Read\?[\s\S]*--input/], [['Read', '--input', '{'], /--input is no JSON/], [['Read(a)', '--input', '{}'], /both say the input/],
    [['Read', '--input', '{}'], /file_path/], [['Read(a)', '--mode', 'plam'], /plam/],
  ] as const) {
    const { code, err } = await place.run(['explain', ...argv]);
    assert.equal(code, 2, argv.join(' '));
    assert.match(err, message);
  }
});
test('a mode that is not there is not said to stand in a file that says another', async (t) => {
  const { code, err } = await (await cliPlace(t, ALL)).run(['explain', 'Read(a)', '--mode', 'nope']);
  assert.equal(code, 2);
  assert.match(err, /E_MODE_UNKNOWN {2}there is no permission mode "nope"\n {2}do/);
});
