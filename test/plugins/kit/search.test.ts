import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { compileGlob, createTimeBox, splitGlob, walk } from 'tappet/kit';
import type { WalkOptions } from 'tappet/kit';
import { testProject } from '../../support/tool-context.ts';

async function waysOf(root: string, options?: WalkOptions): Promise<string[]> {
  const ways: string[] = [];
  for await (const files of walk(fs, root, options)) ways.push(...files.map((f) => f.way));
  return ways;
}

test('walks in order of names, into hidden folders, not into version control', async (t) => {
  const { folder, file } = await testProject(t);
  for (const path of ['b.ts', 'a/z.ts', 'a/b/c.ts', '.hidden/x', '.git/config', 'a/.hg/x', 'a.ts']) await file(path, '');
  assert.deepEqual(await waysOf(folder), ['a.ts', 'b.ts', '.hidden/x', 'a/z.ts', 'a/b/c.ts']);
});

test('follows ignore files: nested, negated, nearest first', async (t) => {
  const { folder, file } = await testProject(t);
  await file('.gitignore', '*.log\nbuild/\n/only-here\n!keep.log\nout/*\n!out/keep\n');
  await file('sub/.gitignore', '!debug.log\ninner\n!build/\n');
  await file('sub/.ignore', 'secret.*\n');
  for (const path of ['a.log', 'keep.log', 'build/x', 'only-here', 'sub/only-here', 'sub/a.log', 'sub/debug.log', 'sub/inner/x', 'sub/build/x.ts', 'sub/secret.txt', 'Build/x', 'out/x', 'out/keep']) await file(path, '');
  assert.deepEqual((await waysOf(folder)).filter((w) => !w.includes('ignore')).sort(), ['Build/x', 'keep.log', 'out/keep', 'sub/build/x.ts', 'sub/debug.log', 'sub/only-here']);
});

test('a hostile ignore file does not hold up the walk', async (t) => {
  const { folder, file } = await testProject(t);
  await file('.gitignore', `${'**/a/'.repeat(9)}b\nx\n`);
  const deep = `${'a/'.repeat(60)}bc`;
  await file(deep, '');
  await file('x', '');
  assert.deepEqual(await waysOf(folder), ['.gitignore', deep]);
});

test('a tree without a bottom is not walked to the end', async (t) => {
  const { folder, file } = await testProject(t);
  await file(`${'d/'.repeat(140)}x`, '');
  await file('e/y', '');
  const unreadable: string[] = [];
  assert.deepEqual(await waysOf(folder, { onUnreadable: (path) => unreadable.push(path) }), ['e/y']);
  assert.equal(unreadable.length, 1);
});

test('a folder below a repository hears what the folders above say, unless they leave it out itself', async (t) => {
  const { folder, file } = await testProject(t);
  await file('.git/info/exclude', 'private\n');
  await file('.gitignore', '*.log\nnode_modules\n');
  for (const path of ['pkg/a.log', 'pkg/a.ts', 'pkg/private', 'node_modules/m/a.log', 'node_modules/m/a.js']) await file(path, '');
  assert.deepEqual(await waysOf(join(folder, 'pkg')), ['a.ts']);
  assert.deepEqual(await waysOf(join(folder, 'node_modules/m')), ['a.js', 'a.log']);
});

test('never goes through a link, and names it', async (t) => {
  const { folder, home, file } = await testProject(t);
  await file('a', '');
  await fs.writeFile(join(home, 'secret'), '');
  await fs.symlink(home, join(folder, 'out'));
  await fs.symlink('.', join(folder, 'loop'));
  const found = [];
  for await (const files of walk(fs, folder)) found.push(...files.map((f) => [f.way, f.isLink]));
  assert.deepEqual(found, [['a', false], ['loop', true], ['out', true]]);
});

test('tells of folders that it may not look into and goes on', async (t) => {
  const { folder, file } = await testProject(t);
  await file('a/x', '');
  await file('b/x', '');
  const readdir = async (path: string, ...more: unknown[]) => { if (path.endsWith('/a')) throw Object.assign(new Error('EACCES'), { code: 'EACCES' }); return (fs.readdir as (...args: unknown[]) => unknown)(path, ...more); };
  const unreadable: string[] = [];
  const ways: string[] = [];
  for await (const files of walk({ ...fs, readdir } as never, folder, { onUnreadable: (p) => unreadable.push(p) })) ways.push(...files.map((f) => f.way));
  assert.deepEqual([ways, unreadable], [['b/x'], [join(folder, 'a')]]);
});

test('ends at once when it is aborted', async (t) => {
  const { folder, file } = await testProject(t);
  await file('a', '');
  await assert.rejects(waysOf(folder, { signal: AbortSignal.abort(new Error('enough')) }), /enough/);
});

test('splits a pattern into the folder that it starts in and the rest', () => {
  assert.deepEqual(splitGlob('src/**/*.ts'), { base: 'src', rest: '**/*.ts' });
  assert.deepEqual(splitGlob('../a/*.ts'), { base: '../a', rest: '*.ts' });
  assert.deepEqual(splitGlob('/*.ts'), { base: '/', rest: '*.ts' });
  assert.deepEqual(splitGlob('/a/b.ts'), { base: '/a', rest: 'b.ts' });
  assert.deepEqual(splitGlob('a.ts'), { base: '', rest: 'a.ts' });
  assert.deepEqual(splitGlob('a/\\[b\\]/*.ts'), { base: 'a/[b]', rest: '*.ts' });
  assert.deepEqual(splitGlob('./src/{a,b}/'), { base: './src', rest: '{a,b}' });
});

test('a glob means what its letters say, and knows where it need not look', async () => {
  const ts = await compileGlob('src/*/x.{ts,tsx}');
  assert.ok(ts.matches('src/a/x.tsx') && !ts.matches('src/a/b/x.ts') && !ts.matches('a/x.ts'));
  assert.ok(ts.descends('src') && ts.descends('src/a') && !ts.descends('lib') && !ts.descends('src/a/b'));
  const deep = await compileGlob('a/**/x');
  assert.ok(deep.descends('a/b/c') && !deep.descends('b') && deep.matches('a/x') && deep.matches('a/.b/x'));
  const names = await compileGlob('*.ts', { anyDepth: true });
  assert.ok(names.matches('a/b.ts') && names.matches('b.ts'));
  assert.ok(!(await compileGlob('*.ts')).matches('a/b.ts'));
  assert.ok((await compileGlob('app/(auth)/*')).matches('app/(auth)/page.tsx'));
  assert.ok((await compileGlob('{a/b,c}/x')).descends('a'));
});

test('refuses globs that are none', async () => {
  for (const wrong of ['', '!a', '**/../x', '{../a,b}/x', 'a\0', 'x'.repeat(5000)]) await assert.rejects(compileGlob(wrong), Error, wrong);
});

test('a hostile glob against a hostile name ends', async () => {
  const glob = await compileGlob(`${'*a'.repeat(30)}b`);
  assert.throws(() => glob.matches('a'.repeat(250)), { code: 'E_PATTERN_SLOW' });
  assert.equal(glob.matches(`${'a'.repeat(40)}b`), true);
});

test('a time box gives values, passes errors on and ends what does not end', async () => {
  const box = await createTimeBox();
  assert.deepEqual(box(1000, () => 5), { value: 5 });
  assert.throws(() => box(1000, () => { throw new RangeError('mine'); }), RangeError);
  assert.equal(box(20, () => /^(a+)+$/.test(`${'a'.repeat(60)}b`)), null);
  assert.deepEqual(box(1000, () => 'still works'), { value: 'still works' });
});
