import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reEncoder } from 'tappet/kit';
import type { ModelProvider, NormalizedMessage } from 'tappet/schemas';

test('each message is encoded once for each provider, by that provider', () => {
  const made: string[] = [];
  const provider = (name: string) => ({ name, encode: (m: NormalizedMessage) => { made.push(name); return Buffer.from(`${name}:${m.role}`); } }) as unknown as ModelProvider;
  const [a, b] = [provider('a'), provider('b')];
  const reEncode = reEncoder();
  const message: NormalizedMessage = { role: 'user', content: [] };
  const given = [{ message, bytes: new Uint8Array() }];
  assert.equal(Buffer.from(reEncode(a, given)[0]!.bytes).toString(), 'a:user');
  assert.equal(reEncode(a, given)[0], reEncode(a, given)[0]);
  assert.equal(Buffer.from(reEncode(b, given)[0]!.bytes).toString(), 'b:user');
  assert.deepEqual(made, ['a', 'b']);
});
