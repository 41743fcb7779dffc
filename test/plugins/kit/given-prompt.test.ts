import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { givenPrompt } from 'tappet/kit';
import { invocation } from '../frontends/invocation.ts';

function piped(...chunks: (Buffer | string)[]) {
  const input = new PassThrough();
  for (const chunk of chunks) input.write(chunk);
  input.end();
  return { stdin: input as unknown as NodeJS.ReadStream };
}

test('takes the words of the command line and leaves the pipe alone', async () => {
  const io = { get stdin(): NodeJS.ReadStream { throw new Error('touched'); } };
  assert.deepEqual(await givenPrompt(invocation({ prompt: 'hello' }), io), { prompt: 'hello' });
});

test('puts together what was piped in, also where a character is split', async () => {
  const bytes = Buffer.from('日本\r\n');
  assert.deepEqual(await givenPrompt(invocation(), piped(bytes.subarray(0, 1), bytes.subarray(1))), { prompt: '日本' });
  assert.deepEqual(await givenPrompt(invocation({ prompt: '-' }), piped('  indented\n\n')), { prompt: '  indented\n' });
});

test('says what is wrong: nothing piped in, nothing in the pipe, or far too much', async () => {
  const terminal = { stdin: Object.assign(new PassThrough(), { isTTY: true }) as unknown as NodeJS.ReadStream };
  for (const [i, io] of [[invocation(), terminal], [invocation(), piped(' \n')], [invocation({ prompt: '' }), piped('x')], [invocation(), piped(...Array.from({ length: 33 }, () => Buffer.alloc(1024 * 1024, 'x')))]] as const) {
    assert.ok('problem' in (await givenPrompt(i, io)));
  }
});
