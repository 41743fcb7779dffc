/** Traps of the libraries that we stand on: each is shown to be one where that is cheap, and to be shut here. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import picomatch from 'picomatch';
import { AsyncSeriesBailHook, AsyncSeriesHook } from 'tapable';
import { definePlugin } from 'tappet/kernel';
import type { Plugin } from 'tappet/kernel';
import { checkLayer } from '../../kernel/config/check.ts';
import { readConfigText } from '../../kernel/config/read.ts';
import { compileMatcher } from '../../kernel/matcher.ts';
import { BASE, draft, fire, load } from '../support/layers.ts';
import { project } from '../support/project.ts';

const ROOT = join(import.meta.dirname, '../..');
const run = async (script: string, cwd: string, ...args: string[]): Promise<string> => (await promisify(execFile)(process.execPath, ['--conditions=tappet-src', '--import', import.meta.resolve('tsx'), join(ROOT, 'test/support', script), ...args], { cwd })).stdout;
const tapping = (apply: Plugin<any>['apply']) => definePlugin({ name: 'acme/x', api: 1, apply } as Plugin<any>);

// ---- tapable ---------------------------------------------------------------------------------------------------------------

test('tapable does not await an async function that was tapped with tap; here it is awaited', async (t) => {
  const raw = new AsyncSeriesHook<[string[]]>(['log']);
  const log: string[] = [];
  raw.tap('x', async (l) => { await new Promise((r) => setImmediate(r)); l.push('done'); });
  await raw.promise(log);
  assert.deepEqual(log, [], 'tapable has changed: the trap is gone');
  const { kernel } = await load(t, project(t, { only: [], plugins: [tapping(({ hooks }) => { hooks.PostToolUse.tap('x', async () => { await new Promise((r) => setImmediate(r)); return { additionalContext: 'done' }; }); })] }));
  assert.equal((await fire(kernel, 'PostToolUse', { ...draft(), output: 1, content: 'c', durationMs: 1 })).said.additionalContext, 'done');
});
test('on a bail hook of tapable a promise that was tapped with tap counts as the answer; here its value does, and silence asks the next', async (t) => {
  const raw = new AsyncSeriesBailHook<[], unknown>([]);
  let asked = false;
  raw.tap('x', async () => undefined);
  raw.tap('y', () => { asked = true; });
  await raw.promise();
  assert.equal(asked, false, 'tapable has changed: the trap is gone');
  const { kernel } = await load(t, project(t, { only: [], plugins: [tapping(({ hooks }) => { hooks.WorktreeCreate.tap('x', async () => undefined); hooks.WorktreeCreate.tap('y', async () => ({ path: '/w' })); })] }));
  assert.deepEqual((await fire(kernel, 'WorktreeCreate', { ...BASE, name: 'w', base: null })).said, { path: '/w' });
});
test('before: a name that is not there would jump to the very front; here it is not handed on', async (t) => {
  const ran: string[] = [];
  const { kernel } = await load(t, project(t, { only: [], plugins: [tapping(({ hooks }) => { hooks.Stop.tap({ name: 'low', stage: -5 }, () => { ran.push('low'); }); hooks.Stop.tap({ name: 'jumper', before: 'nobody', stage: 5 } as never, () => { ran.push('jumper'); }); })] }));
  await fire(kernel, 'Stop', { ...BASE, lastMessage: '', stopHookActive: false });
  assert.deepEqual(ran, ['low', 'jumper']);
});
test('a plugin is handed neither interceptors nor the hook itself, so it cannot replace the taps of others', async (t) => {
  const words: unknown[] = [];
  await load(t, project(t, { only: [], plugins: [tapping(({ hooks }) => { words.push(...Object.keys(hooks.PreToolUse), (hooks.PreToolUse as unknown as { intercept: unknown }).intercept, (hooks.PreToolUse as unknown as { promise: unknown }).promise); })] }));
  assert.deepEqual(words, ['tap', 'tapPromise', undefined, undefined]);
});
test('tapable has no untap; here a tap that was undone, or whose kernel is closed, says nothing', async (t) => {
  const ran: string[] = [];
  let undo!: () => void;
  const { kernel } = await load(t, project(t, { only: [], plugins: [tapping(({ hooks }) => { undo = hooks.PreToolUse.tap('gate', () => { ran.push('x'); return { behavior: 'deny', message: 'no' }; }); })] }));
  assert.equal((await fire(kernel, 'PreToolUse', draft())).said.behavior, 'deny');
  undo();
  assert.equal((await fire(kernel, 'PreToolUse', draft())).said, undefined);
  assert.deepEqual(ran, ['x']);
});

// ---- cosmiconfig -----------------------------------------------------------------------------------------------------------

const EVIL = (marker: string): string => `require('node:fs').writeFileSync(${JSON.stringify(marker)}, 'ran'); module.exports = {};\n`;
test('a hostile working folder runs nothing and adds nothing, in the main thread and in a worker', async (t) => {
  const hostile = (files: (marker: string) => Readonly<Record<string, string>>) => {
    const p = project(t);
    const marker = join(p.home, 'marker');
    for (const [file, text] of Object.entries({ 'evil.cjs': EVIL(marker), '.config/evil.cjs': EVIL(marker), 'agent.config.yaml': '$import: ./evil.cjs\nmode: plan\n', ...files(marker) })) p.write(file, text);
    return { dir: p.dir, ran: () => existsSync(marker) };
  };
  const code = (marker: string) => Object.fromEntries(['js', 'cjs', 'mjs', 'ts'].map((e) => [`.config/config.${e}`, EVIL(marker)]));
  const data = JSON.stringify({ searchPlaces: ['evil.cjs'], mergeSearchPlaces: false, $import: './evil.cjs' });
  const raw = hostile(code);
  const places = [hostile(code), hostile(() => ({ '.config/config.json': data, 'package.json': `{"cosmiconfig": ${data}, "$import": "./evil.cjs"}` }))];
  const [, ...said] = await Promise.all([run('in-hostile-folder.ts', raw.dir, 'raw'), ...places.map((p) => run('in-hostile-folder.ts', p.dir, 'ours', p.dir))]);
  assert.ok(raw.ran(), 'cosmiconfig has changed: the trap is gone');
  for (const [i, p] of places.entries()) {
    assert.equal(said[i], 'main {"$import":"./evil.cjs","mode":"plan"} still here\nworker {"$import":"./evil.cjs","mode":"plan"} still here\n');
    assert.equal(p.ran(), false);
  }
});
test('$import in a file is a key like any other, and an unknown one', async () => {
  await assert.rejects(async () => checkLayer(await readConfigText('$import: ./x.cjs\n', '/f.yaml', { layer: 'project' }), 'project', {}), { code: 'E_CONFIG_KEY' });
});

// ---- Node ------------------------------------------------------------------------------------------------------------------

test('a tap that never settles is decided on, though nothing else keeps the process alive', async () => {
  assert.equal(await run('lonely-tap.ts', ROOT), 'deny\n');
});

// ---- picomatch -------------------------------------------------------------------------------------------------------------

const isRule = async (rule: string): Promise<boolean> => {
  try { return checkLayer(await readConfigText(JSON.stringify({ permissions: { deny: [rule] } }), '/f.json', { layer: 'user' }), 'user', {}).problems.length === 0; } catch { return false; }
};
test('what picomatch would take for something else is split, switched on, or refused before it gets there', async () => {
  assert.deepEqual([picomatch.isMatch('Edit', 'Edit|Write'), picomatch.isMatch('config/.env', 'config/**'), picomatch.isMatch('git push origin/main', 'git *'), picomatch.isMatch('etc/passwd', '!src/**')], [false, false, false, true], 'picomatch has changed: a trap is gone');
  assert.ok(compileMatcher('Edit|Write')('Edit', {}));
  assert.ok(compileMatcher('config/**')('config/.env', {}));
  assert.throws(() => compileMatcher('!src/**'), /inside out/);
  assert.deepEqual(await Promise.all(['Read(!src/**)', '', 'Read()', 'Read(src/**)'].map(isRule)), [false, false, false, true]);
});
