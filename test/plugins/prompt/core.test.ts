import assert from 'node:assert/strict';
import { test } from 'node:test';
import plugin from '../../../plugins/prompt/core.ts';
import { collect } from '../../contracts/collect.ts';
import { promptContext, promptPartContract } from '../../contracts/prompt-part.ts';

promptPartContract(plugin);

test('is one short block that every session shares', async () => {
  const [part] = (await collect(plugin)).promptParts;
  assert.equal(part!.slot, 'core');
  const blocks = await part!.render(promptContext());
  assert.deepEqual(blocks.map((b) => b.cacheScope), ['global']);
  assert.ok(blocks[0]!.text.split(/\s+/).length < 600);
});
