import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configSchema } from 'tappet/kit';
import { cliPlace, runCli } from '../../support/cli.ts';

const PLUGINS = ['cli/parse', 'cli/config'];
const LAYER = 'mode: default\nlimits: { turns: 50 }';
const PROJECT = 'mode: plan\npermissions:\n  deny: [Read(.env)]\n';
const USER = '# mine\nlimits:\n  turns: 9 # few\npermissions:\n  deny: [Bash(rm *)]\n';

test('list says what counts and where, one line for each layer of a list', async (t) => {
  const place = await cliPlace(t, { plugins: PLUGINS, layer: LAYER, files: { 'agent.config.yaml': PROJECT, '~/.config/tappet/config.yaml': USER } });
  const { code, out, err } = await place.run(['config', 'list']);
  assert.equal(code, 0);
  assert.equal(err, '');
  assert.equal(out, [
    'KEY               VALUE           LAYER    SAID AT',
    'limits.turns      9               user     ~/.config/tappet/config.yaml:3:10',
    'mode              plan            project  agent.config.yaml:1:7',
    'permissions.deny  ["Read(.env)"]  project  agent.config.yaml:3:3',
    'permissions.deny  ["Bash(rm *)"]  user     ~/.config/tappet/config.yaml:5:3',
    'and 2 plugins as they ship: tappet plugin list', '',
  ].join('\n'));
  const rows = await place.json<{ key: string; value: unknown; layer: string; file: string; line: number }[]>(['config', 'list']);
  assert.deepEqual(rows.find((r) => r.key === 'mode'), { key: 'mode', value: 'plan', layer: 'project', file: place.at('agent.config.yaml'), line: 1, column: 7 });
  assert.ok(rows.some((r) => r.key === 'plugins.cli/parse' && r.value === true));
});

test('get prints the value alone; what nobody says ends with 1, what is no key with 2', async (t) => {
  const place = await cliPlace(t, { plugins: PLUGINS, layer: LAYER, files: { 'agent.config.yaml': PROJECT } });
  assert.deepEqual(await place.run(['config', 'get', 'mode']), { code: 0, out: 'plan\n', err: '' });
  assert.deepEqual(await place.run(['config', 'get', 'limits']), { code: 0, out: '{"turns":50}\n', err: '' });
  assert.deepEqual(await place.json(['config', 'get', 'permissions.deny']), ['Read(.env)']);
  assert.deepEqual(await place.run(['config', 'get', 'effort']), { code: 1, out: '', err: 'effort: no layer says it\n' });
  assert.deepEqual(await place.run(['config', 'get', 'effort', '--json']), { code: 1, out: 'null\n', err: '' });
  const wrong = await place.run(['config', 'get', 'limts.turns']);
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /E_CONFIG_KEY {2}unknown key "limts.turns"\n {2}do {6}did you mean "limits.turns"\?/);
});

test('set writes YAML into the file that was chosen, and comments stay', async (t) => {
  const place = await cliPlace(t, { plugins: PLUGINS, layer: LAYER, files: { '~/.config/tappet/config.yaml': USER } });
  const { code, out } = await place.run(['config', 'set', 'limits.turns', '7', '--user']);
  assert.equal(code, 0);
  assert.equal(out, 'limits.turns = 7 is in ~/.config/tappet/config.yaml (user)\n');
  assert.equal(await place.read('~/.config/tappet/config.yaml'), '# mine\nlimits:\n  turns: 7 # few\npermissions:\n  deny: [ Bash(rm *) ]\n');
  await place.run(['config', 'set', 'permissions.allow', '[Bash(npm test), "Edit(src/**)"]', '--user']);
  assert.deepEqual(await place.json(['config', 'get', 'permissions.allow']), ['Bash(npm test)', 'Edit(src/**)']);
});
test('set makes the file where there is none: the local one if nothing else is said', async (t) => {
  const place = await cliPlace(t, { plugins: PLUGINS, layer: LAYER });
  for (const [flag, file] of [[[], 'agent.config.local.yaml'], [['--project'], 'agent.config.yaml'], [['--user'], '~/.config/tappet/config.yaml']] as const) {
    const { code, err } = await place.run(['config', 'set', 'mode', 'plan', ...flag]);
    assert.equal(code, 0, err);
    assert.equal(await place.read(file), 'mode: plan\n');
  }
});
test('set refuses what the result would not allow, and leaves the file alone', async (t) => {
  const place = await cliPlace(t, { plugins: PLUGINS, layer: LAYER, files: { '~/.config/tappet/config.yaml': USER } });
  for (const [argv, message] of [
    [['limits.turns', 'many'], /E_CONFIG_VALUE {2}limits\.turns: .*expected number/], [['limits.turn', '5'], /E_CONFIG_KEY .*\n.*limits\.turns/], [['permissions.deny', '["Bash("]'], /E_CONFIG_RULE {2}.*Bash\(/],
    [['mode', '{a: '], /E_USAGE {2}the value is no YAML/], [['mode', 'null'], /E_USAGE {2}"null" is no value/], [['bounds', '{}'], /E_CONFIG_KEY/],
  ] as const) {
    const { code, out, err } = await place.run(['config', 'set', ...argv, '--user']);
    assert.equal(code, 2, argv.join(' '));
    assert.equal(out, '');
    assert.match(err, message);
  }
  assert.equal(await place.read('~/.config/tappet/config.yaml'), USER);
  assert.match((await place.run(['config', 'set', 'mode', 'plan', '--user', '--local'])).err, /--user and --local cannot be together/);
});
test('set says where the value is written and yet does not count', async (t) => {
  const place = await cliPlace(t, { plugins: PLUGINS, layer: LAYER, files: { '~/.config/tappet/config.yaml': USER, 'agent.config.yaml': PROJECT, '/etc/tappet/policy.yaml': 'bounds: { model: { oneOf: [a/b] } }\n' } });
  assert.match((await place.run(['config', 'set', 'mode', 'acceptEdits', '--user'])).out, /it does not count: agent\.config\.yaml:1:7 \(project\) says plan/);
  assert.match((await place.run(['config', 'set', 'model', 'x/y', '--user'])).out, /it does not count: policy allows one of a\/b/);
  const said = await place.json(['config', 'set', 'model', 'a/b', '--user']);
  assert.deepEqual(said, { key: 'model', layer: 'user', file: place.at('~/.config/tappet/config.yaml'), value: 'a/b', notes: [] });
  const project = await place.run(['config', 'set', 'mode', 'acceptEdits', '--project']);
  assert.match(project.out, /it does not count: a project may only say default, plan, dontAsk/);
  assert.match((await place.run(['config', 'set', 'env.A', 'b', '--project'])).out, /it does not count: waits until this folder is trusted/);
});
test('set tells when a change of the project takes its trust away', async (t) => {
  const place = await cliPlace(t, { plugins: [...PLUGINS, 'cli/trust'], layer: LAYER, files: { 'agent.config.yaml': 'permissions:\n  allow: [Bash(ls)]\n' } });
  await place.run(['trust', '--yes']);
  assert.match((await place.run(['config', 'set', 'mode', 'plan'])).out, /what this folder says has changed: 1 of its settings wait for trust/);
});
test('unset takes a value out, and says where it really stands', async (t) => {
  const place = await cliPlace(t, { plugins: PLUGINS, layer: LAYER, files: { '~/.config/tappet/config.yaml': USER, 'agent.config.yaml': PROJECT } });
  assert.equal((await place.run(['config', 'unset', 'limits.turns', '--user'])).code, 0);
  assert.doesNotMatch(await place.read('~/.config/tappet/config.yaml'), /turns/);
  const wrong = await place.run(['config', 'unset', 'mode', '--user']);
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /the user layer does not say mode\n {2}do {6}it is said at agent\.config\.yaml:1:7 \(project\)/);
  assert.match((await place.run(['config', 'unset', 'effort', '--user'])).err, /nothing to take out/);
});

test('validate says every problem in five facts and ends with 2; without one it ends with 0', async (t) => {
  const place = await cliPlace(t, { plugins: PLUGINS, layer: LAYER, files: { 'agent.config.yaml': PROJECT } });
  assert.deepEqual(await place.run(['config', 'validate']), { code: 0, out: 'no problems in (built-in), agent.config.yaml\n', err: '' });
  await place.file('agent.config.yaml', 'permisions: {}\n');
  await place.file('agent.config.local.yaml', 'permissions:\n  allow:\n    - Shell(ls\n');
  const { code, out } = await place.run(['config', 'validate']);
  assert.equal(code, 2);
  assert.match(out, /E_CONFIG_KEY {2}unknown key "permisions"\n {2}where {3}\S+agent\.config\.yaml:1:1 \(project\)\n {2}cause .*\n {2}do {6}did you mean "permissions"\?\n {2}more/);
  assert.match(out, /E_CONFIG_RULE .*Shell\(ls\n {2}where {3}\S+agent\.config\.local\.yaml:3:7 \(local\)/);
  assert.match(out, /\n2 problems\n$/);
  const json = await place.json(['config', 'validate']);
  assert.equal(json.valid, false);
  assert.deepEqual(json.problems.map((p: { code: string }) => p.code).sort(), ['E_CONFIG_KEY', 'E_CONFIG_RULE']);
});
test('validate also says what would stop a start', async (t) => {
  const { code, out } = await runCli(t, ['config', 'validate', '--settings', '{"modee": 1}'], { plugins: PLUGINS, layer: LAYER });
  assert.equal(code, 2);
  assert.match(out, /unknown key "modee"/);
});
test('validate FILE finds all that is wrong with one file', async (t) => {
  const place = await cliPlace(t, { plugins: PLUGINS, layer: LAYER, files: { 'sub/new.yaml': [
    'mode: 5', 'limits:', '  turn: 3', '  costUsd: -1', 'plugins:', '  Tools/Read: true', '  acme/x: { us: ./x.ts }', 'permissions:', '  deny: [Read(.env), "Bash("]', 'env:', '  A: ${NOT_SET}', '  B: ${NOT_SET:-x}', '  C: $${D}', 'bounds: {}', 'mod: x',
  ].join('\n') } });
  const { valid, problems } = await place.json(['config', 'validate', 'sub/new.yaml']);
  assert.equal(valid, false);
  const found = problems.map((p: { code: string; text: string; origin: { line: number; column: number; file: string } }) => `${p.code} ${p.origin.line}:${p.origin.column} ${p.text}`).join('\n');
  for (const wanted of [/^E_CONFIG_VALUE 1:7 mode: /m, /^E_CONFIG_KEY 3:3 unknown key "turn"/m, /^E_CONFIG_VALUE 4:12 limits\.costUsd/m, /^E_CONFIG_KEY 6:3 unknown key "Tools\/Read"/m, /^E_CONFIG_KEY 7:13 unknown key "us"/m, /^E_CONFIG_RULE 9:22 .*Bash\(/m, /^E_CONFIG_VAR 11:6 env\.A: .*NOT_SET/m, /^E_CONFIG_KEY 15:1 unknown key "mod"/m]) assert.match(found, wanted);
  assert.doesNotMatch(found, /env\.B|env\.C/);
  assert.equal(problems[0].origin.file, place.at('sub/new.yaml'));
  const text = await place.run(['config', 'validate', 'sub/new.yaml']);
  assert.match(text.out, /did you mean "turns"\?/);
  assert.match(text.out, /did you mean "mode"\?/);
});
test('validate FILE of a good, a broken and a missing file', async (t) => {
  const place = await cliPlace(t, { plugins: PLUGINS, layer: LAYER, files: { 'good.yaml': '\ufeff' + PROJECT, 'empty.yaml': '', 'bad.yaml': 'a: 1\na: 2\n', 'policy.yaml': 'bounds: { mode: { oneOf: [plan] } }\n' } });
  for (const file of ['good.yaml', 'empty.yaml']) assert.deepEqual(await place.run(['config', 'validate', file]), { code: 0, out: `no problems in ${file}\n`, err: '' });
  assert.match((await place.run(['config', 'validate', 'bad.yaml'])).out, /E_CONFIG_SYNTAX .*\n {2}where {3}\S+bad\.yaml:2:1/);
  assert.match((await place.run(['config', 'validate', 'policy.yaml'])).out, /only a policy file may say bounds/);
  const missing = await place.run(['config', 'validate', 'none.yaml']);
  assert.equal(missing.code, 2);
  assert.match(missing.out, /E_CONFIG_READ .*none\.yaml/);
});

test('schema is the JSON Schema of a file', async (t) => {
  const place = await cliPlace(t, { plugins: PLUGINS, layer: LAYER });
  assert.deepEqual(JSON.parse((await place.run(['config', 'schema'])).out), configSchema());
  assert.deepEqual(await place.json(['config', 'schema']), configSchema());
});
test('path shows every file and its state, also of broken ones', async (t) => {
  const place = await cliPlace(t, { plugins: PLUGINS, layer: LAYER, files: { 'agent.config.yaml': 'mode: [\n', '/etc/tappet/policy.yaml': 'mode: plan\n' } });
  const { code, out } = await place.run(['config', 'path']);
  assert.equal(code, 0);
  assert.match(out, /^project +broken +agent\.config\.yaml \(.+\)$/m);
  assert.match(out, /^user +absent +~\/\.config\/tappet\/config\.yaml$/m);
  assert.match(out, /^policy +counts /m);
  const json = await place.json<{ layer: string; state: string }[]>(['config', 'path']);
  assert.deepEqual(json.map((l) => `${l.layer} ${l.state}`), ['built-in counts', 'policy counts', 'user absent', 'project broken', 'local absent']);
});
