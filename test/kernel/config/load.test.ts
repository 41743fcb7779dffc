/** All layers of a project: which count, what a broken one costs, what flags say, and what happens when files change while a session runs. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Config } from '../../../kernel/config/load.ts';
import { isTappetError, printError } from '../../../kernel/errors.ts';
import { ruleText } from '../../../schemas/permissions.ts';
import { bootOptions, configIn, startIn, trust } from '../../support/layers.ts';
import { project } from '../../support/project.ts';
import type { Project } from '../../support/project.ts';

const USER = '~/.config/tappet/config.yaml';
const denies = (c: Config): string[] => c.rules.filter((r) => r.behavior === 'deny').map((r) => `${r.origin.layer} ${ruleText(r)}`).sort();
const allows = (c: Config): string[] => c.rules.filter((r) => r.behavior === 'allow').map((r) => `${r.origin.layer} ${ruleText(r)}`).sort();
const states = (c: Config): string[] => c.layers.map((l) => `${l.layer} ${l.state}`);
const DENY = (rule: string): string => `permissions:\n  deny: ["${rule}"]\n`;
async function refused(work: Promise<unknown>): Promise<string> {
  try { await work; } catch (e) { assert.ok(isTappetError(e), String(e)); return printError(e); }
  return assert.fail('it started');
}

test('a project file that is broken is set aside and said; the other layers count', async (t) => {
  const p = project(t, { files: { 'agent.config.yaml': 'permisions: {}\n', [USER]: DENY('Read(x)'), 'agent.config.local.yaml': DENY('Read(y)') } });
  const c = await configIn(p);
  assert.deepEqual(denies(c), ['local Read(y)', 'user Read(x)']);
  assert.deepEqual(states(c), ['built-in counts', 'policy absent', 'user counts', 'project broken', 'local counts']);
  assert.equal(c.problems.length, 1);
  assert.match(c.problems[0]!.printed, new RegExp(`where {3}${join(p.dir, 'agent.config.yaml')}:1:1 \\(project\\)`));
  assert.deepEqual([c.problems[0]!.origin?.line, c.problems[0]!.origin?.layer], [1, 'project']);
  assert.deepEqual(c.fatal, []);
});
test('a user file that is broken is set aside and said; the other layers count', async (t) => {
  const p = project(t, { files: { 'agent.config.yaml': DENY('Read(x)'), [USER]: 'permissions: { deny: [' } });
  const c = await configIn(p);
  assert.deepEqual(denies(c), ['project Read(x)']);
  assert.deepEqual(c.problems.map((x) => [x.code, x.origin?.layer]), [['E_CONFIG_SYNTAX', 'user']]);
});
test('a project file that is a folder is said, and nothing else takes its place', async (t) => {
  const p = project(t, { files: { 'package.json': '{"agent": {"mode": "plan"}}' } });
  mkdirSync(join(p.dir, 'agent.config.yaml'));
  const c = await configIn(p);
  assert.equal(c.settings.mode, 'default');
  assert.deepEqual(states(c).slice(3, 4), ['project unreadable']);
  assert.match(c.problems[0]!.text, /it is a folder/);
});
test('a project file that is a link into nothing or in a circle is no silent absence', async (t) => {
  const p = project(t);
  symlinkSync('agent.config.yaml', join(p.dir, 'agent.config.yaml'));
  assert.match((await configIn(p)).problems[0]?.text ?? '', /circle/);
});
test('one malformed rule among many is left out and said, the others work', async (t) => {
  const p = project(t, { files: { [USER]: `permissions:\n  deny:\n${Array.from({ length: 19 }, (_, i) => `    - "Bash(cmd${i} *)"\n`).join('')}    - "Bash(mkdir"\n` } });
  const c = await configIn(p);
  assert.equal(denies(c).length, 19);
  assert.match(c.problems[0]!.printed, /config\.yaml:22:7 \(user\)[^]*write Tool or Tool\(content\)/);
});
test('of the project\'s usual places the first that is there counts: .yaml, .yml, .json, .agentrc, package.json', async (t) => {
  const p = project(t, { files: { 'package.json': `{"agent": ${JSON.stringify({ permissions: { deny: ['Read(package)'] } })}}`, '.agentrc': DENY('Read(rc)'), 'agent.config.json': JSON.stringify({ permissions: { deny: ['Read(json)'] } }), 'agent.config.yml': DENY('Read(yml)'), 'agent.config.yaml': DENY('Read(yaml)') } });
  for (const [name, expected] of [['agent.config.yaml', 'yaml'], ['agent.config.yml', 'yml'], ['agent.config.json', 'json'], ['.agentrc', 'rc'], ['package.json', 'package']] as const) {
    const c = await configIn(p);
    assert.deepEqual(denies(c), [`project Read(${expected})`]);
    assert.equal(c.rules[0]!.origin.file, join(p.dir, name));
    rmSync(join(p.dir, name));
  }
  assert.deepEqual(denies(await configIn(p)), []);
});
test('which of user, project and local are read can be chosen; policy is always read', async (t) => {
  const p = project(t, { files: { 'agent.config.yaml': DENY('Read(p)'), [USER]: DENY('Read(u)'), 'agent.config.local.yaml': DENY('Read(l)'), 'policy:policy.yaml': DENY('Read(policy)') } });
  assert.deepEqual(denies(await configIn(p, { settingSources: ['local'] })), ['local Read(l)', 'policy Read(policy)']);
  assert.deepEqual(denies(await configIn(p, { settingSources: [] })), ['policy Read(policy)']);
});
test('the cache of parsed files changes nothing of what a layer says or where', async (t) => {
  const p = project(t, { files: { 'agent.config.yaml': `mode: plan\n${DENY('Read(x)')}` } });
  const [cold, warm] = [await configIn(p), await configIn(p)];
  assert.deepEqual(warm.settings, cold.settings);
  assert.deepEqual({ ...warm.rules[0]!.origin }, { ...cold.rules[0]!.origin });
});

// ---- policy ----------------------------------------------------------------------------------------------------------------

test('a policy that is broken in any way stops the start, with its place', async (t) => {
  for (const [text, says] of [
    ['permisions: {}\n', /policy\.yaml:1:1 \(policy\)[^]*known here/], ['mode: [', /policy\.yaml:1:8/], ['permissions: { deny: ["Bash("] }', /this is no permission rule: Bash\([^]*policy\.yaml:1:23/],
    ['env: { A: "${HOME}" }', /knows no variables[^]*policy\.yaml:1:11/], [`# ${'x'.repeat(256_000)}`, /larger than 256000 bytes/], ['- a\n', /expected a map/],
  ] as const) {
    const p = project(t, { files: { 'policy:policy.yaml': text } });
    const said = await refused(startIn(p));
    assert.match(said, /^E_POLICY_BROKEN/);
    assert.match(said, says);
  }
});
test('a policy file that is a folder, a link, or in the wrong place or name stops the start', async (t) => {
  const cases: readonly [name: string, make: (p: Project) => void, says: RegExp][] = [
    ['folder', (p) => mkdirSync(p.policy.main), /no regular file/],
    ['not UTF-8', (p) => writeFileSync(p.policy.main, Buffer.from('permissions: { deny: ["Read(caf\xe9)"] }\n', 'latin1')), /not UTF-8/],
    ['link', (p) => { writeFileSync(join(p.home, 'x.yaml'), ''); symlinkSync(join(p.home, 'x.yaml'), p.policy.main); }, /symbolic link/],
    ['dangling link', (p) => symlinkSync(join(p.home, 'nothing'), p.policy.main), /symbolic link/],
    ['other name', (p) => { p.write('policy:policy.yml', 'mode: plan\n'); }, /its name must be policy\.yaml[^]*policy\.yml/],
    ['other name in the folder', (p) => { p.write('policy:policy.d/a.json', '{}'); }, /must end with \.yaml/],
    ['policy.d is a file', (p) => { p.write('policy:policy.d', ''); }, /not a directory/],
    ['policy.d is a link into nothing', (p) => symlinkSync(join(p.home, 'nothing'), p.policy.folder), /no such file/],
    ['a link in policy.d', (p) => { mkdirSync(p.policy.folder); writeFileSync(join(p.home, 'x.yaml'), ''); symlinkSync(join(p.home, 'x.yaml'), join(p.policy.folder, 'x.yaml')); }, /symbolic link/],
  ];
  for (const [name, make, says] of cases) {
    const p = project(t);
    make(p);
    const said = await refused(startIn(p));
    assert.match(said, /^E_POLICY_BROKEN/, name);
    assert.match(said, says, name);
  }
});
test('files of policy.d count after policy.yaml, in the order of their names; others there are ignored', async (t) => {
  const p = project(t, { files: { 'policy:policy.yaml': 'mode: default\n', 'policy:policy.d/20.yaml': 'mode: plan\n', 'policy:policy.d/10.yml': 'mode: dontAsk\n', 'policy:policy.d/README': 'x', 'policy:policy.d/.swp': 'x' } });
  const c = await configIn(p);
  assert.equal(c.settings.mode, 'plan');
  assert.deepEqual(c.files.filter((f) => f.layer === 'policy').map((f) => f.file), [p.policy.main, join(p.policy.folder, '10.yml'), join(p.policy.folder, '20.yaml')]);
});
test('a policy must belong to its owner, and nobody else may write to it or to a folder above it', { skip: process.getuid === undefined }, async (t) => {
  const owner = process.getuid!();
  const start = (p: Project) => startIn(p, { policy: { ...p.policy, owner } });
  const p = project(t, { files: { 'policy:policy.yaml': DENY('Read(x)') } });
  assert.deepEqual(denies(await start(p)), ['policy Read(x)']);
  chmodSync(p.policy.main, 0o664);
  assert.match(await refused(start(p)), /others may write to it[^]*policy\.yaml/);
  chmodSync(p.policy.main, 0o1666);
  assert.match(await refused(start(p)), /others may write to it/, 'a sticky bit on a file protects nothing');
  chmodSync(p.policy.main, 0o644);
  chmodSync(join(p.policy.main, '..'), 0o777);
  assert.match(await refused(start(p)), /others may write to it/);
  chmodSync(join(p.policy.main, '..'), 0o1777);
  assert.deepEqual(denies(await start(p)), ['policy Read(x)']);
});
test('a policy of somebody else is refused', { skip: process.getuid?.() === 0 ? false : 'only root can give files away' }, async (t) => {
  const p = project(t, { files: { 'policy:policy.yaml': DENY('Read(x)') } });
  (await import('node:fs')).chownSync(p.policy.main, 4242, 4242);
  assert.match(await refused(startIn(p, { policy: { ...p.policy, owner: 0 } })), /it must belong to root/);
});

// ---- flags -----------------------------------------------------------------------------------------------------------------

test('--set says values as YAML, for names with slashes and dots too', async (t) => {
  const p = project(t);
  const c = await configIn(p, { set: ['mode=plan', 'limits.turns=3', 'models.a/b-4.1.contextWindow=9', 'plugins.tools/read.with.maxBytes=5', 'permissions.deny=["Read(x)"]', 'env.A=yes', 'thinking=false'] });
  assert.deepEqual(c.fatal, []);
  assert.deepEqual([c.settings.mode, c.settings.limits.turns, c.settings.models['a/b-4.1']?.contextWindow, c.settings.env['A'], c.settings.thinking], ['plan', 3, 9, 'yes', false]);
  assert.deepEqual(denies(c), ['flag Read(x)']);
  assert.deepEqual(c.settings.plugins['tools/read'], { with: { maxBytes: 5 } });
  assert.equal(c.chain('mode')[0]!.origin.file, '--set');
});
test('a flag that is wrong stops the start and is said', async (t) => {
  const p = project(t, { files: { 'bad.yaml': 'mode: [', 'x.js': 'globalThis.ran = 1;' } });
  const cases: readonly [more: object, code: string, says: RegExp][] = [
    [{ set: ['mode'] }, 'E_USAGE', /needs KEY=VALUE/], [{ set: ['moed=plan'] }, 'E_CONFIG_KEY', /did you mean "mode"/], [{ set: ['mode=[a'] }, 'E_CONFIG_SYNTAX', /where {3}--set mode/], [{ set: ['limits.turns=many'] }, 'E_CONFIG_VALUE', /limits\.turns/],
    [{ set: ['__proto__.x=1'] }, 'E_CONFIG_KEY', /__proto__/], [{ set: ['env={__proto__: {x: 1}}'] }, 'E_CONFIG_KEY', /__proto__/], [{ set: ['plugins.acme/x.with={a: {__proto__: 1}}'] }, 'E_CONFIG_KEY', /__proto__/], [{ set: ['permissions.deny=["Bash("]'] }, 'E_CONFIG_RULE', /no permission rule: Bash\($/m],
    [{ set: ['bounds={}'] }, 'E_CONFIG_KEY', /only a policy file/], [{ settings: join(p.dir, 'nothing.yaml') }, 'E_CONFIG_READ', /no such file/], [{ settings: join(p.dir, 'bad.yaml') }, 'E_CONFIG_SYNTAX', /bad\.yaml:1:8 \(flag\)/], [{ settings: join(p.dir, 'x.js') }, 'E_CONFIG_READ', /configuration is data/],
    [{ settings: '{"mode": 5}' }, 'E_CONFIG_VALUE', /where {3}--settings/], [{ settings: '{"permissions": {"deny": ["Bash("]}}' }, 'E_CONFIG_RULE', /Bash\(/],
  ];
  for (const [more, code, says] of cases) {
    const [fatal] = (await configIn(p, more)).fatal;
    assert.equal(fatal?.code, code, JSON.stringify(more));
    assert.match(printError(fatal), says);
  }
  assert.equal((globalThis as { ran?: number }).ran, undefined);
  assert.equal(({} as { x?: number }).x, undefined);
});
test('settings given as JSON or as a file are flags: above the project, below policy', async (t) => {
  const p = project(t, { files: { 'agent.config.yaml': 'mode: dontAsk\n', 'more.json': '{\n\t"mode": "plan"\n}' } });
  assert.equal((await configIn(p, { settings: '{ "mode": "plan" }' })).settings.mode, 'plan');
  const c = await configIn(p, { settings: join(p.dir, 'more.json') });
  assert.deepEqual([c.chain('mode')[0]!.origin.line, c.chain('mode')[0]!.origin.column, c.chain('mode')[0]!.origin.layer], [2, 10, 'flag']);
  p.write('policy:policy.yaml', 'mode: default\n');
  assert.equal((await configIn(p, { settings: '{ "mode": "plan" }', set: ['mode=plan'] })).settings.mode, 'default');
});

// ---- reload ----------------------------------------------------------------------------------------------------------------

const CARE = 'mode: acceptEdits\ndirectories: [/data]\npermissions:\n  deny: ["Bash(wipe *)"]\n  ask: ["Bash(git push)"]\n  allow: ["Read(a)"]\n';
test('a file that breaks while a session runs keeps its last denies and asks, not what it allowed; a later good save counts', async (t) => {
  const p = project(t, { files: { [USER]: CARE } });
  const first = await configIn(p);
  assert.deepEqual(allows(first), ['user Read(a)']);
  assert.equal(await first.stale(), false);
  p.write(USER, '{"permissions": {"deny": [');
  assert.equal(await first.stale(), true);
  const second = await first.reload();
  assert.deepEqual(denies(second), ['user Bash(wipe *)']);
  assert.deepEqual(second.rules.filter((r) => r.behavior === 'ask').map(ruleText), ['Bash(git push)']);
  assert.deepEqual([allows(second), second.settings.directories, second.settings.mode], [[], [], 'default']);
  assert.deepEqual(second.problems.map((x) => x.code), ['E_CONFIG_SYNTAX']);
  assert.equal(await second.stale(), false, 'the same broken file is no news');
  p.write(USER, '{"permissions": {"deny": [ ');
  assert.deepEqual(denies(await second.reload()), ['user Bash(wipe *)'], 'broken twice');
  p.write(USER, DENY('Bash(other)'));
  assert.equal(await second.stale(), true);
  const third = await second.reload();
  assert.deepEqual(denies(third), ['user Bash(other)']);
  assert.deepEqual(third.problems, []);
});
test('a file that is gone while a session runs does not open what it had shut, in any layer; an empty one does', async (t) => {
  for (const [file, layer] of [[USER, 'user'], ['agent.config.yaml', 'project'], ['agent.config.local.yaml', 'local'], ['policy:policy.yaml', 'policy'], ['policy:policy.d/10.yaml', 'policy']] as const) {
    const p = project(t, { files: { [file]: CARE } });
    await trust(p);
    const first = await configIn(p);
    rmSync(p.write(file, CARE));
    assert.equal(await first.stale(), true, layer);
    const gone = await first.reload();
    assert.deepEqual([denies(gone), allows(gone)], [[`${layer} Bash(wipe *)`], []], layer);
    assert.match(gone.problems[0]?.printed ?? '', /it is gone; what it denied and asked still counts until the next start/);
    assert.equal(await gone.stale(), false);
    assert.equal(gone.problems.length, (await gone.reload()).problems.length, 'it is said in the same words, so that it is heard once');
    p.write(file, '# nothing\n');
    assert.equal(await gone.stale(), true);
    assert.deepEqual(denies(await gone.reload()), [], layer);
  }
});
test('an agent key that is taken out of package.json while a session runs is taken out', async (t) => {
  const p = project(t, { files: { 'package.json': '{"agent": {"permissions": {"deny": ["Read(x)"]}}}' } });
  const first = await configIn(p);
  assert.deepEqual(denies(first), ['project Read(x)']);
  p.write('package.json', '{"name": "agent"}');
  const second = await first.reload();
  assert.deepEqual([denies(second), second.problems], [[], []]);
});
test('a policy that breaks while a session runs stays in force without what it allowed, bounds and all; mended in place it counts again', async (t) => {
  const p = project(t, { files: { 'policy:policy.yaml': `mode: plan\n${DENY('Read(x)')}  allow: ["Read(a)"]\nbounds:\n  permissions: { onlyPolicyAllows: true }\n`, 'policy:policy.d/10.yaml': DENY('Read(y)'), [USER]: 'permissions: { allow: ["Read(b)"] }\n' } });
  const first = await configIn(p);
  p.write('policy:policy.d/10.yaml', 'permissions: { deny: [');
  const second = await (async () => { assert.equal(await first.stale(), true); return first.reload(); })();
  assert.deepEqual(denies(second), ['policy Read(x)', 'policy Read(y)']);
  assert.deepEqual([allows(second), second.settings.mode, second.settings.bounds.permissions?.onlyPolicyAllows], [[], 'plan', true]);
  assert.deepEqual(second.layers.filter((l) => l.layer === 'policy').map((l) => l.state), ['broken']);
  p.write('policy:policy.d/10.yaml', DENY('Read(z)'));
  assert.equal(await second.stale(), true, 'a file behind the broken one is watched');
  assert.deepEqual(denies(await second.reload()), ['policy Read(x)', 'policy Read(z)']);
});
test('a policy whose rights are loosened while a session runs is noticed', { skip: process.getuid === undefined }, async (t) => {
  const p = project(t, { files: { 'policy:policy.yaml': DENY('Read(x)') } });
  const first = await configIn(p, { policy: { ...p.policy, owner: process.getuid!() } });
  chmodSync(p.policy.main, 0o666);
  assert.equal(await first.stale(), true);
  const second = await first.reload();
  assert.deepEqual([denies(second), second.problems[0]?.code], [['policy Read(x)'], 'E_POLICY_BROKEN']);
});
test('files that appear while a session runs are noticed: policy, user, project, local, the agent key', async (t) => {
  for (const file of ['policy:policy.yaml', 'policy:policy.d/1.yaml', USER, 'agent.config.yaml', 'agent.config.local.yaml', '.agentrc', 'package.json']) {
    const p = project(t);
    const first = await configIn(p);
    p.write(file, file === 'package.json' ? '{"agent": {"permissions": {"deny": ["Read(x)"]}}}' : DENY('Read(x)'));
    assert.equal(await first.stale(), true, file);
    assert.equal(denies(await first.reload()).length, 1, file);
  }
});
test('what the command line said stays said, though its file changes or goes', async (t) => {
  const p = project(t, { files: { 'flags.yaml': DENY('Read(x)') } });
  const first = await configIn(p, { settings: join(p.dir, 'flags.yaml'), set: ['mode=plan'] });
  p.write('flags.yaml', 'broken: [');
  p.write(USER, DENY('Read(u)'));
  const second = await first.reload();
  assert.deepEqual([denies(second), second.settings.mode, second.fatal], [['flag Read(x)', 'user Read(u)'], 'plan', []]);
});
test('a project that changes while a session runs waits for trust again', async (t) => {
  const p = project(t, { files: { 'agent.config.yaml': 'permissions: { allow: ["Read(a)"] }\n' } });
  await trust(p);
  const first = await configIn(p);
  assert.deepEqual(allows(first), ['project Read(a)']);
  p.write('agent.config.yaml', 'permissions: { allow: ["Bash"], deny: ["Read(x)"] }\n');
  const second = await first.reload();
  assert.deepEqual([allows(second), denies(second)], [[], ['project Read(x)']]);
  await second.grantTrust();
  assert.equal(await second.stale(), true, 'trust itself is watched');
  const third = await second.reload();
  assert.deepEqual(allows(third), ['project Bash']);
  await third.revokeTrust();
  assert.equal(await third.stale(), true);
  assert.deepEqual(allows(await third.reload()), []);
});
test('a file with a byte order mark is read and never rewritten because it could not be', async (t) => {
  const p = project(t);
  const file = p.write('agent.config.json', '\ufeff{"permissions": {"deny": ["Read(x)"]}}');
  assert.deepEqual(denies(await configIn(p)), ['project Read(x)']);
  const bad = p.write(USER, '\ufeff{"permissions": ');
  const c = await configIn(p);
  assert.equal(c.problems.length, 1);
  await assert.rejects(c.write('user', 'mode', 'plan'), { code: 'E_CONFIG_WRITE' });
  assert.deepEqual([readFileSync(file, 'utf8'), readFileSync(bad, 'utf8')], ['\ufeff{"permissions": {"deny": ["Read(x)"]}}', '\ufeff{"permissions": ']);
});
test('the built-in layer counts once where the project is our own repository', async () => {
  const root = join(import.meta.dirname, '../../..');
  const { sourceBuiltins } = await import('../../../kernel/builtins.ts');
  const { configOf } = await import('../../../kernel/boot.ts');
  const c = await configOf({ cwd: join(root, 'kernel'), builtins: sourceBuiltins(), env: { HOME: '/nowhere' }, home: '/nowhere', policy: { main: '/nowhere/policy.yaml', folder: '/nowhere/policy.d', owner: null } });
  assert.equal(c.files.length, 1);
  await assert.rejects(c.write('project', 'mode', 'plan'), /it is the built-in layer/);
});
test('the environment is taken as given: nothing of the process shows', async (t) => {
  const p = project(t, { files: { 'agent.config.yaml': 'model: "a/${PATH_OF_NOBODY:-none}"\n' } });
  assert.equal((await configIn(p)).chain('model')[0]?.value, 'a/none');
  assert.equal(bootOptions(p).env, p.env);
});
