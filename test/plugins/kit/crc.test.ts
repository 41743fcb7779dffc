import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crcHex } from 'tappet/kit';

test('is the CRC-32 of zip and PNG, in eight digits', () => {
  assert.equal(crcHex('123456789'), 'cbf43926');
  assert.equal(crcHex(''), '00000000');
});

test('parts count like the whole', () => {
  assert.equal(crcHex(Buffer.from('caf'), 'é', '}'), crcHex('café}'));
});
