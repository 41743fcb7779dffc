import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_USAGE } from 'tappet/kernel';
import type { Block, Decision, EventBody, ModelEvent, SessionEvent, TurnEnd, TurnEndReason } from 'tappet/kernel';
import { TURN_ENDS } from 'tappet/kernel';
import fc from 'fast-check';
import { wireBlocks, wireEvent, wireFault } from '../../../../plugins/frontends/stream-json/content.ts';
import { createProjection } from '../../../../plugins/frontends/stream-json/projection.ts';
import type { ProjectionOptions } from '../../../../plugins/frontends/stream-json/projection.ts';
import { lineOf } from '../../../../plugins/frontends/stream-json/protocol.ts';

const ID = '00000000-0000-4000-8000-000000000001';
const end = (reason: TurnEndReason, more: Partial<TurnEnd> = {}): TurnEnd => ({ turnId: ID, reason, text: `it is ${reason}`, isError: reason !== 'answered' && reason !== 'blocked' && reason !== 'tool_deferred', stopReason: null, errors: [], usage: NO_USAGE, costUSD: 0.5, numTurns: 1, durationMs: 2, durationApiMs: 1, denials: [], ...more });
function projected(o: Partial<ProjectionOptions> = {}) {
  const projection = createProjection({ sessionId: 's', partial: false, replay: false, states: false, init: () => ({ model: 'm' }), window: () => ({ contextWindow: 10, maxOutputTokens: 1 }), ...o });
  let seq = 0;
  const take = (body: EventBody, agentId: string | null = null): readonly Record<string, any>[] => projection.lines({ ...body, seq: seq++, sessionId: 's', agentId, turnId: ID, timestamp: '' } as SessionEvent);
  const start = (): readonly Record<string, any>[] => take({ type: 'turn.started', promptIds: ['p1'], model: 'test/m', mode: 'default', cwd: '/', tools: [] });
  return { projection, take, start };
}
const assistant = (content: readonly Block[], more: object = {}) => ({ type: 'message' as const, message: { type: 'assistant' as const, uuid: ID, timestamp: '', message: { id: 'm1', role: 'assistant' as const, model: 'm', content, stop_reason: null, usage: NO_USAGE }, ...more } as never });
const decision = (behavior: Decision['behavior'], by: Decision['by']): EventBody => ({ type: 'decision', decision: { id: 'd', toolUseId: 'c1', toolName: 'Write', behavior, message: 'no', reason: { kind: 'mode', mode: 'plan' }, origin: {} as never, opinions: [], mode: 'plan', by } });

test('makes one result of every way in which a turn can end, never a success of a failure', () => {
  for (const reason of TURN_ENDS) {
    const { take, start } = projected();
    start();
    const lines = take({ type: 'turn.ended', end: end(reason) });
    assert.equal(lines.length, 1, reason);
    const [result] = lines;
    assert.equal(result!['is_error'], end(reason).isError, reason);
    assert.equal('result' in result!, result!['subtype'] === 'success', reason);
    assert.equal('errors' in result!, result!['subtype'] !== 'success', reason);
    if (!result!['is_error']) assert.equal(result!['subtype'], 'success', reason);
  }
});

test('names the prompts of a turn in the order in which it took them', () => {
  const { take, start } = projected({ states: true });
  take({ type: 'prompt.queued', promptId: 'p1', priority: 'next' });
  start();
  take({ type: 'prompt.queued', promptId: 'p2', priority: 'next' });
  take({ type: 'prompt.queued', promptId: 'p3', priority: 'later' });
  take({ type: 'prompt.joined', promptId: 'p2' });
  const [result, ...rest] = take({ type: 'turn.ended', end: end('answered') });
  assert.deepEqual([result!['user_message_uuids'], result!['queued_turn_count'], rest], [['p1', 'p2'], 1, []]);
  take({ type: 'prompt.withdrawn', promptId: 'p3' });
  start();
  assert.deepEqual(take({ type: 'turn.ended', end: end('answered') }).map((l) => l['state'] ?? l['total_cost_usd']), [1, 'idle']);
});

test('says which call a deferred turn waits for', () => {
  const { take, start } = projected();
  start();
  take({ type: 'tool.started', toolUseId: 'c1', toolName: 'Write', input: { file_path: 'w' } });
  take(decision('defer', 'hook'));
  take({ type: 'tool.finished', toolUseId: 'c1', toolName: 'Write', isError: true, durationMs: 1 });
  const [result] = take({ type: 'turn.ended', end: end('tool_deferred') });
  assert.deepEqual([result!['stop_reason'], result!['deferred_tool_use']], ['tool_deferred', { id: 'c1', name: 'Write', input: { file_path: 'w' } }]);
});

test('tells whether a turn was interrupted in the model or in its tools', () => {
  for (const [events, expected] of [[[], 'aborted_streaming'], [[{ type: 'message_stop' }], 'aborted_tools']] as [ModelEvent[], string][]) {
    const { take, start } = projected();
    start();
    take({ type: 'request.started', model: 'm', round: 1 });
    for (const event of events) take({ type: 'model.event', event });
    assert.equal(take({ type: 'turn.ended', end: end('interrupted') })[0]!['terminal_reason'], expected);
  }
});

test('shows denials that nobody was asked about, also those of other agents, and their money', () => {
  const { take, start } = projected();
  start();
  assert.deepEqual(take(decision('deny', 'person')), []);
  assert.deepEqual(take(decision('allow', 'mode')), []);
  assert.equal(take(decision('deny', 'mode'), 'child')[0]!['agent_id'], 'child');
  assert.deepEqual(take(assistant([{ type: 'text', text: 'inner' }], { usage: { ...NO_USAGE, input_tokens: 7 }, costUSD: 2 }), 'child'), []);
  assert.deepEqual(take({ type: 'turn.ended', end: end('answered') }, 'child'), []);
  const [result] = take({ type: 'turn.ended', end: end('answered') });
  assert.deepEqual([result!['total_cost_usd'], result!['modelUsage'].m.inputTokens], [2.5, 7]);
});

test('keeps what mends an old session out of the stream, and what is for logs only', () => {
  const { take, start } = projected({ replay: true });
  const mended = { type: 'message' as const, message: { type: 'user', uuid: ID, timestamp: '', message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c0', content: 'interrupted' }] } } as never };
  assert.deepEqual(take(mended), []);
  start();
  assert.equal(take(mended).length, 1);
  for (const format of ['mode_changed', 'hook_error', 'permission_denied', 'memory_saved']) assert.deepEqual(take({ type: 'message', message: { type: 'system', format, level: 'info', content: 'x', uuid: ID, timestamp: '' } as never }), []);
  assert.deepEqual(take({ type: 'message', message: { type: 'attachment', uuid: ID, timestamp: '', attachment: { kind: 'hook', text: 'x' } } }), []);
});

test('hands on retries, compactions, notices and lost events', () => {
  const { take, start } = projected();
  start();
  const system = (format: string, data?: object) => take({ type: 'message', message: { type: 'system', format, level: 'warning', content: 'c', uuid: ID, timestamp: '', data } as never })[0]!;
  assert.deepEqual([system('api_retry', { attempt: 2, max_retries: 10 })['attempt'], system('compact_boundary', { trigger: 'auto', pre_tokens: 9 })['compact_metadata']], [2, { trigger: 'auto', pre_tokens: 9 }]);
  assert.deepEqual(['informational', 'local_command'].map((f) => system(f)['subtype']), ['informational', 'local_command_output']);
  assert.equal(take({ type: 'notice', level: 'error', code: 'E_X', text: 'look' })[0]!['level'], 'warning');
  assert.match(take({ type: 'events.missed', count: 3 })[0]!['content'], /^3 events/);
  const result = (id: string) => take({ type: 'message', message: { type: 'user', uuid: ID, timestamp: '', message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: '' }] } } });
  for (const ids of [['c0'], ['c1', 'c2']]) {
    take({ type: 'request.started', model: 'm', round: 1 });
    for (const id of ids) result(id);
  }
  take({ type: 'request.started', model: 'm', round: 3 });
  assert.deepEqual(take({ type: 'tool.summary', text: 'read two files' })[0]!['preceding_tool_use_ids'], ['c1', 'c2']);
});

test('shows blocks in the words of the API, without what is ours', () => {
  assert.deepEqual(wireBlocks([
    { type: 'tool_use', id: 'c', name: 'Read', input: {}, inputError: { why: 'x', raw: 'y' }, signature: 'z' }, { type: 'thinking', thinking: 'hm', provider: 'p' }, { type: 'redacted_thinking', data: 'd', provider: 'p' },
    { type: 'vendor', provider: 'p', block: { type: 'server_tool_use', id: 's' } }, { type: 'text', text: 't' },
  ]), [{ type: 'tool_use', id: 'c', name: 'Read', input: {} }, { type: 'thinking', thinking: 'hm', signature: '' }, { type: 'redacted_thinking', data: 'd' }, { type: 'server_tool_use', id: 's' }, { type: 'text', text: 't' }]);
  assert.equal(wireBlocks('plain'), 'plain');
  assert.equal(wireEvent({ type: 'notice', code: 'x', text: 'y' }), null);
  assert.deepEqual([wireFault(undefined), wireFault({ kind: 'auth', message: '', provider: '', model: '', transient: false })], ['unknown', 'authentication_failed']);
});

test('writes one line for anything, whatever a tool may have given', () => {
  const circular: Record<string, unknown> = { type: 'user', tool_use_result: {} };
  (circular['tool_use_result'] as Record<string, unknown>)['self'] = circular['tool_use_result'];
  assert.deepEqual(JSON.parse(lineOf(circular)), { type: 'user' });
  assert.deepEqual(JSON.parse(lineOf({ type: 'x', big: 12n })), { type: 'x', big: '12' });
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => {
    const line = lineOf({ type: 'x', text: `${text}\u2028\u2029\n` });
    assert.equal(line.slice(0, -1).split(/[\n\r\u2028\u2029]/).length, 1);
    assert.equal((JSON.parse(line) as { text: string }).text, `${text}\u2028\u2029\n`);
  }));
});
