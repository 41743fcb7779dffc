import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { isTappetError } from 'tappet/kernel';
import type { Host, Invocation, Open, Wire } from 'tappet/kernel';
import type { ProjectOptions } from '../../../support/project.ts';
import { frontendIn, hostOn, testIo, untilAborted } from '../bench.ts';
import { invocation } from '../invocation.ts';

const LINES = { outputFormat: 'stream-json', inputFormat: 'stream-json', print: false } as const;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

async function conversation(t: TestContext, o: ProjectOptions & { readonly flags?: Partial<Invocation>; readonly env2?: Record<string, string> } = {}) {
  const { call, project, frontend, open } = await frontendIn(t, 'stream-json', o);
  const io = testIo({ env: o.env2 ?? {} });
  const host = hostOn(io);
  return { ...host, io, project, frontend, open, over: call({ ...LINES, ...o.flags }, io) };
}
const write = (file: string, content = 'x') => ({ call: [{ name: 'Write', input: { file_path: file, content } }] });
const asking = { permissionPromptTool: 'stdio' };

test('takes lines out whatever comes in, and no command', async (t) => {
  const { frontend } = await frontendIn(t, 'stream-json');
  assert.equal(frontend.matches(invocation({ outputFormat: 'stream-json' })), true);
  assert.equal(frontend.matches(invocation(LINES)), true);
  assert.equal(frontend.matches(invocation({ inputFormat: 'stream-json' })), false);
  assert.equal(frontend.matches(invocation({ ...LINES, command: ['doctor'] })), false);
});

test('answers initialize and a message that came with it, each line with its own id', async (t) => {
  const h = await conversation(t, { steps: [{ say: 'Hello.' }] });
  h.send({ type: 'control_request', request_id: 'i1', request: { subtype: 'initialize', systemPrompt: ['You are a zebra.'], appendSystemPrompt: 'Neigh.' } });
  h.user([{ type: 'text', text: 'say hello' }]);
  await h.result();
  h.end();
  assert.equal(await h.over, 0);
  assert.deepEqual(h.shape(), ['answer:success', 'system/init', 'assistant', 'result/success']);
  const [welcome, init, assistant, result] = h.lines;
  for (const key of ['commands', 'agents', 'models', 'available_output_styles']) assert.ok(Array.isArray(welcome!['response'].response[key]), key);
  assert.deepEqual(welcome!['response'].response.models.map((m: { value: string }) => m.value), ['default', 'test/model']);
  assert.equal(typeof welcome!['response'].response.account, 'object');
  assert.deepEqual([init!['model'], init!['permissionMode'], init!['cwd'], init!['tools'], init!['mcp_servers']], ['test/model', 'default', h.project.dir, ['Read', 'Write'], []]);
  assert.deepEqual([assistant!['message'].role, assistant!['message'].type, assistant!['message'].content, assistant!['parent_tool_use_id']], ['assistant', 'message', [{ type: 'text', text: 'Hello.' }], null]);
  assert.deepEqual([result!['result'], result!['is_error'], result!['num_turns'], result!['stop_reason'], result!['terminal_reason'], result!['permission_denials']], ['Hello.', false, 1, 'end_turn', 'completed', []]);
  assert.deepEqual(result!['modelUsage'].model, { inputTokens: 10, outputTokens: 5, cacheReadInputTokens: 0, cacheCreationInputTokens: 0, webSearchRequests: 0, costUSD: 6e-5, contextWindow: 100_000, maxOutputTokens: 4000 });
  const stamped = h.lines.slice(1);
  assert.equal(new Set(stamped.map((l) => l['session_id'])).size, 1);
  assert.equal(new Set(stamped.map((l) => l['uuid'])).size, 3);
  assert.ok(stamped.every((l) => UUID.test(l['uuid'])));
  assert.match(JSON.stringify(h.project.model.requests[0]?.system), /You are a zebra\.[\s\S]*Neigh\./);
});

test('needs no initialize, and tells one session from turn to turn', async (t) => {
  const h = await conversation(t, { steps: [{ say: 'one' }, { say: 'two' }] });
  h.user('first');
  await h.result(1);
  h.user('second');
  const second = await h.result(2);
  h.end();
  assert.equal(await h.over, 0);
  assert.deepEqual(h.shape(), ['system/init', 'assistant', 'result/success', 'system/init', 'assistant', 'result/success']);
  assert.equal(second['result'], 'two');
  // Money is counted over the process, tokens over the turn.
  assert.deepEqual([second['total_cost_usd'], second['usage'].input_tokens, second['modelUsage'].model.inputTokens, second['result_index']], [12e-5, 10, 20, 1]);
});

test('writes a line for each finished block and for each result, with what the tool itself gave', async (t) => {
  const h = await conversation(t, { files: { 'a.txt': 'alpha' }, steps: [{ say: 'I look.', call: [{ name: 'Read', input: { file_path: 'a.txt' } }] }, { say: 'alpha' }] });
  h.user('read it');
  const result = await h.result();
  h.end();
  await h.over;
  assert.deepEqual(h.shape(), ['system/init', 'assistant', 'assistant', 'user', 'assistant', 'result/success']);
  const [, said, used, came] = h.lines;
  assert.equal(said!['message'].id, used!['message'].id);
  assert.deepEqual(used!['message'].content, [{ type: 'tool_use', id: 'call_1', name: 'Read', input: { file_path: 'a.txt' } }]);
  assert.equal(came!['message'].content[0].tool_use_id, 'call_1');
  assert.match(JSON.stringify(came!['tool_use_result']), /alpha/);
  assert.equal(result['num_turns'], 2);
});

test('asks the host, and runs what the host makes of the call', async (t) => {
  const h = await conversation(t, { flags: asking, steps: [write('w.txt', 'original'), { say: 'done' }] });
  h.user('write');
  const ask = await h.request('can_use_tool');
  assert.deepEqual([ask['request'].tool_name, ask['request'].input, ask['request'].tool_use_id, ask['request'].decision_reason_type], ['Write', { file_path: 'w.txt', content: 'original' }, 'call_1', 'mode']);
  assert.ok(Array.isArray(ask['request'].permission_suggestions));
  h.answer(ask, { behavior: 'allow', updatedInput: { file_path: 'w.txt', content: 'changed' } });
  const result = await h.result();
  h.end();
  assert.equal(await h.over, 0);
  assert.equal(readFileSync(join(h.project.dir, 'w.txt'), 'utf8'), 'changed');
  assert.deepEqual(result['permission_denials'], []);
  assert.equal(h.of('system', 'permission_denied').length, 0);
});

test('says where a rule or a path outside made the question', async (t) => {
  const h = await conversation(t, { flags: asking, boot: { set: ['permissions.ask=["Edit(w.txt)"]'] }, steps: [write('w.txt'), { call: [{ name: 'Read', input: { file_path: '/nowhere/far.txt' } }] }, { say: 'done' }] });
  h.user('go');
  const byRule = await h.request('can_use_tool');
  assert.deepEqual([byRule['request'].decision_reason_type, byRule['request'].matched_ask_rule], ['rule', { source: 'flagSettings', tool_name: 'Edit', rule_content: 'w.txt' }]);
  h.answer(byRule, { behavior: 'deny' });
  const outside = await h.until((l) => l['request']?.tool_name === 'Read');
  assert.deepEqual([outside['request'].decision_reason_type, outside['request'].blocked_path], ['workingDir', '/nowhere/far.txt']);
  h.answer(outside, { behavior: 'deny' });
  await h.result();
  h.end();
  await h.over;
});

test('does not ask again for what "always" was said to', async (t) => {
  const h = await conversation(t, { flags: asking, steps: [write('1.txt'), write('2.txt'), { say: 'done' }] });
  h.user('write');
  const ask = await h.request('can_use_tool');
  h.answer(ask, { behavior: 'allow', updatedPermissions: [{ type: 'unheard-of' }, { type: 'addRules', rules: [{ toolName: 'Write' }], behavior: 'allow', destination: 'session' }] });
  await h.result();
  h.end();
  await h.over;
  assert.equal(h.of('control_request').length, 1);
  assert.ok(existsSync(join(h.project.dir, '2.txt')));
  assert.match(h.io.stderr, /unheard-of/);
});

test('denies where the host says no, answers with an error, or says nonsense', async (t) => {
  const answers: [string, (h: Awaited<ReturnType<typeof conversation>>, ask: object) => void, RegExp][] = [
    ['deny', (h, ask) => h.answer(ask, { behavior: 'deny', message: 'No ibex today' }), /No ibex today/],
    ['error', (h, ask) => h.refuse(ask, 'the callback threw'), /the callback threw/],
    ['nonsense', (h, ask) => h.answer(ask, { behavior: 'perhaps' }), /cannot be read/],
    ['nothing', (h, ask) => h.answer(ask, null), /cannot be read/],
  ];
  for (const [name, give, why] of answers) {
    const h = await conversation(t, { flags: asking, steps: [write('w.txt'), { say: 'Understood.' }] });
    h.user('write');
    give(h, await h.request('can_use_tool'));
    const result = await h.result();
    h.end();
    assert.equal(await h.over, 0, name);
    assert.equal(existsSync(join(h.project.dir, 'w.txt')), false, name);
    assert.match(JSON.stringify(h.of('user')[0]!['message'].content), why, name);
    assert.deepEqual(result['permission_denials'].map((d: { tool_name: string }) => d.tool_name), ['Write'], name);
  }
});

test('ends the turn where the host denies and interrupts', async (t) => {
  const h = await conversation(t, { flags: asking, steps: [write('w.txt'), { say: 'must not be reached' }] });
  h.user('write');
  h.answer(await h.request('can_use_tool'), { behavior: 'deny', message: 'Stop', interrupt: true });
  const result = await h.result();
  assert.deepEqual([result['subtype'], result['is_error'], result['terminal_reason']], ['error_during_execution', true, 'aborted_tools']);
  assert.equal(h.project.model.requests.length, 1);
  h.end();
  assert.equal(await h.over, 1);
});

test('denies at once where the host did not offer to be asked', async (t) => {
  const h = await conversation(t, { steps: [write('w.txt'), { say: 'I may not.' }] });
  h.user('write');
  const result = await h.result();
  h.end();
  await h.over;
  assert.deepEqual(h.shape(), ['system/init', 'assistant', 'system/permission_denied', 'user', 'assistant', 'result/success']);
  const [denied] = h.of('system', 'permission_denied');
  assert.deepEqual([denied!['tool_name'], denied!['tool_use_id'], denied!['decision_reason_type']], ['Write', 'call_1', 'mode']);
  assert.equal(result['permission_denials'].length, 1);
});

test('ignores answers that nobody waits for', async (t) => {
  const h = await conversation(t, { flags: asking, steps: [write('w.txt'), { say: 'done' }] });
  h.send({ type: 'control_response', response: { subtype: 'success', request_id: 'nobody', response: { behavior: 'allow' } } }, { type: 'control_response', response: {} });
  h.user('write');
  const ask = await h.request('can_use_tool');
  h.answer(ask, { behavior: 'allow' });
  h.answer(ask, { behavior: 'deny' });
  await h.result();
  h.end();
  assert.equal(await h.over, 0);
  assert.ok(existsSync(join(h.project.dir, 'w.txt')));
  assert.match(h.io.stderr, /no request_id/);
});

test('withdraws an open question at an interrupt, and answers the interrupt before the result', async (t) => {
  const h = await conversation(t, { flags: asking, steps: [write('w.txt'), { say: 'back again' }] });
  h.user('write');
  const ask = await h.request('can_use_tool');
  const said = await h.ask({ subtype: 'interrupt' });
  assert.deepEqual(said['response'], { still_queued: [] });
  const result = await h.result();
  assert.equal(result['subtype'], 'error_during_execution');
  const at = (fits: (l: Record<string, any>) => boolean): number => h.lines.findIndex(fits);
  assert.ok(at((l) => l['type'] === 'control_cancel_request' && l['request_id'] === ask['request_id']) > 0);
  assert.ok(at((l) => l['type'] === 'control_response') < at((l) => l['type'] === 'result'));
  // Every tool use has its result, and the model is told of the interruption.
  assert.equal(h.of('user').filter((l) => JSON.stringify(l['message'].content).includes('call_1')).length, 1);
  assert.equal(h.of('user').filter((l) => l['isSynthetic'] === true).length, 1);
  h.answer(ask, { behavior: 'allow' });
  h.user('and now?');
  assert.equal((await h.result(2))['result'], 'back again');
  h.end();
  assert.equal(await h.over, 0);
  assert.equal(existsSync(join(h.project.dir, 'w.txt')), false);
});

test('interrupts a stream, tells what is still queued, and goes on with it', async (t) => {
  const second = randomUUID();
  const h = await conversation(t, { flags: { includePartialMessages: true }, steps: [{ say: 'a long answer', pause: untilAborted }, { say: 'second' }] });
  h.user('first');
  await h.until((l) => l['event']?.type === 'content_block_stop');
  h.user('second', { uuid: second, priority: 'later' });
  assert.deepEqual((await h.ask({ subtype: 'interrupt' }))['response'], { still_queued: [second] });
  assert.deepEqual([(await h.result(1))['subtype'], (await h.result(2))['result']], ['error_during_execution', 'second']);
  assert.deepEqual((await h.result(2))['user_message_uuids'], [second]);
  assert.deepEqual((await h.ask({ subtype: 'interrupt' }))['response'], { still_queued: [] });
  h.end();
  assert.equal(await h.over, 0);
});

test('cancels what is queued too, where the interrupt says so, and one message by its id', async (t) => {
  const [a, b] = [randomUUID(), randomUUID()];
  const h = await conversation(t, { flags: { includePartialMessages: true }, steps: [{ pause: untilAborted, say: 'x' }] });
  h.user('first');
  await h.until((l) => l['event']?.type === 'content_block_stop');
  h.user('a', { uuid: a, priority: 'later' });
  h.user('b', { uuid: b, priority: 'later' });
  assert.deepEqual((await h.ask({ subtype: 'cancel_async_message', message_uuid: a }))['response'], { cancelled: true });
  assert.deepEqual((await h.ask({ subtype: 'cancel_async_message', message_uuid: a }))['response'], { cancelled: false });
  assert.deepEqual((await h.ask({ subtype: 'interrupt', cancel_queued: true }))['response'], { still_queued: [], cancelled: [b] });
  await h.result();
  h.end();
  assert.equal(await h.over, 1);
  assert.equal(h.of('result').length, 1);
});

test('gives every request exactly one answer, and an error to what it does not know', async (t) => {
  const h = await conversation(t);
  const asked = {
    initialize: {}, set_permission_mode: { mode: 'acceptEdits' }, set_model: { model: 'test/model' }, set_max_thinking_tokens: { max_thinking_tokens: 2000 }, mcp_status: {}, get_settings: {}, get_context_usage: {}, cancel_async_message: { message_uuid: 'x' },
    rename_session: { title: 'T' }, list_models: {}, interrupt: {},
  };
  const answers: Record<string, any> = {};
  for (const [subtype, fields] of Object.entries(asked)) answers[subtype] = await h.ask({ subtype, ...fields });
  assert.deepEqual([...new Set(Object.values(answers).map((a) => a.subtype))], ['success']);
  assert.deepEqual(answers['set_permission_mode'].response, { mode: 'acceptEdits' });
  assert.deepEqual(answers['mcp_status'].response, { mcpServers: [] });
  assert.equal(answers['get_context_usage'].response.totalTokens, 0);
  assert.equal(answers['get_settings'].response.effective.permissions.defaultMode, 'default');

  for (const request of [{ subtype: 'no_such' }, { subtype: 'toString' }, { subtype: 'set_permission_mode' }, { subtype: 'set_permission_mode', mode: 'bypassPermissions' }, { subtype: 'set_model', model: 'nowhere/x' }, { subtype: 'set_max_thinking_tokens', max_thinking_tokens: 'many' },
    { subtype: 'mcp_message', server_name: 'none', message: {} }, { subtype: 'rename_session', title: 'T', session_id: 'another' }, {}, { subtype: 'initialize', hooks: { PreToolUse: 'x' } }]) {
    const answer = await h.ask(request);
    assert.deepEqual([answer['subtype'], typeof answer['error']], ['error', 'string'], JSON.stringify(request));
  }
  h.send({ type: 'control_request', request: { subtype: 'interrupt' } });
  h.end();
  assert.equal(await h.over, 0);
  const ids = h.of('control_response').map((l) => l['response'].request_id as string);
  assert.equal(new Set(ids).size, ids.length);
  assert.match(h.io.stderr, /a request is skipped: request_id/);
});

test('changes model and mode for the next turn, and says so', async (t) => {
  const h = await conversation(t, { steps: [{ say: 'ready' }, write('w.txt'), { say: 'written' }] });
  h.user('x');
  await h.result(1);
  assert.equal((await h.ask({ subtype: 'set_permission_mode', mode: 'acceptEdits' }))['subtype'], 'success');
  assert.equal((await h.until((l) => l['subtype'] === 'status'))['permissionMode'], 'acceptEdits');
  assert.equal((await h.ask({ subtype: 'set_model', model: 'default' }))['subtype'], 'success');
  h.user('y');
  await h.result(2);
  h.end();
  await h.over;
  assert.equal(h.of('system', 'init')[1]!['permissionMode'], 'acceptEdits');
  assert.ok(existsSync(join(h.project.dir, 'w.txt')));
});

test('keeps the ids of messages, takes none twice, and echoes them where that is wanted', async (t) => {
  const [id, note] = [randomUUID(), randomUUID()];
  const h = await conversation(t, { flags: { replayUserMessages: true }, steps: [{ say: 'one' }] });
  h.user('context only', { uuid: note, shouldQuery: false });
  h.user('first', { uuid: id });
  const result = await h.result();
  h.user('first, again', { uuid: id });
  h.end();
  assert.equal(await h.over, 0);
  assert.deepEqual([result['user_message_uuid'], result['user_message_uuids']], [id, [id]]);
  assert.deepEqual(h.of('user').map((l) => [l['uuid'], l['isReplay']]), [[note, true], [id, true]]);
  assert.equal(h.of('result').length, 1);
  assert.match(h.io.stderr, new RegExp(`${id} was there before`));
  assert.match(JSON.stringify(h.project.model.requests[0]?.messages.map((m) => m.message)), /context only[\s\S]*first/);
});

test('marks what the host says for itself, and does not echo prompts unasked', async (t) => {
  const h = await conversation(t, { steps: [{ say: 'ok' }] });
  h.user('from the host', { isSynthetic: true, uuid: 'no uuid', priority: 'soon' });
  await h.result();
  h.end();
  await h.over;
  assert.deepEqual(h.of('user').map((l) => l['isSynthetic']), [true]);
});

test('passes the raw events on where partial messages are wanted, and the whole block behind them', async (t) => {
  const h = await conversation(t, { flags: { includePartialMessages: true }, steps: [{ say: 'Hello.' }] });
  h.user('x');
  await h.result();
  h.end();
  await h.over;
  assert.deepEqual(h.of('stream_event').map((l) => l['event'].type), ['message_start', 'content_block_start', 'content_block_delta', 'content_block_stop', 'message_delta', 'message_stop']);
  assert.deepEqual(h.of('stream_event')[3]!['event'], { type: 'content_block_stop', index: 0 });
  assert.equal(h.of('system', 'status')[0]!['status'], 'requesting');
  assert.equal(h.of('assistant').length, 1);
});

test('skips what it does not know, and says which lines were no JSON', async (t) => {
  const h = await conversation(t, { steps: [{ say: 'still here' }] });
  h.send('this is no JSON', '', '[1,2]', { type: 'keep_alive' }, { type: 'from_the_future', x: 1 }, { type: 'control_cancel_request', request_id: 'x' }, { type: 'user', message: {} }, { type: 'user', message: { content: [{ text: 'no type' }] } });
  h.user('x');
  await h.result();
  h.end();
  assert.equal(await h.over, 0);
  assert.equal(h.of('result').length, 1);
  assert.match(h.io.stderr, /a line of the input is skipped: no JSON \(byte 0/);
  assert.match(h.io.stderr, /a line of the input is skipped: no JSON object/);
  assert.equal(h.io.stderr.match(/a message is skipped/g)?.length, 2);
});

test('reads lines in pieces, and a last one without its newline', async (t) => {
  const h = await conversation(t, { steps: [{ say: 'ok' }] });
  const bytes = Buffer.from(JSON.stringify({ type: 'user', message: { role: 'user', content: 'grün — 日本' } }));
  for (let i = 0; i < bytes.length; i += 7) h.io.input.write(bytes.subarray(i, i + 7));
  h.end();
  assert.equal(await h.over, 0);
  assert.match(JSON.stringify(h.project.model.requests[0]?.messages.map((m) => m.message)), /grün — 日本/);
});

test('answers all that was read before the input ended', async (t) => {
  const h = await conversation(t, { steps: [{ say: 'one' }, { say: 'two' }] });
  h.user('first');
  h.user('second', { priority: 'later' });
  h.end();
  assert.equal(await h.over, 0);
  assert.deepEqual(h.of('result').map((l) => l['result']), ['one', 'two']);
  assert.deepEqual(h.of('result').map((l) => l['queued_turn_count']), [1, 0]);
});

test('ends quietly where nothing was said', async (t) => {
  const h = await conversation(t);
  h.end();
  assert.equal(await h.over, 0);
  assert.equal(h.io.stdout, '');
});

test('denies what is open when the host goes away', async (t) => {
  const h = await conversation(t, { flags: asking, steps: [write('w.txt'), write('v.txt'), { say: 'nobody there' }] });
  h.user('write');
  await h.request('can_use_tool');
  h.end();
  assert.equal(await h.over, 0);
  assert.equal(h.of('control_request').length, 1);
  assert.equal((await h.result())['permission_denials'].length, 2);
  assert.equal(existsSync(join(h.project.dir, 'v.txt')), false);
});

test('shows a failed request as a message and an error result, with the cause on stderr', async (t) => {
  const h = await conversation(t, { steps: [{ fault: { kind: 'invalid_request', message: 'your okra is invalid', status: 400 } }] });
  h.user('x');
  const result = await h.result();
  h.end();
  assert.equal(await h.over, 1);
  const [synthetic] = h.of('assistant');
  assert.deepEqual([synthetic!['message'].model, synthetic!['error']], ['<synthetic>', 'invalid_request']);
  assert.deepEqual([result['subtype'], result['is_error'], result['api_error_status'], result['terminal_reason']], ['success', true, 400, 'api_error']);
  assert.match(result['result'], /okra/);
  assert.match(h.io.stderr, /okra/);
});

test('says which limit ended a turn', async (t) => {
  const h = await conversation(t, { files: { 'a.txt': 'a' }, flags: { maxTurns: 1 }, steps: [{ call: [{ name: 'Read', input: { file_path: 'a.txt' } }] }, { say: 'never' }] });
  h.user('x');
  const result = await h.result();
  h.end();
  await h.over;
  assert.deepEqual([result['subtype'], result['is_error'], result['errors'].length, 'result' in result], ['error_max_turns', true, 1, false]);
});

test('tells the host its state, where it listens: idle only behind the last result', async (t) => {
  const h = await conversation(t, { env2: { CLAUDE_CODE_SDK_READS_SESSION_STATE: '1' }, flags: asking, steps: [write('w.txt'), { say: 'done' }, { say: 'two' }] });
  h.user('write');
  h.user('and more', { priority: 'later' });
  h.answer(await h.request('can_use_tool'), { behavior: 'allow' });
  await h.result(2);
  h.end();
  await h.over;
  assert.deepEqual(h.lines.filter((l) => l['type'] === 'result' || l['subtype'] === 'session_state_changed').map((l) => l['state'] ?? 'result'), ['running', 'requires_action', 'running', 'result', 'result', 'idle']);
  assert.ok(h.of('system', 'session_state_changed').every((l) => l['sdk_host_only'] === true));
});

test('tells by a result that the session could not be opened', async (t) => {
  const id = randomUUID();
  const h = await conversation(t, { flags: { resume: id } });
  const answer = await h.ask({ subtype: 'initialize' });
  assert.equal(answer['subtype'], 'error');
  h.user('x');
  assert.equal(await h.over, 1);
  assert.deepEqual(h.shape(), ['result/error_during_execution', 'answer:error']);
  const [result] = h.of('result');
  assert.deepEqual([result!['is_error'], result!['num_turns'], result!['session_id']], [true, 0, id]);
  assert.match(result!['errors'][0], /E_SESSION_UNKNOWN/);
  assert.match(h.io.stderr, /E_SESSION_UNKNOWN/);
  assert.equal(h.io.listeners, 0);
});

test('says that there is no such session even where nothing is said to it', async (t) => {
  const h = await conversation(t, { flags: { resume: randomUUID() } });
  h.end();
  assert.equal(await h.over, 1);
  assert.deepEqual(h.shape(), ['result/error_during_execution']);
});

test('ends where the process is told to stop, with the host still there', async (t) => {
  const h = await conversation(t, { flags: asking, steps: [write('w.txt')] });
  h.user('write');
  await h.request('can_use_tool');
  h.io.tell('SIGTERM');
  assert.equal(await h.over, 143);
  assert.equal(h.of('result').length, 1);
  assert.equal(h.io.listeners, 0);
  assert.equal(h.io.input.listenerCount('data'), 0);
});

test('stops a turn that still runs when the input has ended', async (t) => {
  const h = await conversation(t, { flags: { includePartialMessages: true }, steps: [{ say: 'long', pause: untilAborted }] });
  h.user('x');
  h.end();
  await h.until((l) => l['event']?.type === 'content_block_stop');
  h.io.tell('SIGTERM');
  assert.equal(await h.over, 143);
  assert.equal(h.of('result')[0]!['subtype'], 'error_during_execution');
});

test('wants prompts as lines', async (t) => {
  const { call } = await frontendIn(t, 'stream-json');
  await assert.rejects(async () => call({ ...LINES, prompt: 'hello' }, testIo()), (e: unknown) => isTappetError(e) && e.code === 'E_USAGE');
  await assert.rejects(async () => call({ ...LINES, resume: '' }, testIo()), (e: unknown) => isTappetError(e) && e.code === 'E_USAGE');
});

test('says that no tool of a server can be asked', async (t) => {
  const h = await conversation(t, { flags: { permissionPromptTool: 'mcp__s__t' }, steps: [write('w.txt'), { say: 'no' }] });
  h.user('write');
  assert.equal((await h.result())['permission_denials'].length, 1);
  h.end();
  await h.over;
  assert.match(h.io.stderr, /mcp__s__t: only `stdio` can be asked/);
});

test('takes one plain prompt too, and ends with the code of its turn', async (t) => {
  const { call } = await frontendIn(t, 'stream-json', { steps: [{ say: 'four' }, { fault: { kind: 'connection', message: 'nobody listens' } }] });
  const good = testIo();
  const host = hostOn(good);
  good.input.end('two and two?');
  assert.equal(await call({ outputFormat: 'stream-json', permissionPromptTool: 'stdio' }, good), 0);
  assert.deepEqual(host.shape(), ['system/init', 'assistant', 'result/success']);
  const bad = testIo();
  hostOn(bad);
  assert.equal(await call({ outputFormat: 'stream-json', prompt: 'x' }, bad), 4);
  const none = testIo({ isTTY: true });
  await assert.rejects(call({ outputFormat: 'stream-json' }, none), (e: unknown) => isTappetError(e) && e.code === 'E_FRONTEND');
});

test('brings servers that live in the host: a message is a request, its answer comes back', async (t) => {
  const { frontend, open, project } = await frontendIn(t, 'stream-json');
  let host!: Host;
  const spying: Open = (o) => { host = o.host; return open(o); };
  const io = testIo();
  const h = hostOn(io);
  const over = frontend.run(spying, invocation({ cwd: project.dir, ...LINES }), io);
  await h.ask({ subtype: 'initialize', sdkMcpServers: ['calc'] });
  const wire: Wire = host.mcp!['calc']!();
  const heard: unknown[] = [];
  wire.onmessage = (m) => { heard.push(m); };
  await wire.start();
  const sent = wire.send({ jsonrpc: '2.0', id: 7, method: 'tools/list' });
  const request = await h.request('mcp_message');
  assert.deepEqual([request['request'].server_name, request['request'].message.id], ['calc', 7]);
  h.answer(request, { mcp_response: { jsonrpc: '2.0', id: 7, result: { tools: [] } } });
  await sent;
  const notified = wire.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  h.answer(await h.until((l) => l['type'] === 'control_request' && l['request'].message.method === 'notifications/initialized'), { mcp_response: { jsonrpc: '2.0', id: 0, result: {} } });
  await notified;
  assert.equal((await h.ask({ subtype: 'mcp_message', server_name: 'calc', message: { jsonrpc: '2.0', method: 'notifications/tools/list_changed' } }))['subtype'], 'success');
  assert.deepEqual(heard, [{ jsonrpc: '2.0', id: 7, result: { tools: [] } }, { jsonrpc: '2.0', method: 'notifications/tools/list_changed' }]);
  const failing = wire.send({ jsonrpc: '2.0', id: 8, method: 'tools/call' });
  h.refuse(await h.until((l) => l['type'] === 'control_request' && l['request'].message.id === 8), 'SDK MCP server not found: calc');
  await assert.rejects(failing, /not found/);
  const closing = wire.send({ jsonrpc: '2.0', id: 9, method: 'tools/call' });
  await wire.close();
  await assert.rejects(closing, /withdrawn/);
  io.input.end();
  await over;
});

test('ends, and does not hang, where events can no longer be shown', async (t) => {
  const { frontend, open, project } = await frontendIn(t, 'stream-json', { steps: [{ say: 'x' }] });
  const torn: Open = async (o) => {
    const session = await open(o);
    return new Proxy(session, { get: (target, key, self) => (key === 'events' ? async function* () { throw new Error('torn'); } : Reflect.get(target, key, self)) });
  };
  const io = testIo();
  const h = hostOn(io);
  const over = frontend.run(torn, invocation({ cwd: project.dir, ...LINES }), io);
  h.user('x');
  await assert.rejects(over, /torn/);
  assert.equal(io.listeners, 0);
});
