import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cleanLine, cleanText, jsonLine, jsonText } from 'tappet/kit';

/** Nothing of this may reach a terminal. */
const HOSTILE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

test('lines, tabs and letters of all scripts stay as they are', () => {
  for (const text of ['a\tb\nc', 'Grüße, 世界, שלום, 👍🏽, é', '', '  two  blanks ']) assert.equal(cleanText(text), text);
  assert.equal(cleanText('a\r\nb'), 'a\nb');
});
test('escape sequences go, with what they carry', () => {
  assert.equal(cleanText('\u001b[31mred\u001b[0m'), 'red');
  assert.equal(cleanText('a\u001b]0;title\u0007b'), 'ab');
  assert.equal(cleanText('a\u001b]8;;http://evil\u001b\\link\u001b]8;;\u001b\\'), 'alink');
  assert.equal(cleanText('a\u001b]52;c;ZXZpbA==\u009cb'), 'ab');
  assert.equal(cleanText('a\u009b2Jb\u001bcd'), 'abd');
  assert.equal(cleanText('a\u001bPq#1\u001b\\b'), 'ab');
});
test('a sequence that is left open hides no further line', () => {
  assert.equal(cleanText('a\u001b]0;title\nrm -rf /'), 'a\nrm -rf /');
  assert.equal(cleanText('a\u001b'), 'a');
});
test('other controls become a mark, what cannot be seen its code point', () => {
  assert.equal(cleanText('safe\rrm\b\u0007\u007f'), 'safe␍rm␈␇␡');
  assert.equal(cleanText('abc\u202etxt\u200b\ufeff\u{e0041}'), 'abc<U+202E>txt<U+200B><U+FEFF><U+E0041>');
  assert.equal(cleanText('\ud800'), '<U+D800>');
});
test('one line stays one line, with its blanks', () => {
  assert.equal(cleanLine('a\n\tb  c'), 'a  b  c');
});
test('nothing hostile is left of any text, and cleaning twice changes nothing', () => {
  const nasty = fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('\u001b[', '\u001b]', '\u009d', '\u0007', '\u001b\\', '\n', '\r', '\u202e', '31m')), { maxLength: 12 }).map((parts) => parts.join(''));
  fc.assert(fc.property(nasty, (text) => {
    const clean = cleanText(text);
    assert.doesNotMatch(clean, HOSTILE);
    assert.equal(cleanText(clean), clean);
  }), { numRuns: 500 });
});
test('JSON reads back as the same value and holds nothing that acts on a terminal', () => {
  fc.assert(fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
    const text = jsonText(value);
    assert.doesNotMatch(text, HOSTILE);
    assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)));
  }));
  assert.equal(jsonText(undefined), 'null');
  assert.equal(jsonLine({ a: ['\u009b\u202e', 1] }), '{"a":["\\u009b\\u202e",1]}');
});
