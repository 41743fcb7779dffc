import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileGlob } from 'tappet/kit';

test('[!a] means the same as [^a]', async () => {
  for (const glob of ['[!a]*.ts', '[^a]*.ts']) {
    const { matches } = await compileGlob(glob);
    assert.deepEqual(['b.ts', 'a.ts', '!.ts'].map(matches), [true, false, true], glob);
  }
});
