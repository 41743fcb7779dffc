/** The loop: why it goes round, how it ends, and that nothing is ever left half done. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { definePlugin } from 'tappet/kernel';
import { existsSync, readFileSync } from 'node:fs';
import { ask, BASIC, project, record } from '../support/project.ts';
import { watchedTools } from '../support/tools.ts';

const look = (path = 'a', id?: string) => ({ name: 'Look', input: { path }, ...(id === undefined ? {} : { id }) });
const set = (t: Parameters<typeof project>[0], o: Parameters<typeof project>[1] = {}) => { const tools = watchedTools(); return { tools, p: project(t, { only: BASIC, ...o, plugins: [tools.plugin, ...(o.plugins ?? [])] }) }; };
const lastContent = (p: ReturnType<typeof project>, i: number): string => JSON.stringify(p.model.requests[i]!.messages.at(-1)!.message.content);

test('a prompt, calls, their results, an answer: the sums are over all requests', async (t) => {
  const { p, tools } = set(t, { steps: [{ say: 'let me see', call: [look('a'), look('b')] }, { say: 'done' }] });
  const session = await p.open();
  const r = record(session);
  const end = await ask(session, 'go');
  assert.deepEqual([end.reason, end.text, end.numTurns, end.usage.input_tokens], ['answered', 'done', 2, 20]);
  assert.equal(end.costUSD, (20 * 1 + 10 * 10) / 1e6);
  assert.deepEqual(tools.calls.map((c) => c.input['path']), ['a', 'b']);
  await session.close();
  await r.done;
  assert.deepEqual(r.events.map((e) => e.seq), r.events.map((_, i) => i));
  assert.deepEqual(r.events.flatMap((e) => (e.type === 'transition' ? [e.reason.reason] : [])), ['next_turn']);
  const ends = r.events.findIndex((e) => e.type === 'turn.ended');
  assert.ok(r.events.slice(ends + 1).every((e) => e.type === 'session.closed'), 'nothing of the turn comes after its end');
});
test('the model is told of an unknown tool, with the nearest, and of each field that does not fit', async (t) => {
  const { p, tools } = set(t, { steps: [{ call: [{ name: 'Lok', input: {} }, { name: 'Look', input: { path: 3 } }] }, { say: 'ok' }] });
  await ask(await p.open(), 'go');
  assert.match(lastContent(p, 1), /Did you mean Look\?/);
  assert.match(lastContent(p, 1), /path: .*string/);
  assert.equal(tools.calls.length, 0);
});
test('a call whose input is no JSON is not run; the model is told that it was cut, and how much arrived', async (t) => {
  const { p, tools } = set(t, { steps: [{ call: [{ name: 'Change', input: {}, inputError: { why: 'it ends early', raw: '{"path":"a","note":"on' } }] }, { say: 'ok' }] });
  await ask(await p.open({ overlay: { mode: 'acceptEdits' } }), 'go');
  assert.match(lastContent(p, 1), /22 characters arrived/);
  assert.equal(tools.calls.length, 0);
});
test('where the token limit cuts a message none of its calls runs, the complete one neither', async (t) => {
  const { p, tools } = set(t, { steps: [{ stop: 'max_tokens', call: [{ name: 'Change', input: { path: 'a' } }, { name: 'Change', input: {}, inputError: { why: 'cut', raw: '{"pa' } }] }, { say: 'smaller now' }] });
  const end = await ask(await p.open({ overlay: { mode: 'acceptEdits' } }), 'go');
  assert.equal(tools.calls.length, 0);
  assert.match(lastContent(p, 1), /cut off at the token limit/);
  assert.equal(end.text, 'smaller now');
});
test('messages that are cut again and again end the turn', async (t) => {
  const cut = { stop: 'max_tokens', call: [look()] };
  const { p } = set(t, { steps: Array.from({ length: 9 }, () => cut) });
  const end = await ask(await p.open(), 'go');
  assert.equal(end.reason, 'max_output_tokens');
  assert.ok(p.model.requests.length <= 5);
});
test('an answer that is cut without a call is an error with the text that came', async (t) => {
  const { p } = set(t, { steps: [{ say: 'half an ans', stop: 'max_tokens' }] });
  const end = await ask(await p.open(), 'go');
  assert.deepEqual([end.reason, end.isError, end.text], ['max_output_tokens', true, 'half an ans']);
});
test('a fault before anything was said ends the turn with its name, and the session goes on', async (t) => {
  const { p } = set(t, { steps: [{ fault: { kind: 'overloaded', message: 'too many' } }, { say: 'better' }] });
  const session = await p.open();
  const end = await ask(session, 'go');
  assert.deepEqual([end.reason, end.fault?.kind, end.isError], ['model_error', 'overloaded', true]);
  assert.equal((await ask(session, 'again')).text, 'better');
});
test('a stream that breaks behind a call: what ran keeps its result, what did not is told so, the next request is valid', async (t) => {
  const { p, tools } = set(t, { steps: [{ say: 'x', call: [look('a'), { name: 'Change', input: { path: 'b' } }], cut: true }, { say: 'ok' }] });
  const session = await p.open({ overlay: { mode: 'acceptEdits' } });
  const end = await ask(session, 'go');
  assert.deepEqual([end.reason, end.fault?.kind], ['model_error', 'broken_stream']);
  assert.ok(tools.calls.every((c) => c.tool === 'Look'));
  await ask(session, 'again');
  const sent = p.model.requests[1]!.messages.map((m) => m.message);
  const uses = sent.flatMap((m) => m.content).filter((b) => b.type === 'tool_use').length;
  assert.equal(uses, 2);
  assert.equal(sent.flatMap((m) => m.content).filter((b) => b.type === 'tool_result').length, 2);
});
test('a tool that throws is a failing result for the model, and PostToolUseFailure is told', async (t) => {
  const { p } = set(t, { steps: [{ call: [{ name: 'Break', input: {} }] }, { say: 'ok' }] });
  const heard: string[] = [];
  await ask(await p.open({ host: { asks: [], hooks: [{ event: 'PostToolUseFailure', run: (e) => { heard.push((e as { error: string }).error); return { additionalContext: 'known trouble' }; } }] } }), 'go');
  assert.match(heard[0]!, /it fell apart/);
  assert.match(lastContent(p, 1), /"is_error":true/);
  assert.match(lastContent(p, 1), /known trouble/);
});
test('PostToolUse may add a note and replace what the model sees', async (t) => {
  const { p } = set(t, { steps: [{ call: [look()] }, { say: 'ok' }] });
  await ask(await p.open({ host: { asks: [], hooks: [{ event: 'PostToolUse', matcher: 'Look', run: () => ({ updatedOutput: 'redacted', additionalContext: 'by the way' }) }] } }), 'go');
  assert.match(lastContent(p, 1), /redacted/);
  assert.match(lastContent(p, 1), /by the way/);
  assert.doesNotMatch(lastContent(p, 1), /Look a/);
});
test('a result that is too large goes to a file; the model gets its head and the place', async (t) => {
  const { p } = set(t, { steps: [{ call: [{ name: 'Big', input: { size: 5000 } }] }, { say: 'ok' }] });
  await ask(await p.open(), 'go');
  const file = /is in ([^ ]+?\.txt)/.exec(lastContent(p, 1))![1]!;
  assert.ok(existsSync(file));
  assert.equal(readFileSync(file, 'utf8'), 'x'.repeat(5000));
  assert.ok(lastContent(p, 1).length < 2500);
});
test('a Stop hook makes the turn go on with its reason, the next Stop knows it, and it cannot go on for ever', async (t) => {
  const { p } = set(t, { steps: [] });
  const active: boolean[] = [];
  const session = await p.open({ host: { asks: [], hooks: [{ event: 'Stop', run: (e) => { active.push((e as { stopHookActive: boolean }).stopHookActive); return { block: 'tests are missing' }; } }] } });
  const r = record(session);
  const end = await ask(session, 'go');
  assert.equal(end.reason, 'answered');
  assert.deepEqual(active.slice(0, 2), [false, true]);
  assert.equal(p.model.requests.length, 11);
  assert.match(lastContent(p, 1), /tests are missing/);
  await session.close();
  await r.done;
  assert.ok(r.events.some((e) => e.type === 'transition' && e.reason.reason === 'stop_hook_continuation'));
});
test('a Stop hook that fails stops the turn as if it had said nothing', async (t) => {
  const { p } = set(t, { steps: [{ say: 'a' }] });
  const end = await ask(await p.open({ host: { asks: [], hooks: [{ event: 'Stop', run: () => { throw new Error('broken'); } }] } }), 'go');
  assert.equal(end.reason, 'answered');
});
test('limits of turns and of money are checked before the request, the tightest of all layers counts', async (t) => {
  const loop = () => ({ call: [look()] });
  const turns = set(t, { steps: Array.from({ length: 9 }, loop), files: { '~/.config/tappet/config.yaml': 'limits: { turns: 5 }\n', 'agent.config.yaml': 'limits: { turns: 3 }\n' } }).p;
  const end = await ask(await turns.open(), 'go');
  assert.deepEqual([end.reason, turns.model.requests.length], ['max_turns', 3]);
  const flag = set(t, { steps: Array.from({ length: 9 }, loop) }).p;
  assert.equal((await ask(await flag.open({ overlay: { maxTurns: 2 } }), 'go')).numTurns, 2);
  const money = set(t, { steps: Array.from({ length: 99 }, () => ({ ...loop(), usage: { input: 1_000_000, output: 0 } })) }).p;
  const broke = await ask(await money.open({ overlay: { costUsd: 2.5 } }), 'go');
  assert.equal(broke.reason, 'budget');
  assert.ok(broke.costUSD <= 3);
});
test('an interrupt during a call gives it a result that says so, and the session goes on', async (t) => {
  const { p, tools } = set(t, { steps: [{ call: [look()] }, { say: 'fine' }] });
  const session = await p.open();
  tools.hold = (signal) => new Promise((_, reject) => { void session.interrupt({ reason: 'person' }); signal.addEventListener('abort', () => reject(new Error('stopped'))); });
  const end = await ask(session, 'go');
  assert.equal(end.reason, 'interrupted');
  tools.hold = null;
  assert.equal((await ask(session, 'again')).text, 'fine');
  const results = p.model.requests[1]!.messages.flatMap((m) => m.message.content).filter((b) => b.type === 'tool_result');
  assert.equal(results.length, 1);
  assert.match(JSON.stringify(results), /interrupted/i);
});
test('an interrupt while the model is writing drops its request', async (t) => {
  const { p } = set(t);
  const session = await p.open();
  p.model.push({ wait: (signal) => new Promise((resolve) => { signal.addEventListener('abort', () => resolve()); void session.interrupt({ reason: 'person' }); }) });
  assert.equal((await ask(session, 'go')).reason, 'interrupted');
});
test('a recovery is asked about a fault, what it answers makes the loop go round, and it is bounded', async (t) => {
  const plugin = definePlugin({ name: 'acme/again', api: 1, apply: ({ registries }) => registries.recoveries.add({ name: 'again', on: (problem) => (problem.kind === 'fault' && problem.fault.kind === 'overloaded' ? { reason: 'transport_retry', delayMs: 1 } : undefined) }) });
  const good = set(t, { plugins: [plugin], steps: [{ fault: { kind: 'overloaded' } }, { fault: { kind: 'overloaded' } }, { say: 'at last' }] }).p;
  assert.equal((await ask(await good.open(), 'go')).text, 'at last');
  const never = set(t, { plugins: [plugin], steps: Array.from({ length: 50 }, () => ({ fault: { kind: 'overloaded' as const } })) }).p;
  assert.equal((await ask(await never.open(), 'go')).reason, 'model_error');
  assert.equal(never.model.requests.length, 11);
});
test('the prefix of the request stays the same from round to round, byte for byte', async (t) => {
  const { p } = set(t, { steps: Array.from({ length: 8 }, (_, i) => ({ call: [look(`f${i}`)] })) });
  await ask(await p.open(), 'go');
  for (let i = 1; i < p.model.requests.length; i++) {
    const before = p.model.requests[i - 1]!.messages;
    before.forEach((m, k) => assert.equal(p.model.requests[i]!.messages[k]!.bytes, m.bytes, `message ${k} of round ${i} was made anew`));
    assert.equal(p.model.requests[i]!.tools, p.model.requests[0]!.tools);
  }
});
test('a call that moves the working folder moves it for later calls, and CwdChanged is told', async (t) => {
  const { p, tools } = set(t, { steps: [{ call: [{ name: 'Move', input: { path: '/tmp' } }, look('x')] }, { call: [look('y')] }, { say: 'ok' }] });
  const heard: unknown[] = [];
  await ask(await p.open({ overlay: { allow: ['Look', 'Move'] }, host: { asks: [], hooks: [{ event: 'CwdChanged', run: (e) => { heard.push((e as { to: string }).to); } }] } }), 'go');
  assert.deepEqual(tools.calls.map((c) => c.cwd), ['/tmp', '/tmp']);
  assert.deepEqual(heard, ['/tmp']);
});
test('UserPromptSubmit may block a prompt, so that no model is called, or add to it', async (t) => {
  const { p } = set(t, { steps: [{ say: 'ok' }] });
  const session = await p.open({ host: { asks: [], hooks: [{ event: 'UserPromptSubmit', run: (e) => (String((e as { prompt: string }).prompt).includes('secret') ? { block: 'no secrets' } : { additionalContext: 'be brief' }) }] } });
  const blocked = await ask(session, 'a secret');
  assert.deepEqual([blocked.reason, p.model.requests.length], ['blocked', 0]);
  await ask(session, 'fine');
  assert.match(JSON.stringify(p.model.requests[0]!.messages.map((m) => m.message)), /be brief/);
  assert.doesNotMatch(JSON.stringify(p.model.requests[0]!.messages.map((m) => m.message)), /a secret/);
});
test('SessionStart and Setup add to the first prompt, once, Setup only where it was asked for', async (t) => {
  const { p } = set(t, { steps: [{ say: 'a' }, { say: 'b' }] });
  const order: string[] = [];
  const hooks = (['Setup', 'SessionStart'] as const).map((event) => ({ event, run: (e: unknown) => { order.push(`${event} ${(e as { source?: string; trigger?: string }).source ?? (e as { trigger: string }).trigger}`); return { additionalContext: `from ${event}` }; } }));
  const session = await p.open({ setup: 'init', host: { asks: [], hooks } });
  await ask(session, 'one');
  await ask(session, 'two');
  assert.deepEqual(order, ['Setup init', 'SessionStart startup']);
  assert.match(JSON.stringify(p.model.requests[0]!.messages[0]!.message), /from Setup.*from SessionStart/);
});
