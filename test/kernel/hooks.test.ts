/** The sixteen events and how what is said becomes what is: order, patches, what ends a row, what stays withheld. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EVENTS, MOMENTS, TABLE } from '../../kernel/hooks.ts';
import { HOOK_EVENTS } from '../../schemas/hooks.ts';
import type { Layer } from '../../schemas/index.ts';
import { BODIES, RESULT, table } from '../support/hook-table.ts';
import type { Tap } from '../support/hook-table.ts';
import { draft } from '../support/layers.ts';

test('the table holds the sixteen events, and a body is tried here for each of them and each moment', () => {
  assert.deepEqual(Object.keys(EVENTS).sort(), [...HOOK_EVENTS].sort());
  assert.deepEqual(Object.keys(BODIES).sort(), Object.keys(TABLE).sort());
  assert.equal(Object.keys(MOMENTS).some((m) => (HOOK_EVENTS as readonly string[]).includes(m)), false);
});
test('sync and async taps are all the same, and their words are folded in order', async () => {
  const { fire } = table(['PostToolUse', () => ({ additionalContext: 'one' })], ['PostToolUse', async () => ({ additionalContext: 'two' })], ['PostToolUse', () => undefined], ['PostToolUse', () => null]);
  const { said, voices } = await fire('PostToolUse');
  assert.deepEqual(said, { additionalContext: 'one\ntwo' });
  assert.equal(voices.length, 2);
});
test('a rewrite is a patch: other fields stay', async () => {
  const { fire } = table(['PreToolUse', () => ({ updatedInput: { command: 'echo b' } })]);
  const { event } = await fire('PreToolUse', draft({ command: 'echo a', timeoutMs: 900_000, background: true }));
  assert.deepEqual(event.input, { command: 'echo b', timeoutMs: 900_000, background: true });
});
test('two rewrites fold in order, and silence between them keeps the first', async () => {
  const seen: unknown[] = [];
  const { fire } = table(
    ['PreToolUse', () => ({ updatedInput: { a: 1 } })], ['PreToolUse', (e) => { seen.push(e.input); }], ['PreToolUse', () => ({})], ['PreToolUse', () => ({ updatedInput: { b: 2 } })], ['PreToolUse', (e) => { seen.push(e.input); }],
  );
  const { event, said } = await fire('PreToolUse', draft({ a: 0, b: 0 }));
  assert.deepEqual([event.input, seen, said.updatedInput], [{ a: 1, b: 2 }, [{ a: 1, b: 0 }, { a: 1, b: 2 }], { a: 1, b: 2 }]);
});
test('a rewrite is checked again before the next tap; one that does not fit is a deny, and leaves the input as it was', async () => {
  let later = 0;
  const { fire, reports } = table(['PreToolUse', () => ({ updatedInput: { good: 1 } })], ['PreToolUse', () => ({ behavior: 'allow', updatedInput: { bad: 1 } })], ['PreToolUse', () => { later++; }], ['PreToolUse', () => ({ updatedInput: { never: 1 } })]);
  const refined: unknown[] = [];
  const { event } = await fire('PreToolUse', draft({}), { refine: async (e) => { refined.push(e.input); if ('bad' in e.input) throw new Error('no field "bad"'); return { ...e, input: { ...e.input, checked: true } }; } });
  assert.deepEqual(event.input, { good: 1, checked: true });
  assert.equal(event.verdict.opinion.behavior, 'deny');
  assert.match(event.verdict.opinion.message, /t1: its new input does not fit: no field "bad"/);
  assert.deepEqual([later, refined.length, reports[0]?.code], [0, 2, 'E_HOOK_OUTPUT']);
});
test('a rewrite voids an allow that was given before it, not an ask', async () => {
  const { fire } = table(['PreToolUse', () => ({ behavior: 'allow' })], ['PreToolUse', () => ({ behavior: 'ask', until: 'mode' })], ['PreToolUse', () => ({ updatedInput: { x: 1 } })]);
  assert.deepEqual((await fire('PreToolUse')).event.verdict.opinions.map((o: { behavior: string }) => o.behavior), ['ask']);
  const asked = table(['PermissionRequest', () => ({ behavior: 'allow' })], ['PermissionRequest', () => ({ updatedInput: { x: 1 } })]);
  const heard = await asked.fire('PermissionRequest');
  assert.equal(heard.said.behavior, undefined);
  assert.equal(heard.voices.some((v: { said: { behavior?: string } }) => v.said.behavior === 'allow'), false);
  const own = table(['PermissionRequest', () => ({ behavior: 'allow', updatedInput: { x: 1 } })]);
  assert.equal((await own.fire('PermissionRequest')).said.behavior, 'allow');
});
test('a deny ends the row', async () => {
  for (const event of ['PreToolUse', 'PermissionRequest']) {
    let later = 0;
    const { fire } = table([event, () => ({ behavior: 'deny', message: 'no' })], [event, () => { later++; return { behavior: 'allow' }; }]);
    const { said } = await fire(event);
    assert.deepEqual([said.behavior, said.message, later], ['deny', 'no', 0]);
  }
});
test('what a tap does to its copy of an input does not reach the call', async () => {
  const input = { nested: { a: 1 }, list: [1] };
  const { fire, reports } = table(['PostToolUse', (e) => { e.input.nested.a = 2; }], ['PostToolUse', (e) => { e.input.list.push(2); }], ['PostToolUse', (e) => { e.input = {}; }], ['PostToolUse', (e) => ({ additionalContext: JSON.stringify(e.input) })]);
  const { said } = await fire('PostToolUse', { ...RESULT, input });
  assert.equal(said.additionalContext, '{"nested":{"a":1},"list":[1]}');
  assert.deepEqual([input, reports.length], [{ nested: { a: 1 }, list: [1] }, 3]);
});
test('what policy asks is for a person, whatever the tap says of until', async () => {
  const { fire } = table(['PreToolUse', () => ({ behavior: 'ask', until: 'rule' }), { layer: 'policy' }]);
  assert.equal((await fire('PreToolUse')).event.verdict.opinion.until, 'person');
});
test('an output that a policy\'s broken check withheld is not put back by a later tap', async () => {
  const { fire } = table(['PostToolUse', () => { throw new Error('x'); }, { layer: 'policy' }], ['PostToolUse', (e) => ({ updatedOutput: JSON.stringify(e.output), additionalContext: 'more' }), { layer: 'policy', stage: 1 }]);
  const { said, event } = await fire('PostToolUse');
  assert.match(said.updatedOutput, /withheld/);
  assert.match(event.content, /withheld/);
  assert.equal(said.additionalContext, 'more');
});
test('updated outputs replace each other in order, and each tap sees the last', async () => {
  const { fire } = table(['PostToolUse', () => ({ updatedOutput: 'one' })], ['PostToolUse', (e) => ({ updatedOutput: `${e.content} two` })]);
  assert.equal((await fire('PostToolUse')).said.updatedOutput, 'one two');
});
test('of several actions on an answer the strictest counts, and what is not accepted takes no words along', async () => {
  const say = async (...actions: object[]) => (await table(...actions.map((a): Tap => ['ElicitationResult', () => a])).fire('ElicitationResult')).said;
  assert.deepEqual(await say({ action: 'accept', content: { a: 1 } }, { action: 'accept' }), { action: 'accept', content: { a: 1 } });
  assert.deepEqual(await say({ action: 'cancel' }, { action: 'accept', content: { a: 1 } }), { action: 'cancel' });
  assert.deepEqual(await say({ action: 'decline', content: { a: 1 } }), { action: 'decline' });
});
test('the first voice answers, policy before all others, and nobody after it is asked', async () => {
  const asked: string[] = [];
  const tap = (layer: Layer, said?: object): Tap => ['Elicitation', () => { asked.push(layer); return said; }, { layer }];
  const { fire } = table(tap('built-in', { action: 'cancel' }), tap('user', { action: 'accept', content: {} }), tap('policy'));
  assert.equal((await fire('Elicitation')).said.action, 'accept');
  assert.deepEqual(asked, ['policy', 'user']);
});
test('on a tell event all are told and nothing is said back', async () => {
  let told = 0;
  const { fire } = table(['Notification', () => { told++; return { behavior: 'deny' }; }], ['Notification', async () => { told++; throw new Error('x'); }], ['Notification', () => { told++; }]);
  const { said, voices } = await fire('Notification');
  assert.deepEqual([said, voices, told], [undefined, [], 3]);
});

