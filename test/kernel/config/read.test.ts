/** Bad input for every kind of file: what is wrong is said with file, line, column and what to do. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkLayer } from '../../../kernel/config/check.ts';
import { MAX_TOKENS } from '../../../kernel/config/parse.ts';
import { readConfigFile, readConfigText } from '../../../kernel/config/read.ts';
import { printError, TappetError } from '../../../kernel/errors.ts';
import type { Layer } from '../../../schemas/index.ts';
import { configIn } from '../../support/layers.ts';
import { project } from '../../support/project.ts';

const layerOf = async (text: string, layer: Layer = 'user', env: Record<string, string> = {}) => checkLayer(await readConfigText(text, '/f.yaml', { layer }), layer, env);
async function errorOf(work: Promise<unknown>): Promise<TappetError> {
  try { await work; } catch (e) { assert.ok(e instanceof TappetError, `it threw ${String(e)}`); return e; }
  return assert.fail('nothing was thrown');
}

type Bad = readonly [name: string, text: string, code: string, place: string, says: RegExp, more?: { readonly env?: Record<string, string> }];
const BAD: readonly Bad[] = [
  ['an unknown key, with the nearest', 'model: a/b\npermisions:\n  deny: []\n', 'E_CONFIG_KEY', '2:1', /did you mean "permissions"\?/],
  ['an unknown key inside, with the nearest', 'limits:\n  turns: 3\n  costUSD: 5\n', 'E_CONFIG_KEY', '3:3', /did you mean "costUsd"\?/],
  ['an unknown key of a plugin entry', 'plugins:\n  acme/x: { use: ./x.ts, wiht: {} }\n', 'E_CONFIG_KEY', '2:26', /did you mean "with"\?/],
  ['what is known, where nothing is near', 'limits: { zzzzzzzz: 1 }\n', 'E_CONFIG_KEY', '1:11', /known here: costUsd, turns, timeMs, outputTokens/],
  ['a plugin name without a slash', 'plugins:\n  read: true\n', 'E_CONFIG_KEY', '2:3', /kind\/name/],
  ['a wrong type', 'model: [a]\n', 'E_CONFIG_VALUE', '1:1', /model: .*expected string/],
  ['a wrong type deep inside', 'models:\n  a/b:\n    prices: { input: 1, output: cheap }\n', 'E_CONFIG_VALUE', '3:33', /models\.a\/b\.prices\.output.*expected number/],
  ['a number that is too small', 'limits: { turns: 0 }\n', 'E_CONFIG_VALUE', '1:18', /limits\.turns/],
  ['a value that is nothing', 'mode:\nmodel: a/b\n', 'E_CONFIG_VALUE', '1:6', /expected string/],
  ['a key that stands twice', 'mode: plan\nmodel: a/b\nmode: default\n', 'E_CONFIG_SYNTAX', '3:1', /"mode" stands twice/],
  ['a key that stands twice as text and as number', 'env:\n  1: a\n  "1": b\n', 'E_CONFIG_SYNTAX', '3:3', /"1" stands twice/],
  ['a key that is a number', '7: x\n', 'E_CONFIG_KEY', '1:1', /unknown key "7"/],
  ['a key that is a list', '? [a, b]\n: c\n', 'E_CONFIG_SYNTAX', '1:3', /a key must be a word/],
  ['a tab that indents', 'permissions:\n\tdeny: []\n', 'E_CONFIG_SYNTAX', '2:1', /indent with spaces/],
  ['brackets that do not close', 'permissions: { deny: [', 'E_CONFIG_SYNTAX', '1:23', /Flow sequence|must end/],
  ['a second document', 'mode: plan\n---\nmode: default\n', 'E_CONFIG_SYNTAX', '2:1', /second document/],
  ['a list instead of a map', '- mode\n', 'E_CONFIG_VALUE', '1:1', /expected a map of keys, found a list/],
  ['text instead of a map', 'hello there\n', 'E_CONFIG_VALUE', '1:1', /found a string/],
  ['an unknown tag', 'model: !secret x\n', 'E_CONFIG_SYNTAX', '1:8', /tag/i],
  ['a tag that would make an object of another kind', 'env:\n  A: !!binary aGk=\n', 'E_CONFIG_SYNTAX', '2:15', /tag/],
  ['a set', 'env: !!set { A }\n', 'E_CONFIG_SYNTAX', '1:12', /tag/],
  ['a number without end', 'limits: { costUsd: .inf }\n', 'E_CONFIG_SYNTAX', '1:20', /finite/],
  ['an alias', 'env: &a { X: y }\nmodel: *a\n', 'E_CONFIG_SYNTAX', '2:8', /aliases \(\*a\) are not allowed/],
  ['an alias that leads nowhere', 'model: *a\n', 'E_CONFIG_SYNTAX', '1:8', /alias/],
  ['a bomb of aliases', `a: &a [x,x]\n${[...'bcdefghij'].map((k, i) => `${k}: &${k} [*${'abcdefghij'[i]},*${'abcdefghij'[i]}]`).join('\n')}\n`, 'E_CONFIG_SYNTAX', '2:8', /aliases/],
  ['__proto__', 'env:\n  __proto__: { polluted: yes }\n', 'E_CONFIG_KEY', '2:3', /every object/],
  ['constructor', 'constructor: 1\n', 'E_CONFIG_KEY', '1:1', /every object/],
  ['brackets nested too deep', `model: ${'['.repeat(100_000)}`, 'E_CONFIG_SYNTAX', '1:217', /nested deeper than 100/],
  ['dashes nested too deep', '- '.repeat(100_000), 'E_CONFIG_SYNTAX', '1:420', /nested deeper than 100/],
  ['lines nested too deep', Array.from({ length: 103 }, (_, i) => `${' '.repeat(i)}a:`).join('\n'), 'E_CONFIG_SYNTAX', '102:102', /nested deeper than 100/],
  ['more words than a person writes', '\n'.repeat(MAX_TOKENS) + 'a: b', 'E_CONFIG_SYNTAX', `${MAX_TOKENS + 1}:1`, /too large/],
  ['a variable that is not set', 'env:\n  A: "${NOT_SET}"\n', 'E_CONFIG_VAR', '2:6', /NOT_SET is not set/],
  ['a variable that is none', 'model: "${my-model}"\n', 'E_CONFIG_VALUE', '1:8', /\$\{my-model\} is no variable/],
  ['a variable that never ends', 'model: "${A"\n', 'E_CONFIG_VALUE', '1:8', /is no variable/, { env: { A: 'x' } }],
  ['bounds outside of a policy', 'mode: plan\nbounds:\n  mode: { oneOf: [plan] }\n', 'E_CONFIG_KEY', '2:1', /only a policy file/],
];
for (const [name, text, code, place, says, more] of BAD) {
  test(`${name}: said with its place and what to do`, async () => {
    const e = await errorOf(layerOf(text, 'user', more?.env));
    assert.equal(e.code, code);
    assert.equal(e.where, `/f.yaml:${place} (user)`);
    assert.match(printError(e), says);
    assert.match(printError(e), /\n {2}do {6}\S/);
  });
}

test('the same complaints carry the name of the layer that holds them', async () => {
  for (const layer of ['project', 'local', 'flag', 'policy'] as const) assert.match((await errorOf(layerOf('modle: x\n', layer))).where ?? '', new RegExp(`\\(${layer}\\)$`));
});
test('outside of a policy the key bounds is not suggested', async () => {
  assert.doesNotMatch(printError(await errorOf(layerOf('bunds: {}\n'))), /bounds/);
  assert.match(printError(await errorOf(layerOf('bunds: {}\n', 'policy'))), /did you mean "bounds"/);
});

test('an empty file, a file of blanks and one of comments say nothing', async () => {
  for (const text of ['', ' \n\n', '# nothing\n', '---\n', '{}', '\ufeff']) assert.deepEqual((await layerOf(text)).value, {});
});
test('a byte order mark and CRLF change neither values nor places', async () => {
  const layer = await layerOf('\ufeffmodel: a/b\r\npermissions:\r\n  deny:\r\n    - "Read(x)"\r\n');
  assert.deepEqual(layer.value, { model: 'a/b', permissions: { deny: ['Read(x)'] } });
  assert.deepEqual([layer.origin('model').line, layer.origin('model').column], [1, 8]);
  assert.deepEqual([layer.origin('permissions.deny.0').line, layer.origin('permissions.deny.0').column], [4, 7]);
});
test('JSON with tabs, escapes and CRLF is read like any other file', async () => {
  const layer = await layerOf('{\r\n\t"model": "a\\/b",\r\n\t"permissions": {\r\n\t\t"deny": [\r\n\t\t\t"Read(\\u0041)"\r\n\t\t]\r\n\t}\r\n}\r\n');
  assert.deepEqual(layer.value, { model: 'a/b', permissions: { deny: ['Read(A)'] } });
  assert.deepEqual([layer.origin('permissions.deny.0').line, layer.origin('permissions.deny.0').column], [5, 4]);
});
test('yes, on and no stay words', async () => {
  assert.deepEqual((await layerOf('env: { A: yes, B: on, C: no }\n')).value.env, { A: 'yes', B: 'on', C: 'no' });
});

test('variables are filled once, with defaults, and $${ stands for ${', async () => {
  const env = { A: 'one', EMPTY: '', NESTED: '${A}' };
  const { value } = await layerOf('env:\n  A: "<${A}>"\n  B: "${NONE:-two}"\n  C: "${NONE:-}"\n  D: "$${A}"\n  E: "${NESTED}"\n  F: "${EMPTY}"\n  G: "${EMPTY:-three}"\n  H: "$A"\n', 'user', env);
  assert.deepEqual(value.env, { A: '<one>', B: 'two', C: '', D: '${A}', E: '${A}', F: '', G: 'three', H: '$A' });
});
test('what every object has is no variable', async () => {
  assert.equal((await errorOf(layerOf('model: "${constructor}"\n'))).code, 'E_CONFIG_VAR');
});
test('a policy knows no variables, whether they are set or not', async () => {
  const e = await errorOf(layerOf('permissions:\n  deny: ["Read(${HOME}/x)"]\n', 'policy', { HOME: '/h' }));
  assert.equal(e.where, '/f.yaml:2:10 (policy)');
  assert.match(e.message, /a policy knows no variables/);
});

test('one malformed rule is left out and said; the others keep their places', async () => {
  const layer = await layerOf('permissions:\n  deny:\n    - "Bash(rm *)"\n    - "Bash(mkdir"\n    - "Read(!x)"\n    - "Read(b)"\n');
  assert.deepEqual(layer.problems.map((p) => [p.code, p.origin?.line, p.origin?.column]), [['E_CONFIG_RULE', 4, 7], ['E_CONFIG_RULE', 5, 7]]);
  assert.match(layer.problems[0]!.printed, /write Tool or Tool\(content\)/);
  assert.deepEqual([layer.value.permissions?.deny?.[0], layer.value.permissions?.deny?.[3]], ['Bash(rm *)', 'Read(b)']);
  assert.equal(layer.origin('permissions.deny.3').line, 6);
});
test('a list of rules that is a map, and rules that are no list, are said as such', async () => {
  assert.match((await errorOf(layerOf('permissions: [Bash]\n'))).message, /permissions: .*expected object/);
  assert.match((await errorOf(layerOf('permissions: { deny: Bash }\n'))).message, /permissions\.deny: .*expected array/);
  assert.match((await errorOf(layerOf('permissions: { deny: [7] }\n'))).message, /permissions\.deny\.0: .*expected string/);
});

test('files that would keep a parser busy for long are refused before they do', async () => {
  const texts = [Array.from({ length: 60_000 }, (_, i) => `k${i}: v`).join('\n'), `[${','.repeat(800_000)}`, '- &a '.repeat(150_000), '{a: '.repeat(200_000), 'a: >\n'.repeat(100_000), '? '.repeat(100_000)];
  for (const text of texts) assert.match((await errorOf(readConfigText(text, '/f.yaml', { layer: 'project' }))).message, /too large|nested deeper/);
  assert.equal((await errorOf(readConfigText('"'.repeat(900_000), '/f.yaml', { layer: 'project' }))).code, 'E_CONFIG_SYNTAX');
});

test('a folder, a socket, a file that is too large or not UTF-8 and links in a circle cannot be read, and are said; a missing file is none', async (t) => {
  const p = project(t);
  const at = (name: string) => join(p.dir, name);
  mkdirSync(at('folder.yaml'));
  const server = createServer().listen(at('socket.yaml'));
  await new Promise((r) => server.once('listening', r));
  t.after(() => server.close());
  writeFileSync(at('large.yaml'), `# ${'x'.repeat(1_000_001)}`);
  symlinkSync(at('circle.yaml'), at('circle.yaml'));
  writeFileSync(at('latin.yaml'), Buffer.from('permissions: { deny: ["Read(caf\xe9)"] }\n', 'latin1'));
  const said = async (name: string) => { const e = await errorOf(readConfigFile(at(name), { layer: 'user' })); assert.equal(e.code, 'E_CONFIG_READ'); return e.message; };
  assert.match(await said('folder.yaml'), /it is a folder/);
  assert.match(await said('socket.yaml'), /no regular file/);
  assert.match(await said('large.yaml'), /larger than 1000000 bytes/);
  assert.match(await said('circle.yaml'), /circle/);
  assert.match(await said('latin.yaml'), /not UTF-8/);
  assert.equal(await readConfigFile(at('nothing.yaml'), { layer: 'user' }), null);
});
test('a file without read permission is said', { skip: process.getuid?.() === 0 ? 'root reads everything' : false }, async (t) => {
  const p = project(t, { files: { 'x.yaml': 'mode: plan\n' } });
  chmodSync(join(p.dir, 'x.yaml'), 0);
  assert.match((await errorOf(readConfigFile(join(p.dir, 'x.yaml'), { layer: 'user' }))).message, /permission denied/);
});
test('a file that would have to be run, or that nobody can read, is refused as configuration', async (t) => {
  const p = project(t, { files: { 'x.cjs': 'globalThis.ran = true; module.exports = { mode: "plan" };', 'x.toml': 'mode = "plan"\n' } });
  const e = await errorOf(readConfigFile(join(p.dir, 'x.cjs'), { layer: 'flag' }));
  assert.match(e.message, /configuration is data/);
  assert.equal((globalThis as { ran?: boolean }).ran, undefined);
  assert.equal((await errorOf(readConfigFile(join(p.dir, 'x.toml'), { layer: 'flag' }))).code, 'E_CONFIG_READ');
});

test('the agent key of package.json is a project layer with places in that file; without the key the file is of no interest', async (t) => {
  const p = project(t, { files: { 'package.json': '{\n\t"name": "x",\n\t"agent": {\n\t\t"mode": "plan",\n\t\t"modle": "a"\n\t}\n}\n' } });
  const broken = await configIn(p);
  assert.match(broken.problems[0]!.printed, new RegExp(`where {3}${join(p.dir, 'package.json')}:5:3 \\(project\\)[^]*did you mean "model"`));
  p.write('package.json', '{\n\t"agent": {\n\t\t"mode": "plan"\n\t}\n}\n');
  const { origin, status } = (await configIn(p)).chain('mode')[0]!;
  assert.deepEqual([origin.file, origin.line, origin.column, status], [join(p.dir, 'package.json'), 3, 11, 'counts']);
  for (const text of ['{ "name": "x", "name": "y", }', '{ broken', '[1]', '{"a": "agent"}', '{"a": {"agent": 1}}']) {
    p.write('package.json', text);
    assert.deepEqual((await configIn(p)).problems.filter((x) => !text.includes('"agent"') || x.code !== 'E_CONFIG_SYNTAX'), [], text);
  }
});
test('the agent key that is no map is said at its place', async (t) => {
  const p = project(t, { files: { 'package.json': '{\n "agent": "me"\n}\n' } });
  assert.match((await configIn(p)).problems[0]!.printed, /expected a map of keys, found a string[^]*package\.json:2:11 \(project\)/);
});

test('a parsed file is taken from the cache only if it is ours alone, and says the same as a fresh one', async (t) => {
  const p = project(t, { files: { 'x.yaml': 'permissions:\n  deny: [Read]\n' } });
  const cache = join(p.home, 'cache');
  const file = join(p.dir, 'x.yaml');
  const fresh = await readConfigFile(file, { layer: 'user', cache });
  const kept = (await import('node:fs')).readdirSync(cache).map((f) => join(cache, f));
  assert.equal(kept.length, 1);
  writeFileSync(kept[0]!, (await import('node:fs')).readFileSync(kept[0]!, 'utf8').replace('Read', 'Kept'));
  const again = await readConfigFile(file, { layer: 'user', cache });
  assert.deepEqual(again?.value, { permissions: { deny: ['Kept'] } });
  assert.deepEqual(again?.at('permissions.deny.0'), fresh?.at('permissions.deny.0'));
  chmodSync(kept[0]!, 0o666);
  assert.deepEqual((await readConfigFile(file, { layer: 'user', cache }))?.value, { permissions: { deny: ['Read'] } });
  rmSync(kept[0]!, { force: true });
  mkdirSync(kept[0]!);
  assert.deepEqual((await readConfigFile(file, { layer: 'user', cache }))?.value, { permissions: { deny: ['Read'] } });
});
