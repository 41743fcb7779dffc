/** Every example runs for real: its plugins through the door, its suites, its scripts and its program through the command line, each in a place of its own. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join, sep } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { cliPlace } from '../support/cli.ts';
import type { CliPlace } from '../support/cli.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const examples = join(root, 'examples');
const at = (path: string): string => join(examples, path);
const FROM_SOURCES = ['--conditions=tappet-src', '--import', pathToFileURL(join(root, 'node_modules/tsx/dist/loader.mjs')).href];

interface Ran { readonly code: number | null; readonly out: string; readonly err: string }
function run(command: string, args: readonly string[], o: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>>; readonly stdin?: string } = {}): Promise<Ran> {
  // A test runner inside of one must not take itself for a part of it.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...args], { cwd: o.cwd ?? root, env: { ...env, ...o.env }, stdio: [o.stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'] });
    const said = { out: '', err: '' };
    child.stdout!.setEncoding('utf8').on('data', (text: string) => { said.out += text; });
    child.stderr!.setEncoding('utf8').on('data', (text: string) => { said.err += text; });
    child.on('error', reject).on('close', (code) => resolve({ code, ...said }));
    child.stdin?.on('error', () => { /* it ended without reading: its exit code says why */ }).end(o.stdin);
  });
}
/** What the model says, as a script in the project. */
const script = (place: CliPlace, ...steps: readonly unknown[]): Promise<string> => place.file('script.yaml', JSON.stringify({ steps }));
const SCRIPTED = ['--model', 'scripted/script.yaml', '--json'] as const;
interface Result { readonly is_error: boolean; readonly result: string; readonly permission_denials: readonly { readonly tool_name: string; readonly message: string }[] }
async function prompt(place: CliPlace, ...flags: readonly string[]): Promise<Result & { readonly code: number }> {
  const { code, out, err } = await place.run(['-p', 'go', ...SCRIPTED, ...flags]);
  try { return { ...JSON.parse(out) as Result, code }; } catch { return assert.fail(`exit ${code}\n${out}\n${err}`); }
}

const RUN_HERE = ['agent-test', 'embed', 'guard', 'headless-ci', 'mode', 'model-provider', 'policy', 'tap', 'team', 'tool'];
test('every example has a README and is run here', () => {
  const folders = readdirSync(examples, { withFileTypes: true }).filter((e) => e.isDirectory()).map((e) => e.name).sort();
  assert.deepEqual(folders, RUN_HERE);
  for (const folder of folders) {
    assert.ok(existsSync(at(`${folder}/README.md`)), folder);
    assert.ok(readFileSync(at('README.md'), 'utf8').includes(`](${folder}/)`), `examples/README.md does not name ${folder}`);
  }
});

test('the suites of the examples pass', { timeout: 120_000 }, async () => {
  const files = readdirSync(examples, { recursive: true, encoding: 'utf8' }).filter((f) => f.endsWith('.test.ts')).map((f) => at(f.split(sep).join('/'))).sort();
  assert.equal(files.length, 6);
  const { code, out, err } = await run(process.execPath, [...FROM_SOURCES, '--test', '--test-reporter=spec', ...files]);
  assert.equal(code, 0, out + err);
  assert.ok(Number(/^ℹ pass (\d+)$/m.exec(out)?.[1]) > 60, out);
});

const PLUGINS = { tool: 'acme/word-count', guard: 'acme/lockfiles', mode: 'acme/docs-only', tap: 'acme/no-force-push', 'model-provider': 'acme/house-model' } as const;
for (const [folder, name] of Object.entries(PLUGINS)) {
  test(`${folder}: the plugin comes through the door by --plugin-dir and by the configuration`, async (t) => {
    const place = await cliPlace(t, { files: { '~/.config/tappet/config.yaml': `plugins: { ${name}: { use: ${JSON.stringify(at(`${folder}/plugins/${readdirSync(at(`${folder}/plugins`))[0]!}`))} } }\n` } });
    assert.deepEqual([(await place.json(['plugin', 'why', name])).state, (await place.json(['plugin', 'why', name])).origin.layer], ['running', 'user']);
    const bare = await cliPlace(t);
    const { code, out, err } = await bare.run(['--plugin-dir', at(`${folder}/plugins`), 'plugin', 'list', '--json']);
    assert.equal(code, 0, err);
    const found = (JSON.parse(out) as { name: string; state: string; origin: { file: string } }[]).find((p) => p.name === name);
    assert.deepEqual([found?.state, found?.origin.file], ['running', '--plugin-dir'], out);
  });
}

test('tool: a session calls it, and its own rules hold', async (t) => {
  const place = await cliPlace(t, { files: { 'a.txt': 'one two', 'private/b.txt': 'three', 'agent.config.yaml': 'permissions: { deny: ["WordCount(private/**)"] }\n' } });
  await script(place, { call: [{ WordCount: { file_path: 'a.txt' } }, { WordCount: { file_path: 'private/b.txt' } }] }, { expect: { results: ['2 words', { error: true, text: 'WordCount(private/**)' }] }, say: 'counted' });
  const { code, result } = await prompt(place, '--plugin-dir', at('tool/plugins'));
  assert.deepEqual([code, result], [0, 'counted']);
});

test('guard: a lock file is not written, even where nobody is asked anything', async (t) => {
  const place = await cliPlace(t);
  await script(place, { call: [{ Write: { file_path: 'sub/yarn.lock', content: '' } }, { Write: { file_path: 'yarn.txt', content: 'x' } }] }, { say: 'done' });
  const { permission_denials: denials } = await prompt(place, '--plugin-dir', at('guard/plugins'), '--permission-mode', 'bypassPermissions');
  assert.match(denials.map((d) => d.message).join(), /^yarn\.lock is written by the package manager/);
  assert.equal(await place.read('yarn.txt'), 'x');
});

test('mode: Markdown is written without a question, other files are not', async (t) => {
  const place = await cliPlace(t);
  await script(place, { call: [{ Write: { file_path: 'docs/a.md', content: 'x' } }, { Write: { file_path: 'a.ts', content: 'x' } }] }, { say: 'done' });
  const { permission_denials: denials } = await prompt(place, '--plugin-dir', at('mode/plugins'), '--permission-mode', 'docsOnly');
  assert.equal(denials.length, 1);
  assert.equal(await place.read('docs/a.md'), 'x');
  await assert.rejects(place.read('a.ts'));
});

test('team: nothing of it acts before the folder is trusted, then all of it does', async (t) => {
  const place = await cliPlace(t);
  await cp(at('team'), place.project, { recursive: true });
  const why = async (name: string) => (await place.json(['plugin', 'why', name])).state as string;
  assert.deepEqual([await why('acme/companions'), await why('tools/bash')], ['untrusted', 'off']);
  assert.equal((await place.run(['trust', '--yes'])).code, 0);
  assert.deepEqual([await why('acme/companions'), await why('tools/read')], ['running', 'running']);
  assert.equal((await place.json(['explain', 'tools/read'])).chain[0].origin.layer, 'project');
  await script(place, { expect: { noTools: ['Bash'] }, call: { Write: { file_path: 'src/api/x.ts', content: 'x' } } }, { expect: { lastUser: 'docs/api.md and CHANGELOG.md must say so' }, say: 'told' });
  assert.deepEqual((await prompt(place)).result, 'told');
  // A plugin is trusted by its content.
  await writeFile(place.at('plugins/companions.ts'), `${await place.read('plugins/companions.ts')}\n// changed\n`);
  assert.equal(await why('acme/companions'), 'untrusted');
});

test('policy: its bounds and rules hold against a person, a project and flags', async (t) => {
  const place = await cliPlace(t, {
    files: {
      '/etc/tappet/policy.yaml': await readFile(at('policy/policy.yaml'), 'utf8'), '.env': 'KEY=1', 'stranger.ts': '',
      '~/.config/tappet/config.yaml': 'mode: bypassPermissions\nlimits: { turns: 500, costUsd: 5 }\nmodel: openai/gpt\npermissions: { allow: ["Read(**/.env)"] }\nplugins: { other/thing: { use: ./thing.ts } }\n',
    },
  });
  const value = async (key: string) => place.json(['explain', key]);
  const mode = await value('mode');
  assert.equal(mode.value, 'default');
  assert.match(JSON.stringify(mode.chain), /set aside.*policy allows one of default, plan, acceptEdits, dontAsk, set by [^ ]*policy\.yaml:\d+:\d+ \(policy\)/);
  assert.equal((await value('model')).value, 'anthropic/sonnet');
  assert.equal((await value('limits.turns')).value, 200);
  assert.equal((await value('limits.costUsd')).value, 5);
  assert.equal((await place.json(['plugin', 'why', 'other/thing'])).state, 'forbidden');
  assert.equal((await place.json(['plugin', 'why', 'modes/bypass-permissions'])).state, 'forbidden');
  assert.equal((await place.json(['explain', 'Read(.env)'])).answer, 'deny');
  assert.equal((await place.json(['explain', 'Write(db/migrations/1.sql)', '--mode', 'acceptEdits'])).answer, 'ask');
  const flag = await place.run(['-p', 'hello', '--permission-mode', 'acceptEdits', '--model', 'openai/gpt']);
  assert.notEqual(flag.code, 0);
  for (const off of ['guards/rules', 'prompt/instructions']) {
    const { code, err } = await place.run(['--set', `plugins.${off}=false`, '-p', 'hello', '--model', 'offline/rules']);
    assert.equal(code, 3, err);
  }
});

test('headless-ci: the diff goes in, the answer comes out, the exit code decides', async (t) => {
  const place = await cliPlace(t);
  const env = { ...(await shell(place)), BASE: 'HEAD~1', TAPPET_MODEL: 'scripted/review.yaml' };
  const git = async (...args: string[]): Promise<void> => { const r = await run('git', ['-c', 'user.name=n', '-c', 'user.email=e@example.com', ...args], { cwd: place.project, env }); assert.equal(r.code, 0, r.err); };
  await git('init', '-q', '.');
  await place.file('a.txt', 'one\n');
  await git('add', '.');
  await git('commit', '-qm', 'one');
  await place.file('a.txt', 'one\ntwo\n');
  await git('commit', '-qam', 'two');
  await place.file('review.yaml', JSON.stringify({ steps: [{ expect: { lastUser: '+two', tools: ['Read', 'Glob', 'Grep'], noTools: ['Bash', 'Write'] }, say: 'a.txt:2: two is one too many' }] }));
  const review = at('headless-ci/review.sh');
  const good = await run('sh', [review], { cwd: place.project, env });
  assert.deepEqual([good.code, good.out], [0, 'a.txt:2: two is one too many\n'], good.err);
  assert.equal(JSON.parse(await place.read('tappet-result.json')).subtype, 'success');
  const bad = await run('sh', [review], { cwd: place.project, env: { ...env, TAPPET_MODEL: 'scripted/gone.yaml' } });
  assert.equal(bad.code, 1, bad.err);
  assert.match(bad.err, /there is no such file[\s\S]*the turn failed/);
  const unnamed = await run('sh', [review], { cwd: place.project, env: { ...env, TAPPET_MODEL: '' } });
  assert.notEqual(unnamed.code, 0);
  assert.match(unnamed.err, /name the model/);
});

test('embed: the program asks, obeys the answer, and says no where nobody is there', async (t) => {
  const place = await cliPlace(t);
  const ask = async (stdin?: string) => run(process.execPath, [...FROM_SOURCES, at('embed/main.ts'), place.project, 'create notes.txt with "hello"'], { env: await shell(place), ...(stdin === undefined ? {} : { stdin }) });
  const nobody = await ask();
  assert.equal(nobody.code, 0, nobody.err);
  assert.match(nobody.out, /did not succeed/);
  await assert.rejects(place.read('notes.txt'));
  const yes = await ask('y\n');
  assert.equal(yes.code, 0, yes.err);
  assert.match(yes.err, /Allow it\?/);
  assert.equal((await place.read('notes.txt')).trim(), 'hello');
});

/** An environment in which `tappet` is this tree, with nothing of the person who runs the tests. */
async function shell(place: CliPlace): Promise<Record<string, string>> {
  const bin = join(dirname(place.home), 'bin');
  const command = join(bin, 'tappet');
  await mkdir(bin, { recursive: true });
  await writeFile(command, `#!/bin/sh\nexec '${process.execPath}' ${FROM_SOURCES.map((w) => `'${w}'`).join(' ')} '${join(root, 'kernel/cli.ts')}' "$@"\n`);
  await chmod(command, 0o755);
  const keys = Object.fromEntries(Object.keys(process.env).filter((n) => /_(?:API_KEY|AUTH_TOKEN|BASE_URL)$/.test(n) || n.startsWith('XDG_') || n.startsWith('TAPPET_')).map((n) => [n, '']));
  return { ...keys, HOME: place.home, PATH: `${bin}${delimiter}${process.env['PATH'] ?? ''}`, TAPPET_STATE_DIR: join(place.home, 'state') };
}
