/** Who may import whom. The fences of the house, read from the files as text. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const files = (room: string): string[] => readdirSync(join(root, room), { recursive: true, encoding: 'utf8' }).filter((f) => f.endsWith('.ts')).map((f) => join(room, f).split(sep).join('/'));
interface Import { readonly file: string; readonly spec: string; readonly target: string; readonly lazy: boolean }
function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8').replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|[^:'"])\/\/.*$/gm, '$1');
  const found: Import[] = [];
  for (const m of text.matchAll(/(?:^|\n)\s*(?:import|export)\s[^'"`;]*?from\s*'([^']+)'|(?:^|\n)\s*import\s*'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/g)) {
    const spec = (m[1] ?? m[2] ?? m[3])!;
    found.push({ file, spec, target: spec.startsWith('.') ? relative(root, resolve(root, dirname(file), spec)).split(sep).join('/') : spec, lazy: m[3] !== undefined });
  }
  return found;
}
const all = (room: string): Import[] => files(room).flatMap(importsOf);
const bad = (list: Import[], allowed: (i: Import) => boolean): string[] => list.filter((i) => !allowed(i)).map((i) => `${i.file} imports ${i.spec}`);

test('schemas import zod and each other, nothing else', () => {
  assert.deepEqual(bad(all('schemas'), (i) => i.spec === 'zod' || i.target.startsWith('schemas/') || (i.spec.startsWith('node:') && i.file === 'schemas/contracts.ts')), []);
});
test('the kernel imports schemas, tapable in its guard alone, picomatch, lru-cache and jiti, never a plugin, an agent or a vendor', () => {
  const libraries: Record<string, RegExp> = { tapable: /^kernel\/(guard|hooks)\.ts$/, zod: /^kernel\/(index|hooks|config\/check)\.ts$/, picomatch: /^kernel\/(matcher|tools|config\/admit)\.ts$/, 'lru-cache': /^kernel\/file-states\.ts$/, jiti: /^kernel\/door\.ts$/, 'jiti/static': /^kernel\/door\.ts$/, yaml: /^kernel\/config\//, cosmiconfig: /^kernel\/config\/explorer\.ts$/ };
  assert.deepEqual(bad(all('kernel'), (i) => i.target.startsWith('kernel/') || i.target.startsWith('schemas/') || i.spec.startsWith('node:') || libraries[i.spec]?.test(i.file) === true), []);
});
test('config is finished before a kernel exists: it imports schemas and errors alone', () => {
  assert.deepEqual(bad(all('kernel/config'), (i) => i.target.startsWith('kernel/config/') || i.target.startsWith('schemas/') || i.target === 'kernel/errors.ts' || !i.spec.startsWith('.')), []);
});
test('the kit knows neither kernel nor plugins', () => {
  assert.deepEqual(bad(all('plugins/kit'), (i) => !i.target.startsWith('kernel/') && (!i.target.startsWith('plugins/') || i.target.startsWith('plugins/kit/')) && !/^tappet(\/(kernel|kit))?$/.test(i.spec)), []);
});
test('a plugin imports the faces, node, libraries and its own folder: never another plugin, never what is behind a face', () => {
  const own = (i: Import): boolean => { const [, kind, name] = i.file.split('/'); return i.target.startsWith(`plugins/${kind}/${name!.replace(/\.ts$/, '')}/`); };
  const list = all('plugins').filter((i) => !i.file.startsWith('plugins/kit/'));
  assert.deepEqual(bad(list, (i) => (i.spec.startsWith('.') ? own(i) : i.spec.startsWith('node:') || /^tappet\/(kernel|kit|schemas)$/.test(i.spec) || !i.spec.startsWith('tappet'))), []);
});
test('a file of the kernel knows no concrete tool, mode, vendor or transport', () => {
  const names = /['"`](?:Bash|Glob|Grep|anthropic|openai|gemini|acceptEdits|stdio)['"`]/;
  assert.deepEqual(files('kernel').filter((f) => names.test(readFileSync(join(root, f), 'utf8'))), []);
});
test('no circle of imports runs through the kernel or the schemas (types aside)', () => {
  const edges = new Map<string, string[]>();
  for (const room of ['kernel', 'schemas']) for (const f of files(room)) {
    const text = readFileSync(join(root, f), 'utf8');
    edges.set(f, importsOf(f).filter((i) => !i.lazy && i.spec.startsWith('.') && !new RegExp(`import type [^;]*from '${i.spec.replace(/[.*+?^$()|[\]\\]/g, '\\$&')}'`).test(text) || new RegExp(`import \\{[^}]*\\} from '${i.spec.replace(/[.*+?^$()|[\]\\]/g, '\\$&')}'`).test(text) && !i.lazy).map((i) => i.target));
  }
  const state = new Map<string, 1 | 2>();
  const visit = (f: string, path: string[]): void => {
    if (state.get(f) === 2) return;
    assert.notEqual(state.get(f), 1, `a circle: ${[...path, f].join(' -> ')}`);
    state.set(f, 1);
    for (const next of edges.get(f) ?? []) visit(next, [...path, f]);
    state.set(f, 2);
  };
  for (const f of edges.keys()) visit(f, []);
});
test('no module of the kernel, the kit or the plugins keeps state of its own', () => {
  const rooms = ['kernel', 'plugins', 'schemas'].flatMap(files);
  assert.deepEqual(rooms.filter((f) => /^(?:export )?let /m.test(readFileSync(join(root, f), 'utf8'))), []);
});
