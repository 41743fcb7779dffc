import assert from 'node:assert/strict';
import { test } from 'node:test';
import plugin from '../../../plugins/modes/bypass-permissions.ts';
import { modeContract } from '../../contracts/mode.ts';
import { ask, COMMAND, FETCH, OPAQUE, READ, WRITE } from './judging.ts';

modeContract(plugin);

test('allows whatever a mode may allow', async () => {
  for (const call of [READ, WRITE, COMMAND, FETCH, OPAQUE]) for (const soFar of [{ behavior: 'passthrough' }, { behavior: 'allow' }, { behavior: 'ask', until: 'rule' }, { behavior: 'ask', until: 'mode' }] as const) {
    assert.equal((await ask(plugin, call, soFar)).behavior, 'allow');
  }
});
test('leaves standing what only a person may answer, and every deny', async () => {
  for (const soFar of [{ behavior: 'ask', until: 'person' }, { behavior: 'deny', message: 'no' }, { behavior: 'defer' }] as const) assert.equal((await ask(plugin, WRITE, soFar)).behavior, 'passthrough');
});
test('leaves standing whatever policy asks', async () => {
  for (const until of ['rule', 'mode', 'person'] as const) assert.equal((await ask(plugin, WRITE, { behavior: 'ask', until }, 'policy')).behavior, 'passthrough');
});
