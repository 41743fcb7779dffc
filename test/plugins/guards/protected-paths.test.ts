import assert from 'node:assert/strict';
import { mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { JudgedCall, Said, SourcedRule } from 'tappet/schemas';
import protectedPaths from '../../../plugins/guards/protected-paths.ts';
import { judgedCall, originOf, sourcedRule } from '../../contracts/calls.ts';
import type { CollectOptions } from '../../contracts/collect.ts';
import { collect } from '../../contracts/collect.ts';
import { guardContract, sayings } from '../../contracts/guard.ts';

guardContract(protectedPaths);

const FOLDERS = { root: '/work/p', config: '/home/u/.config/tappet', state: '/home/u/.local/state/tappet', cache: '/home/u/.cache/tappet', home: '/home/u' };
const judge = async (over: Partial<JudgedCall>, o: CollectOptions = {}): Promise<readonly Said[]> => sayings((await collect(protectedPaths, { folders: FOLDERS, ...o })).guards[0]!, judgedCall(over));
const writing = (path: string, real: string | null = path, o: CollectOptions = {}) => judge({ tool: 'Write', subjects: [{ kind: 'path', access: 'write', path, real }] }, o);
const reading = (path: string, real: string | null = path) => judge({ tool: 'Read', subjects: [{ kind: 'path', access: 'read', path, real }] });
const opaque = (rules: readonly SourcedRule[], tool = 'Bash') => judge({ tool, rules, subjects: [{ kind: 'opaque', why: 'eval' }] });

const LISTED = [
  '.git/config', '.git/hooks/pre-commit', '.config/git/config', '.vscode/tasks.json', '.idea/workspace.xml', '.husky/pre-commit', '.cargo/config.toml', '.devcontainer/devcontainer.json', '.yarn/releases/yarn.cjs', '.mvn/extensions.xml',
  '.claude/settings.json', '.gitconfig', '.gitmodules', '.bashrc', '.bash_profile', '.bash_login', '.bash_aliases', '.bash_logout', '.zshrc', '.zprofile', '.zshenv', '.zlogin', '.zlogout', '.profile', '.envrc', '.npmrc', '.yarnrc', '.yarnrc.yml',
  '.pnp.cjs', '.pnp.loader.mjs', '.pnpmfile.cjs', 'bunfig.toml', '.bunfig.toml', '.bazelrc', '.bazelversion', '.bazeliskrc', '.pre-commit-config.yaml', 'lefthook.yml', '.lefthook.yaml', 'gradle/wrapper/gradle-wrapper.properties',
  '.mvn/wrapper/maven-wrapper.properties', '.devcontainer.json', '.ripgreprc', 'pyrightconfig.json', '.mcp.json', '.claude.json', 'agent.config.yaml', 'agent.config.local.yaml', '.agentrc', 'agents/x.agent.yaml', 'deep/y.agent.yml', 'agents/z.md', 'agents/z.yaml',
];
for (const path of LISTED) {
  test(`asks until a mode before ${path} is written`, async () => {
    const [said] = await writing(`/work/p/${path}`);
    assert.ok(said?.behavior === 'ask' && said.until === 'mode', JSON.stringify(said));
    assert.equal(said.reason?.kind, 'safetyCheck');
  });
}
for (const path of ['src/a.ts', 'git/config', '.gitignore', '.github/workflows/ci.yml', 'package.json', 'AGENTS.md', 'src/agents/x.md', 'docs/.config/readme', '.env', 'agents/code.ts', 'x.git/y', '.claude/worktrees/w/src/a.ts', 'my.bashrc']) {
  test(`has nothing against writing ${path}`, async () => assert.deepEqual(await writing(`/work/p/${path}`), []));
}
for (const path of ['/home/u/.ssh/authorized_keys', '/home/u/.aws/config', '/home/u/.kube/config', '/home/u/.netrc', '/home/u/.config/fish/config.fish', '/home/u/.config/tappet/config.yaml', '/home/u/.local/state/tappet/trust.json', '/home/u/.cache/tappet/x', '/etc/tappet/policy.d/a.yaml', '/home/u', '/']) {
  test(`protects ${path} outside of the project`, async () => assert.equal((await writing(path)).length, 1));
}

test('says which name is protected and why', async () => {
  const [said] = await writing('/work/p/.git/hooks/post-commit');
  assert.equal(said?.behavior === 'ask' ? said.message : '', '/work/p/.git/hooks/post-commit is protected (.git: version control reads it, and runs what it says)');
});
for (const path of ['.GIT/config', '.Git/config', '.g\u200cit/config', '.git./config', '.git /config', '.git::$INDEX_ALLOCATION/config', 'git~1/config', '.\u017f\u017fh/id_rsa', 'sub/../.git/config', '.claude/worktrees/../settings.json', '.claude/worktrees', 'a\\.git\\config', '.claude/worktrees/w/.git/config']) {
  test(`is not deceived by the spelling ${JSON.stringify(path)}`, async () => assert.equal((await writing(`/work/p/${path}`)).length, 1));
}
test('looks behind a link', async () => {
  assert.equal((await writing('/work/p/harmless', '/work/p/.git/config')).length, 1);
  assert.equal((await writing('/work/p/.git/x', '/work/p/elsewhere')).length, 1);
});
test('reading what is protected needs no question, but for credentials', async () => {
  assert.deepEqual(await reading('/work/p/.git/config'), []);
  assert.deepEqual(await reading('/work/p/agent.config.yaml'), []);
});
for (const path of ['.ssh/keys/config', '.ssh/id_ed25519', '.ssh/work_key', '.ssh', '.aws/credentials', '.netrc', '.git-credentials', '.docker/config.json', '.config/gcloud/credentials.db', '.kube/config', '.local/state/tappet/mcp/tokens.json', '.SSH/id_rsa']) {
  test(`asks until a rule before ~/${path} is read`, async () => {
    const [said] = await reading(`/home/u/${path}`);
    assert.ok(said?.behavior === 'ask' && said.until === 'rule', JSON.stringify(said));
    assert.equal(said.reason?.kind, 'safetyCheck');
  });
}
for (const path of ['.ssh/config', '.ssh/known_hosts', '.ssh/known_hosts.old', '.ssh/id_rsa.pub', '.docker/daemon.json', '.local/state/tappet/x']) {
  test(`has nothing against reading ~/${path}`, async () => assert.deepEqual(await reading(`/home/u/${path}`), []));
}
test('looks behind a link before a secret is read', async () => assert.equal((await reading('/work/p/notes', '/home/u/.ssh/id_rsa')).length, 1));

test('knows its own folders by both names where a link leads to them', async (t) => {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'tappet-protected-')));
  t.after(() => rm(base, { recursive: true, force: true }));
  await mkdir(join(base, 'real'));
  await symlink(join(base, 'real'), join(base, 'link'));
  const o: CollectOptions = { folders: { ...FOLDERS, state: join(base, 'link/state') } };
  for (const name of ['link', 'real']) assert.equal((await writing(join(base, name, 'state/trust.json'), undefined, o)).length, 1);
  assert.deepEqual(await writing(join(base, 'real/other'), undefined, o), []);
});
test('protects the files that plugins are loaded from, counted from the file that names them', async () => {
  const o: CollectOptions = { settings: { plugins: { 'acme/x': { use: './tools/x.ts' }, 'acme/y': { use: '../shared/y' }, 'acme/z': { use: 'acme-z' }, 'tools/read': true } }, origin: (path) => (path === 'plugins.acme/x' || path === 'plugins.acme/y' ? originOf('project', '/work/p/agent.config.yaml') : null) };
  assert.match(JSON.stringify(await writing('/work/p/tools/x.ts', undefined, o)), /the plugin acme\/x is loaded from it/);
  assert.equal((await writing('/work/shared/y/lib/part.ts', undefined, o)).length, 1);
  assert.deepEqual(await writing('/work/p/tools/other.ts', undefined, o), []);
  assert.deepEqual(await writing('/work/p/acme-z', undefined, o), []);
});

test('asks until a mode about what was not understood', async () => {
  const [said] = await opaque([sourcedRule('Bash(git *)', 'allow'), sourcedRule('Bash(git push *)', 'ask'), sourcedRule('WebFetch', 'deny')]);
  assert.ok(said?.behavior === 'ask' && said.until === 'mode');
  assert.deepEqual(said.reason, { kind: 'safetyCheck', why: 'not understood: eval' });
});
for (const [text, behavior, layer] of [['Bash(git push *)', 'deny', 'user'], ['B*', 'deny', 'project'], ['Bash(curl *)', 'ask', 'policy'], ['Read(~/.ssh/**)', 'deny', 'policy'], ['Edit(/x)', 'ask', 'policy']] as const) {
  test(`asks until a person about what was not understood where the ${layer} has ${behavior} ${text}`, async () => {
    const rule = sourcedRule(text, behavior, layer);
    const [said] = await opaque([sourcedRule('Bash(npm *)', 'deny', 'plugin'), rule]);
    assert.ok(said?.behavior === 'ask' && said.until === 'person');
    assert.equal(said.origin, rule.origin);
    assert.ok(said.message?.includes(text));
  });
}
test('a rule for another tool, and a path rule that is not policy’s, leave it to the mode', async () => {
  const [said] = await opaque([sourcedRule('Bash(x)', 'deny'), sourcedRule('Read(.env)', 'deny')], 'Other');
  assert.ok(said?.behavior === 'ask' && said.until === 'mode');
});
test('old names of tools count', async () => {
  const [said] = await opaque([sourcedRule('KillShell(a)', 'deny')], 'TaskStop');
  assert.ok(said?.behavior === 'ask' && said.until === 'person');
});
test('ends with a long and hostile path', async () => {
  for (const part of ['.config/', '. '.repeat(20_000), '.git'.repeat(20_000), '../']) assert.ok(Array.isArray(await writing(`/${part.repeat(part.length > 100 ? 1 : 20_000)}x`)));
});
