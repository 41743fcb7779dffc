import assert from 'node:assert/strict';
import { test } from 'node:test';
import plugin from '../../../plugins/modes/default.ts';
import { modeContract } from '../../contracts/mode.ts';
import { ask, COMMAND, FETCH, OPAQUE, READ, WRITE } from './judging.ts';

modeContract(plugin);

test('lets mere reading run', async () => assert.equal((await ask(plugin, READ)).behavior, 'allow'));
test('leaves everything else to be asked about', async () => {
  for (const call of [WRITE, COMMAND, FETCH, OPAQUE]) assert.equal((await ask(plugin, call)).behavior, 'passthrough');
});
test('does not answer a question that a guard has raised, not even about reading', async () => {
  for (const until of ['rule', 'mode', 'person'] as const) assert.equal((await ask(plugin, READ, { behavior: 'ask', until })).behavior, 'passthrough');
});
test('leaves an allow as it is', async () => assert.equal((await ask(plugin, WRITE, { behavior: 'allow' })).behavior, 'passthrough'));
