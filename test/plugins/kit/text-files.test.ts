import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decodeText, encodeText, lineEnds } from 'tappet/kit';

const bytes = (...b: number[]) => Buffer.from(b);

test('keeps the byte order mark apart, and puts exactly one back', async () => {
  const file = await decodeText(Buffer.from('\ufeffa\r\n'));
  assert.deepEqual(file, { text: 'a\r\n', encoding: 'utf8', bom: true, exact: true });
  assert.deepEqual(await encodeText('b', file!), Buffer.from('\ufeffb'));
  assert.deepEqual(await encodeText('\ufeffb', file!), Buffer.from('\ufeffb'));
  assert.deepEqual(await encodeText('b', { encoding: 'utf8', bom: false }), Buffer.from('b'));
});

test('reads both kinds of two-byte text', async () => {
  const little = Buffer.from('\ufeffaé', 'utf16le');
  const big = Buffer.from(little).swap16();
  assert.equal((await decodeText(little))?.text, 'aé');
  assert.equal((await decodeText(big))?.text, 'aé');
  for (const original of [little, big]) {
    const file = (await decodeText(original))!;
    assert.deepEqual(await encodeText(file.text, file), original);
  }
  assert.equal((await decodeText(little.subarray(0, -1)))?.exact, false);
});

test('reads old one-byte text and gives the same bytes back', async () => {
  const old = Buffer.concat([Buffer.from('Les \xe9l\xe8ves ont \xe9t\xe9 tr\xe8s occup\xe9s; \xe0 bient\xf4t, fran\xe7ais.\n'.repeat(3), 'latin1')]);
  const file = await decodeText(old);
  assert.match(file!.text, /élèves ont été très occupés; à bientôt, français/);
  assert.equal(file!.exact, true);
  assert.deepEqual(await encodeText(file!.text, file!), old);
  assert.equal(await encodeText('中', file!), null, 'a character that it lacks');
});

test('a text of high bytes alone is a text', async () => {
  const { default: iconv } = await import('iconv-lite');
  const russian = 'Съешь же ещё этих мягких французских булок, да выпей чаю. Широкая электрификация южных губерний даст мощный толчок подъёму сельского хозяйства.\n';
  for (const [encoding, words] of [['windows-1251', russian], ['koi8-r', russian], ['shift_jis', 'これは日本語のテキストです。文字コードの判別を確かめるための文章です。\n']] as const) {
    const old = iconv.encode(words, encoding);
    const file = await decodeText(old);
    assert.equal(file?.text, words, encoding);
    assert.deepEqual(await encodeText(words, file!), old);
  }
});

test('knows what is no text', async () => {
  assert.equal(await decodeText(bytes(0x89, 0x50, 0, 1, 2)), null);
  assert.equal(await decodeText(Buffer.from('a\0b')), null);
  assert.equal(await decodeText(bytes(0xff, 0xfe, 0, 0, 0x41, 0, 0, 0)), null);
  assert.equal(await decodeText(Buffer.from(Array.from({ length: 400 }, (_, i) => (i * 37) % 255 + 1))), null);
});

test('a text that was cut within a character loses only that', async () => {
  assert.equal((await decodeText(Buffer.from('aé😀').subarray(0, -1), { cut: true }))?.text, 'aé');
  assert.equal((await decodeText(Buffer.from('')))?.text, '');
});

test('what is well-formed goes there and back', async () => {
  await fc.assert(fc.asyncProperty(fc.string({ unit: 'grapheme' }).filter((s) => !s.includes('\0') && !s.startsWith('\ufeff')), fc.constantFrom('utf8', 'utf16le', 'utf16be'), async (text, encoding) => {
    const made = await encodeText(text, { encoding, bom: true });
    assert.deepEqual(await decodeText(made!), { text, encoding, bom: true, exact: true });
  }));
});

test('tells how lines end', () => {
  assert.equal(lineEnds('a\r\nb\r\n'), 'crlf');
  assert.equal(lineEnds('a\nb'), 'lf');
  assert.equal(lineEnds('a\r\nb\n'), 'mixed');
  assert.equal(lineEnds('a\rb'), 'none');
});
