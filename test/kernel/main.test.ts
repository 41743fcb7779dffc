/** From words on a command line to an exit code: what fails says why, and whatever happens the kernel is closed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { definePlugin, TappetError } from 'tappet/kernel';
import type { Plugin } from 'tappet/kernel';
import { PassThrough } from 'node:stream';
import type { Frontend, Io } from '../../schemas/index.ts';
import { main } from '../../kernel/main.ts';
import type { ProjectOptions } from '../support/project.ts';
import { BASIC, project, withPlugins } from '../support/project.ts';

interface Ran { readonly code: number; readonly out: string; readonly err: string }
async function run(t: TestContext, argv: readonly string[], o: ProjectOptions = {}): Promise<Ran> {
  const p = project(t, o);
  const said = { out: '', err: '' };
  const stdin = Object.assign(new PassThrough(), { isTTY: false });
  stdin.end();
  const io: Io = { stdin: stdin as unknown as NodeJS.ReadStream, isTTY: false, columns: 80, color: false, env: p.env, out: (text) => { said.out += text; }, err: (text) => { said.err += text; }, flush: async () => {}, onInterrupt: () => () => {} };
  const builtins = withPlugins([...BASIC, 'cli/parse', ...(o.only ?? [])], [...(o.plugins ?? []), p.model.plugin]);
  const code = await main({ argv, cwd: p.dir, env: p.env, io, builtins, policy: p.policy });
  return { code, ...said };
}
const frontend = (runs: Frontend['run'], name = 'acme/front', closed: () => void = () => {}): Plugin<any> => definePlugin({ name, api: 1, apply: ({ registries, own }) => { own(closed); registries.frontends.add({ name, matches: () => true, run: runs }); } });

test('what a frontend returns is the exit code, and its kernel is closed behind it', async (t) => {
  let closed = 0;
  assert.equal((await run(t, ['-p', 'x'], { plugins: [frontend(async () => 7, 'acme/front', () => { closed++; })] })).code, 7);
  assert.equal(closed, 1);
});
test('a frontend that throws ends with the code of its error, in one printed error; its kernel is closed all the same', async (t) => {
  let closed = 0;
  const known = await run(t, ['-p', 'x'], { plugins: [frontend(async () => { throw new TappetError('E_SET_REFUSED', { message: 'not here' }); }, 'acme/front', () => { closed++; })] });
  assert.deepEqual([known.code, closed], [3, 1]);
  assert.match(known.err, /E_SET_REFUSED.*not here/s);
  const unknown = await run(t, ['-p', 'x'], { plugins: [frontend(async () => { throw new Error('oh'); })] });
  assert.equal(unknown.code, 1);
  assert.doesNotMatch(unknown.err, /\n\s+at /);
  assert.match((await run(t, ['-p', 'x', '--debug'], { plugins: [frontend(async () => { throw new Error('oh'); })] })).err, /\n\s+at /, 'the stack is for those who ask');
});
test('no frontend, or two that both want the words, is an error that names them', async (t) => {
  assert.equal((await run(t, ['-p', 'x'])).code, 2);
  const two = await run(t, ['-p', 'x'], { plugins: [frontend(async () => 0, 'acme/one'), frontend(async () => 0, 'acme/two')] });
  assert.equal(two.code, 2);
  assert.match(two.err, /acme\/one, acme\/two/);
});
test('--version and --help need no frontend and no model', async (t) => {
  const version = await run(t, ['--version']);
  assert.deepEqual([version.code, version.out.trim(), version.err], [0, 'tappet 0.1.0', '']);
  const help = await run(t, ['--help']);
  assert.equal(help.code, 0);
  assert.match(help.out, /--permission-mode/);
});
test('words that make no sense end with 2 before anything is started', async (t) => {
  for (const argv of [['--cwd', '/nowhere/at/all'], ['--setting-sources', 'moon'], ['--plugin-dir', '/nowhere/at/all'], ['-p', 'x', '--no-such-flag']]) {
    let booted = false;
    const r = await run(t, argv, { plugins: [frontend(async () => { booted = true; return 0; })] });
    assert.deepEqual([r.code, r.out, booted], [2, '', false], argv.join(' '));
    assert.match(r.err, /^E_USAGE|^error|E_USAGE/, argv.join(' '));
  }
});
test('a policy that cannot be read starts nothing: 3; a broken file of the project starts, and is no clean run', async (t) => {
  let runs = 0;
  const plugins = [frontend(async () => { runs++; return 0; })];
  assert.equal((await run(t, ['-p', 'x'], { plugins, files: { 'policy:policy.yaml': 'permissions: [' } })).code, 3);
  assert.equal(runs, 0);
  const broken = await run(t, ['-p', 'x'], { plugins, files: { 'agent.config.yaml': 'permissions: [' } });
  assert.deepEqual([broken.code, runs], [2, 1]);
  assert.match(broken.err, /agent\.config\.yaml/);
});
test('a plugin that never finishes closing does not keep the process', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let closed: () => void = () => {};
  const closing = new Promise<void>((r) => { closed = r; });
  const plugin = definePlugin({ name: 'acme/front', api: 1, apply: ({ registries, own }) => { own(() => { closed(); return new Promise<never>(() => {}); }); registries.frontends.add({ name: 'acme/front', matches: () => true, run: async () => 0 }); } });
  const ran = run(t, ['-p', 'x'], { plugins: [plugin] });
  await closing;
  t.mock.timers.tick(60_000);
  const { code, err } = await ran;
  assert.equal(code, 0);
  assert.match(err, /acme\/front.*took longer/);
});
