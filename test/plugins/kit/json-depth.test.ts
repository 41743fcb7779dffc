import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { nestsTooDeep } from '../../../plugins/kit/json-depth.ts';

test('brackets count where they open something, and not inside strings', () => {
  for (const [text, deep] of [
    ['['.repeat(256), false], ['['.repeat(257), true], [`${'{"a":['.repeat(129)}`, true], ['[]'.repeat(5000), false], [`"${'['.repeat(5000)}"`, false], [`"\\"${'['.repeat(5000)}"`, false], [`"\\\\"${'['.repeat(5000)}`, true], ['', false],
  ] as const) assert.equal(nestsTooDeep(text), deep, text.slice(0, 20));
});

test('whatever passes can be read, written and copied', () => {
  fc.assert(fc.property(fc.integer({ min: 1, max: 400 }), fc.boolean(), fc.jsonValue({ maxDepth: 3 }), (depth, list, inside) => {
    const text = `${(list ? '[' : '{"a":').repeat(depth)}${JSON.stringify(inside)}${(list ? ']' : '}').repeat(depth)}`;
    if (nestsTooDeep(text)) return void assert.ok(depth > 250);
    structuredClone(JSON.parse(JSON.stringify(JSON.parse(text))));
  }));
});
