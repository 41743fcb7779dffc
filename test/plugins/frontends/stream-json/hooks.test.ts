import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { Invocation } from 'tappet/kernel';
import type { ProjectOptions } from '../../../support/project.ts';
import { frontendIn, hostOn, testIo } from '../bench.ts';

async function conversation(t: TestContext, o: ProjectOptions & { readonly flags?: Partial<Invocation> } = {}) {
  const { call, project } = await frontendIn(t, 'stream-json', o);
  const io = testIo();
  return { ...hostOn(io), io, project, over: call({ outputFormat: 'stream-json', inputFormat: 'stream-json', ...o.flags }, io) };
}
const write = (file: string, content = 'x') => ({ call: [{ name: 'Write', input: { file_path: file, content } }] });
const read = { call: [{ name: 'Read', input: { file_path: 'a.txt' } }] };
const group = (more: object = {}) => ({ hookCallbackIds: ['cb'], ...more });
const pre = (permissionDecision: string, more: object = {}) => ({ hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision, ...more } });

test('calls a hook of the host with what happens, where its matcher fits, and nowhere else', async (t) => {
  const h = await conversation(t, { files: { 'a.txt': 'alpha' }, steps: [read, write('w.txt'), { say: 'done' }] });
  const welcome = await h.ask({ subtype: 'initialize', hooks: { PreToolUse: [group({ matcher: 'Write|Edit' })], UserPromptExpansion: [group()] } });
  assert.deepEqual([welcome['response'].hooks_applied, welcome['response'].hook_on_failure_supported], [true, true]);
  h.user('go');
  const call = await h.request('hook_callback');
  const { input } = call['request'];
  assert.deepEqual([call['request'].callback_id, call['request'].tool_use_id], ['cb', 'call_2']);
  assert.deepEqual([input.hook_event_name, input.tool_name, input.tool_input, input.tool_use_id, input.cwd, input.permission_mode], ['PreToolUse', 'Write', { file_path: 'w.txt', content: 'x' }, 'call_2', h.project.dir, 'default']);
  assert.equal(readFileSync(input.transcript_path, 'utf8').includes('go'), true);
  h.answer(call, pre('allow'));
  const result = await h.result();
  h.end();
  await h.over;
  assert.equal(input.session_id, result['session_id']);
  assert.equal(input.prompt_id, result['user_message_uuid']);
  assert.equal(h.of('control_request').length, 1);
  assert.ok(existsSync(join(h.project.dir, 'w.txt')));
});

test('lets a hook deny, and rewrite the whole input', async (t) => {
  const h = await conversation(t, { files: { 'a.txt': 'secret' }, steps: [read, write('w.txt'), { say: 'done' }] });
  await h.ask({ subtype: 'initialize', hooks: { PreToolUse: [group()] } });
  h.user('go');
  const first = await h.request('hook_callback');
  h.answer(first, pre('deny', { permissionDecisionReason: 'no tapirs' }));
  const second = await h.until((l) => l['request']?.input?.tool_name === 'Write');
  h.answer(second, pre('allow', { updatedInput: { file_path: 'other.txt', content: 'from the hook' } }));
  await h.result();
  h.end();
  await h.over;
  assert.match(JSON.stringify(h.of('user')[0]!['message'].content), /no tapirs/);
  assert.equal(JSON.stringify(h.project.model.requests[1]?.messages.map((m) => m.message)).includes('secret'), false);
  assert.equal(readFileSync(join(h.project.dir, 'other.txt'), 'utf8'), 'from the hook');
  assert.equal(existsSync(join(h.project.dir, 'w.txt')), false);
});

test('goes on where a hook fails, and stays shut where the host says that it must', async (t) => {
  for (const [onFailure, expected] of [['continue', /alpha/], ['block', /a broken gate stays shut/]] as const) {
    const h = await conversation(t, { files: { 'a.txt': 'alpha' }, steps: [read, { say: 'done' }] });
    await h.ask({ subtype: 'initialize', hooks: { PreToolUse: [group({ onFailure })] } });
    h.user('go');
    h.refuse(await h.request('hook_callback'), 'hook blew up');
    await h.result();
    h.end();
    await h.over;
    assert.match(JSON.stringify(h.of('user')[0]!['message'].content), expected, onFailure);
  }
});

test('withdraws a hook that is late, and takes no answer for a no', async (t) => {
  const h = await conversation(t, { files: { 'a.txt': 'alpha' }, steps: [read, { say: 'done' }] });
  await h.ask({ subtype: 'initialize', hooks: { PreToolUse: [group({ timeout: 0.001 })] } });
  h.user('go');
  const result = await h.result();
  h.end();
  await h.over;
  assert.equal(h.of('control_cancel_request')[0]!['request_id'], h.of('control_request')[0]!['request_id']);
  assert.match(JSON.stringify(h.of('user')[0]!['message'].content), /did not answer in time/);
  assert.equal(result['permission_denials'].length, 1);
});

test('withdraws a hook at an interrupt', async (t) => {
  const h = await conversation(t, { files: { 'a.txt': 'alpha' }, steps: [read, { say: 'never' }] });
  await h.ask({ subtype: 'initialize', hooks: { PreToolUse: [group()] } });
  h.user('go');
  const call = await h.request('hook_callback');
  await h.ask({ subtype: 'interrupt' });
  await h.result();
  h.end();
  await h.over;
  assert.equal(h.of('control_cancel_request')[0]!['request_id'], call['request_id']);
});

test('hands on what hooks say of prompts, results and stops', async (t) => {
  const h = await conversation(t, { files: { 'a.txt': 'alpha' }, steps: [read, { say: 'first stop' }, { say: 'second stop' }] });
  await h.ask({ subtype: 'initialize', hooks: { UserPromptSubmit: [{ hookCallbackIds: ['prompt'] }], PostToolUse: [{ hookCallbackIds: ['post'] }], Stop: [{ hookCallbackIds: ['stop'] }] } });
  h.user([{ type: 'text', text: 'please' }, { type: 'text', text: 'read' }]);
  const prompt = await h.until((l) => l['request']?.callback_id === 'prompt');
  assert.equal(prompt['request'].input.prompt, 'please\nread');
  h.answer(prompt, { hookSpecificOutput: { hookEventName: 'UserPromptSubmit', additionalContext: 'about pronghorns' } });
  const post = await h.until((l) => l['request']?.callback_id === 'post');
  assert.match(JSON.stringify(post['request'].input.tool_response), /alpha/);
  h.answer(post, { hookSpecificOutput: { hookEventName: 'PostToolUse', additionalContext: 'about dikdiks' } });
  const stop = await h.until((l) => l['request']?.callback_id === 'stop');
  assert.deepEqual([stop['request'].input.stop_hook_active, stop['request'].input.last_assistant_message], [false, 'first stop']);
  h.answer(stop, { decision: 'block', reason: 'keep going' });
  const again = await h.until((l) => l['request']?.callback_id === 'stop' && l !== stop);
  assert.equal(again['request'].input.stop_hook_active, true);
  h.answer(again, {});
  assert.equal((await h.result())['result'], 'second stop');
  h.end();
  await h.over;
  const told = h.project.model.requests.map((r) => JSON.stringify(r.messages.map((m) => m.message)));
  assert.match(told[0]!, /about pronghorns/);
  assert.match(told[1]!, /about dikdiks/);
  assert.match(told[2]!, /keep going/);
});

test('ends the turn of a blocked prompt without asking the model', async (t) => {
  const h = await conversation(t);
  await h.ask({ subtype: 'initialize', hooks: { UserPromptSubmit: [group()] } });
  h.user('x');
  h.answer(await h.request('hook_callback'), { decision: 'block', reason: 'not here' });
  const result = await h.result();
  h.end();
  assert.equal(await h.over, 0);
  assert.deepEqual([result['subtype'], result['is_error'], result['num_turns'], result['result']], ['success', false, 0, '']);
  assert.match(h.of('system', 'informational')[0]!['content'], /not here/);
  assert.equal(h.project.model.requests.length, 0);
});

test('stops where a hook says that the turn must not continue', async (t) => {
  const h = await conversation(t, { files: { 'a.txt': 'alpha' }, steps: [read] });
  await h.ask({ subtype: 'initialize', hooks: { PostToolUse: [group()] } });
  h.user('go');
  h.answer(await h.request('hook_callback'), { continue: false, stopReason: 'enough' });
  const result = await h.result();
  assert.deepEqual([result['subtype'], result['terminal_reason'], result['errors']], ['error_during_execution', 'hook_stopped', ['enough']]);
  assert.equal(h.project.model.requests.length, 1);
  // It was for that turn alone.
  h.project.model.push(read, { say: 'read' });
  h.user('again');
  h.answer(await h.until((l) => l['request']?.subtype === 'hook_callback' && l['request'].tool_use_id === 'call_2'), {});
  assert.equal((await h.result(2))['result'], 'read');
  h.end();
  await h.over;
});

test('keeps a call from running where a hook stops the turn before it', async (t) => {
  const h = await conversation(t, { flags: { mode: 'acceptEdits' }, steps: [write('w.txt'), { say: 'must not be reached' }] });
  await h.ask({ subtype: 'initialize', hooks: { PreToolUse: [group()] } });
  h.user('go');
  h.answer(await h.request('hook_callback'), { continue: false, stopReason: 'enough' });
  const result = await h.result();
  h.end();
  await h.over;
  assert.equal(result['subtype'], 'error_during_execution');
  assert.equal(existsSync(join(h.project.dir, 'w.txt')), false);
  assert.match(JSON.stringify(h.of('user')[0]!['message'].content), /enough/);
  assert.deepEqual(h.project.logs.filter((l) => l.level === 'error'), []);
});

test('replaces the hooks when the host initializes again', async (t) => {
  const h = await conversation(t, { files: { 'a.txt': 'alpha' }, steps: [read, { say: 'done' }] });
  await h.ask({ subtype: 'initialize', hooks: { PreToolUse: [{ hookCallbackIds: ['old'] }] } });
  const again = await h.ask({ subtype: 'initialize', hooks: { PreToolUse: [{ hookCallbackIds: ['new'] }] }, disallowedTools: ['Read'], mcpServers: {} });
  assert.deepEqual([again['response'].disallowed_tools_applied, again['response'].mcp_servers_applied], [false, false]);
  h.user('go');
  const call = await h.request('hook_callback');
  assert.equal(call['request'].callback_id, 'new');
  h.answer(call, {});
  await h.result();
  h.end();
  await h.over;
  assert.equal(h.of('control_request').length, 1);
});

test('asks no hook of a host that is gone, but for one that must not be passed', async (t) => {
  for (const [onFailure, calls] of [['continue', 0], ['block', 1]] as const) {
    const h = await conversation(t, { files: { 'a.txt': 'alpha' }, steps: [read, { say: 'done' }] });
    h.send({ type: 'control_request', request_id: 'i', request: { subtype: 'initialize', hooks: { PreToolUse: [group({ onFailure })] } } });
    h.user('go');
    h.end();
    assert.equal(await h.over, 0);
    assert.equal((await h.result())['permission_denials'].length, calls, onFailure);
    assert.equal(h.of('control_request').length, 0);
  }
});

test('takes no step where the gates of the host cannot be read', async (t) => {
  const h = await conversation(t, { steps: [{ say: 'never' }] });
  h.send({ type: 'control_request', request_id: 'i', request: { subtype: 'initialize', hooks: { PreToolUse: [{ matcher: 'Write' }] } } });
  h.user('go');
  assert.equal(await h.over, 1);
  assert.deepEqual(h.shape(), ['answer:error']);
  assert.match(h.io.stderr, /E_USAGE {2}the host's initialize cannot be read: hooks\.PreToolUse\.0\.hookCallbackIds/);
});

test('says that a matcher cannot be read, and lets the hook hear of everything', async (t) => {
  const h = await conversation(t, { files: { 'a.txt': 'alpha' }, steps: [read, { say: 'done' }] });
  await h.ask({ subtype: 'initialize', hooks: { PreToolUse: [group({ matcher: '(' })] } });
  assert.match(h.io.stderr, /no regular expression/);
  h.user('go');
  h.answer(await h.request('hook_callback'), pre('deny'));
  await h.result();
  h.end();
  await h.over;
});
