import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { codeOf, hashOf, readBounded, sweepTemps, writeWhole } from 'tappet/kit';
import type { FsLike } from 'tappet/schemas';
import { testProject } from '../../support/tool-context.ts';

const text = (s: string) => Buffer.from(s);
const version = async (path: string) => { const bytes = await fs.readFile(path); return { size: bytes.length, hash: hashOf(bytes) }; };
const modeOf = async (path: string) => (await fs.stat(path)).mode & 0o7777;
const fails = (code: string) => (e: unknown) => { assert.equal(codeOf(e), code, String(e)); return true; };
/** The real file system, with something done before the n-th call of a function. */
const before = (name: keyof FsLike, when: (path: string) => boolean, act: () => Promise<void>): FsLike => {
  let done = false;
  return { ...fs, [name]: async (...args: unknown[]) => { if (!done && when(String(args[0]))) { done = true; await act(); } return (fs[name] as (...a: unknown[]) => unknown)(...args); } } as unknown as FsLike;
};
const root = process.getuid?.() === 0;
const linux = process.platform === 'linux';

test('reads up to a bound and says that there is more', async (t) => {
  const { file } = await testProject(t);
  const path = await file('a', 'x'.repeat(10_000));
  assert.deepEqual([(await readBounded(fs, path, 10_000)).cut, (await readBounded(fs, path, 10_000)).bytes.length], [false, 10_000]);
  const part = await readBounded(fs, path, 9_999);
  assert.deepEqual([part.cut, part.bytes.length, part.size], [true, 9_999, 10_000]);
  assert.equal((await readBounded(fs, await file('empty', ''), 10)).bytes.length, 0);
});

test('reads files that do not know their size', { skip: !linux }, async () => {
  const read = await readBounded(fs, '/proc/version', 100_000);
  assert.ok(read.bytes.length > 0 && !read.cut);
});

test('reads regular files only, and never waits for a pipe', async (t) => {
  const { folder } = await testProject(t);
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  await assert.rejects(readBounded(fs, join(folder, 'pipe'), 10), fails('E_FILE_SPECIAL'));
  await assert.rejects(readBounded(fs, '/dev/zero', 10), fails('E_FILE_SPECIAL'));
  await assert.rejects(readBounded(fs, folder, 10), fails('EISDIR'));
  await assert.rejects(readBounded(fs, join(folder, 'none'), 10), fails('ENOENT'));
});

test('does not read through a link that took the place of what was judged', async (t) => {
  const { folder, home, file } = await testProject(t);
  await fs.writeFile(join(home, 'secret'), 'secret');
  await file('dir/secret', 'mine');
  await fs.symlink(join(home, 'secret'), join(folder, 'link'));
  await assert.rejects(readBounded(fs, join(folder, 'link'), 10), fails('E_FILE_MOVED'));
  await fs.rename(join(folder, 'dir'), join(folder, 'old'));
  await fs.symlink(home, join(folder, 'dir'));
  await assert.rejects(readBounded(fs, join(folder, 'dir/secret'), 10), fails('E_FILE_MOVED'));
});

test('makes a file with its folders, with the rights that the process gives', async (t) => {
  const { folder } = await testProject(t);
  const path = join(folder, 'a/b/c.txt');
  const { created, seen } = await writeWhole(fs, path, text('hi'));
  assert.equal(created, true);
  assert.deepEqual({ size: seen.size, hash: seen.hash }, await version(path));
  assert.equal(seen.mtimeMs, (await fs.stat(path)).mtimeMs);
  assert.deepEqual(await fs.readdir(join(folder, 'a/b')), ['c.txt'], 'nothing else is left');
});

test('honours the umask for new files', async (t) => {
  const { folder } = await testProject(t);
  const script = `import fs from 'node:fs/promises'; import { writeWhole } from 'tappet/kit'; process.umask(0o002); await writeWhole(fs, ${JSON.stringify(join(folder, 'new'))}, Buffer.from(''));`;
  const child = spawnSync(process.execPath, ['--conditions=tappet-src', '--import', 'tsx', '--input-type=module', '-e', script], { cwd: import.meta.dirname, encoding: 'utf8' });
  assert.equal(child.status, 0, child.stderr);
  assert.equal(await modeOf(join(folder, 'new')), 0o664);
});

test('keeps the mode of what it replaces', async (t) => {
  const { file } = await testProject(t);
  for (const mode of [0o755, 0o640, 0o600, 0o2775]) {
    const path = await file('script', 'old');
    await fs.chmod(path, mode);
    await writeWhole(fs, path, text('new'));
    assert.equal(await modeOf(path), mode);
    assert.equal(await fs.readFile(path, 'utf8'), 'new');
  }
});

test('a file with other names keeps them', async (t) => {
  const { folder, file } = await testProject(t);
  const path = await file('a', 'a long old text');
  await fs.link(path, join(folder, 'b'));
  await writeWhole(fs, path, text('new'));
  assert.equal(await fs.readFile(join(folder, 'b'), 'utf8'), 'new');
  assert.equal((await fs.stat(path)).nlink, 2);
});

test('keeps the owner, or writes into the file where it may not give it away', { skip: !root || !linux }, async (t) => {
  const { file } = await testProject(t);
  const path = await file('theirs', 'old');
  await fs.chown(path, 12345, 12346);
  await writeWhole(fs, path, text('new'));
  const { uid, gid } = await fs.stat(path);
  assert.deepEqual([uid, gid, await fs.readFile(path, 'utf8')], [12345, 12346, 'new']);
});

test('writes into the file itself where the folder lets nothing be made in it', async (t) => {
  const { folder, file } = await testProject(t);
  const path = await file('a', 'a long old text');
  const { ino } = await fs.stat(path);
  const refusing = { ...fs, open: async (at: string, flags: number, mode: number) => { if (String(at).endsWith('.tmp')) throw Object.assign(new Error('EACCES'), { code: 'EACCES' }); return fs.open(at, flags, mode); } } as unknown as FsLike;
  await writeWhole(refusing, path, text('new'));
  assert.deepEqual([(await fs.stat(path)).ino, await fs.readFile(path, 'utf8')], [ino, 'new']);
  await assert.rejects(writeWhole(refusing, join(folder, 'b'), text('new')), fails('EACCES'));
});

test('a file that is read-only stays as it is', async (t) => {
  const { file } = await testProject(t);
  const path = await file('a', 'old');
  await fs.chmod(path, 0o444);
  await assert.rejects(writeWhole(fs, path, text('new')), fails('E_FILE_READONLY'));
  assert.equal(await fs.readFile(path, 'utf8'), 'old');
});

test('writes regular files only', async (t) => {
  const { folder } = await testProject(t);
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  await assert.rejects(writeWhole(fs, join(folder, 'pipe'), text('x')), fails('E_FILE_SPECIAL'));
  await assert.rejects(writeWhole(fs, folder, text('x')), fails('EISDIR'));
  await assert.rejects(writeWhole(fs, '/dev/null', text('x')), fails('E_FILE_SPECIAL'));
});

test('replaces only the version that was expected', async (t) => {
  const { folder, file } = await testProject(t);
  const path = await file('a', 'one');
  const seen = await version(path);
  await writeWhole(fs, path, text('two'), { expect: seen });
  await assert.rejects(writeWhole(fs, path, text('three'), { expect: seen }), fails('E_FILE_CHANGED'));
  await assert.rejects(writeWhole(fs, path, text('three'), { expect: null }), fails('E_FILE_CHANGED'));
  await fs.rm(path);
  await assert.rejects(writeWhole(fs, path, text('three'), { expect: seen }), fails('E_FILE_CHANGED'));
  assert.deepEqual(await fs.readdir(folder), []);
  await writeWhole(fs, path, text('three'), { expect: null });
});

test('of writers that expect the same version one wins and the others are told', async (t) => {
  const { file } = await testProject(t);
  const path = await file('a', 'start');
  for (let round = 0; round < 20; round++) {
    const expect = await version(path);
    const results = await Promise.allSettled(['x', 'y', 'z'].map((who) => writeWhole(fs, path, text(`${who}${round}`), { expect })));
    assert.equal(results.filter((r) => r.status === 'fulfilled').length, 1);
    for (const r of results) if (r.status === 'rejected') assert.equal(codeOf(r.reason), 'E_FILE_CHANGED');
    assert.match(await fs.readFile(path, 'utf8'), new RegExp(`^[xyz]${round}$`));
  }
});

test('a write by somebody else between the look and the rename is not lost', async (t) => {
  const { folder, file } = await testProject(t);
  const path = await file('a', 'old');
  let looks = 0;
  const racing = before('lstat', (at) => at.endsWith('/a') && ++looks === 2, () => fs.writeFile(path, 'by another editor'));
  await assert.rejects(writeWhole(racing, path, text('mine'), { expect: await version(path) }), fails('E_FILE_CHANGED'));
  assert.equal(await fs.readFile(path, 'utf8'), 'by another editor');
  assert.deepEqual(await fs.readdir(folder), ['a'], 'the unfinished file is gone');
});

test('a signal that aborts leaves everything as it was', async (t) => {
  const { folder, file } = await testProject(t);
  const path = await file('a', 'old');
  await assert.rejects(writeWhole(fs, path, text('new'), { signal: AbortSignal.abort(new Error('enough')) }), /enough/);
  assert.deepEqual([await fs.readFile(path, 'utf8'), await fs.readdir(folder)], ['old', ['a']]);
});

test('refuses when the place of the file has become a link', async (t) => {
  const { folder, home } = await testProject(t);
  await fs.symlink(join(home, 'x'), join(folder, 'a'));
  await assert.rejects(writeWhole(fs, join(folder, 'a'), text('x')), fails('E_FILE_MOVED'));
  assert.deepEqual(await fs.readdir(home), []);
});

test('writes nothing outside when a folder is exchanged for a link at any moment', { skip: !linux }, async (t) => {
  const moments: [keyof FsLike, (path: string) => boolean][] = [
    ['open', (p) => p.endsWith('/dir/sub')], ['readlink', () => true], ['lstat', (p) => p.endsWith('/a')], ['open', (p) => p.endsWith('.tmp')], ['rename', () => true],
  ];
  for (const portable of [false, true]) {
    for (const [call, when] of moments) {
      const { folder, home, file, remove } = await testProject(null);
      await file('dir/sub/a', 'old');
      const swap = async () => { await fs.rename(join(folder, 'dir'), join(folder, 'away')); await fs.mkdir(join(home, 'sub')); await fs.symlink(home, join(folder, 'dir')); };
      const racing = before(call, when, swap);
      // Without /proc there is only the path to go by.
      const world = portable ? { ...racing, readlink: (p: string) => (p.startsWith('/proc/') ? Promise.reject(Object.assign(new Error('ENOENT'), { code: 'ENOENT' })) : racing.readlink(p)) } as unknown as FsLike : racing;
      await writeWhole(world, join(folder, 'dir/sub/a'), text('new')).catch((e: unknown) => assert.ok(['E_FILE_MOVED', 'E_FILE_CHANGED', 'ENOENT'].includes(codeOf(e) ?? ''), String(e)));
      const outside = (await fs.readdir(home, { recursive: true, withFileTypes: true })).filter((e) => e.isFile());
      assert.deepEqual(await Promise.all(outside.map((e) => fs.readFile(join(e.parentPath, e.name), 'utf8'))), [], `${portable ? 'by path' : 'by handle'}, at ${call}`);
      await remove();
    }
  }
});

test('makes no folder outside when one above it is exchanged for a link', { skip: !linux }, async (t) => {
  const { folder, home } = await testProject(t);
  await fs.mkdir(join(folder, 'dir'));
  const racing = before('mkdir', () => true, async () => { await fs.rename(join(folder, 'dir'), join(folder, 'away')); await fs.symlink(home, join(folder, 'dir')); });
  await writeWhole(racing, join(folder, 'dir/new/deep/a'), text('x')).catch((e: unknown) => assert.equal(codeOf(e), 'E_FILE_MOVED'));
  assert.deepEqual(await fs.readdir(home), []);
});

test('a file cannot be a folder', async (t) => {
  const { file } = await testProject(t);
  await assert.rejects(writeWhole(fs, join(await file('a', ''), 'below/x'), text('x')), fails('ENOTDIR'));
});

test('sweeps what processes that are no more left unfinished, and nothing else', async (t) => {
  const { folder, file } = await testProject(t);
  const dead = await file('.tappet-4194305-0123456789ab.tmp', 'half');
  await file('.tappet-4194306-0123456789ab.tmp', 'half, of one that lives');
  await file('.tappet-4194305-0123456789ab.tmp.keep', 'somebody\'s own');
  await file('a.tmp', '');
  const alive = (pid: number) => pid === 4194306;
  assert.equal(await sweepTemps(fs, folder, (await fs.stat(dead)).mtimeMs + 1_000, alive), 0, 'too young: perhaps of another machine');
  assert.equal(await sweepTemps(fs, folder, (await fs.stat(dead)).mtimeMs + 120_000, alive), 1);
  assert.deepEqual((await fs.readdir(folder)).sort(), ['.tappet-4194305-0123456789ab.tmp.keep', '.tappet-4194306-0123456789ab.tmp', 'a.tmp']);
});

test('a kill leaves the old file or the new one, and what is left over is swept', { skip: !linux }, async (t) => {
  const { folder, file } = await testProject(t);
  const path = await file('a', 'old'.repeat(100_000));
  // Ends itself by a signal in the middle of writing, as a kill from outside would.
  const script = `import fs from 'node:fs/promises'; import { writeWhole } from 'tappet/kit';
    const dying = { ...fs, open: async (...a) => { const h = await fs.open(...a); if (String(a[0]).endsWith('.tmp')) h.writeFile = async (b) => { await h.write(b, 0, b.length >> 1); process.kill(process.pid, 'SIGKILL'); }; return h; } };
    await writeWhole(dying, ${JSON.stringify(path)}, Buffer.from('new'.repeat(100_000)));`;
  const child = spawnSync(process.execPath, ['--conditions=tappet-src', '--import', 'tsx', '--input-type=module', '-e', script], { cwd: import.meta.dirname, encoding: 'utf8' });
  assert.equal(child.signal, 'SIGKILL', child.stderr);
  assert.equal(await fs.readFile(path, 'utf8'), 'old'.repeat(100_000));
  assert.equal((await fs.readdir(folder)).length, 2);
  assert.equal(await sweepTemps(fs, folder, Date.now() + 120_000), 1);
  assert.deepEqual(await fs.readdir(folder), ['a']);
});
