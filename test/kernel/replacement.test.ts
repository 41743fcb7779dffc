/** Results that are too large: the whole in a file, a stub in their place. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import fc from 'fast-check';
import { createReplacements } from '../../kernel/replacement.ts';

const folderOf = (t: TestContext): string => { const dir = mkdtempSync(join(tmpdir(), 'tappet-replaced-')); t.after(() => rmSync(dir, { recursive: true, force: true })); return dir; };

test('what fits stays as it is, and no folder is made for it', async () => {
  const r = createReplacements();
  assert.deepEqual(await r.fit('a', 'x'.repeat(10), 10, async () => { throw new Error('no folder is needed'); }), { content: 'x'.repeat(10) });
  assert.equal(r.state().replaced.size, 0);
});
test('what does not fit goes whole to a file that only its owner reads; the stub says how long it is and where', async (t) => {
  const dir = folderOf(t);
  const r = createReplacements();
  const text = 'line\n'.repeat(2000);
  const fitted = await r.fit('../../call 1', text, 1000, async () => dir);
  assert.equal(fitted.file, join(dir, '______call_1.txt'), 'the id of a call leads nowhere else');
  assert.equal(readFileSync(fitted.file, 'utf8'), text);
  if (process.platform !== 'win32') assert.equal(statSync(fitted.file).mode & 0o777, 0o600);
  assert.match(fitted.content as string, /10000 characters/);
  assert.ok((fitted.content as string).includes(fitted.file));
});
test('blocks that are no text stay beside the stub', async (t) => {
  const dir = folderOf(t);
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: '' } } as const;
  const { content } = await createReplacements().fit('a', [{ type: 'text', text: 'y'.repeat(500) }, image as never], 100, async () => dir);
  assert.deepEqual((content as readonly { type: string }[]).map((b) => b.type), ['text', 'image']);
});
test('the head of a stub never ends in half a character', async (t) => {
  const dir = folderOf(t);
  await fc.assert(fc.asyncProperty(fc.nat(50), fc.integer({ min: 1, max: 60 }), async (lead, max) => {
    const { content } = await createReplacements().fit('a', 'x'.repeat(lead) + '😀'.repeat(100), max, async () => dir);
    assert.equal(Buffer.from(content as string).toString(), content);
  }), { numRuns: 40 });
});
test('what is decided in a copy does not show in the original, nor the other way round', async (t) => {
  const dir = folderOf(t);
  const parent = createReplacements();
  await parent.fit('one', 'x'.repeat(50), 10, async () => dir);
  const child = parent.clone();
  await child.fit('two', 'x'.repeat(50), 10, async () => dir);
  await parent.fit('three', 'x'.repeat(50), 10, async () => dir);
  assert.deepEqual([...parent.state().replaced.keys()], ['one', 'three']);
  assert.deepEqual([...child.state().replaced.keys()], ['one', 'two']);
});
test('a disk that is full is no result: it throws, and nothing counts as replaced', async () => {
  const r = createReplacements();
  await assert.rejects(r.fit('a', 'x'.repeat(50), 10, async () => { throw new Error('ENOSPC'); }), /ENOSPC/);
  assert.equal(r.state().replaced.size, 0);
});
