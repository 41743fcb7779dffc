import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOOK_EVENTS } from 'tappet/kernel';
import { DIALECT_EVENTS, dialectInput, dialectMatcher, dialectSaid } from 'tappet/kit';

const base = { sessionId: 's', cwd: '/w', agentId: null, agentType: null, mode: 'plan' };
const call = { ...base, tool: 'Write', toolUseId: 'c1', input: { file_path: 'w', content: 'x' } };
const facts = { transcriptPath: '/t.jsonl', promptId: 'p' };
const specific = (name: string, more: object) => ({ hookSpecificOutput: { hookEventName: name, ...more } });

test('knows all events of the table', () => {
  for (const name of HOOK_EVENTS) assert.ok(DIALECT_EVENTS.includes(name), name);
});

test('hands on what every event carries, and an agent only where there is one', () => {
  const input = dialectInput('PreToolUse', call, facts)!;
  assert.deepEqual(input, { session_id: 's', transcript_path: '/t.jsonl', cwd: '/w', hook_event_name: 'PreToolUse', permission_mode: 'plan', prompt_id: 'p', tool_name: 'Write', tool_input: call.input, tool_use_id: 'c1' });
  const inner = dialectInput('PreToolUse', { ...call, agentId: 'a', agentType: 'scout' } as never, facts)!;
  assert.deepEqual([inner['agent_id'], inner['agent_type']], ['a', 'scout']);
});

test('tells of no event that the dialect does not have, and of denials only those of a classifier', () => {
  assert.equal(dialectInput('Unheard', base, facts), null);
  const denied = (kind: string) => dialectInput('PermissionDenied', { ...call, reason: { kind, why: '' }, message: 'm' } as never, facts);
  assert.equal(denied('rule'), null);
  assert.equal(denied('classifier')!['reason'], 'm');
});

test('names the fields of each event as scripts know them', () => {
  const rows: [string, object, object][] = [
    ['PostToolUse', { ...call, output: { ok: 1 }, durationMs: 3 }, { tool_response: { ok: 1 }, duration_ms: 3 }],
    ['PostToolUseFailure', { ...call, error: 'e', isInterrupt: false, durationMs: 3 }, { error: 'e', is_interrupt: false }],
    ['PermissionRequest', { ...call, suggestions: [] }, { tool_name: 'Write', permission_suggestions: [] }],
    ['PostToolBatch', { ...base, calls: [call] }, { tool_calls: [{ tool_name: 'Write', tool_input: call.input, tool_use_id: 'c1' }] }],
    ['UserPromptSubmit', { ...base, prompt: [{ type: 'text', text: 'a' }, { type: 'image', source: {} }, { type: 'text', text: 'b' }] }, { prompt: 'a\nb' }],
    ['Stop', { ...base, lastMessage: 'l', stopHookActive: true }, { stop_hook_active: true, last_assistant_message: 'l' }],
    ['StopFailure', { ...base, reason: 'model_error', error: 'e' }, { error: 'unknown', error_details: 'e' }],
    ['SessionStart', { ...base, source: 'resume', model: 'm' }, { source: 'resume', model: 'm' }],
    ['SessionEnd', { ...base, reason: 'other' }, { reason: 'other' }],
    ['Setup', { ...base, trigger: 'init' }, { trigger: 'init' }],
    ['SubagentStart', { ...base, agentType: 'scout', childId: 'k', task: 't' }, { agent_id: 'k', agent_type: 'scout' }],
    ['Notification', { ...base, kind: 'idle_prompt', text: 't' }, { message: 't', notification_type: 'idle_prompt' }],
    ['CwdChanged', { ...base, from: '/a', to: '/b' }, { old_cwd: '/a', new_cwd: '/b' }],
    ['FileChanged', { ...base, path: '/a/.env', change: 'add' }, { file_path: '/a/.env', event: 'add' }],
    ['Elicitation', { ...base, serverName: 'm', message: 'q', requestedSchema: {} }, { mcp_server_name: 'm', message: 'q', requested_schema: {} }],
    ['ElicitationResult', { ...base, serverName: 'm', message: 'q', requestedSchema: {}, answer: { action: 'accept', content: { a: 1 } } }, { action: 'accept', content: { a: 1 } }],
    ['WorktreeCreate', { ...base, name: 'n', base: null }, { name: 'n' }],
    ['PreCompact', { ...base, trigger: 'auto', messages: [] }, { trigger: 'auto', custom_instructions: null }],
    ['PostCompact', { ...base, trigger: 'auto', summary: 's' }, { compact_summary: 's' }],
    ['ConfigChange', { ...base, files: ['/f'] }, { source: 'project_settings', file_path: '/f' }],
    ['SubagentStop', { ...base, lastMessage: 'l', stopHookActive: false }, { stop_hook_active: false }],
  ];
  for (const [name, event, expected] of rows) {
    const input = dialectInput(name, event as never, facts)!;
    assert.deepEqual(Object.fromEntries(Object.keys(expected).map((k) => [k, input[k]])), expected, name);
  }
});

test('takes no answer, and what is none, for no opinion', () => {
  for (const answer of [undefined, null, {}, [], 'allow', 7, { async: true, decision: 'block' }, { hookSpecificOutput: 'x' }, specific('PostToolUse', { permissionDecision: 'deny' }), specific('PreToolUse', { permissionDecision: 'maybe' })]) {
    assert.deepEqual(dialectSaid('PreToolUse', answer, call), { said: undefined, stop: undefined }, JSON.stringify(answer));
  }
  assert.deepEqual(dialectSaid('Unheard', { decision: 'block' }, base), { said: undefined, stop: undefined });
});

test('reads decisions on calls, in the present form and the old one', () => {
  const said = (answer: object) => dialectSaid('PreToolUse', answer, call).said;
  assert.deepEqual(said(specific('PreToolUse', { permissionDecision: 'deny', permissionDecisionReason: 'r', additionalContext: 'c' })), { behavior: 'deny', message: 'r', additionalContext: 'c' });
  assert.deepEqual(said({ hookSpecificOutput: { permissionDecision: 'ask' } }), { behavior: 'ask' });
  assert.deepEqual(said({ decision: 'approve' }), { behavior: 'allow' });
  assert.deepEqual(said({ decision: 'block', reason: 'r' }), { behavior: 'deny', message: 'r' });
  // One that blocks is not softened by what stands beside it.
  assert.deepEqual(said({ decision: 'block', reason: 'r', ...specific('PreToolUse', { permissionDecision: 'allow' }) }), { behavior: 'deny', message: 'r' });
});

test('replaces an input whole: what the new one leaves out is gone', () => {
  assert.deepEqual(dialectSaid('PreToolUse', specific('PreToolUse', { updatedInput: { file_path: 'v' } }), call).said, { updatedInput: { content: undefined, file_path: 'v' } });
  assert.deepEqual(dialectSaid('PreToolUse', specific('PreToolUse', { permissionDecision: 'defer', updatedInput: {} }), call).said, { behavior: 'defer' });
  const asked = dialectSaid('PermissionRequest', specific('PermissionRequest', { decision: { behavior: 'allow', updatedInput: { file_path: 'v' }, updatedPermissions: [] } }), call);
  assert.deepEqual(asked.said, { behavior: 'allow', updatedInput: { content: undefined, file_path: 'v' }, updatedPermissions: [] });
});

test('reads what may be said of prompts, results, stops and questions', () => {
  const said = (name: string, answer: object, event: object = base) => dialectSaid(name, answer, event as never).said;
  assert.deepEqual(said('UserPromptSubmit', { decision: 'block' }), { block: 'blocked by a hook' });
  assert.deepEqual(said('PostToolUse', { decision: 'block', reason: 'r', ...specific('PostToolUse', { updatedToolOutput: { a: 1 } }) }, call), { block: 'r', updatedOutput: '{"a":1}' });
  assert.deepEqual(said('PostToolUse', specific('PostToolUse', { updatedToolOutput: [{ type: 'text', text: 'x' }] }), call), { updatedOutput: [{ type: 'text', text: 'x' }] });
  assert.deepEqual(said('PostToolUseFailure', { decision: 'block', reason: 'r', ...specific('PostToolUseFailure', { additionalContext: 'c' }) }, call), { additionalContext: 'r\nc' });
  assert.deepEqual(said('Stop', specific('Stop', { additionalContext: 'and the tests' })), { block: 'and the tests' });
  assert.equal(said('Stop', { decision: 'block', reason: 'r', continue: false }), undefined);
  assert.deepEqual(said('PermissionDenied', specific('PermissionDenied', { retry: true }), call), { retry: true });
  assert.deepEqual(said('Elicitation', specific('Elicitation', { action: 'accept', content: { a: 1 } })), { action: 'accept', content: { a: 1 } });
  assert.equal(said('Elicitation', specific('Elicitation', { action: 'shrug' })), undefined);
  assert.deepEqual(said('WorktreeCreate', specific('WorktreeCreate', { worktreePath: '/x' })), { path: '/x' });
  assert.deepEqual(said('SessionStart', specific('SessionStart', { additionalContext: 'c', initialUserMessage: 'm', watchPaths: ['/a', 1] })), { additionalContext: 'c', initialUserMessage: 'm', watchPaths: ['/a'] });
  assert.equal(said('Notification', { decision: 'block' }), undefined);
});

test('ends the turn by its words where they can, and says so where they cannot', () => {
  const stop = { continue: false, stopReason: 'enough' };
  assert.deepEqual(dialectSaid('PreToolUse', stop, call), { said: { behavior: 'deny', message: 'enough' }, stop: 'enough' });
  assert.deepEqual(dialectSaid('PermissionRequest', stop, call), { said: { behavior: 'deny', message: 'enough', interrupt: true }, stop: undefined });
  assert.deepEqual(dialectSaid('UserPromptSubmit', stop, base), { said: { block: 'enough' }, stop: undefined });
  assert.deepEqual(dialectSaid('PostToolBatch', { continue: false }, base), { said: { block: 'stopped by a hook' }, stop: undefined });
  assert.equal(dialectSaid('PostToolUse', stop, call).stop, 'enough');
});

test('takes names and lists for what they are, all else for a pattern that is not anchored', () => {
  const hears = (matcher: string | undefined, tool: string): boolean => dialectMatcher(matcher)('PreToolUse', { ...call, tool } as never);
  for (const all of [undefined, '', '*']) assert.equal(hears(all, 'Read'), true);
  assert.deepEqual(['Write', 'Edit', 'MultiEdit', 'NotebookEdit'].map((tool) => hears('Write | Edit', tool)), [true, true, false, false]);
  assert.equal(hears('Write,Edit', 'Edit'), true);
  assert.equal(hears('mcp__server', 'mcp__server__tool'), false);
  assert.equal(hears('mcp__server__.*', 'mcp__server__tool'), true);
  assert.equal(hears('Edit.*', 'NotebookEdit'), true);
  assert.throws(() => dialectMatcher('('), SyntaxError);
  assert.equal(dialectMatcher('Write')('Stop', base), true, 'an event without a subject hears of all');
  assert.equal(dialectMatcher('.env')('FileChanged', { ...base, path: '/a/.env', change: 'add' } as never), true);
});
