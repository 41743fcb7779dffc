import assert from 'node:assert/strict';
import { test } from 'node:test';
import plugin from '../../../plugins/modes/dont-ask.ts';
import { modeContract } from '../../contracts/mode.ts';
import { ask, COMMAND, FETCH, OPAQUE, READ, WRITE } from './judging.ts';

modeContract(plugin);

test('lets mere reading run, and what was allowed', async () => {
  assert.equal((await ask(plugin, READ)).behavior, 'allow');
  assert.equal((await ask(plugin, WRITE, { behavior: 'allow' })).behavior, 'passthrough');
});
test('denies what nobody allowed', async () => {
  for (const call of [WRITE, COMMAND, FETCH, OPAQUE]) {
    const said = await ask(plugin, call);
    assert.ok(said.behavior === 'deny');
    assert.match(said.message, /no rule allows it.*nobody is asked/);
  }
});
test('denies what would be asked about, and says what the question was', async () => {
  for (const until of ['rule', 'mode', 'person'] as const) {
    const said = await ask(plugin, READ, { behavior: 'ask', until, message: '/etc/x lies outside' });
    assert.ok(said.behavior === 'deny');
    assert.match(said.message, /\/etc\/x lies outside/);
  }
});
test('leaves a deny to speak for itself', async () => assert.equal((await ask(plugin, WRITE, { behavior: 'deny', message: 'no' })).behavior, 'passthrough'));
