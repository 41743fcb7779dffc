/** The files behind a plugin, and a hash that covers all that would run. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { findPlugin } from '../../../kernel/config/plugin-files.ts';
import { isTappetError } from '../../../kernel/errors.ts';
import { project } from '../../support/project.ts';

function place(t: TestContext, files: Readonly<Record<string, string>>) {
  const p = project(t, { files });
  const find = (use: string) => findPlugin('acme/x', use, join(p.dir, 'agent.config.yaml'));
  const refused = async (use: string): Promise<string> => { try { await find(use); } catch (e) { assert.ok(isTappetError(e) && e.code === 'E_PLUGIN_LOAD', String(e)); return e.message; } return assert.fail('it was found'); };
  const names = async (use: string): Promise<string[]> => (await find(use)).files.map((f) => relative(p.dir, f));
  return { ...p, find, refused, names };
}

test('all that a file imports by a relative path belongs to it, however it is written', async (t) => {
  const p = place(t, {
    'x.ts': "import a from './a.ts';\nimport './b.js';\nexport * from \"./lib\";\nconst c = await import(`./c.mjs`);\nconst d = require('./d');\nimport type { E } from './e.js';\nimport z from 'zod';\n", 'a.ts': "import '..';", 'b.js': '', 'lib/index.ts': "import '../f.json' with { type: 'json' };", 'c.mjs': '', 'd.cjs': '', 'e.ts': '', 'f.json': '{}', 'unused.ts': '',
  });
  assert.deepEqual((await p.names('./x.ts')).sort(), ['a.ts', 'b.js', 'c.mjs', 'd.cjs', 'e.ts', 'f.json', 'lib/index.ts', 'x.ts']);
  assert.equal((await p.names('./x.ts'))[0], 'x.ts');
});
test('where two files could be meant both count', async (t) => {
  const p = place(t, { 'x.ts': "import './a';", 'a.ts': '', 'a.js': '', 'a/index.js': '' });
  assert.deepEqual((await p.names('./x')).sort(), ['a.js', 'a.ts', 'a/index.js', 'x.ts']);
});
test('files that import each other in a circle are each counted once', async (t) => {
  const p = place(t, { 'x.ts': "import './y.ts';", 'y.ts': "import './x.ts';" });
  assert.deepEqual(await p.names('./x.ts'), ['x.ts', 'y.ts']);
});
test('the hash is that of contents and names, and says nothing of where the folder lies', async (t) => {
  const one = place(t, { 'x.ts': "import './y.ts';", 'y.ts': '1' });
  const two = place(t, { 'x.ts': "import './y.ts';", 'y.ts': '1' });
  const three = place(t, { 'x.ts': "import './y.ts';", 'y.ts': '2' });
  const [a, b, c] = await Promise.all([one, two, three].map(async (p) => (await p.find('./x.ts')).hash));
  assert.match(a!, /^sha256-[0-9a-f]{64}$/);
  assert.equal(a, b);
  assert.notEqual(a, c);
});
test('an installed package is found in the node_modules above the file that names it, with or without a version', async (t) => {
  const p = place(t, { 'node_modules/@acme/x/package.json': '{"main": "dist/index"}', 'node_modules/@acme/x/dist/index.js': '', 'node_modules/@acme/x/README.md': '' });
  for (const use of ['@acme/x', 'npm:@acme/x', '@acme/x@1.2.3', 'npm:@acme/x@^1']) {
    const found = await p.find(use);
    assert.deepEqual([found.kind, relative(p.dir, found.entry), found.files.length], ['package', 'node_modules/@acme/x/dist/index.js', 3], use);
  }
  assert.match(await p.refused('acme-y@2'), /the package "acme-y" is not installed/);
});
test('a package\'s entry is what tappet.entry, exports or main say; a folder has an index', async (t) => {
  const manifests: readonly [manifest: string, entry: string][] = [
    ['{"tappet": {"entry": "./a.js"}, "main": "b.js"}', 'a.js'], ['{"exports": {".": {"import": {"types": 5, "default": "./a.js"}, "require": "./b.js"}}, "main": "b.js"}', 'a.js'], ['{"exports": "./a.js"}', 'a.js'], ['{"exports": {"import": "./a.js"}}', 'a.js'],
    ['{"exports": {"./other": "./b.js"}, "main": "./a"}', 'a.js'], ['{"main": "./lib"}', 'lib/index.js'], ['{"main": "nowhere.js"}', 'index.js'], ['{}', 'index.js'], ['\ufeff{}', 'index.js'], ['{"main": 5}', 'index.js'], ['null', 'index.js'], ['{"exports": {".": ["./a.js"]}}', 'index.js'],
  ];
  for (const [manifest, entry] of manifests) {
    const p = place(t, { 'x/package.json': manifest, 'x/a.js': '', 'x/b.js': '', 'x/index.js': '', 'x/lib/index.js': '' });
    assert.equal(relative(p.dir, (await p.find('./x')).entry), `x/${entry}`, manifest);
  }
});
test('an entry outside of its package is refused, also behind a link: it would not be part of the hash', async (t) => {
  const p = place(t, { 'x/package.json': '{"tappet": {"entry": "../evil.js"}}', 'evil.js': '', 'y/package.json': '{"main": "in.js"}' });
  symlinkSync('../evil.js', join(p.dir, 'y/in.js'));
  assert.match(await p.refused('./x'), /lies outside of the package/);
  assert.match(await p.refused('./y'), /lies outside of the package/);
});
test('a folder behind a link in a package counts, once, even in a circle', async (t) => {
  const p = place(t, { 'x/package.json': '{}', 'x/index.js': '', 'other/deep.js': '1' });
  symlinkSync('../other', join(p.dir, 'x/linked'));
  symlinkSync('..', join(p.dir, 'x/up'));
  const before = await p.find('./x');
  assert.ok(before.files.some((f) => f.endsWith('linked/deep.js')));
  p.write('other/deep.js', '2');
  assert.notEqual((await p.find('./x')).hash, before.hash);
});
test('what is not there, no file, or too large is said', async (t) => {
  const p = place(t, { 'x/package.json': '{broken', 'empty/package.json': '{}', 'big.ts': "import './more.ts';" });
  execFileSync('truncate', ['-s', '60M', join(p.dir, 'more.ts')]);
  p.write('large/package.json', '{}');
  p.write('large/index.js', '');
  execFileSync('truncate', ['-s', '60M', join(p.dir, 'large/data.bin')]);
  assert.match(await p.refused('./nothing.ts'), /there is no file .*nothing\.ts/);
  assert.match(await p.refused('./x'), /its package\.json cannot be read/);
  assert.match(await p.refused('./empty'), /has nothing to load/);
  assert.match(await p.refused('./big.ts'), /too large to be checked/);
  assert.match(await p.refused('./large'), /too large to be checked/);
  assert.match(await p.refused('/dev/zero'), /there is no file/);
});
