import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import read from '../../../plugins/tools/read/index.ts';
import write from '../../../plugins/tools/write.ts';
import { toolSuite } from '../../contracts/tool.ts';
import { testProject } from '../../support/tool-context.ts';
import type { TestProject } from '../../support/tool-context.ts';
import { toolOf } from '../../support/tool-of.ts';

const { tool, warnings } = await toolOf(write);
const reader = (await toolOf(read)).tool;
const readThenWrite = async (p: TestProject, file_path: string, content: string) => {
  await p.run(reader, { file_path });
  return p.run(tool, { file_path, content });
};

toolSuite({
  tool,
  wrongInputs: [null, {}, { file_path: 'a' }, { content: 'a' }, { file_path: '', content: '' }, { file_path: 'a', content: 5 }],
  samples: [
    { name: 'a new file', input: { file_path: 'a/b.txt', content: 'x\n' }, contains: 'Created a/b.txt (1 line).' },
    { name: 'a file that nobody has read', prepare: (p) => p.file('a.txt', 'old'), input: { file_path: 'a.txt', content: 'x' }, fails: true, contains: 'Read it first' },
    { name: 'a folder', input: (p) => ({ file_path: p.folder, content: 'x' }), fails: true, contains: 'is a folder' },
  ],
});

test('makes a file with its folders, as given to the letter', async (t) => {
  const p = await testProject(t);
  const content = 'a\\n“quoted”\ttab\r\nlast';
  const result = await p.run(tool, { file_path: 'new/deep/a.txt', content });
  assert.equal(await fs.readFile(join(p.folder, 'new/deep/a.txt'), 'utf8'), content);
  assert.deepEqual(result.data, { type: 'create', filePath: join(p.folder, 'new/deep/a.txt'), content, originalFile: null, message: 'Created new/deep/a.txt (2 lines).' });
});

test('replaces a file that was read, keeps its mode, and can do so again', async (t) => {
  const p = await testProject(t);
  const path = await p.file('run.sh', 'old\n');
  await fs.chmod(path, 0o755);
  const result = await readThenWrite(p, 'run.sh', 'new\n');
  assert.deepEqual(result.data, { type: 'update', filePath: path, content: 'new\n', originalFile: 'old\n', message: 'Updated run.sh (1 line).' });
  assert.equal((await fs.stat(path)).mode & 0o777, 0o755);
  assert.equal((await p.run(tool, { file_path: path, content: 'third' })).isError, false, 'what one wrote one knows');
  assert.deepEqual(await fs.readdir(p.folder), ['run.sh']);
});

test('refuses what was not read, read in part, or changed since, and leaves it alone', async (t) => {
  const p = await testProject(t);
  const path = await p.file('a', '1\n2\n3\n');
  const attempt = () => p.run(tool, { file_path: 'a', content: 'mine' });
  assert.match((await attempt()).text, /has not been read yet\. Read it first/);
  await p.run(reader, { file_path: 'a', limit: 1 });
  assert.match((await attempt()).text, /only a part of/);
  await p.run(reader, { file_path: 'a' });
  await fs.writeFile(path, '1\n2\n4\n');
  const stale = await attempt();
  assert.ok(stale.isError);
  assert.match(stale.text, /has been changed since it was read\. Read it again/);
  assert.equal(await fs.readFile(path, 'utf8'), '1\n2\n4\n');
  await p.run(reader, { file_path: 'a' });
  assert.equal((await attempt()).isError, false);
});

test('a change that leaves size and time alone is a change; a touch is none', async (t) => {
  const p = await testProject(t);
  const path = await p.file('a', 'one');
  await p.run(reader, { file_path: 'a' });
  const { atime, mtime } = await fs.stat(path);
  await fs.writeFile(path, 'two');
  await fs.utimes(path, atime, mtime);
  assert.match((await p.run(tool, { file_path: 'a', content: 'x' })).text, /changed since/);
  await p.run(reader, { file_path: 'a' });
  await fs.utimes(path, 1, 1);
  assert.equal((await p.run(tool, { file_path: 'a', content: 'x' })).isError, false);
});

test('a file that somebody made in the meantime is not replaced', async (t) => {
  const p = await testProject(t);
  const path = join(p.folder, 'a');
  const racing = { ...fs, mkdir: fs.mkdir, lstat: async (at: string) => { if (at.endsWith('/a')) await fs.writeFile(path, 'theirs', { flag: 'wx' }).catch(() => {}); return fs.lstat(at); } };
  const result = await p.run(tool, { file_path: 'a', content: 'mine' }, { fs: racing as never });
  assert.ok(result.isError);
  assert.match(result.text, /exists by now\. Read it again, then write/);
  assert.equal(await fs.readFile(path, 'utf8'), 'theirs');
});

test('keeps a byte order mark and an encoding, and invents none', async (t) => {
  const p = await testProject(t);
  const path = await p.file('a', '\ufeffold');
  await readThenWrite(p, 'a', 'new');
  assert.deepEqual(await fs.readFile(path), Buffer.from('\ufeffnew'));
  await readThenWrite(p, 'a', '\ufefftwice');
  assert.deepEqual(await fs.readFile(path), Buffer.from('\ufefftwice'));
  await p.file('wide', Buffer.from('\ufeffold', 'utf16le'));
  await readThenWrite(p, 'wide', 'new');
  assert.deepEqual(await fs.readFile(join(p.folder, 'wide')), Buffer.from('\ufeffnew', 'utf16le'));
  await p.run(tool, { file_path: 'b', content: 'plain' });
  assert.deepEqual(await fs.readFile(join(p.folder, 'b')), Buffer.from('plain'));
});

test('says when the encoding could not be kept, and when lines end otherwise than before', async (t) => {
  const p = await testProject(t);
  const path = await p.file('old', Buffer.from('D\xe9j\xe0 vu, tr\xe8s bien, gar\xe7on!\n'.repeat(4), 'latin1'));
  assert.match((await readThenWrite(p, 'old', '中\n')).text, /written as UTF-8/);
  assert.equal(await fs.readFile(path, 'utf8'), '中\n');
  await p.file('crlf', 'a\r\nb\r\n');
  assert.match((await readThenWrite(p, 'crlf', 'a\nb\n')).text, /ended in CRLF; now they end in LF/);
  assert.doesNotMatch((await readThenWrite(p, 'crlf', 'a\r\nb\r\n')).text, /CRLF/);
});

test('a link stays a link and its target is written; linked files stay together', async (t) => {
  const p = await testProject(t);
  await p.file('shared/cfg', 'old');
  await fs.symlink('shared/cfg', join(p.folder, 'cfg'));
  await fs.symlink('shared/new', join(p.folder, 'dangling'));
  await readThenWrite(p, 'cfg', 'new');
  assert.equal(await fs.readlink(join(p.folder, 'cfg')), 'shared/cfg');
  assert.equal(await fs.readFile(join(p.folder, 'shared/cfg'), 'utf8'), 'new');
  await p.run(tool, { file_path: 'dangling', content: 'x' });
  assert.equal(await fs.readFile(join(p.folder, 'shared/new'), 'utf8'), 'x');
  const pair = await p.file('pair', 'old');
  await fs.link(pair, join(p.folder, 'twin'));
  await readThenWrite(p, 'pair', 'both');
  assert.equal(await fs.readFile(join(p.folder, 'twin'), 'utf8'), 'both');
});

test('is about where the text would land, also through a link to nothing', async (t) => {
  const p = await testProject(t);
  await fs.symlink('../home/new', join(p.folder, 'n'));
  const { subjects } = await p.run(tool, { file_path: 'n', content: '' });
  assert.deepEqual(subjects, [{ kind: 'path', access: 'write', path: join(p.folder, 'n'), real: join(p.home, 'new') }]);
});

test('writes where it was judged, or nowhere', async (t) => {
  const p = await testProject(t);
  await fs.mkdir(join(p.folder, 'dir'));
  const args = { file_path: 'dir/a', content: 'x' };
  await tool.subjects(args, { cwd: p.folder, roots: [p.folder], home: p.home, fs, env: {} });
  await fs.rmdir(join(p.folder, 'dir'));
  await fs.symlink('../home', join(p.folder, 'dir'));
  const result = await tool.call(args, p.context, async () => ({ behavior: 'allow' }), undefined as never);
  assert.equal(result.isError, true);
  assert.match(tool.render(result.data, args) as string, /leads to another place/);
  assert.deepEqual(await fs.readdir(p.home), []);
});

test('what can be no file is told in a sentence', async (t) => {
  const p = await testProject(t);
  await p.file('a', '');
  const locked = await p.file('locked', 'x');
  await fs.chmod(locked, 0o444);
  execFileSync('mkfifo', [join(p.folder, 'pipe')]);
  for (const [file_path, words] of [['a/b', /a part of the path is a file/], ['pipe', /no regular file/], ['nul\0', /no name for a file/]] as const) {
    const result = await p.run(tool, { file_path, content: 'x' });
    assert.ok(result.isError, file_path);
    assert.match(result.text, words);
  }
  assert.match((await readThenWrite(p, 'locked', 'y')).text, /read-only \(mode 444\)\. If it is meant to be changed, make it writable first/);
});

test('a full disk is told, and the file is as it was', async (t) => {
  const p = await testProject(t);
  const path = await p.file('a', 'old');
  await p.run(reader, { file_path: 'a' });
  const full = { ...fs, open: async (...args: Parameters<typeof fs.open>) => {
    const handle = await fs.open(...args);
    if (String(args[0]).endsWith('.tmp')) handle.writeFile = async () => { await handle.write('ha'); throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' }); };
    return handle;
  } };
  const result = await p.run(tool, { file_path: 'a', content: 'x'.repeat(100) }, { fs: full as never });
  assert.match(result.text, /there is no room for .*; it is as it was/);
  assert.deepEqual([await fs.readFile(path, 'utf8'), await fs.readdir(p.folder)], ['old', ['a']]);
});

test('asks those who watch over memory before, and tells what they say after', async (t) => {
  const p = await testProject(t);
  const memoryWrite = { before: async (_path: string, content: string) => (content.includes('key') ? { deny: 'this holds a secret' } : { content: content.toUpperCase() }), after: async () => 'The index is long.' };
  const denied = await p.run(tool, { file_path: 'm.md', content: 'key' }, { memoryWrite });
  assert.deepEqual([denied.isError, denied.text], [true, 'this holds a secret']);
  const written = await p.run(tool, { file_path: 'm.md', content: 'a' }, { memoryWrite });
  assert.equal(written.text, 'Created m.md (1 line).\nThe index is long.');
  assert.equal(await fs.readFile(join(p.folder, 'm.md'), 'utf8'), 'A');
});

test('a secret that the file holds already is not asked about twice by the order of checks', async (t) => {
  const p = await testProject(t);
  await p.file('a', 'old');
  let asked = 0;
  await p.run(tool, { file_path: 'a', content: 'x' }, { memoryWrite: { before: () => { asked++; return { deny: 'no' }; }, after: () => null } });
  assert.equal(asked, 0, 'a write that may not happen anyway is not scanned');
});

test('sweeps unfinished files of dead processes in a folder that it writes to', async (t) => {
  const p = await testProject(t);
  const left = await p.file('.tappet-4194305-0123456789ab.tmp', 'half');
  await fs.utimes(left, 1, 1);
  await p.run(tool, { file_path: 'a', content: '' });
  assert.deepEqual(await fs.readdir(p.folder), ['a']);
  assert.deepEqual(warnings, []);
});

test('is neither read-only nor safe beside others, and suggests the mode that lets edits through', () => {
  assert.deepEqual([tool.isReadOnly({}), tool.isConcurrencySafe({})], [false, false]);
  const place = { cwd: '/w', home: '/h', base: '/w', behavior: 'allow' as const };
  assert.deepEqual(tool.suggest({}, [{ kind: 'path', access: 'write', path: '/w/a', real: '/w/a' }], place), [{ type: 'setMode', mode: 'acceptEdits', destination: 'session' }]);
});
