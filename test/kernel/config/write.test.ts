/** Writing back: only the one value changes, whoever writes at the same time, and a killed writer leaves old or new. */
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { parse } from 'yaml';
import { changeRules } from '../../../kernel/config/load.ts';
import { replaceFile, withLock } from '../../../kernel/config/lock.ts';
import { changeValue, pathSteps } from '../../../kernel/config/write.ts';
import { configIn, trust } from '../../support/layers.ts';
import { project } from '../../support/project.ts';

const USER = '~/.config/tappet/config.yaml';
const RICH = `# mine, do not touch
model: "a/b" # the good one

permissions:
  # never
  deny:
    - "Bash(wipe *)" # really never
    - 'Read(**/.env)'
  allow: [Read(a)]

env:
  TOKEN: \${API_TOKEN:-none}
  ZEBRA: 1x
  APPLE: 2x
`;

test('another value changes; comments, order, quotes and ${VAR} stay as they were written', async (t) => {
  const p = project(t, { env: { API_TOKEN: 'secret' } });
  const file = p.write(USER, RICH);
  assert.deepEqual(await (await configIn(p)).write('user', 'effort', 'high'), { file });
  const text = readFileSync(file, 'utf8');
  assert.doesNotMatch(text, /secret/);
  assert.equal(text.replace('effort: high\n', '').replace('[ Read(a) ]', '[Read(a)]'), RICH);
});
test('a rule is added to its list, and one taken out, with the comments of the others', async (t) => {
  const p = project(t);
  const file = p.write(USER, RICH);
  const config = await configIn(p);
  await changeRules(config, 'user', 'deny', (now) => [...now.filter((r) => r !== 'Read(**/.env)'), 'Bash(git push)']);
  const text = readFileSync(file, 'utf8');
  assert.match(text, /# never\n {2}deny:\n {4}- "Bash\(wipe \*\)" # really never\n {4}- Bash\(git push\)\n/);
  assert.doesNotMatch(text, /\.env/);
  await config.write('user', 'permissions.deny', undefined);
  assert.deepEqual(Object.keys(parse(readFileSync(file, 'utf8')).permissions), ['allow']);
});
test('a file that is not there is made, with the folders above it', async (t) => {
  const p = project(t);
  const config = await configIn(p);
  for (const layer of ['user', 'project', 'local'] as const) {
    const { file } = await config.write(layer, 'permissions.allow', ['Bash(npm test)']);
    assert.deepEqual(parse(readFileSync(file, 'utf8')), { permissions: { allow: ['Bash(npm test)'] } });
  }
  assert.deepEqual(readdirSync(p.dir).sort(), ['agent.config.local.yaml', 'agent.config.yaml'], 'nothing else is left behind');
});
test('an empty file and one of comments take a value too', async (t) => {
  for (const text of ['', '# only this\n', '{}\n', '---\n']) {
    const p = project(t, { files: { 'agent.config.local.yaml': text } });
    const { file } = await (await configIn(p)).write('local', 'limits.turns', 3);
    const now = readFileSync(file, 'utf8');
    assert.deepEqual(parse(now), { limits: { turns: 3 } }, text);
    if (text.startsWith('#')) assert.match(now, /# only this/);
  }
});
test('CRLF, a byte order mark and the rights of the file stay', async (t) => {
  const p = project(t);
  const file = p.write(USER, '\ufeff# mine\r\nmode: plan\r\n');
  chmodSync(file, 0o600);
  await (await configIn(p)).write('user', 'permissions.deny', ['Read(x)']);
  assert.equal(readFileSync(file, 'utf8'), '\ufeff# mine\r\nmode: plan\r\npermissions:\r\n  deny:\r\n    - Read(x)\r\n');
  assert.equal(statSync(file).mode & 0o777, 0o600);
});
test('JSON stays JSON, with its indentation, its order and its other keys', async (t) => {
  const p = project(t, { files: { 'agent.config.json': '{\n\t"mode": "plan",\n\t"env": {\n\t\t"A": "${X:-}"\n\t}\n}' } });
  const { file } = await (await configIn(p)).write('project', 'permissions.allow', ['Read(a)']);
  assert.equal(readFileSync(file, 'utf8'), '{\n\t"mode": "plan",\n\t"env": {\n\t\t"A": "${X:-}"\n\t},\n\t"permissions": {\n\t\t"allow": [\n\t\t\t"Read(a)"\n\t\t]\n\t}\n}');
});
test('where the project speaks in package.json its words go there, and no other file hides them', async (t) => {
  const p = project(t, { files: { 'package.json': '{\n  "name": "x",\n  "agent": { "mode": "plan" },\n  "version": "1.0.0"\n}\n' } });
  const { file } = await (await configIn(p)).write('project', 'limits.turns', 3);
  assert.equal(file, join(p.dir, 'package.json'));
  assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), { name: 'x', agent: { mode: 'plan', limits: { turns: 3 } }, version: '1.0.0' });
  assert.equal(existsSync(join(p.dir, 'agent.config.yaml')), false);
});
test('what would make the file wrong is refused, and the file stays', async (t) => {
  const p = project(t);
  const file = p.write(USER, RICH);
  const config = await configIn(p);
  const cases: readonly [path: string, value: unknown, code: string][] = [
    ['modle', 'x', 'E_CONFIG_KEY'], ['limits.turns', -1, 'E_CONFIG_VALUE'], ['permissions.allow', ['Bash('], 'E_CONFIG_RULE'], ['bounds.mode', {}, 'E_CONFIG_VALUE'], ['env.A', '${NOT_SET}', 'E_CONFIG_VAR'], ['model.deeper', 'x', 'E_CONFIG_WRITE'],
  ];
  for (const [path, value, code] of cases) await assert.rejects(config.write('user', path, value), { code }, path);
  assert.equal(readFileSync(file, 'utf8'), RICH);
});
test('a rule that is malformed already does not stop another from being added', async (t) => {
  const p = project(t, { files: { [USER]: 'permissions:\n  deny: ["Bash(", "Read(x)"]\n' } });
  await changeRules(await configIn(p), 'user', 'deny', (now) => [...now, 'Read(y)']);
  assert.deepEqual(parse(readFileSync(join(p.home, '.config/tappet/config.yaml'), 'utf8')), { permissions: { deny: ['Bash(', 'Read(x)', 'Read(y)'] } });
});
test('a link is written through; one that leads out of the project is refused', async (t) => {
  const p = project(t);
  const kept = p.write('~/dotfiles/tappet.yaml', 'mode: plan\n');
  mkdirSync(join(p.home, '.config/tappet'), { recursive: true });
  symlinkSync(kept, join(p.home, '.config/tappet/config.yaml'));
  symlinkSync(kept, join(p.dir, 'agent.config.local.yaml'));
  const config = await configIn(p);
  await config.write('user', 'effort', 'low');
  assert.equal(readFileSync(kept, 'utf8'), 'mode: plan\neffort: low\n');
  assert.ok(lstatSync(join(p.home, '.config/tappet/config.yaml')).isSymbolicLink());
  await assert.rejects(config.write('local', 'effort', 'high'), /outside of the project/);
  assert.equal(readFileSync(kept, 'utf8'), 'mode: plan\neffort: low\n');
});
test('a file that cannot be written is said', async (t) => {
  const p = project(t);
  mkdirSync(join(p.dir, 'agent.config.local.yaml'));
  await assert.rejects((await configIn(p)).write('local', 'mode', 'plan'), { code: 'E_CONFIG_WRITE' });
});
test('any list of rules is written and read back, beside comments that stay', async (t) => {
  const p = project(t);
  const file = join(p.dir, 'agent.config.local.yaml');
  const rule = fc.stringMatching(/^Bash\([ -~äß"'#:{}\\]{1,12}\)$/).filter((r) => !r.includes('${') && !r.startsWith('Bash(!'));
  await fc.assert(fc.asyncProperty(fc.uniqueArray(rule, { maxLength: 4 }), fc.uniqueArray(rule, { maxLength: 4 }), async (first, second) => {
    writeFileSync(file, '# top\npermissions:\n  # inside\n  ask: []\n');
    const config = await configIn(p);
    await changeRules(config, 'local', 'deny', () => first);
    await changeRules(config, 'local', 'deny', () => second);
    const text = readFileSync(file, 'utf8');
    assert.deepEqual([...parse(text).permissions.deny].sort(), [...second].sort()); // what stays keeps its place; the order of rules says nothing
    assert.match(text, /# top[^]*# inside/);
  }), { numRuns: 15 });
});

test('writers at the same time lose nothing', async (t) => {
  const p = project(t);
  const config = await configIn(p);
  const names = Array.from({ length: 12 }, (_, i) => `Bash(cmd${i})`);
  await Promise.all(names.map((n) => changeRules(config, 'local', 'allow', (now) => [...now, n])));
  assert.deepEqual([...parse(readFileSync(join(p.dir, 'agent.config.local.yaml'), 'utf8')).permissions.allow].sort(), [...names].sort());
  assert.deepEqual(readdirSync(p.dir), ['agent.config.local.yaml']);
});
test('a lock whose owner is dead is broken, by one of all who wait; what dead writers left is swept', async (t) => {
  const p = project(t);
  const file = join(p.dir, 'x.lock');
  writeFileSync(file, JSON.stringify({ pid: 2 ** 22 + 1, start: '1', host: hostname(), nonce: 'dead' }));
  writeFileSync(join(p.dir, `.x.${2 ** 22 + 1}.00000000.tmp`), 'half');
  let inside = 0;
  let most = 0;
  await Promise.all(Array.from({ length: 8 }, () => withLock(file, async () => { most = Math.max(most, ++inside); await new Promise((r) => setImmediate(r)); inside--; })));
  assert.equal(most, 1);
  assert.deepEqual(readdirSync(p.dir), []);
});
test('a lock of a process with the same number but another start is broken', { skip: process.platform !== 'linux' }, async (t) => {
  const p = project(t);
  const file = join(p.dir, 'x.lock');
  writeFileSync(file, JSON.stringify({ pid: process.pid, start: '1', host: hostname(), nonce: 'older' }));
  assert.equal(await withLock(file, async () => 'in'), 'in');
});
test('work that fails lets the lock go', async (t) => {
  const p = project(t);
  await assert.rejects(withLock(join(p.dir, 'x.lock'), async () => { throw new Error('no'); }), /no/);
  assert.deepEqual(readdirSync(p.dir), []);
});
test('a writer that is killed leaves the old file or the new one, and the next one writes', async (t) => {
  const p = project(t);
  const file = join(p.dir, 'agent.config.local.yaml');
  const big = (n: number): string => `# ${String(n).repeat(100_000)}\n`;
  writeFileSync(file, big(1));
  const child = fork(join(import.meta.dirname, '../../support/rewriter.ts'), [file], { execArgv: ['--conditions=tappet-src', '--import', 'tsx'], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  await new Promise<void>((resolve) => child.on('message', (n) => { if (n === 20) { child.kill('SIGKILL'); resolve(); } }));
  await new Promise((resolve) => child.once('exit', resolve));
  const text = readFileSync(file, 'utf8');
  assert.ok(/^# (\d)\1{99999}\n$/.test(text), `${text.length} characters were left`);
  await changeValue(file, 'mode', () => 'plan', { check: async () => {} });
  assert.match(readFileSync(file, 'utf8'), /mode: plan\n$/);
  assert.deepEqual(readdirSync(p.dir), ['agent.config.local.yaml']);
});
test('a file that could not be replaced leaves no temporary one', async (t) => {
  const p = project(t);
  mkdirSync(join(p.dir, 'full'));
  writeFileSync(join(p.dir, 'full/x'), '');
  await assert.rejects(replaceFile(join(p.dir, 'full'), 'text', null));
  assert.deepEqual(readdirSync(p.dir), ['full']);
});
test('a path is cut at its dots, but not inside of a name', () => {
  assert.deepEqual(['mode', 'limits.turns', 'plugins.acme/x', 'plugins.acme/x.with.a.b', 'models.a/b-4.1', 'models.a/b-4.1.prices.input', 'providers.a.timeouts.firstByteMs', 'env.A', 'env'].map(pathSteps), [
    ['mode'], ['limits', 'turns'], ['plugins', 'acme/x'], ['plugins', 'acme/x', 'with', 'a', 'b'], ['models', 'a/b-4.1'], ['models', 'a/b-4.1', 'prices', 'input'], ['providers', 'a', 'timeouts', 'firstByteMs'], ['env', 'A'], ['env'],
  ]);
});
test('a rule that was allowed for good counts after the next reload', async (t) => {
  const p = project(t);
  await trust(p);
  const config = await configIn(p);
  await changeRules(config, 'user', 'allow', (now) => [...now, 'Bash(npm test)']);
  assert.equal(await config.stale(), true);
  assert.deepEqual((await config.reload()).settings.permissions.allow, ['Bash(npm test)']);
});
