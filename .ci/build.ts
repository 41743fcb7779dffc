/** Makes `dist/`: the start chunk with all built-in plugins, chunks for heavy libraries, facades for authors, declarations. */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import type { Plugin } from '../kernel/plugin.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const dist = join(root, 'dist');
const gen = join(dist, 'gen');
const version = (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }).version;

rmSync(dist, { recursive: true, force: true });
mkdirSync(gen, { recursive: true });

const plugins = await generateEntries();
await bundle();
writeFacades();
if (!process.argv.includes('--no-types')) declarations();
rmSync(gen, { recursive: true, force: true });
const sizes = readdirSync(join(dist, 'chunks')).map((f) => [f, readFileSync(join(dist, 'chunks', f)).length] as const).sort((a, b) => b[1] - a[1]);
process.stderr.write(`built dist/ with ${plugins.length} plugins; ${sizes.length} chunks, the start one has ${Math.round((sizes.find(([f]) => f.startsWith('start'))?.[1] ?? 0) / 1000)} kB\n`);

/** The built-in layer as data with origins, its plugins as static imports, the schemas of built-in tools as JSON. */
async function generateEntries(): Promise<string[]> {
  const { readConfigFile } = await import('../kernel/config/read.ts');
  const { checkLayer } = await import('../kernel/config/check.ts');
  const file = join(root, 'agent.config.yaml');
  const read = await readConfigFile(file, { layer: 'built-in' });
  if (read === null) throw new Error('agent.config.yaml is missing');
  const layer = checkLayer(read, 'built-in', {});
  const names = Object.keys(layer.value.plugins ?? {});
  const places = Object.fromEntries(pathsOf(layer.value, '').map((p) => { const o = layer.origin(p); return [p, [o.line, o.column]]; }));
  const made = await atBuild(names);
  const path = (name: string): string => relative(gen, ['.ts', '/index.ts'].map((e) => join(root, 'plugins', name + e)).find(exists) ?? fail(`no file for the plugin ${name}`));
  writeFileSync(join(gen, 'builtins.ts'), [
    ...names.map((n, i) => `import p${i} from '${path(n)}';`),
    `import { makeOrigin } from '../../kernel/config/origin.ts';`,
    `import type { Builtins } from '../../kernel/builtins.ts';`,
    `const plugins: Record<string, unknown> = { ${names.map((n, i) => `'${n}': p${i}`).join(', ')} };`,
    `const places: Record<string, [number, number]> = ${JSON.stringify(places)};`,
    `const schemas: Record<string, Record<string, unknown>> = ${JSON.stringify(made.schemas)};`,
    `const options: Record<string, unknown> = ${JSON.stringify(made.options)};`,
    `export function bundledBuiltins(file: string, face: () => Promise<any>): Builtins {`,
    `  const origin = (path: string) => { for (let p = path; ; p = p.slice(0, p.lastIndexOf('.'))) { const at = places[p]; if (at !== undefined) return makeOrigin('built-in', file, at[0], at[1]); if (!p.includes('.')) return makeOrigin('built-in', file); } };`,
    `  const layer = { layer: 'built-in' as const, file, value: ${JSON.stringify(layer.value)} as any, hash: '${layer.hash}', problems: [], origin };`,
    `  return { version: '${version}', layer: async () => layer, plugin: async (name) => plugins[name], names: async () => Object.keys(plugins), face, toolSchemas: schemas, defaultOptions: options };`,
    `}`, '',
  ].join('\n'));
  writeFileSync(join(gen, 'start.ts'), `(globalThis as any)[Symbol.for('tappet.bundled')] = true;
import { bundledBuiltins } from './builtins.ts';
import { start } from '../../kernel/cli.ts';
import { createTappet as create } from '../../kernel/embed.ts';
export const builtins = (file: string) => bundledBuiltins(file, async () => (globalThis as any)[Symbol.for('tappet.face-loader')]());
export const run = (file: string) => start(builtins(file));
export const createTappet = (file: string, options: any) => create(options, builtins(file));
`);
  writeFileSync(join(gen, 'face.ts'), `import * as kernel from '../../kernel/index.ts';
import * as kit from '../../plugins/kit/index.ts';
import * as schemas from '../../schemas/index.ts';
import * as zod from 'zod';
export const face = { 'tappet/kernel': kernel, 'tappet/kit': kit, 'tappet/schemas': schemas, zod };
`);
  writeFileSync(join(gen, 'testing.ts'), `export * from '../../test/contracts/index.ts';\n`);
  return names;
}

function pathsOf(value: unknown, at: string): string[] {
  if (typeof value !== 'object' || value === null) return [at];
  return [...(at === '' ? [] : [at]), ...Object.entries(value).flatMap(([k, v]) => pathsOf(v, at === '' ? k : `${at}.${k}`))];
}

async function atBuild(names: readonly string[]): Promise<{ schemas: Record<string, unknown>; options: Record<string, unknown> }> {
  const { isDeepStrictEqual } = await import('node:util');
  const { checkedSchema } = await import('../kernel/schema.ts');
  const { boot } = await import('../kernel/boot.ts');
  const { sourceBuiltins } = await import('../kernel/builtins.ts');
  const empty = join(gen, 'empty');
  mkdirSync(empty, { recursive: true });
  const kernel = await boot({ cwd: empty, builtins: sourceBuiltins(), env: {}, home: empty, settingSources: [], policy: { main: join(empty, 'none'), folder: join(empty, 'none.d'), owner: null } });
  const failed = kernel.reports.filter((r) => r.state === 'failed');
  if (failed.length > 0) fail(failed.map((r) => r.error).join('\n'));
  const schemas = Object.fromEntries(kernel.registries.tools.all().map((t) => [t.name, t.inputSchema().jsonSchema]));
  const options: Record<string, unknown> = {};
  for (const name of names) {
    const plugin = (await kernel.builtins.plugin(name)) as Plugin;
    if (plugin.options === undefined) continue;
    const checked = await checkedSchema(plugin.options, `options of ${name}`).check({});
    // What JSON would not bring back as it was is checked at each start.
    if ('value' in checked && isDeepStrictEqual(JSON.parse(JSON.stringify(checked.value)), checked.value)) options[name] = checked.value;
  }
  await kernel.dispose();
  return { schemas, options };
}

/** The start has a build of its own: what authors may use beyond it (all of zod, the whole kit) must not weigh on it. */
async function bundle(): Promise<void> {
  await write({ start: join(gen, 'start.ts') });
  await write({ face: join(gen, 'face.ts'), ...(exists(join(root, 'test/contracts/index.ts')) ? { testing: join(gen, 'testing.ts') } : {}) });
}
async function write(input: Record<string, string>): Promise<void> {
  const build = await rolldown({
    input, cwd: root, platform: 'node',
    resolve: {
      alias: { 'tappet/kernel': join(root, 'kernel/index.ts'), 'tappet/kit': join(root, 'plugins/kit/index.ts'), 'tappet/schemas': join(root, 'schemas/index.ts') },
      conditionNames: ['node', 'import', 'module', 'default'],
    },
    transform: { define: { 'import.meta.url': '__tappet_url' } },
    external: [/^node:/, '@anthropic-ai/bedrock-sdk', '@anthropic-ai/vertex-sdk', '@napi-rs/keyring', 'fast-check'],
    onLog: (level, log, next) => { if (!['CIRCULAR_DEPENDENCY', 'EVAL', 'EMPTY_IMPORT_META', 'INEFFECTIVE_DYNAMIC_IMPORT'].includes(log.code ?? '')) next(level, log); },
  });
  await build.write({
    dir: join(dist, 'chunks'), format: 'cjs', exports: 'named', minify: true, entryFileNames: '[name]-[hash].cjs', chunkFileNames: '[name]-[hash].cjs',
    banner: "const __tappet_url=require('node:url').pathToFileURL(__filename).href;",
  });
  await build.close();
  // A script compiled from a cache cannot import(): node's own modules are required, the rest goes through its loader.
  for (const f of readdirSync(join(dist, 'chunks'))) {
    const file = join(dist, 'chunks', f);
    const text = readFileSync(file, 'utf8');
    const changed = text
      .replace(/\bimport\((["'`])(node:[\w/]+)\1\)/g, (_, _q, id: string) => `Promise.resolve().then(()=>{const m=require("${id}");return Object.assign(Object.create(m),{default:m})})`)
      .replace(/\bimport\((["'`])([@\w][^"'`]*)\1\)/g, (_, _q, id: string) => `globalThis[Symbol.for("tappet.import")]("${id}")`)
      // What is only known when it runs: what a transpiled plugin imports later, an SDK that lies beside the configuration.
      .replace(/(=>|\bawait )import\((?=[\w(])/g, (_, before: string) => `${before}(globalThis[Symbol.for("tappet.import")]??(u=>import(u)))(`);
    if (changed !== text) writeFileSync(file, changed);
  }
}

function writeFacades(): void {
  const chunk = (name: string): string => readdirSync(join(dist, 'chunks')).find((f) => f.startsWith(`${name}-`)) ?? fail(`no chunk ${name}`);
  cpSync(join(root, '.ci/entry.cjs'), join(dist, 'tappet.cjs'));
  writeFileSync(join(dist, 'tappet.cjs'), readFileSync(join(dist, 'tappet.cjs'), 'utf8').replace('%START%', chunk('start')).replace('%FACE%', chunk('face')));
  chmodSync(join(dist, 'tappet.cjs'), 0o755);
  writeFileSync(join(dist, 'face.cjs'), `'use strict';\nmodule.exports = require('./chunks/${chunk('face')}').face;\n`);
  writeFileSync(join(dist, 'embed.cjs'), `'use strict';\nconst path = require('node:path');\nconst loader = Symbol.for('tappet.face-loader');\nglobalThis[loader] ??= () => require('./face.cjs');\nconst start = require('./chunks/${chunk('start')}');\nmodule.exports = { ...globalThis[loader]()['tappet/kernel'], createTappet: (o) => start.createTappet(path.join(__dirname, '../agent.config.yaml'), o) };\n`);
  const namesOf = (file: string, key: string | null): string[] => {
    const r = spawnSync(process.execPath, ['-e', `const m=require(${JSON.stringify(file)});process.stdout.write(JSON.stringify(Object.keys(${key === null ? 'm' : `m[${JSON.stringify(key)}]`})))`], { encoding: 'utf8' });
    if (r.status !== 0) fail(r.stderr);
    return (JSON.parse(r.stdout) as string[]).filter((n) => /^[A-Za-z_$][\w$]*$/.test(n) && n !== 'default' && n !== '__esModule');
  };
  const facade = (file: string, source: string, names: string[]): void => writeFileSync(join(dist, file), `import { createRequire } from 'node:module';\nconst f = ${source};\nexport const { ${names.join(', ')} } = f;\n`);
  for (const name of ['kernel', 'kit', 'schemas']) facade(`${name}.mjs`, `(globalThis[Symbol.for('tappet.face/1')] ?? createRequire(import.meta.url)('./face.cjs'))['tappet/${name}']`, namesOf(join(dist, 'face.cjs'), `tappet/${name}`));
  facade('index.mjs', `createRequire(import.meta.url)('./embed.cjs')`, namesOf(join(dist, 'embed.cjs'), null));
  const testing = readdirSync(join(dist, 'chunks')).find((f) => f.startsWith('testing-'));
  if (testing !== undefined) {
    writeFileSync(join(dist, 'testing.cjs'), `'use strict';\nmodule.exports = require('./chunks/${testing}');\n`);
    facade('testing.mjs', `createRequire(import.meta.url)('./testing.cjs')`, namesOf(join(dist, 'testing.cjs'), null));
  }
}

function declarations(): void {
  const r = spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', root, '--noEmit', 'false', '--declaration', '--emitDeclarationOnly', '--outDir', join(dist, 'types'), '--rootDir', root], { encoding: 'utf8' });
  if (r.status !== 0) fail(`declarations: ${r.stdout}${r.stderr}`);
  // Declarations keep `.ts` in their imports; beside them lie `.d.ts` files, found by `.js`.
  for (const f of readdirSync(join(dist, 'types'), { recursive: true, encoding: 'utf8' })) {
    const file = join(dist, 'types', f);
    if (f.startsWith('bench') || f.startsWith('.ci') || f.startsWith('examples') || f.endsWith('.test.d.ts') || f.startsWith('test/house')) { rmSync(file, { recursive: true, force: true }); continue; }
    if (f.endsWith('.d.ts')) writeFileSync(file, readFileSync(file, 'utf8').replace(/((?:from|import\()\s*['"]\.{1,2}\/[^'"]+)\.ts(['"])/g, '$1.js$2'));
  }
}

function exists(file: string): boolean { try { readFileSync(file); return true; } catch { return false; } }
function fail(message: string): never { process.stderr.write(`${message}\n`); process.exit(1); }
