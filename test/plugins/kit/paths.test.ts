import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { absolute, isInside, realPath, shownPath } from 'tappet/kit';
import { testProject } from '../../support/tool-context.ts';

test('makes a path absolute from the working folder, and knows home', () => {
  assert.equal(absolute('/w', 'a/../b'), '/w/b');
  assert.equal(absolute('/w', '/x//y/'), '/x/y');
  assert.equal(absolute('/w', '~/n', '/home/me'), '/home/me/n');
  assert.equal(absolute('/w', '~', '/home/me'), '/home/me');
  assert.equal(absolute('/w', '~/n'), '/w/~/n');
  assert.equal(absolute('/w', '~other/n', '/home/me'), '/w/~other/n');
  assert.equal(absolute('/w', 'CaSe'), '/w/CaSe');
});

test('inside goes by components, never by the beginning of a string', () => {
  assert.ok(isInside('/work', '/work'));
  assert.ok(isInside('/work/a/b', '/work'));
  assert.ok(isInside('/work/..a', '/work'));
  assert.ok(isInside('/anything', '/'));
  assert.ok(!isInside('/work-2/a', '/work'));
  assert.ok(!isInside('/work/../etc', '/work'));
  assert.ok(!isInside('/', '/work'));
  assert.ok(!isInside('a', '/work'));
});

test('what is inside a folder stays inside whatever harmless names are put behind', () => {
  const name = fc.stringMatching(/^[a-zA-Z0-9 .é-]{1,8}$/).filter((n) => n !== '.' && n !== '..');
  fc.assert(fc.property(fc.array(name, { maxLength: 4 }), fc.array(name, { maxLength: 4 }), (root, more) => {
    const at = `/${root.join('/')}`;
    assert.ok(isInside(join(at, ...more), at));
    if (more.length > 0) assert.ok(!isInside(at, join(at, ...more)));
  }));
});

test('shows a path as somebody in the folder would write it', () => {
  assert.equal(shownPath('/w', '/w/a/b'), 'a/b');
  assert.equal(shownPath('/w', '/w'), '.');
  assert.equal(shownPath('/w', '/x/b'), '/x/b');
});

test('finds the real path behind links, also of what does not exist yet', async (t) => {
  const { folder, home, file } = await testProject(t);
  await file('dir/a.txt', '');
  await fs.symlink(join(folder, 'dir'), join(folder, 'link'));
  await fs.symlink('../home', join(folder, 'out'));
  await fs.symlink('../home/new.txt', join(folder, 'dangling'));
  await fs.symlink('dangling', join(folder, 'twice'));
  const real = (path: string) => realPath(fs, join(folder, path));
  assert.equal(await real('dir/a.txt'), join(folder, 'dir/a.txt'));
  assert.equal(await real('link/a.txt'), join(folder, 'dir/a.txt'));
  assert.equal(await real('link/new/deep.txt'), join(folder, 'dir/new/deep.txt'));
  assert.equal(await real('out/x'), join(home, 'x'));
  assert.equal(await real('dangling'), join(home, 'new.txt'));
  assert.equal(await real('twice'), join(home, 'new.txt'));
  assert.equal(await real('dangling/below'), join(home, 'new.txt/below'));
  assert.equal(await real('dir/a.txt/below'), join(folder, 'dir/a.txt/below'));
});

test('says that it does not know where links go in a circle or a path is none', async (t) => {
  const { folder } = await testProject(t);
  await fs.symlink('b', join(folder, 'a'));
  await fs.symlink('a', join(folder, 'b'));
  await fs.symlink('self/x', join(folder, 'self'));
  assert.equal(await realPath(fs, join(folder, 'a')), null);
  assert.equal(await realPath(fs, join(folder, 'a/below')), null);
  assert.equal(await realPath(fs, join(folder, 'self')), null);
  assert.equal(await realPath(fs, join(folder, 'nul\0byte')), null);
});
