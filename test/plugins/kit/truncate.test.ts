import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { head, headTail, numbered } from 'tappet/kit';
import type { TextLimit } from 'tappet/kit';

const marker = /\n?\[(\d+) characters(?: in (\d+) lines)? cut\]\n?/;
const parts = (text: string) => {
  const found = marker.exec(text);
  assert.ok(found, JSON.stringify(text));
  return { front: text.slice(0, found.index), back: text.slice(found.index + found[0].length), cut: Number(found[1]) };
};

test('leaves alone what fits', () => {
  for (const cut of [head, headTail]) {
    assert.equal(cut('abc', 3), 'abc');
    assert.equal(cut('a\nb\n', { lines: 2 }), 'a\nb\n');
    assert.equal(cut('é', { bytes: 2 }), 'é');
    assert.equal(cut('', 0), '');
  }
});

test('says what was cut', () => {
  assert.equal(head('abcdef', 2), 'ab\n[4 characters cut]');
  assert.equal(head('a\nb\nc\nd\n', { lines: 2 }), 'a\nb\n[4 characters in 2 lines cut]');
  assert.equal(headTail('abcdef', 4), 'ab\n[2 characters cut]\nef');
  assert.equal(headTail('a\nb\nc\nd\n', { lines: 2 }), 'a\n[4 characters in 2 lines cut]\nd\n');
  assert.equal(headTail('1\n2\n3\n4\n5', { lines: 3 }), '1\n2\n[4 characters in 2 lines cut]\n5');
});

test('never ends within a character', () => {
  assert.equal(head('a😀b', 2), 'a\n[3 characters cut]');
  assert.equal(head('é', { bytes: 1 }), '[1 characters cut]');
  assert.equal(headTail('😀😀😀', 3), '😀\n[4 characters cut]');
});

test('what is kept is the beginning and the end, within the limit, in whole characters', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'é', '😀', '\n', '中', 'b'), minLength: 0, maxLength: 60 });
  const limit: fc.Arbitrary<{ chars?: number; bytes?: number; lines?: number }> = fc.record({ chars: fc.nat(70), bytes: fc.nat(150), lines: fc.nat(12) }, { requiredKeys: [] });
  fc.assert(fc.property(text, limit, (whole, max) => {
    for (const cut of [head, headTail]) {
      const made = cut(whole, max as TextLimit);
      if (made === whole) continue;
      const { front, back, cut: gone } = parts(made);
      const kept = front.length + back.length;
      // The line break before the word on what was cut belongs to the word or to the text.
      const exact = whole.startsWith(front) && whole.endsWith(back) && [0, 1].includes(whole.length - kept - gone);
      assert.ok(exact, JSON.stringify([whole, max, made]));
      assert.ok(!/[\ud800-\udbff]$/.test(front) && !/^[\udc00-\udfff]/.test(back));
      if (max.chars !== undefined) assert.ok(kept <= max.chars);
      if (max.bytes !== undefined) assert.ok(Buffer.byteLength(front + back) <= max.bytes);
      if (max.lines !== undefined) assert.ok((front + back).split('\n').length - 1 <= max.lines);
    }
  }), { numRuns: 2000 });
});

test('numbers lines from where it is told', () => {
  assert.equal(numbered('a\nb', 9), '    9\ta\n   10\tb');
  assert.equal(numbered(['\tx']), '    1\t\tx');
});
