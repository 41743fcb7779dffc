import assert from 'node:assert/strict';
import { test } from 'node:test';
import plugin from '../../../plugins/modes/plan.ts';
import { modeContract } from '../../contracts/mode.ts';
import { ask, COMMAND, FETCH, OPAQUE, READ, WRITE } from './judging.ts';

modeContract(plugin);

test('lets mere reading run', async () => assert.equal((await ask(plugin, READ)).behavior, 'allow'));
test('denies what does more than read, even where a rule or a hook allowed it', async () => {
  for (const call of [WRITE, COMMAND, OPAQUE]) for (const behavior of ['passthrough', 'allow'] as const) {
    const said = await ask(plugin, call, { behavior });
    assert.ok(said.behavior === 'deny');
    assert.match(said.message, /plan mode: nothing is changed until a person ends it/);
  }
});
test('denies it also where a person would be asked', async () => assert.equal((await ask(plugin, WRITE, { behavior: 'ask', until: 'person' })).behavior, 'deny'));
test('does not believe a tool that calls itself harmless and names a write', async () => {
  assert.equal((await ask(plugin, { ...WRITE, isReadOnly: true })).behavior, 'deny');
});
test('leaves reading that others hear of, and reading that a guard asks about, to be asked about', async () => {
  assert.equal((await ask(plugin, FETCH)).behavior, 'passthrough');
  assert.equal((await ask(plugin, READ, { behavior: 'ask', until: 'rule' })).behavior, 'passthrough');
});
