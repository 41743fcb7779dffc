/** The door: however a third party's plugin lies there, it gets our one face, and what it brings fits. */
import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import * as kernelFace from 'tappet/kernel';
import * as kitFace from 'tappet/kit';
import { z } from 'zod';
import { FACE } from '../../kernel/door.ts';
import { load, trust } from '../support/layers.ts';
import { project } from '../support/project.ts';

/** What a plugin saw of the face, told by a tool's description, so that nothing but data crosses. */
interface Seen { readonly kernel: unknown; readonly z: unknown; readonly zod: unknown; readonly kit: unknown }
const seen = (): Record<string, Seen> => ((globalThis as Record<symbol, unknown>)[Symbol.for('test.seen')] ??= {}) as Record<string, Seen>;
const ESM = (name: string): string => `import { definePlugin, defineTool, z } from 'tappet/kernel';
import { definePlugin as again } from 'tappet/kernel';
import * as kit from 'tappet/kit';
import { z as zod } from 'zod';
import { LAYERS } from 'tappet/schemas';
import { greet } from './helper.mjs';
globalThis[Symbol.for('test.seen')]['${name}'] = { kernel: definePlugin, z, zod, kit: kit.absolute, layers: LAYERS };
export default definePlugin({ name: '${name}', api: 1, apply: ({ registries }) => registries.tools.add(defineTool({ name: 'Look', description: greet('look'), inputSchema: () => z.object({ path: zod.string().describe('where') }), call: () => ({ data: 1 }) })) });
`;
const HELPER = "export const greet = (word) => `hello ${word}`;\n";
const CJS = (name: string): string => `const { definePlugin, defineTool, z } = require('tappet/kernel');
const { z: zod } = require('zod');
const { greet } = require('./helper.cjs');
globalThis[Symbol.for('test.seen')]['${name}'] = { kernel: definePlugin, z, zod, kit: require('tappet/kit').absolute };
module.exports = definePlugin({ name: '${name}', api: 1, apply: ({ registries }) => registries.tools.add(defineTool({ name: 'Look', description: greet('look'), inputSchema: z.object({ path: zod.string().describe('where') }), call: () => ({ data: 1 }) })) });
`;
const HELPER_CJS = 'exports.greet = (word) => `hello ${word}`;\n';

async function comesIn(t: TestContext, name: string, use: string, files: Readonly<Record<string, string>>, o: { zod?: unknown } = {}): Promise<void> {
  delete seen()[name];
  const p = project(t, { only: [], files: { 'agent.config.yaml': `plugins:\n  ${name}: { use: ${use} }\n`, ...files } });
  await trust(p);
  const l = await load(t, p);
  assert.equal(l.report(name)?.error, undefined);
  assert.equal(l.report(name)?.state, 'running');
  const saw = seen()[name]!;
  assert.equal(saw.kernel, kernelFace.definePlugin, 'another definePlugin');
  assert.equal(saw.z, kernelFace.z, 'another z');
  assert.equal(saw.zod, o.zod ?? z, 'another zod');
  assert.equal(saw.kit, kitFace.absolute, 'another kit');
  const tool = l.kernel.registries.tools.get('Look')!;
  assert.deepEqual(tool.inputSchema().jsonSchema, { type: 'object', properties: { path: { type: 'string', description: 'where' } }, required: ['path'] });
  assert.equal(await tool.description(null, { mode: 'default', tools: [] }), 'hello look');
}

test('a loose .mjs of a project comes in, with what it imports', async (t) => {
  await comesIn(t, 'acme/loose', './plugins/x.mjs', { 'plugins/x.mjs': ESM('acme/loose'), 'plugins/helper.mjs': HELPER });
});
test('a loose .cjs comes in', async (t) => {
  await comesIn(t, 'acme/common', './x.cjs', { 'x.cjs': CJS('acme/common'), 'helper.cjs': HELPER_CJS });
});
test('a loose .ts comes in, also one that says no extension, with types, a helper by relative import and one written as .js', async (t) => {
  const text = ESM('acme/typed').replace('./helper.mjs', './helper.js').replace("greet('look')", "greet('look' as Word)").replace("import * as kit", "import type { Word } from './helper.ts';\nimport type { Plugin } from 'tappet/kernel';\nexport type Mine = Plugin<never>;\nimport * as kit");
  const helper = "export type Word = 'look' | 'see';\nexport interface Greeting { readonly word: Word }\nexport const greet = (word: Word): string => `hello ${({ word } satisfies Greeting).word}`;\n";
  await comesIn(t, 'acme/typed', './plugins/x.ts', { 'plugins/x.ts': text, 'plugins/helper.ts': helper });
  await comesIn(t, 'acme/typed', './plugins/x', { 'plugins/x.ts': text, 'plugins/helper.ts': helper });
});
test('a folder with a package.json comes in, in TypeScript too', async (t) => {
  await comesIn(t, 'acme/folder', './acme', { 'acme/package.json': '{"type": "module", "tappet": {"entry": "./src/index.ts"}}', 'acme/src/index.ts': ESM('acme/folder').replace('./helper.mjs', './helper.ts'), 'acme/src/helper.ts': 'export const greet = (word: string): string => `hello ${word}`;\n' });
});
const NPM = { esm: { 'node_modules/@acme/x/package.json': '{"name": "@acme/x", "version": "1.0.0", "type": "module", "exports": "./index.js"}', 'node_modules/@acme/x/helper.mjs': HELPER }, cjs: { 'node_modules/@acme/x/package.json': '{"name": "@acme/x", "version": "1.0.0", "main": "index.js"}', 'node_modules/@acme/x/helper.cjs': HELPER_CJS } };
test('an installed package comes in without a tappet beside it, as ESM and as CommonJS', async (t) => {
  await comesIn(t, 'acme/esm', "'@acme/x'", { ...NPM.esm, 'node_modules/@acme/x/index.js': ESM('acme/esm') });
  await comesIn(t, 'acme/cjs', "'npm:@acme/x@^1.0.0'", { ...NPM.cjs, 'node_modules/@acme/x/index.js': CJS('acme/cjs') });
});
/** As our published package does it: what is handed out is what the host put under one symbol. */
const facade = (name: string): Readonly<Record<string, string>> => ({
  'node_modules/tappet/package.json': JSON.stringify({ name: 'tappet', version: '9.9.9', exports: { './kernel': './kernel.cjs', './kit': './kit.cjs', './schemas': './schemas.cjs' } }),
  ...Object.fromEntries(['kernel', 'kit', 'schemas'].map((room) => [`node_modules/tappet/${room}.cjs`, `globalThis[Symbol.for('test.facade')] = '${name}';\nmodule.exports = globalThis[Symbol.for('tappet.face/1')]['tappet/${room}'];\n`])),
  'node_modules/zod/package.json': '{"name": "zod", "version": "4.9.9", "exports": "./index.cjs"}', 'node_modules/zod/index.cjs': "module.exports = globalThis[Symbol.for('tappet.face/1')].zod;\n",
});
test('an installed package comes in with a tappet beside it, as ESM and as CommonJS, and is loaded natively', async (t) => {
  const ESM_NAMED = (name: string): string => ESM(name).replace("import * as kit from 'tappet/kit';", "import kit from 'tappet/kit';").replace("import { LAYERS } from 'tappet/schemas';", "import schemas from 'tappet/schemas';\nconst { LAYERS } = schemas;").replace("import { definePlugin, defineTool, z } from 'tappet/kernel';\nimport { definePlugin as again } from 'tappet/kernel';", "import kernel from 'tappet/kernel';\nconst { definePlugin, defineTool, z } = kernel;").replace("import { z as zod } from 'zod';", "import everything from 'zod';\nconst { z: zod } = everything;");
  await comesIn(t, 'acme/esm-beside', "'@acme/x'", { ...NPM.esm, ...facade('esm'), 'node_modules/@acme/x/index.js': ESM_NAMED('acme/esm-beside') });
  assert.equal((globalThis as Record<symbol, unknown>)[Symbol.for('test.facade')], 'esm');
  await comesIn(t, 'acme/cjs-beside', "'@acme/x'", { ...NPM.cjs, ...facade('cjs'), 'node_modules/@acme/x/index.js': CJS('acme/cjs-beside') });
  assert.equal((globalThis as Record<symbol, unknown>)[Symbol.for('test.facade')], 'cjs');
});
test('a package with a zod of its own brings schemas whose descriptions survive', async (t) => {
  const name = 'acme/own-zod';
  delete seen()[name];
  const p = project(t, { only: [], files: { 'agent.config.yaml': `plugins:\n  ${name}: { use: '@acme/x' }\n`, ...NPM.esm, ...facade('own'), 'node_modules/@acme/x/index.js': "import kernel from 'tappet/kernel';\nimport { z } from 'zod';\nglobalThis[Symbol.for('test.seen')]['acme/own-zod'] = { z };\nexport default kernel.definePlugin({ name: 'acme/own-zod', api: 1, options: () => z.object({ deep: z.object({ n: z.number() }).optional() }), apply: ({ registries }) => registries.tools.add(kernel.defineTool({ name: 'Look', description: 'd', inputSchema: () => z.object({ path: z.string().describe('where'), more: z.union([z.string(), z.number()]).optional().describe('what') }), call: () => ({ data: 1 }) })) });\n" } });
  cpSync(join(import.meta.dirname, '../../node_modules/zod'), join(p.dir, 'node_modules/zod'), { recursive: true, filter: (from) => !/[\\/]src([\\/]|$)|\.d\.c?ts$/.test(from) });
  await trust(p);
  const l = await load(t, p);
  assert.equal(l.report(name)?.error, undefined);
  assert.notEqual(seen()[name]!.z, z, 'this must be another copy');
  const schema = l.kernel.registries.tools.get('Look')!.inputSchema();
  const { properties } = schema.jsonSchema as { properties: Record<string, { description: string }> };
  assert.deepEqual([properties['path']!.description, properties['more']!.description], ['where', 'what']);
  assert.deepEqual(await schema.check({ path: 'x', more: 1 }), { value: { path: 'x', more: 1 } });
  assert.ok('problems' in (await schema.check({ path: 1 })));
});
test('a package that throws while it loads is not run a second time, whatever its words', async (t) => {
  const p = project(t, { only: [], files: { 'agent.config.yaml': "plugins:\n  acme/x: { use: '@acme/x' }\n", ...NPM.esm, 'node_modules/@acme/x/index.js': "globalThis.runs = (globalThis.runs ?? 0) + 1;\nthrow new Error(\"Cannot find package 'zod' in tappet/\");\n" } });
  await trust(p);
  const l = await load(t, p);
  assert.match(l.report('acme/x')!.error!, /Cannot find package 'zod'/);
  assert.equal((globalThis as { runs?: number }).runs, 1);
});
test('a loose module that throws while it loads is run once; one that waits at its top level is waited for', async (t) => {
  const p = project(t, { only: [], files: { 'agent.config.yaml': 'plugins:\n  acme/x: { use: ./x.mjs }\n  acme/y: { use: ./y.mjs }\n  acme/z: { use: ./z.ts }\n', 'x.mjs': "globalThis.looseRuns = (globalThis.looseRuns ?? 0) + 1;\nthrow new Error('at import');\n", 'y.mjs': "import { definePlugin } from 'tappet/kernel';\nconst name = await Promise.resolve('acme/y');\nexport default definePlugin({ name, api: 1, apply() {} });\n", 'z.ts': "import { definePlugin } from 'tappet/kernel';\nconst { name } = await import('./name.ts');\nexport default definePlugin({ name: name as string, api: 1, apply() {} });\n", 'name.ts': "export const name: string = 'acme/z';\n" } });
  await trust(p);
  const l = await load(t, p);
  assert.match(l.report('acme/x')!.error!, /at import/);
  assert.equal((globalThis as { looseRuns?: number }).looseRuns, 1);
  assert.deepEqual(['acme/y', 'acme/z'].map((n) => l.report(n)?.error ?? l.report(n)?.state), ['running', 'running']);
});
test('a package that needs something that is not installed is told so', async (t) => {
  const p = project(t, { only: [], files: { 'agent.config.yaml': "plugins:\n  acme/x: { use: '@acme/x' }\n  acme/y: { use: ./y.ts }\n", ...NPM.esm, 'node_modules/@acme/x/index.js': "import 'left-pad-of-nobody';\n", 'y.ts': "import 'left-pad-of-nobody';\n" } });
  await trust(p);
  const l = await load(t, p);
  for (const name of ['acme/x', 'acme/y']) assert.match(l.report(name)!.error!, /left-pad-of-nobody/, name);
});
test('code that changed on the disk is the code that runs in the next kernel of the same process', async (t) => {
  for (const [use, file, more] of [['./x.mjs', 'x.mjs', {}], ['./x.cjs', 'x.cjs', {}], ['./x.ts', 'x.ts', {}], ["'@acme/x'", 'node_modules/@acme/x/index.js', { ...NPM.esm, ...facade('again') }]] as const) {
    const text = (word: string): string => (file.endsWith('.cjs') ? (all: string) => all.replace('export default', 'module.exports =') : String)(`const { definePlugin, defineTool, z } = globalThis[Symbol.for('tappet.face/1')]['tappet/kernel'];\nexport default definePlugin({ name: 'acme/x', api: 1, apply: ({ registries }) => registries.tools.add(defineTool({ name: '${word}', description: 'd', inputSchema: () => z.object({}), call: () => ({ data: 1 }) })) });\n`);
    const p = project(t, { only: [], files: { 'agent.config.yaml': `plugins:\n  acme/x: { use: ${use} }\n`, ...more, [file]: text('Old') } });
    await trust(p);
    const before = await load(t, p);
    p.write(file, text('New'));
    await trust(p);
    const after = await load(t, p);
    assert.deepEqual([before, after].map((l) => l.kernel.registries.tools.all().map((x) => x.name)), [['Old'], ['New']], use);
    assert.notEqual(after.report('acme/x')!.hash, before.report('acme/x')!.hash);
  }
});
test('the face holds builders and types: nothing on it reaches a kernel', () => {
  const face = (globalThis as Record<symbol, unknown>)[FACE] as Record<string, Record<string, unknown>>;
  assert.deepEqual(Object.keys(face).sort(), ['tappet/kernel', 'tappet/kit', 'tappet/schemas', 'zod']);
  for (const word of ['boot', 'createKernel', 'makeOrigin', 'isOrigin', 'loadPlugins', 'createScope']) assert.equal(face['tappet/kernel']![word], undefined, word);
});
test('a folder whose name needs escaping in a URL comes in', async (t) => {
  await comesIn(t, 'acme/odd', "'./my %41 #1/x.mjs'", { 'my %41 #1/x.mjs': ESM('acme/odd'), 'my %41 #1/helper.mjs': HELPER });
  assert.ok(pathToFileURL('/my %41 #1').href.includes('%23'));
});
