import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { wireJson } from '../../../plugins/kit/wire-json.ts';

test('halves of characters become one sign, whole ones and what only looks like them stay', () => {
  assert.equal(wireJson('a\ud800b'), '"a\ufffdb"');
  assert.equal(wireJson('\udc00\ud83d\ude00'), '"\ufffd😀"');
  assert.equal(JSON.parse(wireJson('\\ud800 \\\\ud800')), '\\ud800 \\\\ud800');
});

test('whatever is written is JSON of the same, without halves', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), fc.string(), (odd, plain) => {
    assert.deepEqual(JSON.parse(wireJson({ odd, plain })), { odd: Buffer.from(odd, 'utf8').toString('utf8'), plain: Buffer.from(plain).toString() });
  }));
});
