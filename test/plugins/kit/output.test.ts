import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { collectOutput, utf8Decoder } from 'tappet/kit';
import type { OutputLimits } from 'tappet/kit';

const LIMITS: OutputLimits = { head: 1_000, tail: 200, line: 300 };
const decoded = (chunks: readonly Buffer[]): string => {
  const decoder = utf8Decoder();
  return chunks.map((c) => decoder.write(c)).join('') + decoder.end();
};
/** Cuts bytes at the given places. */
const pieces = (bytes: Buffer, cuts: readonly number[]): Buffer[] => {
  const at = [0, ...cuts.map((c) => c % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return at.slice(1).map((to, i) => bytes.subarray(at[i], to));
};

test('text comes out as it went in, wherever the chunks are cut', () => {
  fc.assert(fc.property(fc.string({ unit: 'grapheme' }), fc.array(fc.nat()), (text, cuts) => {
    assert.equal(decoded(pieces(Buffer.from(text), cuts)), Buffer.from(text).toString());
  }));
});

test('any bytes decode the same in one chunk and in many, and without replacement characters', () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), fc.array(fc.nat()), (raw, cuts) => {
    const bytes = Buffer.from(raw);
    const whole = decoded([bytes]);
    assert.equal(decoded(pieces(bytes, cuts)), whole);
    assert.ok(!whole.includes('\uFFFD') || bytes.includes(Buffer.from('\uFFFD')));
  }));
});

test('bytes that are no UTF-8 are shown as escapes, characters beside them as themselves', () => {
  assert.equal(decoded([Buffer.from('plain, then '), Buffer.from([0x63, 0x61, 0x66, 0xe9]), Buffer.from('!')]), 'plain, then caf\\xe9!');
  assert.equal(decoded([Buffer.from([0xed, 0xa0, 0x80])]), '\\xed\\xa0\\x80');
  assert.equal(decoded([Buffer.from([0xc3])]), '\\xc3');
  assert.equal(decoded([Buffer.concat([Buffer.from([0xff]), Buffer.from('é€😀')])]), '\\xffé€😀');
});

test('a long line is cut with a count, and the lines beside it are whole, wherever the chunks are cut', async () => {
  const limits = { head: 10_000, tail: 200, line: 5 };
  await fc.assert(fc.asyncProperty(fc.array(fc.stringMatching(/^[a-z]{0,12}$/), { maxLength: 8 }), fc.array(fc.nat()), async (lines, cuts) => {
    const collector = collectOutput(limits);
    for (const piece of pieces(Buffer.from(lines.join('\n')), cuts)) void collector.add('stdout', piece);
    const expected = lines.map((l) => (l.length > 5 ? `${l.slice(0, 5)}… [${l.length - 5} more characters in this line]` : l)).join('\n');
    const { stdout, isCut } = await collector.finish();
    assert.equal(stdout.excerpt(Infinity), expected);
    assert.equal(isCut, lines.some((l) => l.length > 5));
  }));
});

test('what is longer keeps its start, its end and the count of what is between', async () => {
  const collector = collectOutput(LIMITS);
  for (let i = 0; i < 10_000; i++) void collector.add('stdout', Buffer.from(`line ${i}\n`));
  const { both } = await collector.finish();
  const text = both.excerpt(400);
  assert.ok(text.startsWith('line 0\nline 1\n') && text.endsWith('line 9998\nline 9999\n'), text);
  const [, start, count, end] = /^(.*)\n… \[(\d+) characters left out\] …\n(.*)$/s.exec(text)!;
  assert.equal(start!.length + Number(count) + end!.length, both.chars);
  assert.ok(start!.length + end!.length <= 400);
});

test('an excerpt never cuts a character in two', async () => {
  const collector = collectOutput({ head: 101, tail: 101, line: 1_000_000 });
  for (let i = 0; i < 100; i++) void collector.add('stdout', Buffer.from('a😀😀😀'));
  const { both } = await collector.finish();
  for (let max = 10; max < 60; max++) assert.ok(!/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(both.excerpt(max)), `at ${max}`);
});

test('short output is whole, and each stream has its own', async () => {
  const seen: string[] = [];
  const collector = collectOutput({ ...LIMITS, onText: (stream, text) => void seen.push(`${stream}:${text}`) });
  void collector.add('stdout', Buffer.from('one\n'));
  void collector.add('stderr', Buffer.from('two\n'));
  void collector.add('stdout', Buffer.from('three'));
  const { both, stdout, stderr, isCut, spill } = await collector.finish();
  assert.deepEqual([both, stdout, stderr].map((k) => k.excerpt(100)), ['one\ntwo\nthree', 'one\nthree', 'two\n']);
  assert.deepEqual(seen, ['stdout:one\n', 'stderr:two\n', 'stdout:three']);
  assert.equal(isCut, false);
  assert.equal(spill, null);
});

test('the file holds everything once something is left out, and is not made before', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'tappet-output-'));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, 'all.txt');
  const collect = async (texts: readonly string[], spillBytes?: number) => {
    const collector = collectOutput({ ...LIMITS, spill: async () => file, spillBytes });
    for (const text of texts) await collector.add('stdout', Buffer.from(text));
    return collector.finish();
  };
  assert.equal((await collect(['short'])).spill, null);
  const line = `${'é'.repeat(400)}\n`;
  const { spill } = await collect(['before\n', line, 'after\n']);
  assert.deepEqual(spill, { file, bytes: Buffer.byteLength(`before\n${line}after\n`), lacks: null });
  assert.equal(await readFile(file, 'utf8'), `before\n${line}after\n`);
  assert.equal((await stat(file)).mode & 0o777, 0o600);

  await rm(file);
  const cut = await collect(['x'.repeat(5_000), 'y'.repeat(5_000)], 6_000);
  assert.equal((await readFile(file, 'utf8')).length, 6_000);
  assert.equal(cut.spill?.lacks, 'it was cut at 6000 bytes');
});

test('a file that cannot be written costs the file and nothing else', async () => {
  const collector = collectOutput({ ...LIMITS, spill: async () => '/dev/full/nowhere' });
  await collector.add('stdout', Buffer.from('x'.repeat(5_000)));
  const { both, spill } = await collector.finish();
  assert.ok(both.excerpt(400).startsWith('xxx'));
  assert.match(spill?.lacks ?? '', /could not be written: /);
});
