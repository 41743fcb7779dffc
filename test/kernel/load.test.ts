/** The life of a plugin: found, admitted, imported, checked, applied as a whole or not at all, sealed, closed. */
import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { definePlugin, defineTool, fold, z } from 'tappet/kernel';
import type { Plugin } from 'tappet/kernel';
import { isTappetError, printError } from '../../kernel/errors.ts';
import { contextSaid } from '../../schemas/hooks.ts';
import type { PluginReport } from '../../schemas/index.ts';
import { BASE, configIn, draft, fire, load, trust } from '../support/layers.ts';
import { BASIC, project } from '../support/project.ts';
import type { ProjectOptions } from '../support/project.ts';

const USER = '~/.config/tappet/config.yaml';
const plugin = (name: string, apply: Plugin<any>['apply'] = () => {}, more: Partial<Plugin<any>> = {}): Plugin<any> => definePlugin({ name, api: 1, apply, ...more } as Plugin<any>);
const tool = (name: string) => defineTool({ name, description: 'd', inputSchema: () => z.object({}), call: () => ({ data: 1 }) });
const bringing = (...tools: string[]): Plugin<any>['apply'] => ({ registries }) => { for (const n of tools) registries.tools.add(tool(n)); };
/** Plugins at the built-in layer, beside nothing else of ours. */
const alone = (t: TestContext, plugins: readonly Plugin<any>[], o: ProjectOptions & { timeoutMs?: number } = {}) => load(t, project(t, { only: [], plugins, ...o }), o.timeoutMs === undefined ? {} : { timeoutMs: o.timeoutMs });
const toolNames = (l: Awaited<ReturnType<typeof load>>): string[] => l.kernel.registries.tools.all().map((x) => x.name);
async function refused(work: Promise<unknown>): Promise<{ code: string; printed: string }> {
  try { await work; } catch (e) { assert.ok(isTappetError(e), String(e)); return { code: e.code, printed: printError(e) }; }
  return assert.fail('it started');
}
const MODULE = (name: string, body = ''): string => `import { definePlugin, defineTool, z } from 'tappet/kernel';\nexport default definePlugin({ name: '${name}', api: 1, apply(scope) { ${body} } });\n`;
const entry = (name: string, use: string): string => `plugins:\n  ${name}: { use: ${use} }\n`;

// ---- what goes wrong before it runs ----------------------------------------------------------------------------------------

test('of three plugins one throws: the others work, and the failure is reported with its place in the code', async (t) => {
  const l = await alone(t, [plugin('acme/a', bringing('A')), plugin('acme/bad', () => { throw new Error('boom'); }), plugin('acme/b', bringing('B'))]);
  assert.deepEqual(toolNames(l), ['A', 'B']);
  assert.deepEqual(l.kernel.reports.filter((r) => r.name.startsWith('acme/')).map((r) => [r.name, r.state]), [['acme/a', 'running'], ['acme/bad', 'failed'], ['acme/b', 'running']]);
  const { error } = l.report('acme/bad')!;
  assert.match(error!, /^E_PLUGIN_APPLY {2}acme\/bad failed in apply\(\): boom\n {2}where {3}\(test\)[^\n]*\n {2}cause {3}at .*load\.test\.ts:\d+/);
  assert.deepEqual(l.logs.map((x) => [x.level, x.name, x.code]), [['error', 'acme/bad', 'E_PLUGIN_APPLY']]);
});
test('a plugin that throws half way has left nothing, and what it opened is closed, last opened first, whatever one of it does', async (t) => {
  const closed: string[] = [];
  let watched = 0;
  const l = await alone(t, [plugin('acme/half', async (scope) => {
    scope.registries.tools.add(tool('Half'));
    scope.registries.tools.source().replace([{ item: tool('Live') }]);
    scope.hooks.PreToolUse.tap('x', () => ({ behavior: 'deny', message: 'no' }));
    scope.services.provide('searchAggregator', () => ({ sample: () => null }));
    scope.settings.watch('mode', () => { watched++; });
    scope.registries.tools.subscribe(() => { watched++; });
    scope.own(() => { closed.push('first'); });
    scope.own(() => { throw new Error('cannot close'); });
    scope.own(async () => { closed.push('last'); });
    await Promise.resolve();
    throw new Error('half way');
  }, { declares: { 'acme/x': fold(contextSaid, (so) => so) } }), plugin('acme/after', bringing('After'))]);
  assert.deepEqual(toolNames(l), ['After']);
  assert.equal((await fire(l.kernel, 'PreToolUse', draft())).said, undefined);
  assert.equal(l.kernel.services.get('searchAggregator'), undefined);
  assert.equal(l.kernel.declared.size, 0);
  assert.deepEqual(closed, ['last', 'first']);
  assert.ok(l.logs.some((x) => /failed to close: cannot close/.test(x.text)));
  l.kernel.setConfig({ ...l.kernel.config(), settings: { ...l.kernel.settings(), mode: 'plan' } });
  assert.equal(watched, 0);
});
test('a plugin that never finishes is left out after its time, and what it does later is refused', async (t) => {
  let late!: () => void;
  const closed: string[] = [];
  const l = await alone(t, [plugin('acme/slow', async (scope) => { scope.own(() => { closed.push('opened'); }); await new Promise<void>((r) => { late = r; }); scope.registries.tools.add(tool('Late')); }), plugin('acme/b', bringing('B'))], { timeoutMs: 5 });
  assert.match(l.report('acme/slow')!.error!, /^E_PLUGIN_TIMEOUT {2}acme\/slow did not finish apply\(\) in 0\.005 s/);
  late();
  await new Promise((r) => setImmediate(r));
  assert.deepEqual([toolNames(l), closed], [['B'], ['opened']]);
});
test('a module that never finishes loading, or throws while it does, is left out with its name and place', async (t) => {
  const never = await load(t, project(t, { only: [], files: { [USER]: entry('acme/never', './never.mjs'), '~/.config/tappet/never.mjs': 'await new Promise(() => {});\nexport default 1;\n' } }), { timeoutMs: 5 });
  assert.match(never.report('acme/never')!.error!, /did not finish loading in 0\.005 s\n {2}where {3}.*config\.yaml:2:3 \(user\)/);
  const l = await load(t, project(t, { only: [], files: { [USER]: 'plugins:\n  acme/throws: { use: ./throws.mjs }\n  acme/good: { use: ./good.mjs }\n', '~/.config/tappet/throws.mjs': 'throw new Error("at import");\n', '~/.config/tappet/good.mjs': MODULE('acme/good') } }));
  assert.match(l.report('acme/throws')!.error!, /could not be loaded: at import\n {2}where {3}.*throws\.mjs\n {2}cause {3}named at .*config\.yaml:2:3/);
  assert.equal(l.report('acme/good')!.state, 'running');
});
test('options are checked with their place: unknown with the nearest, wrong, not taken at all, or a check that throws', async (t) => {
  const seen: unknown[] = [];
  const withOptions = (name: string, options: unknown) => plugin(name, (s) => { seen.push(s.options); }, { options } as never);
  const strict = () => z.object({ maxBytes: z.number().default(5) });
  const files = { [USER]: 'plugins:\n  acme/a:\n    with: { maxBites: 1 }\n  acme/b:\n    with:\n      maxBytes: many\n  acme/c: { with: { x: 1 } }\n  acme/d: { with: { x: 1 } }\n  acme/e: { with: { more: 1 } }\n  acme/f: { with: { maxBytes: 7 } }\n' };
  const l = await alone(t, [withOptions('acme/a', strict), withOptions('acme/b', strict), plugin('acme/c'), withOptions('acme/d', { jsonSchema: { type: 'object' }, check: () => { throw new Error('riddle'); } }), withOptions('acme/e', () => z.looseObject({ x: z.number().optional() })), withOptions('acme/f', strict), withOptions('acme/g', strict)], { files });
  assert.match(l.report('acme/a')!.error!, /unknown option "maxBites"\n {2}where {3}.*config\.yaml:3:23 \(user\)\n {2}cause {3}known here: maxBytes\n {2}do {6}did you mean "maxBytes"\?/);
  assert.match(l.report('acme/b')!.error!, /acme\/b: maxBytes: .*number[^]*config\.yaml:6:17/);
  assert.match(l.report('acme/c')!.error!, /it takes no options, so not "x"[^]*config\.yaml:7:24/);
  assert.match(l.report('acme/d')!.error!, /riddle/);
  assert.deepEqual(seen, [{ more: 1 }, { maxBytes: 7 }, { maxBytes: 5 }]);
});
test('what is no plugin is named as such: another name, another API, none at all, no definePlugin, no apply', async (t) => {
  const bad: Record<string, string> = {
    other: MODULE('acme/elsewhere'), api: "import { definePlugin } from 'tappet/kernel';\nexport default definePlugin({ name: 'acme/api', api: 2, apply() {} });\n", noapi: "import { definePlugin } from 'tappet/kernel';\nexport default definePlugin({ name: 'acme/noapi', apply() {} });\n",
    plain: "export default { name: 'acme/plain', api: 1, apply() {} };\n", noapply: "import { definePlugin } from 'tappet/kernel';\nexport default definePlugin({ name: 'acme/noapply', api: 1 });\n", nothing: 'export const x = 1;\n', needs: "import { definePlugin } from 'tappet/kernel';\nexport default definePlugin({ name: 'acme/needs', api: 1, needs: 'acme/x', apply() {} });\n",
    defaults: "import { definePlugin } from 'tappet/kernel';\nexport default definePlugin({ name: 'acme/defaults', api: 1, defaults: { mode: 'plan' }, apply() {} });\n", limits: "import { definePlugin } from 'tappet/kernel';\nexport default definePlugin({ name: 'acme/limits', api: 1, defaults: { limits: { costUsd: -1 } }, apply() {} });\n",
  };
  const files = Object.fromEntries(Object.entries(bad).map(([n, text]) => [`~/.config/tappet/${n}.mjs`, text]));
  const l = await load(t, project(t, { only: [], files: { ...files, [USER]: `plugins:\n${Object.keys(bad).map((n) => `  acme/${n}: { use: ./${n}.mjs }\n`).join('')}` } }));
  const says: Record<string, RegExp> = { other: /E_PLUGIN_SHAPE.*it calls itself "acme\/elsewhere"/, api: /E_PLUGIN_API.*made for plugin API 2; this is 1/, noapi: /E_PLUGIN_API.*\(unsaid\)/, plain: /E_PLUGIN_SHAPE.*not made by definePlugin/, noapply: /it has no apply/, nothing: /E_PLUGIN_SHAPE/, needs: /must be lists of names/, defaults: /may not say "mode"/, limits: /limits\.costUsd/ };
  for (const [n, re] of Object.entries(says)) {
    assert.equal(l.report(`acme/${n}`)?.state, 'failed', n);
    assert.match(l.report(`acme/${n}`)!.error!, re, n);
    assert.match(l.report(`acme/${n}`)!.error!, /config\.yaml:\d+:\d+ \(user\)/, n);
  }
});
test('an entry that names nothing of ours gets the nearest, and how to say where it is', async (t) => {
  const l = await load(t, project(t, { only: [], plugins: [plugin('tools/look')], files: { [USER]: 'plugins:\n  tools/lok: true\n  acme/gone: { use: ./gone.ts }\n  acme/pkg: { use: acme-pkg }\n' } }));
  assert.match(l.report('tools/lok')!.error!, /there is no plugin "tools\/lok"[^]*config\.yaml:2:14[^]*did you mean "tools\/look"\? Else say where it is/);
  assert.match(l.report('acme/gone')!.error!, /there is no file .*gone\.ts/);
  assert.match(l.report('acme/pkg')!.error!, /"acme-pkg" is not installed[^]*npm install acme-pkg/);
});
test('a broken plugin of ours is reported like any other', async (t) => {
  const p = project(t, { only: [], plugins: [plugin('acme/a', bringing('A'))] });
  const l = await load(t, { ...p, builtins: { ...p.builtins, plugin: async (name) => { if (name === 'test/model') throw new Error('broken build'); return p.builtins.plugin(name); } } });
  assert.match(l.report('test/model')!.error!, /^E_PLUGIN_LOAD {2}test\/model could not be loaded: broken build/);
  assert.deepEqual(toolNames(l), ['A']);
});

// ---- order -----------------------------------------------------------------------------------------------------------------

test('plugins run in the order of the configuration, but behind what they need', async (t) => {
  const ran: string[] = [];
  const p = (name: string, ...needs: string[]) => plugin(name, () => { ran.push(name); }, needs.length === 0 ? {} : { needs });
  await alone(t, [p('acme/d', 'acme/c', 'acme/b'), p('acme/a'), p('acme/c', 'acme/a'), p('acme/b')]);
  assert.deepEqual(ran, ['acme/a', 'acme/c', 'acme/b', 'acme/d']);
});
test('the order is the same whichever module loads first', async (t) => {
  const ran: string[] = [];
  for (const slow of ['acme/a', 'acme/b']) {
    const p = project(t, { only: [], plugins: ['acme/b', 'acme/a'].map((n) => plugin(n, () => { ran.push(n); })) });
    const l = await load(t, { ...p, builtins: { ...p.builtins, plugin: async (name) => { if (name === slow) for (let i = 0; i < 5; i++) await new Promise((r) => setImmediate(r)); return p.builtins.plugin(name); } } });
    assert.deepEqual(l.kernel.reports.map((r) => r.name), ['acme/b', 'acme/a', 'test/model']);
  }
  assert.deepEqual(ran, ['acme/b', 'acme/a', 'acme/b', 'acme/a']);
});
test('reports stand in the order of the configuration too, failures among them', async (t) => {
  const l = await alone(t, [plugin('acme/a', undefined, { needs: ['acme/c'] }), plugin('acme/b', () => { throw new Error('x'); }), plugin('acme/c'), plugin('acme/d', undefined, { needs: ['acme/none'] })]);
  assert.deepEqual(l.kernel.reports.map((r) => [r.name, r.state]), [['acme/a', 'running'], ['acme/b', 'failed'], ['acme/c', 'running'], ['acme/d', 'failed'], ['test/model', 'running']]);
});
test('who needs what is not there, what failed, itself, or each other, is left out and told which of these it is', async (t) => {
  const p = (name: string, ...needs: string[]) => plugin(name, bringing(name.slice(5)), { needs });
  const l = await alone(t, [p('acme/missing', 'acme/none'), plugin('acme/fails', () => { throw new Error('x'); }), p('acme/after', 'acme/fails'), p('acme/self', 'acme/self'), p('acme/one', 'acme/two'), p('acme/two', 'acme/one'), p('acme/waits', 'acme/one'), p('acme/fine')]);
  assert.deepEqual(toolNames(l), ['fine']);
  const says: Record<string, RegExp> = { missing: /needs acme\/none, which is not running/, after: /needs acme\/fails, which failed/, self: /needs acme\/self, which is itself/, one: /needs acme\/two, which needs it in turn/, two: /needs acme\/one, which needs it in turn/, waits: /needs acme\/one, which is not running/ };
  for (const [n, re] of Object.entries(says)) assert.match(l.report(`acme/${n}`)!.error!, re);
});

// ---- what it brings --------------------------------------------------------------------------------------------------------

test('two items of one layer with one name are both withheld with both places; the rest of both plugins stands', async (t) => {
  const body = (n: string): string => `for (const name of ['Same', '${n}']) scope.registries.tools.add(defineTool({ name, description: 'd', inputSchema: () => z.object({}), call: () => ({ data: 1 }) }));`;
  const l = await load(t, project(t, { only: [], files: { [USER]: 'plugins:\n  acme/a: { use: ./a.mjs }\n  acme/b: { use: ./b.mjs }\n', '~/.config/tappet/a.mjs': MODULE('acme/a', body('A')), '~/.config/tappet/b.mjs': MODULE('acme/b', body('B')) } }));
  assert.deepEqual(toolNames(l), ['A', 'B']);
  const [problem] = l.kernel.registries.tools.problems();
  assert.match(printError(problem!), /two tools are named "Same"[^]*acme\/a at .*config\.yaml:2:3 and acme\/b at .*config\.yaml:3:3/);
});
test('after the start nothing is added, tapped, provided, reserved or made live, but through what was taken before', async (t) => {
  let scope!: Parameters<Plugin<any>['apply']>[0];
  let source!: ReturnType<typeof scope.registries.tools.source>;
  let below!: ReturnType<typeof scope.registries.tools.reserve>;
  const closed: string[] = [];
  const l = await alone(t, [plugin('acme/a', (s) => { scope = s; source = s.registries.tools.source(); below = s.registries.tools.reserve('acme__'); source.replace([{ item: tool('Early') }]); below.add(tool('acme__early')); })]);
  for (const late of [() => scope.registries.tools.add(tool('Late')), () => scope.hooks.Stop.tap('x', () => {}), () => scope.services.provide('searchAggregator', () => ({ sample: () => null })), () => scope.registries.tools.source(), () => scope.registries.tools.reserve('late__')]) assert.throws(late, { code: 'E_KERNEL_SEALED' });
  assert.deepEqual(toolNames(l), ['Early', 'acme__early']);
  source.replace([{ item: tool('Live') }]);
  below.add(tool('acme__live'));
  below.remove('acme__early');
  assert.throws(() => below.add(tool('Bash')), /does not begin with acme__/);
  assert.deepEqual(toolNames(l).sort(), ['Live', 'acme__live']);
  scope.own(() => { closed.push('later'); });
  await l.kernel.dispose();
  assert.deepEqual(closed, ['later']);
});
test('a prefix that another plugin holds cannot be reserved, and the plugin that tries is left out whole', async (t) => {
  const l = await alone(t, [plugin('acme/a', ({ registries }) => { registries.tools.reserve('mcp__'); }), plugin('acme/b', ({ registries }) => { registries.tools.add(tool('B')); registries.tools.reserve('mcp__b'); }), plugin('acme/c', bringing('mcp__c', 'C'))]);
  assert.match(l.report('acme/b')!.error!, /E_NAME_TAKEN[^]*names that begin with mcp__ belong to acme\/a/);
  assert.deepEqual(toolNames(l), ['C']);
});
test('what has no name, no function or an unreadable matcher fails the plugin that brings it', async (t) => {
  const l = await alone(t, [
    plugin('acme/a', ({ registries }) => { registries.tools.add({} as never); }), plugin('acme/b', ({ hooks }) => { hooks.Stop.tap('x', 'no' as never); }), plugin('acme/c', ({ hooks }) => { hooks.PreToolUse.tap({ name: 'x', matcher: 'Bash(git' }, () => {}); }), plugin('acme/d', ({ registries }) => { registries.tools.source().replace([{ item: null as never }]); }),
    plugin('acme/e', () => {}, { fires: ['PreToolUse'] }), plugin('acme/f', () => {}, { fires: ['FileChagned'] }), plugin('acme/g', () => {}, { declares: { PreToolUse: fold(contextSaid, (so) => so) } }), plugin('acme/h', () => {}, { declares: { 'acme/x': {} as never } }),
  ]);
  const says = { a: /what it adds to tools has no name/, b: /its tap on Stop is no function/, c: /its tap on PreToolUse: the matcher "Bash\(git"/, d: /has no name/, e: /fired by the kernel alone/, f: /did you mean "FileChanged"/, g: /declares PreToolUse, which is the kernel's/, h: /not as a fold, an answer or a tell/ };
  for (const [n, re] of Object.entries(says)) assert.match(l.report(`acme/${n}`)!.error!, re);
});
test('a tap on an event that nobody declares is named at the seal, with the nearest', async (t) => {
  const l = await alone(t, [plugin('acme/a', (s) => { (s.hooks as unknown as Record<string, { tap(n: string, fn: () => void): void }>)['PostToolUze']!.tap('x', () => {}); s.hooks.extension('acme/none').tap({ name: 'y', optional: true }, () => {}); })]);
  assert.deepEqual(l.problems.map((p) => p.message), ['acme/a taps PostToolUze, which nobody declares']);
  assert.equal(l.problems[0]!.facts.do, 'did you mean "PostToolUse"?');
});
test('an event that one plugin declares another one taps, and only the first fires it', async (t) => {
  let deploy!: (name: string, event: never) => Promise<{ said: unknown }>;
  const l = await alone(t, [plugin('acme/tapper', ({ hooks }) => { hooks.extension('acme/deploy').tap('t', () => ({ additionalContext: 'heard' }) as never); }), plugin('acme/owner', ({ fire: f }) => { deploy = f.extension as never; }, { declares: { 'acme/deploy': fold<any, any>(contextSaid, (so, v) => ({ ...so, said: v.said })) } }), plugin('acme/thief', () => {}, { declares: { 'acme/deploy': fold(contextSaid, (so) => so) } })]);
  assert.deepEqual((await deploy('acme/deploy', BASE as never)).said, { additionalContext: 'heard' });
  await assert.rejects(deploy('acme/other', BASE as never), /which it does not declare/);
  assert.match(l.report('acme/thief')!.error!, /which another plugin declares/);
  assert.deepEqual(l.problems, []);
});
test('a plugin fires only what it said that it fires; failures of those taps are logged', async (t) => {
  let fires!: Record<string, ((e: never) => Promise<unknown>) | undefined>;
  const l = await alone(t, [plugin('acme/watch', ({ fire: f }) => { fires = f as never; }, { fires: ['FileChanged'] }), plugin('acme/tap', ({ hooks }) => { hooks.FileChanged.tap('t', () => { throw new Error('deaf'); }); })]);
  assert.deepEqual(Object.keys(fires), ['FileChanged']);
  await fires['FileChanged']!({ ...BASE, path: 'x', change: 'add' } as never);
  assert.match(l.logs.at(-1)!.text, /t failed on FileChanged: deaf/);
});
test('a throwing tap of one plugin does not keep the next plugin\'s from being heard; on a gate it denies', async (t) => {
  const l = await alone(t, [plugin('acme/a', ({ hooks }) => { hooks.PostToolUse.tap('a', () => { throw new Error('x'); }); hooks.PreToolUse.tap('a', () => { throw new Error('x'); }); }), plugin('acme/b', ({ hooks }) => { hooks.PostToolUse.tap('b', () => ({ additionalContext: 'b' })); })]);
  assert.equal((await fire(l.kernel, 'PostToolUse', { ...draft(), output: 1, content: 'c', durationMs: 1 })).said.additionalContext, 'b');
  assert.equal((await fire(l.kernel, 'PreToolUse', draft())).said.behavior, 'deny');
});
test('names, layers and tapable\'s own options cannot be forged; undone and disposed taps are silent', async (t) => {
  const ran: string[] = [];
  const l = await alone(t, [plugin('acme/a', ({ hooks }) => {
    const tap = (name: string, more: object = {}) => hooks.Stop.tap({ name, ...more } as never, () => { ran.push(name); });
    tap('first');
    tap('forged', { origin: { layer: 'policy', file: '/etc/tappet/policy.yaml', line: 1, column: 1 }, before: 'first', plugin: 'guards/rules', record: null, fn: () => ran.push('hijacked'), type: 'sync' });
    tap('own time', { timeoutMs: 'own' });
    tap('undone')();
  })]);
  const taps = l.kernel.hooks.taps('Stop');
  assert.deepEqual(taps.map((x) => [x.options.name, x.plugin, x.origin.layer, x.options.timeoutMs]), [['first', 'acme/a', 'built-in', undefined], ['forged', 'acme/a', 'built-in', undefined], ['own time', 'acme/a', 'built-in', undefined], ['undone', 'acme/a', 'built-in', undefined]]);
  await fire(l.kernel, 'Stop', { ...BASE, lastMessage: '', stopHookActive: false });
  assert.deepEqual(ran, ['first', 'forged', 'own time']);
  await l.kernel.dispose();
  await fire(l.kernel, 'Stop', { ...BASE, lastMessage: '', stopHookActive: false });
  assert.equal(ran.length, 3);
});
test('a genuine origin of a higher layer does not make another\'s plugin speak for that layer; ours may', async (t) => {
  const speak = "const origin = scope.settings.origin('mode'); scope.hooks.Stop.tap({ name: scope.name, origin }, () => {}); scope.registries.skills.source().replace([{ item: { name: scope.name }, origin }]);";
  const ours = plugin('acme/ours', (scope) => { new Function('scope', speak)(scope); });
  const p = project(t, { only: BASIC, plugins: [ours], files: { 'policy:policy.yaml': 'mode: plan\n', [USER]: entry('acme/theirs', './x.mjs'), '~/.config/tappet/x.mjs': MODULE('acme/theirs', speak) } });
  const l = await load(t, p);
  assert.deepEqual(l.kernel.hooks.taps('Stop').map((x) => [x.plugin, x.origin.layer]), [['acme/theirs', 'user'], ['acme/ours', 'policy']]);
  assert.deepEqual(l.kernel.registries.skills.entries().map((e) => [e.name, e.origin.layer]).sort(), [['acme/ours', 'policy'], ['acme/theirs', 'user']]);
});
test('what was opened is closed at the end, last opened first, across plugins, whatever one of them does', async (t) => {
  const closed: string[] = [];
  const opens = (name: string) => plugin(name, ({ own }) => { own(() => { closed.push(`${name} 1`); }); own(async () => { closed.push(`${name} 2`); throw new Error('x'); }); });
  const l = await alone(t, [opens('acme/a'), opens('acme/b')]);
  await l.kernel.dispose();
  assert.deepEqual(closed, ['acme/b 2', 'acme/b 1', 'acme/a 2', 'acme/a 1']);
});
test('a service is what the nearest layer provides; for a store the configuration names the plugin', async (t) => {
  const store = (id: string) => ({ id }) as never;
  const stores = [plugin('acme/one', ({ services }) => { services.provide('stores.sessions', store('one')); }), plugin('acme/two', ({ services }) => { services.provide('stores.sessions', store('two')); })];
  const of = async (text: string): Promise<unknown> => (await alone(t, stores, { files: { [USER]: text } })).kernel.services.get('stores.sessions');
  assert.deepEqual(await of('stores: { sessions: acme/two }\n'), { id: 'two' });
  assert.deepEqual(await of('stores: { sessions: acme/one }\n'), { id: 'one' });
  assert.equal(await of('stores: { sessions: acme/none }\n'), undefined);
});
test('settings are watched by key, a watcher that throws is logged, and what did not change is not told', async (t) => {
  const heard: unknown[] = [];
  const l = await alone(t, [plugin('acme/a', ({ settings }) => { settings.watch('mode', () => { throw new Error('deaf'); }); settings.watch('limits', (v) => { heard.push(v); }); settings.watch('mode', (v) => { heard.push(v); }); })], { files: { [USER]: 'limits: { turns: 3 }\n' } });
  const now = l.kernel.config();
  l.kernel.setConfig({ ...now, settings: { ...now.settings, mode: 'plan', limits: { ...now.settings.limits } } });
  assert.deepEqual(heard, ['plan']);
  assert.match(l.logs.at(-1)!.text, /watches mode, and failed: deaf/);
});
test('defaults of a plugin stand between ours and the user\'s; those of one that failed do not count', async (t) => {
  const l = await alone(t, [plugin('acme/a', () => {}, { defaults: { model: 'acme/one', limits: { turns: 9 } } }), plugin('acme/bad', () => { throw new Error('x'); }, { defaults: { limits: { turns: 1 }, directories: ['/bad'] } })], { files: { [USER]: 'limits: { turns: 20 }\n' } });
  assert.deepEqual([l.kernel.settings().model, l.kernel.settings().limits.turns, l.kernel.settings().directories], ['acme/one', 9, []]);
  assert.equal(l.kernel.config().chain('model')[0]!.origin.layer, 'plugin');
});
test('a third party\'s tool that cannot be described is refused at load, with the tool\'s name', async (t) => {
  const withTool = (name: string, schema: string): string => MODULE(`acme/${name}`, `scope.registries.tools.add(defineTool({ name: 'Look', description: 'd', inputSchema: ${schema}, call: () => ({ data: 1 }) }));`);
  const bad = { three: "{ _def: {}, '~standard': { version: 1, vendor: 'zod', validate: () => ({}) } }", forty: "{ _zod: {}, '~standard': { version: 1, vendor: 'zod', validate: () => ({}) } }", text: '() => z.string()', date: '() => z.object({ d: z.date() })', raw: "{ type: 'object' }" };
  const l = await load(t, project(t, { only: [], files: { [USER]: `plugins:\n${Object.keys(bad).map((n) => `  acme/${n}: { use: ./${n}.mjs }\n`).join('')}`, ...Object.fromEntries(Object.entries(bad).map(([n, s]) => [`~/.config/tappet/${n}.mjs`, withTool(n, s)])) } }));
  assert.deepEqual(toolNames(l), []);
  for (const n of Object.keys(bad)) assert.match(l.report(`acme/${n}`)!.error!, /E_PLUGIN_SCHEMA {2}the input schema of tool Look cannot describe itself/, n);
  const live = await load(t, project(t, { only: [], files: { [USER]: entry('acme/live', './live.mjs'), '~/.config/tappet/live.mjs': MODULE('acme/live', "const below = scope.registries.tools.reserve('acme__'); globalThis.addLater = () => below.add(defineTool({ name: 'acme__x', description: 'd', inputSchema: () => z.string(), call: () => ({ data: 1 }) }));") } }));
  assert.equal(live.report('acme/live')!.state, 'running');
  assert.throws((globalThis as unknown as { addLater: () => void }).addLater, /input schema of tool acme__x/);
  assert.match(l.report('acme/three')!.error!, /zod before 4\.2/);
});

// ---- who may come ----------------------------------------------------------------------------------------------------------

const PROJECT = { 'agent.config.yaml': entry('acme/x', './x.mjs'), 'x.mjs': `globalThis.ranBeforeTrust = true;\n${MODULE('acme/x', "scope.registries.tools.add(defineTool({ name: 'X', description: 'd', inputSchema: () => z.object({}), call: () => ({ data: 1 }) }));")}` };
test('nothing of a folder that nobody trusted runs; what waits is reported, and after trust it runs', async (t) => {
  const p = project(t, { only: [], files: PROJECT });
  const l = await load(t, p);
  assert.deepEqual([l.report('acme/x')?.state, toolNames(l), (globalThis as { ranBeforeTrust?: boolean }).ranBeforeTrust], ['untrusted', [], undefined]);
  assert.match(l.report('acme/x')!.error!, /waits until this folder is trusted/);
  await trust(p);
  const after = await load(t, p);
  assert.deepEqual([after.report('acme/x')?.state, toolNames(after)], ['running', ['X']]);
  assert.match(after.report('acme/x')!.hash!, /^sha256-/);
  assert.deepEqual(after.report('acme/x')!.adds, ['tools:X']);
});
test('a plugin whose content changes between trust and its loading is not loaded', async (t) => {
  const p = project(t, { only: [], files: PROJECT });
  await trust(p);
  const p2 = { ...p, builtins: { ...p.builtins, plugin: async (name: string) => { p.write('x.mjs', `${PROJECT['x.mjs']}// changed\n`); return p.builtins.plugin(name); } } };
  const config = await configIn(p2);
  p.write('x.mjs', `${PROJECT['x.mjs']}// changed\n`);
  const { createKernel } = await import('../../kernel/kernel.ts');
  const { loadPlugins } = await import('../../kernel/load.ts');
  const kernel = createKernel({ root: config.root, env: {}, places: config.sources.places, builtins: p.builtins, config });
  await loadPlugins(kernel);
  assert.match(kernel.reports.find((r) => r.name === 'acme/x')!.error!, /E_PLUGIN_UNTRUSTED {2}acme\/x waits: its content is not what was trusted/);
});
test('a trusted project\'s plugin of one of our names takes its place; before trust ours stays', async (t) => {
  const p = project(t, { only: [], plugins: [plugin('tools/look', bringing('Ours'))], files: { 'agent.config.yaml': entry('tools/look', './x.mjs'), 'x.mjs': PROJECT['x.mjs'].replace('acme/x', 'tools/look') } });
  assert.deepEqual(toolNames(await load(t, p)), ['Ours']);
  await trust(p);
  const l = await load(t, p);
  assert.deepEqual([toolNames(l), l.report('tools/look')!.from], [['X'], join(p.dir, 'x.mjs')]);
});
const policy = (text: string, files: Readonly<Record<string, string>> = {}, more: Partial<ProjectOptions> = {}): ProjectOptions => ({ only: BASIC, files: { 'policy:policy.yaml': text, ...files }, ...more });
const RUN = { [USER]: entry('acme/x', './x.mjs'), '~/.config/tappet/x.mjs': MODULE('acme/x') };
test('policy forbids by name, by pattern, by layer or by not listing; each report says who forbids, and nothing of the plugin runs', async (t) => {
  const evil = { ...RUN, '~/.config/tappet/x.mjs': `globalThis.ranForbidden = true;\n${MODULE('acme/x')}` };
  for (const bounds of ['forbid: [acme/x]', 'forbid: ["acme/*"]', 'forbid: ["*/x"]', 'onlyFrom: [policy]', 'allow: []', 'allow: [acme/y]']) {
    const l = await load(t, project(t, policy(`bounds: { plugins: { ${bounds} } }\n`, evil)));
    assert.equal(l.report('acme/x')?.state, 'forbidden', bounds);
    assert.match(l.report('acme/x')!.error!, /policy .*set by .*policy\.yaml:1:\d+ \(policy\)/, bounds);
  }
  assert.equal((globalThis as { ranForbidden?: boolean }).ranForbidden, undefined);
  for (const bounds of ['allow: [acme/x]', 'onlyFrom: [user]']) assert.equal((await load(t, project(t, policy(`bounds: { plugins: { ${bounds} } }\n`, RUN)))).report('acme/x')?.state, 'running', bounds);
});
test('policy binds a plugin to its content, also where it comes from --plugin-dir under another roof', async (t) => {
  const p = project(t, policy('', RUN));
  const { hash } = (await load(t, p)).report('acme/x')!;
  p.write('policy:policy.yaml', `bounds: { plugins: { hashes: { acme/x: ${hash} } } }\n`);
  assert.equal((await load(t, p)).report('acme/x')?.state, 'running');
  p.write('~/other/x.mjs', MODULE('acme/x', 'void 0;'));
  p.write('~/.config/tappet/x.mjs', MODULE('acme/x', 'void 0;'));
  assert.match((await load(t, p)).report('acme/x')!.error!, /E_PLUGIN_FORBIDDEN[^]*policy wants content sha256-/);
  p.write(USER, '');
  const flagged = await load(t, p, { more: { pluginFiles: [join(p.home, 'other/x.mjs')] } });
  assert.ok(flagged.kernel.reports.every((r) => r.from !== join(p.home, 'other/x.mjs') || r.state === 'failed'));
  assert.match(flagged.logs.map((x) => x.text).join('\n'), /policy wants content/);
});
test('what policy requires must run: missing, off, failed, waiting or replaced stops the start, with the place of the demand', async (t) => {
  const require = 'bounds:\n  plugins:\n    require: [acme/x]\n';
  const cases: readonly [Readonly<Record<string, string>>, RegExp][] = [
    [{}, /not there/], [{ ...RUN, 'agent.config.local.yaml': 'x: [' , '~/.config/tappet/x.mjs': 'throw new Error("boom");' }, /failed[^]*boom/], [PROJECT, /untrusted/], [{ ...RUN, '~/.config/tappet/x.mjs': MODULE('acme/x').replace('api: 1', 'api: 2') }, /failed[^]*made for plugin API 2/],
  ];
  for (const [files, says] of cases) {
    const { code, printed } = await refused(load(t, project(t, policy(require, files))));
    assert.equal(code, 'E_PLUGIN_REQUIRED');
    assert.match(printed, says);
    assert.match(printed, /where {3}.*policy\.yaml:3:5 \(policy\)/);
  }
  assert.match((await refused(load(t, project(t, policy('bounds: { plugins: { require: [tools/read] } }\n', { [USER]: 'plugins: { tools/read: false }\n' }))))).printed, /switched off[^]*said at .*config\.yaml:1:24 \(user\)/);
  assert.match((await refused(load(t, project(t, policy('bounds: { plugins: { require: [tools/read] } }\n', { [USER]: entry('tools/read', './x.mjs'), '~/.config/tappet/x.mjs': MODULE('tools/read') }))))).printed, /replaced by .*x\.mjs/);
  assert.equal((await load(t, project(t, policy(require, RUN)))).report('acme/x')?.state, 'running');
});
test('what enforces a policy cannot be switched off, forbidden, left out, broken or replaced by anybody', async (t) => {
  const deny = 'permissions: { deny: ["Read(x)"] }\n';
  const guards = ['guards/rules', 'guards/workspace', 'guards/protected-paths'];
  for (const guard of guards) {
    const broken: readonly [string, ProjectOptions][] = [
      ['off', policy(deny, { [USER]: `plugins: { ${guard}: false }\n` })], ['off by policy itself', policy(`${deny}plugins: { ${guard}: false }\n`)], ['forbidden', policy(`${deny}bounds: { plugins: { forbid: ["${guard}"] } }\n`)], ['not in the built-in layer', policy(deny, {}, { only: BASIC.filter((n) => n !== guard) })],
      ['replaced', policy(deny, { [USER]: entry(guard, './x.mjs'), '~/.config/tappet/x.mjs': MODULE(guard) })], ['options that it does not take', policy(deny, { [USER]: `plugins: { ${guard}: { with: { soft: true } } }\n` })],
    ];
    for (const [name, o] of broken) {
      const { code, printed } = await refused(load(t, project(t, o)));
      assert.equal(code, 'E_POLICY_UNENFORCED', `${guard} ${name}`);
      assert.match(printed, new RegExp(`${guard}, which enforces it, is [^]*where {3}.*policy\\.yaml:`), name);
    }
    const p = project(t, policy(deny, { '~/x.mjs': MODULE(guard) }));
    assert.match((await refused(load(t, p, { more: { pluginFiles: [join(p.home, 'x.mjs')] } }))).printed, /replaced by .*x\.mjs/);
    assert.match((await refused(load(t, p, { more: { set: [`plugins.${guard}=false`] } }))).printed, /switched off[^]*--set \(flag\)/);
  }
  const free = await load(t, project(t, { only: BASIC, files: { [USER]: `plugins: { ${guards.join(': false, ')}: false }\n` } }));
  assert.deepEqual(guards.map((g) => free.report(g)?.state), ['off', 'off', 'off'], 'without a policy a person may');
});
test('a guard of policy\'s own in the place of ours is policy\'s word', async (t) => {
  const p = project(t, policy('permissions: { deny: ["Read(x)"] }\nplugins: { guards/rules: { use: ./x.mjs } }\n', { 'policy:x.mjs': MODULE('guards/rules') }));
  assert.equal((await load(t, p)).report('guards/rules')?.origin.layer, 'policy');
});
test('--plugin-dir names files: their plugins run as flags, take the place of lower ones, and two of one name are none', async (t) => {
  const p = project(t, { only: [], plugins: [plugin('tools/look', bringing('Ours'))], files: { 'one.mjs': MODULE('tools/look', "scope.registries.tools.add(defineTool({ name: 'Theirs', description: 'd', inputSchema: () => z.object({}), call: () => ({ data: 1 }) }));"), 'two.mjs': MODULE('tools/look') } });
  const one = await load(t, p, { more: { pluginFiles: [join(p.dir, 'one.mjs')] } });
  assert.deepEqual(toolNames(one), ['Theirs']);
  const look = (r: readonly PluginReport[]) => r.filter((x) => x.name === 'tools/look').map((x) => [x.state, x.origin.layer]);
  assert.deepEqual(look(one.kernel.reports), [['shadowed', 'built-in'], ['running', 'flag']]);
  const both = await load(t, p, { more: { pluginFiles: ['one.mjs', 'two.mjs'].map((f) => join(p.dir, f)) } });
  assert.deepEqual(toolNames(both), []);
  assert.match(both.kernel.reports.map((r) => r.error ?? '').join('\n'), /two plugins are named "tools\/look" in one layer[^]*one\.mjs and .*two\.mjs/);
});
test('a plugin that a flag names by a relative path is looked for in the project', async (t) => {
  const p = project(t, { only: [], files: { 'x.mjs': MODULE('acme/x') } });
  assert.equal((await load(t, p, { more: { set: ['plugins.acme/x.use=./x.mjs'] } })).report('acme/x')?.state, 'running');
});
test('switched off is switched off, whoever said it first', async (t) => {
  const p = project(t, { only: [], plugins: [plugin('tools/look', bringing('Ours'))], files: { [USER]: 'plugins: { tools/look: false }\n' } });
  assert.deepEqual([(await load(t, p)).report('tools/look')?.state, toolNames(await load(t, p))], ['off', []]);
  renameSync(join(p.home, '.config/tappet/config.yaml'), join(p.dir, 'agent.config.yaml'));
  assert.deepEqual(toolNames(await load(t, p)), [], 'a tool less is no danger, so a stranger may switch it off');
});
test('switching off a name that is nearly one of ours is said, since nothing is switched off; one that is nowhere near, or that a layer brings, is not', async (t) => {
  const p = project(t, { only: [], plugins: [plugin('tools/look', bringing('Ours'))], files: { [USER]: 'plugins: { tools/lok: false, acme/elsewhere: false, tools/loki: false }\n', 'agent.config.yaml': entry('tools/loki', './loki.ts') } });
  const l = await load(t, p);
  assert.deepEqual(toolNames(l), ['Ours']);
  const said = l.logs.filter((x) => x.code === 'E_PLUGIN_UNKNOWN');
  assert.deepEqual(said.map((x) => [x.level, x.name]), [['warning', 'tools/lok']]);
  assert.match(said[0]!.text, /there is no plugin "tools\/lok"\n {2}where {3}.*config\.yaml:1:23 \(user\)\n {2}cause {3}so nothing is switched off\n {2}do {6}did you mean "tools\/look"\?/);
});
