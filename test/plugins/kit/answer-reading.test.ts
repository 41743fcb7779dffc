import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callIdOf, countOf, eventObject, hideSecrets, oddities, plainWords, shown, splitUsage, textOf } from '../../../plugins/kit/answer-reading.ts';

test('an id stays where it is new, and is replaced by nine letters and digits where it is not', () => {
  const taken = new Set(['old']);
  assert.equal(callIdOf(' new ', taken), 'new');
  for (const said of ['old', 'new', '', '  ', null, undefined, 7]) assert.match(callIdOf(said, taken), /^[A-Za-z0-9]{9}$/);
  assert.equal(taken.size, 9);
});

test('each odd thing is told once, in order', () => {
  const odd = oddities();
  odd.add('a', 'one');
  odd.add('a', 'one');
  odd.add('b', 'two');
  assert.deepEqual(odd.take().map((e) => e.type === 'notice' && e.text), ['one', 'two']);
  odd.add('a', 'one');
  assert.deepEqual(odd.take(), []);
});

test('an event that carries no object is told and skipped', () => {
  const odd = oddities();
  assert.deepEqual(eventObject({ event: null, data: '{"a":1}' }, odd), { a: 1 });
  assert.deepEqual(['', '[1]', 'null', '{'].map((data) => eventObject({ event: null, data }, odd)), [null, null, null, null]);
  assert.equal(odd.take().length, 4);
});

test('counts and texts are only what they should be', () => {
  assert.deepEqual([5, 5.7, -1, NaN, '5', null, Infinity].map(countOf), [5, 5, 0, 0, 0, 0, 0]);
  assert.deepEqual(['a', '', 5, null].map(textOf), ['a', undefined, undefined, undefined]);
  assert.equal(shown('x'.repeat(99)).length, 61);
  assert.equal(shown(undefined), 'undefined');
});

test('what came from the cache is no input beside it', () => {
  assert.deepEqual(splitUsage({ input: 100, cached: 60, written: 10, output: 5 }), { input_tokens: 30, output_tokens: 5, cache_creation_input_tokens: 10, cache_read_input_tokens: 60 });
  assert.equal(splitUsage({ input: 1, cached: 60, output: 5 }).input_tokens, 0);
});

test('of very many odd things a few are told, and that there are more', () => {
  const odd = oddities();
  for (let n = 0; n < 1000; n++) odd.add('a', `thing ${n}`);
  const told = odd.take().map((e) => (e.type === 'notice' ? e.text : ''));
  assert.equal(told.length, 21);
  assert.match(told.at(-1)!, /more odd things/);
});

test('an event that is nested too deep is skipped like one that is no JSON', () => {
  const odd = oddities();
  assert.equal(eventObject({ event: null, data: `{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}` }, odd), null);
  assert.equal(odd.take().length, 1);
});

test('a page is told by its words, whatever it is made of', () => {
  assert.equal(plainWords('<html><style>a{}</style><script>b()</script><h1>Bad\n Gateway</h1></html>'), 'Bad Gateway');
  for (const page of ['<style'.repeat(50_000), '<'.repeat(200_000), '<script><'.repeat(50_000)]) assert.ok(plainWords(page).length <= 300);
});

test('secrets are hidden in texts; what is too short to be one is left', () => {
  assert.equal(hideSecrets('key sk-12345, twice sk-12345; and ab', ['sk-12345', 'ab']), 'key [key], twice [key]; and ab');
});
