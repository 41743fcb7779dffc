import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { columns, textWidth } from 'tappet/kit';

test('cells stand below one another; the last one sets no width', () => {
  assert.equal(columns([['a', 'bb', 'the end'], ['aaa', 'b', 'x'], ['a', 'a long last cell of a short row']]), 'a    bb  the end\naaa  b   x\na    a long last cell of a short row');
});
test('empty cells leave no blanks behind', () => {
  assert.equal(columns([['a', ''], ['b', 'c']]), 'a\nb  c');
  assert.equal(columns([]), '');
});
test('wide characters take two columns, marks none', () => {
  assert.deepEqual([textWidth('abc'), textWidth('世界'), textWidth('e\u0301'), textWidth('👍')], [3, 4, 1, 2]);
  assert.equal(columns([['世界', 'x'], ['abc', 'y']]), '世界  x\nabc   y');
});
test('a last cell that is too long goes on below itself, and nothing of it is cut', () => {
  assert.equal(columns([['key', 'one two three four five six seven']], { width: 30 }), 'key  one two three four five\n     six seven');
});
test('where too little is left the last cell begins on a line of its own', () => {
  assert.equal(columns([['a very long first cell', 'and this is the second cell']], { width: 40 }), 'a very long first cell\n    and this is the second cell');
  assert.equal(columns([['a very long first cell', 'second']], { width: 40, indent: 2 }), '  a very long first cell  second');
});
test('control characters of a cell cannot break a row', () => {
  assert.equal(columns([['a\nb', '\u001b[2Jc']]), 'a b  c');
});
test('all words are there in order at any width', () => {
  const word = fc.stringMatching(/^[a-z]{1,12}$/);
  fc.assert(fc.property(fc.array(fc.array(word, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 5 }), fc.integer({ min: 10, max: 60 }), (rows, width) => {
    const text = columns(rows.map((words) => [words[0]!, words.slice(1).join(' ')]), { width });
    assert.deepEqual(text.split(/\s+/).filter((w) => w !== ''), rows.flat());
  }));
});
