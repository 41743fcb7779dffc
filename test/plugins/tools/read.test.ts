import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { crc32, deflateSync } from 'node:zlib';
import { hashOf } from 'tappet/kit';
import read from '../../../plugins/tools/read/index.ts';
import { toolSuite } from '../../contracts/tool.ts';
import { testProject } from '../../support/tool-context.ts';
import { toolOf } from '../../support/tool-of.ts';

const { tool } = await toolOf(read);
const small = (await toolOf(read, { maxLines: 3, maxBytes: 120, maxImageBytes: 1000 })).tool;

function png(width: number, height: number): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), chunk('IHDR', head), chunk('IDAT', deflateSync(Buffer.alloc((width * 3 + 1) * Math.min(height, 4)))), chunk('IEND', Buffer.alloc(0))]);
}

toolSuite({
  tool,
  wrongInputs: [null, {}, { file_path: '' }, { file_path: 'a', offset: -1 }, { file_path: 'a', limit: 0 }, { file_path: 'a', limit: 1.5 }],
  samples: [
    { name: 'a text', prepare: (p) => p.file('a.txt', 'one\ntwo\n'), input: { file_path: 'a.txt' }, contains: '    1\tone\n    2\ttwo' },
    { name: 'a text that is too long', prepare: (p) => p.file('a.txt', `${'x'.repeat(3000)}\n`.repeat(5000)), input: { file_path: 'a.txt' }, contains: 'PARTIAL view' },
    { name: 'a file that is not there', input: { file_path: 'none.txt' }, fails: true, contains: 'there is no' },
    { name: 'a folder', input: (p) => ({ file_path: p.folder }), fails: true, contains: 'is a folder' },
    { name: 'an image', prepare: (p) => p.file('a.png', png(2, 2)), input: { file_path: 'a.png' } },
  ],
});

test('shows lines with their numbers, and remembers that the file was read whole', async (t) => {
  const p = await testProject(t);
  const path = await p.file('a.ts', 'one\n\ttwo\n\nlast');
  const result = await p.run(tool, { file_path: 'a.ts' });
  assert.equal(result.text, '    1\tone\n    2\t\ttwo\n    3\t\n    4\tlast');
  assert.deepEqual(result.data, { type: 'text', file: { filePath: path, content: 'one\n\ttwo\n\nlast', numLines: 4, startLine: 1, totalLines: 4 }, partial: false, notices: [] });
  const { size, mtimeMs } = await fs.stat(path);
  assert.deepEqual(p.context.readFileState.get(path), { size, mtimeMs, hash: hashOf(Buffer.from('one\n\ttwo\n\nlast')), partial: false });
});

test('a page is a part: it says so, and does not count as having read the file', async (t) => {
  const p = await testProject(t);
  const path = await p.file('a', '1\n2\n3\n4\n5\n');
  const first = await p.run(small, { file_path: 'a' });
  assert.equal(first.text, '    1\t1\n    2\t2\n    3\t3\n[PARTIAL view: lines 1-3 of 5. Read on with offset 4, or search with Grep. The file does not count as read]');
  assert.equal(p.context.readFileState.get(path)?.partial, true);
  const rest = await p.run(small, { file_path: 'a', offset: 4 });
  assert.match(rest.text, /^ {4}4\t4\n {4}5\t5\n\[PARTIAL view: lines 4-5 of 5\. The file/);
  assert.equal((await p.run(small, { file_path: 'a', offset: 0, limit: 1 })).text.split('\n')[0], '    1\t1');
});

test('a look at a part takes nothing away from a file that was read whole, unless it has changed', async (t) => {
  const p = await testProject(t);
  const path = await p.file('a', '1\n2\n3\n');
  await p.run(tool, { file_path: 'a' });
  await p.run(tool, { file_path: 'a', limit: 1 });
  assert.equal(p.context.readFileState.get(path)?.partial, false);
  await p.file('a', '1\n2\n4\n');
  await p.run(tool, { file_path: 'a', limit: 1 });
  assert.equal(p.context.readFileState.get(path)?.partial, true);
});

test('lines that were asked for by number and do not fit are refused, without a number they are paged', async (t) => {
  const p = await testProject(t);
  await p.file('a', `${'x'.repeat(50)}\n`.repeat(3));
  const asked = await p.run(small, { file_path: 'a', limit: 3 });
  assert.ok(asked.isError);
  assert.match(asked.text, /120 can be shown at once/);
  assert.match((await p.run(small, { file_path: 'a' })).text, /PARTIAL view: lines 1-2 of 3/);
});

test('a line that nobody can read is cut, and then the file has not been read whole', async (t) => {
  const p = await testProject(t);
  const path = await p.file('a', `${'😀'.repeat(1500)}\nb`);
  const { text } = await p.run(tool, { file_path: 'a' });
  assert.match(text, /\[line cut here\]\n {4}2\tb\n\[PARTIAL view: lines 1-2 of 2, 1 line cut/);
  assert.equal(Buffer.from(text).toString(), text, 'no half characters');
  assert.equal(p.context.readFileState.get(path)?.partial, true);
});

test('an empty file and an offset past the end are told, and are no errors', async (t) => {
  const p = await testProject(t);
  const path = await p.file('empty', '');
  await p.file('a', '1\n2\n');
  const empty = await p.run(tool, { file_path: 'empty' });
  assert.deepEqual([empty.isError, empty.text, p.context.readFileState.get(path)?.partial], [false, '[the file is empty]', false]);
  const past = await p.run(tool, { file_path: 'a', offset: 3 });
  assert.deepEqual([past.isError, past.text], [false, '[the file has 2 lines; offset 3 is past its end]']);
});

test('tells of CRLF, of a byte order mark and of other encodings, and shows the text without them', async (t) => {
  const p = await testProject(t);
  await p.file('crlf', 'a\r\nb\r\n');
  await p.file('mixed', 'a\r\nb\n');
  await p.file('bom', '\ufeffa');
  await p.file('wide', Buffer.from('\ufeffaé\n', 'utf16le'));
  assert.equal((await p.run(tool, { file_path: 'crlf' })).text, '    1\ta\n    2\tb\n[lines end in CRLF]');
  assert.match((await p.run(tool, { file_path: 'mixed' })).text, /some lines end in CRLF, some in LF/);
  assert.equal((await p.run(tool, { file_path: 'bom' })).text, '    1\ta\n[begins with a byte order mark]');
  assert.equal((await p.run(tool, { file_path: 'wide' })).text, '    1\taé\n[encoding: utf16le; begins with a byte order mark]');
});

test('a very large file is read in parts without being held', async (t) => {
  const p = await testProject(t);
  const path = await p.file('log', Array.from({ length: 1_200_000 }, (_, i) => `line ${i + 1}`).join('\n'));
  const { text } = await p.run(tool, { file_path: 'log', offset: 1_000_000, limit: 2 });
  assert.equal(text, '1000000\tline 1000000\n1000001\tline 1000001\n[PARTIAL view: lines 1000000-1000001 of a very large file. Read on with offset 1000002, or search with Grep. The file does not count as read]');
  assert.equal(p.context.readFileState.get(path)?.partial, true);
  assert.match((await p.run(tool, { file_path: 'log', offset: 1_200_001 })).text, /has 1200000 lines; offset 1200001 is past/);
  await p.file('one', 'x'.repeat(11_000_000));
  assert.match((await p.run(tool, { file_path: 'one' })).text, /line cut here/);
});

test('a file that is not there: its path, the working folder, similar names', async (t) => {
  const p = await testProject(t);
  await p.file('src/config.ts', '');
  const near = await p.run(tool, { file_path: 'src/confg.ts' });
  assert.ok(near.isError);
  assert.equal(near.text, `there is no ${join(p.folder, 'src/confg.ts')}. The working folder is ${p.folder}. Similar: ${join(p.folder, 'src/config.ts')}`);
  assert.match((await p.run(tool, { file_path: 'src/config.js' })).text, /Similar: .*config\.ts/);
  assert.match((await p.run(tool, { file_path: 'lib/a' })).text, /its folder does not exist/);
  assert.match((await p.run(tool, { file_path: 'src/config.ts/x' })).text, /there is no/);
});

test('what is no text is refused with what to do', async (t) => {
  const p = await testProject(t);
  await p.file('a.bin', Buffer.from([1, 0, 2]));
  await p.file('a.pdf', '%PDF-1.7\n');
  execFileSync('mkfifo', [join(p.folder, 'pipe')]);
  for (const [name, words] of [['a.bin', /no text/], ['a.pdf', /PDFs can't be read yet/], ['pipe', /no regular file/], ['nul\0', /can't be reached/], ['x'.repeat(300), /no name for a file/]] as const) {
    const result = await p.run(tool, { file_path: name });
    assert.ok(result.isError, name);
    assert.match(result.text, words);
    assert.equal(p.context.readFileState.has(join(p.folder, name)), false);
  }
});

test('an image is known by its bytes, whatever its name, and comes as an image', async (t) => {
  const p = await testProject(t);
  const jpeg = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xc0, 0, 11, 8, 0, 5, 0, 7, 1, 1, 0x11, 0])]);
  const gif = Buffer.from('GIF89a\x03\x00\x04\x00\x00\x00\x00', 'latin1');
  const webp = Buffer.concat([Buffer.from('RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0', 'latin1'), Buffer.from([9, 0, 0, 8, 0, 0])]);
  for (const [bytes, type, width, height] of [[png(2, 3), 'image/png', 2, 3], [jpeg, 'image/jpeg', 7, 5], [gif, 'image/gif', 3, 4], [webp, 'image/webp', 10, 9]] as const) {
    await p.file('picture.txt', bytes);
    const result = await p.run(tool, { file_path: 'picture.txt' });
    assert.deepEqual(result.blocks, [{ type: 'image', source: { type: 'base64', media_type: type, data: bytes.toString('base64') } }]);
    assert.deepEqual((result.data as { file: { dimensions: unknown } }).file.dimensions, { width, height });
  }
});

test('an image that an API would refuse is refused here, with the limit', async (t) => {
  const p = await testProject(t);
  await p.file('big.png', Buffer.concat([png(2, 2), Buffer.alloc(2000)]));
  await p.file('wide.png', png(9000, 1));
  await p.file('broken.png', png(2, 2).subarray(0, 12));
  assert.match((await p.run(small, { file_path: 'big.png' })).text, /image of 3 kB; at most 1 kB/);
  assert.match((await p.run(tool, { file_path: 'wide.png' })).text, /9000 x 1 pixels; at most 8000/);
  assert.match((await p.run(tool, { file_path: 'broken.png' })).text, /damaged/);
});

test('a notebook comes cell by cell, with what it printed and drew', async (t) => {
  const p = await testProject(t);
  const picture = png(1, 1).toString('base64');
  const path = await p.file('a.ipynb', JSON.stringify({ cells: [
    { cell_type: 'markdown', id: 'm1', source: ['# Title\n', 'text'] },
    { cell_type: 'code', source: 'print(1)', outputs: [{ output_type: 'stream', text: ['1\n'] }, { data: { 'image/png': picture, 'text/plain': 'a figure' } }, { output_type: 'error', traceback: ['\u001b[31mboom\u001b[0m'] }, { data: { 'image/png': 'bm9uZQ==' } }] },
  ] }));
  const { blocks } = await p.run(tool, { file_path: 'a.ipynb' });
  assert.deepEqual(blocks, [
    { type: 'text', text: '--- cell 1: markdown, id m1 ---\n# Title\ntext\n--- cell 2: code ---\nprint(1)\n--- output of cell 2 ---\n1\n--- output of cell 2: an image ---' },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: picture } },
    { type: 'text', text: '--- output of cell 2 ---\nboom\n--- output of cell 2: an image that is not shown (image/png, 4 bytes) ---' },
  ]);
  assert.equal(p.context.readFileState.get(path)?.partial, false);
  assert.match((await p.run(tool, { file_path: 'a.ipynb', limit: 1 })).text, /^ {4}1\t\{"cells"/);
});

test('a notebook that does not fit says how much is shown; one that is none is a text', async (t) => {
  const p = await testProject(t);
  const path = await p.file('a.ipynb', JSON.stringify({ cells: ['x'.repeat(60), 'y'.repeat(60)].map((source) => ({ cell_type: 'code', source })) }));
  const { text } = await p.run(small, { file_path: 'a.ipynb' });
  assert.match(text, /x{60}\n\[PARTIAL view: 1 of 2 cells/);
  assert.equal(p.context.readFileState.get(path)?.partial, true);
  await p.file('b.ipynb', '{"cells": 5');
  assert.equal((await p.run(tool, { file_path: 'b.ipynb' })).text, '    1\t{"cells": 5');
});

test('reads what was judged, or nothing', async (t) => {
  const p = await testProject(t);
  await p.file('a', 'mine');
  await fs.writeFile(join(p.home, 'secret'), 'secret');
  const args = { file_path: 'link' };
  await fs.symlink('a', join(p.folder, 'link'));
  await tool.subjects(args, { cwd: p.folder, roots: [p.folder], home: p.home, fs, env: {} });
  await fs.rm(join(p.folder, 'link'));
  await fs.symlink('../home/secret', join(p.folder, 'link'));
  const result = await tool.call(args, p.context, async () => ({ behavior: 'allow' }), undefined as never);
  assert.equal(result.isError, true);
  assert.match(tool.render(result.data, args) as string, /leads to another place than a moment ago/);
});

test('is about the path as given and the real one', async (t) => {
  const p = await testProject(t);
  await fs.symlink('../home', join(p.folder, 'out'));
  const { subjects } = await p.run(tool, { file_path: 'out/x' });
  assert.deepEqual(subjects, [{ kind: 'path', access: 'read', path: join(p.folder, 'out/x'), real: join(p.home, 'x') }]);
  assert.deepEqual(tool.fromSpec('//etc/passwd'), { file_path: '/etc/passwd' });
});
