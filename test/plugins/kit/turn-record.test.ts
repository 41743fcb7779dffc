import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_USAGE, TURN_ENDS } from 'tappet/kernel';
import type { ModelFault, TurnEnd, TurnEndReason } from 'tappet/kernel';
import { turnExit, turnRecord } from 'tappet/kit';

const end = (reason: TurnEndReason, more: Partial<TurnEnd> = {}): TurnEnd => ({ turnId: '00000000-0000-4000-8000-000000000001', reason, text: 'text', isError: true, stopReason: 'end_turn', errors: [], usage: NO_USAGE, costUSD: 1, numTurns: 2, durationMs: 3, durationApiMs: 4, denials: [], ...more });
const fault = (kind: ModelFault['kind']): Partial<TurnEnd> => ({ fault: { kind, message: 'm', provider: 'p', model: 'm', transient: false } });

test('ends a process with 0 only where there is an answer', () => {
  const zero = TURN_ENDS.filter((reason) => turnExit(end(reason)) === 0);
  assert.deepEqual(zero, ['answered', 'tool_deferred']);
  const code = (reason: TurnEndReason): number => turnExit(end(reason));
  assert.deepEqual([code('max_turns'), code('budget'), code('model_error'), code('refused'), code('blocked'), code('hook_stopped'), code('timeout'), code('interrupted')], [1, 1, 1, 1, 3, 3, 5, 130]);
});

test('tells a service that was not reached from one that said no', () => {
  assert.equal(turnExit(end('model_error', fault('connection'))), 4);
  assert.equal(turnExit(end('model_error', fault('timeout_first_byte'))), 4);
  assert.equal(turnExit(end('model_error', fault('rate_limit'))), 1);
  assert.equal(turnExit(end('model_error', { code: 'E_MODEL_UNAVAILABLE' })), 4);
});

test('carries an answer or errors, never both, and says which calls were denied', () => {
  const answered = turnRecord(end('answered', { isError: false, denials: [{ toolName: 'Write', toolUseId: 'c', input: { a: 1 }, message: 'no', wouldAllow: 'Edit(a)' }, { toolName: 'Read', toolUseId: 'd', input: {}, message: 'no' }] }));
  assert.deepEqual([answered.subtype, answered.result, 'errors' in answered], ['success', 'text', false]);
  assert.deepEqual(answered['permission_denials'], [{ tool_name: 'Write', tool_use_id: 'c', tool_input: { a: 1 }, message: 'no', would_allow: 'Edit(a)' }, { tool_name: 'Read', tool_use_id: 'd', tool_input: {}, message: 'no' }]);
  const over = turnRecord(end('max_turns'));
  assert.deepEqual([over.subtype, over.errors, 'result' in over], ['error_max_turns', ['text'], false]);
  assert.equal(turnRecord(end('model_error', fault('context_too_long')))['terminal_reason'], 'prompt_too_long');
  assert.equal(turnRecord(end('model_error'))['api_error_status'], null);
});
