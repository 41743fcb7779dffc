import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import fc from 'fast-check';
import { jsonlParser, openJsonl, readJsonl } from 'tappet/kit';

const place = (t: TestContext): string => {
  const folder = mkdtempSync(join(tmpdir(), 'tappet-jsonl-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'x.jsonl');
};
const parsed = (content: string | Buffer, chunk = Infinity, maxLineBytes?: number) => {
  const values: unknown[] = [];
  const parser = jsonlParser((value) => void values.push(value), maxLineBytes === undefined ? {} : { maxLineBytes });
  const bytes = Buffer.from(content as string);
  for (let at = 0; at < bytes.length; at += chunk) parser.feed(bytes.subarray(at, at + chunk));
  parser.end();
  return { values, notices: parser.notices, skipped: parser.skipped };
};
const good = (n: number): string => `{"n":${n}}\n`;

test('what was appended is read back, line by line', async (t) => {
  const file = place(t);
  const writer = openJsonl(file);
  for (let n = 0; n < 50; n++) writer.append(JSON.stringify({ n, text: 'é\u2028\n'.repeat(n) }));
  await Promise.all([writer.sync(), writer.sync(), writer.sync()]);
  writer.close();
  const values: Record<string, unknown>[] = [];
  const { notices } = await readJsonl(file, (value) => void values.push(value));
  assert.deepEqual(values.map((v) => v.n), Array.from({ length: 50 }, (_, n) => n));
  assert.deepEqual(notices, []);
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('any object survives writing and reading, wherever the reader is cut', (t) => {
  const file = place(t);
  fc.assert(fc.property(fc.array(fc.dictionary(fc.string().filter((k) => k !== '__proto__'), fc.jsonValue()), { maxLength: 6 }), fc.integer({ min: 1, max: 50 }), (records, chunk) => {
    rmSync(file, { force: true });
    const writer = openJsonl(file);
    for (const record of records) writer.append(JSON.stringify(record));
    writer.close();
    assert.deepEqual(parsed(readFileSync(file), chunk), { values: records.map((r) => JSON.parse(JSON.stringify(r))), notices: [], skipped: 0 });
  }), { numRuns: 60 });
});

test('a torn last line costs itself and not the next one (F9-01)', async (t) => {
  const file = place(t);
  const torn = '{"t":"x';
  writeFileSync(file, good(1) + good(2) + torn);
  const writer = openJsonl(file);
  writer.append('{"n":3}');
  writer.close();
  assert.equal(readFileSync(file, 'utf8'), `${good(1)}${good(2)}${torn}\n${good(3)}`);
  const { values, notices } = parsed(readFileSync(file));
  assert.deepEqual(values, [{ n: 1 }, { n: 2 }, { n: 3 }]);
  assert.deepEqual(notices, [{ offset: 16, bytes: 7, why: 'no JSON: cut off, probably by a crash' }]);
});

test('a last line that only lacks its newline is whole', () => {
  assert.deepEqual(parsed(good(1) + '{"n":2}').values, [{ n: 1 }, { n: 2 }]);
});

test('a block of zero bytes is skipped with its place, whatever stands around it (F9-02)', () => {
  const zeros = '\0'.repeat(300);
  for (const content of [`${good(1)}${zeros}${good(2)}${good(3)}`, `${good(1)}${zeros}\n${good(2)}${good(3)}`, `${good(1)}{"n":2}${zeros}\n${good(3)}`]) {
    for (const chunk of [Infinity, 7]) {
      const { values, notices } = parsed(content, chunk);
      assert.deepEqual(values, [{ n: 1 }, { n: 2 }, { n: 3 }]);
      assert.deepEqual(notices, [{ offset: content.indexOf('\0'), bytes: 300, why: 'zero bytes' }]);
    }
  }
});

test('a cut inside a character does not stop the file from being read (F9-03)', () => {
  const bytes = Buffer.from('{"text":"caf\u00e9');
  const { values, notices } = parsed(Buffer.concat([Buffer.from(good(1)), bytes.subarray(0, -1)]));
  assert.deepEqual(values, [{ n: 1 }]);
  assert.match(notices[0]?.why ?? '', /not UTF-8.*cut off/);
});

test('what is no object is skipped with its place; blank lines and a byte order mark say nothing', () => {
  const { values, notices } = parsed(`\ufeff${good(1)}\n  \n[1]\n7\nnull\nwords\n\r\n${good(2)}`);
  assert.deepEqual(values, [{ n: 1 }, { n: 2 }]);
  assert.deepEqual(notices.map((n) => n.why), ['no JSON object', 'no JSON object', 'no JSON object', 'no JSON']);
});

test('a line that is too long is passed by without being kept', () => {
  const long = `{"x":"${'y'.repeat(2_000)}"}\n`;
  for (const chunk of [Infinity, 100]) {
    const { values, notices } = parsed(good(1) + long + good(2), chunk, 1_000);
    assert.deepEqual(values, [{ n: 1 }, { n: 2 }]);
    assert.deepEqual(notices, [{ offset: 8, bytes: long.length - 1, why: 'a line of more than 1000 bytes' }]);
  }
});

test('no bytes make the reader throw, and every good line among them is found', () => {
  fc.assert(fc.property(fc.array(fc.oneof(fc.uint8Array({ maxLength: 30 }).map((a) => Buffer.from(a).filter((b) => b !== 10)), fc.constant(null)), { maxLength: 12 }), fc.integer({ min: 1, max: 40 }), (parts, chunk) => {
    let n = 0;
    const content = Buffer.concat(parts.map((part) => (part === null ? Buffer.from(good(n++)) : Buffer.concat([part, Buffer.from('\n')]))));
    const found = parsed(content, chunk).values.filter((v) => typeof (v as { n?: unknown }).n === 'number').map((v) => (v as { n: number }).n);
    assert.deepEqual(found, Array.from({ length: n }, (_, i) => i));
  }));
});

test('notices are bounded, the count is not', () => {
  const { notices, skipped } = parsed('junk\n'.repeat(1_000));
  assert.equal(skipped, 1_000);
  assert.ok(notices.length < 1_000);
});

test('a disk that fills up fails that line alone: the part that was written does not spoil the next', (t) => {
  const file = place(t);
  let room = 30;
  const write = (fd: number, data: Buffer, from: number, bytes: number): number => {
    if (room === 0) throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    const n = writeSync(fd, data, from, Math.min(bytes, room));
    room -= n;
    return n;
  };
  const writer = openJsonl(file, { write });
  writer.append('{"n":1}');
  assert.throws(() => writer.append(`{"n":2,"x":"${'y'.repeat(100)}"}`), { code: 'ENOSPC' });
  assert.throws(() => writer.append('{"n":3}'), { code: 'ENOSPC' });
  room = 1_000;
  writer.append('{"n":4}');
  writer.append('{"n":5}');
  writer.close();
  assert.deepEqual(parsed(readFileSync(file)).values, [{ n: 1 }, { n: 4 }, { n: 5 }]);

  // The same where the torn line was there before: opening succeeds on a full disk.
  appendFileSync(file, '{"torn');
  room = 0;
  const again = openJsonl(file, { write });
  room = 1_000;
  again.append('{"n":6}');
  again.close();
  assert.deepEqual(parsed(readFileSync(file)).values, [{ n: 1 }, { n: 4 }, { n: 5 }, { n: 6 }]);
});

test('lines are not written into a file that was removed', (t) => {
  const file = place(t);
  const writer = openJsonl(file);
  writer.append('{"n":1}');
  rmSync(file);
  assert.throws(() => writer.append('{"n":2}'), /was removed/);
  writer.close();
});

test('short writes are gone on with until the line is whole', (t) => {
  const file = place(t);
  const writer = openJsonl(file, { write: (fd, data, from, bytes) => writeSync(fd, data, from, Math.min(bytes, 3)) });
  writer.append(JSON.stringify({ text: 'long '.repeat(100) }));
  writer.close();
  assert.equal(readFileSync(file, 'utf8'), `${JSON.stringify({ text: 'long '.repeat(100) })}\n`);
});

test('a new file must not be there, and a missing one cannot be read', async (t) => {
  const file = place(t);
  await assert.rejects(readJsonl(file, () => {}), { code: 'ENOENT' });
  openJsonl(file, { isNew: true }).close();
  assert.throws(() => openJsonl(file, { isNew: true }), { code: 'EEXIST' });
});
test('a link is not followed: what it leads to is not written to', { skip: process.platform === 'win32' }, (t) => {
  const file = place(t);
  writeFileSync(`${file}.other`, 'precious');
  symlinkSync(`${file}.other`, file);
  assert.throws(() => openJsonl(file), { code: 'ELOOP' });
  assert.equal(readFileSync(`${file}.other`, 'utf8'), 'precious');
});
