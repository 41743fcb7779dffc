/** May it run? Through the session port, with the real guards and modes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { definePlugin } from 'tappet/kernel';
import { join } from 'node:path';
import type { Answer, Host, Session, SessionEvent } from '../../schemas/index.ts';
import { ask, BASIC, project, record } from '../support/project.ts';
import { watchedTools } from '../support/tools.ts';

const KIT = [...BASIC];
const change = (path = 'a.txt', more: Record<string, unknown> = {}) => ({ call: [{ name: 'Change', input: { path, ...more } }] });
const person: Host = { asks: ['permission'] };
/** Answers each question of a session as it comes. */
function answering(session: Session, say: (e: Extract<SessionEvent, { type: 'ask' }>) => Answer | null): SessionEvent[] {
  const seen: SessionEvent[] = [];
  void (async () => { for await (const e of session.events({ from: 'start', tree: true })) { seen.push(e); if (e.type === 'ask') { const a = say(e); if (a !== null) session.answer(e.requestId as never, a); } } })();
  return seen;
}
const resultOf = (p: ReturnType<typeof project>, request = 1): string => JSON.stringify(p.model.requests[request]?.messages.at(-1)?.message.content);

test('headless, what would be asked is denied at once, and the end says which rule would have allowed it', async (t) => {
  const tools = watchedTools();
  const p = project(t, { only: KIT, plugins: [tools.plugin], steps: [change()] });
  const end = await ask(await p.open(), 'go');
  assert.equal(tools.calls.length, 0);
  assert.equal(end.denials.length, 1);
  assert.equal(end.denials[0]!.wouldAllow, 'Change(a.txt)');
  assert.match(resultOf(p), /Refused/);
});
test('an allow rule of the user lets a call run, and a deny of any layer beats it', async (t) => {
  const tools = watchedTools();
  const allowed = project(t, { only: KIT, plugins: [tools.plugin], steps: [change()], files: { '~/.config/tappet/config.yaml': 'permissions: { allow: [Change] }\n' } });
  await ask(await allowed.open(), 'go');
  assert.equal(tools.calls.length, 1);
  const denied = project(t, { only: KIT, plugins: [tools.plugin], steps: [change()], files: { '~/.config/tappet/config.yaml': 'permissions: { allow: [Change] }\n', 'agent.config.yaml': 'permissions:\n  deny:\n    - Change(a.txt)\n' } });
  const end = await ask(await denied.open(), 'go');
  assert.equal(tools.calls.length, 1);
  assert.match(end.denials[0]!.message, /agent\.config\.yaml:3:7/);
});
test('a person is asked, and the answer decides; the decision names the person', async (t) => {
  const tools = watchedTools();
  const p = project(t, { only: KIT, plugins: [tools.plugin], steps: [change('a.txt'), change('b.txt')] });
  const session = await p.open({ host: person });
  const seen = answering(session, (e) => (JSON.stringify(e.input).includes('a.txt') ? { behavior: 'allow' } : { behavior: 'deny', message: 'not that one' }));
  const end = await ask(session, 'go');
  assert.deepEqual(tools.calls.map((c) => c.input['path']), ['a.txt']);
  assert.match(end.denials[0]!.message, /not that one/);
  const decisions = seen.flatMap((e) => (e.type === 'decision' ? [e.decision] : []));
  assert.deepEqual(decisions.map((d) => [d.behavior, d.by, d.reason.kind]), [['allow', 'person', 'permissionPromptTool'], ['deny', 'person', 'permissionPromptTool']]);
});
test('a person\'s changed input is what runs, and it is judged again', async (t) => {
  const tools = watchedTools();
  const p = project(t, { only: KIT, plugins: [tools.plugin], steps: [change('a.txt'), change('a.txt')], files: { '~/.config/tappet/config.yaml': 'permissions: { deny: [Change(secret.txt)] }\n' } });
  const session = await p.open({ host: person });
  let n = 0;
  answering(session, () => ({ behavior: 'allow', updatedInput: { path: n++ === 0 ? 'b.txt' : 'secret.txt' } }));
  const end = await ask(session, 'go');
  assert.deepEqual(tools.calls.map((c) => c.input['path']), ['b.txt']);
  assert.match(end.denials[0]!.message, /Change\(secret\.txt\)/);
});
test('"always" for this session is not asked again', async (t) => {
  const tools = watchedTools();
  const p = project(t, { only: KIT, plugins: [tools.plugin], steps: [change(), change()] });
  const session = await p.open({ host: person });
  const seen = answering(session, (e) => ({ behavior: 'allow', updatedPermissions: e.suggestions }));
  await ask(session, 'go');
  assert.equal(tools.calls.length, 2);
  assert.equal(seen.filter((e) => e.type === 'ask').length, 1);
});
test('"always" into the local file is written with its comments kept, and holds in the next session once the folder is trusted', async (t) => {
  const tools = watchedTools();
  const p = project(t, { only: KIT, plugins: [tools.plugin], steps: [change(), change()], files: { 'agent.config.local.yaml': '# mine\npermissions:\n  allow:\n    - Look # harmless\n' } });
  const session = await p.open({ host: person });
  answering(session, () => ({ behavior: 'allow', updatedPermissions: [{ type: 'addRules', rules: [{ toolName: 'Change' }], behavior: 'allow', destination: 'localSettings' }] }));
  await ask(session, 'go');
  const { readFileSync } = await import('node:fs');
  assert.equal(readFileSync(join(p.dir, 'agent.config.local.yaml'), 'utf8'), '# mine\npermissions:\n  allow:\n    - Look # harmless\n    - Change\n');
  assert.equal(tools.calls.length, 2);
});
test('an interrupt withdraws an open question: the call is denied and the session goes on', async (t) => {
  const tools = watchedTools();
  const p = project(t, { only: KIT, plugins: [tools.plugin], steps: [change(), { say: 'again' }] });
  const session = await p.open({ host: person });
  const seen = answering(session, () => { void session.interrupt({ reason: 'test' }); return null; });
  const end = await ask(session, 'go');
  assert.equal(end.reason, 'interrupted');
  assert.equal(tools.calls.length, 0);
  assert.ok(seen.some((e) => e.type === 'ask_settled' && e.by === 'withdrawn'));
  assert.equal((await ask(session, 'more')).text, 'again');
});
test('a refusal with interrupt ends the turn without another model call', async (t) => {
  const tools = watchedTools();
  const p = project(t, { only: KIT, plugins: [tools.plugin], steps: [{ call: [{ name: 'Change', input: { path: 'a' } }, { name: 'Change', input: { path: 'b' } }] }] });
  const session = await p.open({ host: person });
  answering(session, () => ({ behavior: 'deny', interrupt: true }));
  const end = await ask(session, 'go');
  assert.equal(end.reason, 'interrupted');
  assert.equal(p.model.requests.length, 1);
  assert.equal(tools.calls.length, 0);
});
test('an answer to a question that is not open is refused', async (t) => {
  const session = await project(t).open({ host: person });
  assert.equal(session.answer('00000000-0000-4000-8000-000000000000', { behavior: 'allow' }), false);
});

// ---- law 5: an ask is answered by a person, or by a tap of the asker's layer or above ---------------------------------------

const allowTap = () => definePlugin({ name: 'acme/answers', api: 1, apply: ({ hooks }) => { hooks.PermissionRequest.tap('acme/answers', () => ({ behavior: 'allow' })); } });
test('a built-in tap answers what a mode asks, but not what a user\'s rule asks', async (t) => {
  const tools = watchedTools();
  const lax = project(t, { only: KIT, plugins: [tools.plugin, allowTap()], steps: [change()] });
  await ask(await lax.open(), 'go');
  assert.equal(tools.calls.length, 1);
  const strict = project(t, { only: KIT, plugins: [tools.plugin, allowTap()], steps: [change()], files: { '~/.config/tappet/config.yaml': 'permissions: { ask: [Change] }\n' } });
  const end = await ask(await strict.open(), 'go');
  assert.equal(tools.calls.length, 1);
  assert.equal(end.denials.length, 1);
});
test('what policy asks is answered by no mode, no rule, no host\'s tap, only by a person', async (t) => {
  const tools = watchedTools();
  const files = { 'policy:policy.yaml': 'permissions: { ask: [Change] }\n', '~/.config/tappet/config.yaml': 'permissions: { allow: [Change] }\n' };
  for (const mode of ['default', 'acceptEdits', 'bypassPermissions', 'dontAsk', 'plan']) {
    const p = project(t, { only: KIT, plugins: [tools.plugin, allowTap()], steps: [change()], files });
    const session = await p.open({ overlay: { mode, allow: ['Change'] }, host: { asks: [], hooks: [{ event: 'PermissionRequest', run: () => ({ behavior: 'allow' }) }, { event: 'PreToolUse', run: () => ({ behavior: 'allow' }) }] } });
    const end = await ask(session, 'go');
    assert.equal(end.denials.length, 1, mode);
  }
  assert.equal(tools.calls.length, 0);
  const p = project(t, { only: KIT, plugins: [tools.plugin], steps: [change()], files });
  const session = await p.open({ host: person });
  answering(session, () => ({ behavior: 'allow' }));
  await ask(session, 'go');
  assert.equal(tools.calls.length, 1);
});
test('plan mode denies a change even where a hook allowed it', async (t) => {
  const tools = watchedTools();
  const p = project(t, { only: KIT, plugins: [tools.plugin], steps: [change()] });
  const end = await ask(await p.open({ overlay: { mode: 'plan' }, host: { asks: [], hooks: [{ event: 'PreToolUse', run: () => ({ behavior: 'allow' }) }] } }), 'go');
  assert.equal(end.denials.length, 1);
  assert.equal(tools.calls.length, 0);
});
test('a host\'s hook may deny, may rewrite one field of the input, and the rest stays (the tool\'s schema still holds)', async (t) => {
  const tools = watchedTools();
  const p = project(t, { only: KIT, plugins: [tools.plugin], steps: [change('a.txt', { note: 'keep' }), change('a.txt'), change('a.txt')] });
  let n = 0;
  const says = [{ updatedInput: { path: 'b.txt' } }, { updatedInput: { path: 5 } }, { behavior: 'deny', message: 'no' }];
  const session = await p.open({ overlay: { mode: 'acceptEdits' }, host: { asks: [], hooks: [{ event: 'PreToolUse', matcher: 'Change', run: () => says[n++] }] } });
  const end = await ask(session, 'go');
  assert.deepEqual(tools.calls.map((c) => c.input), [{ path: 'b.txt', note: 'keep' }]);
  assert.equal(end.denials.length, 2);
});
test('each way in which a decision can fall today is told by its kind', async (t) => {
  const tools = watchedTools();
  const kinds = new Set<string>();
  const collect = async (o: Parameters<typeof project>[1], host: Host, say: Answer | null, mode?: string) => {
    const p = project(t, { only: KIT, plugins: [tools.plugin], ...o });
    const session = await p.open({ host, overlay: mode === undefined ? {} : { mode } });
    const seen = answering(session, () => say);
    await ask(session, 'go');
    for (const e of seen) if (e.type === 'decision') kinds.add(e.decision.reason.kind);
  };
  const none: Host = { asks: [] };
  await collect({ steps: [change()], files: { '~/.config/tappet/config.yaml': 'permissions: { deny: [Change(a.txt)] }\n' } }, none, null);
  await collect({ steps: [change()] }, none, null, 'acceptEdits');
  await collect({ steps: [change('/outside/x')] }, none, null);
  await collect({ steps: [change('.git/config')] }, none, null);
  await collect({ steps: [change()] }, person, { behavior: 'allow' });
  await collect({ steps: [change()] }, { asks: [], hooks: [{ event: 'PreToolUse', run: () => ({ behavior: 'deny' }) }] }, null);
  await collect({ steps: [{ call: [{ name: 'Person', input: {} }] }] }, { asks: ['permission'] }, { behavior: 'deny' });
  assert.deepEqual([...kinds].sort(), ['hook', 'mode', 'permissionPromptTool', 'rule', 'safetyCheck', 'workingDir']);
});
test('a target that appears in the middle of a call is judged by guards alone: an ask is a deny', async (t) => {
  const tools = watchedTools();
  const p = project(t, { only: KIT, plugins: [tools.plugin], steps: [{ call: [{ name: 'Later', input: { path: 'a', note: 'b' } }] }, { call: [{ name: 'Later', input: { path: 'a', note: '/outside' } }] }] });
  await ask(await p.open({ overlay: { mode: 'bypassPermissions' } }), 'go');
  assert.match(resultOf(p, 1), /allow/);
  assert.match(resultOf(p, 2), /deny/);
});
test('PermissionDenied is told of every refusal and may say that another try is welcome', async (t) => {
  const tools = watchedTools();
  const p = project(t, { only: KIT, plugins: [tools.plugin], steps: [change()] });
  const heard: unknown[] = [];
  await ask(await p.open({ host: { asks: [], hooks: [{ event: 'PermissionDenied', run: (e) => { heard.push((e as { tool: string }).tool); return { retry: true }; } }] } }), 'go');
  assert.deepEqual(heard, ['Change']);
  assert.match(resultOf(p), /try again/);
});
test('a deferred call ends the turn and is asked again when the session is opened again', async (t) => {
  const tools = watchedTools();
  const p = project(t, { only: KIT, plugins: [tools.plugin], steps: [change(), { say: 'finished' }] });
  const first = await p.open({ overlay: { mode: 'acceptEdits' }, host: { asks: [], hooks: [{ event: 'PreToolUse', run: () => ({ behavior: 'defer' }) }] } });
  const end = await ask(first, 'go');
  assert.equal(end.reason, 'tool_deferred');
  assert.equal(tools.calls.length, 0);
  await first.close();
  const again = await p.open({ resume: first.id, overlay: { mode: 'acceptEdits' } });
  const second = await ask(again, 'go on');
  assert.equal(tools.calls.length, 1);
  assert.equal(second.text, 'finished');
});
test('a child\'s question is answered by its parent\'s rules, climbs to the root\'s desk else, and never past what policy asks', async (t) => {
  const tools = watchedTools();
  const p = project(t, { only: KIT, plugins: [tools.plugin], steps: [change('a.txt'), { say: 'x' }, change('b.txt')], files: { '~/.config/tappet/config.yaml': 'permissions: { allow: [Change(a.txt)] }\n' } });
  const root = await p.open({ host: person });
  const asked: (string | null)[] = [];
  const recorded = record(root);
  const child = await root.fork({});
  void (async () => { for await (const e of root.events({ tree: true })) if (e.type === 'ask') { asked.push(e.agentId); root.answer(e.requestId as never, { behavior: 'allow' }); } })();
  await child.submit('one').turn;
  assert.deepEqual(asked, []);
  await child.submit('two').turn;
  assert.deepEqual(asked, [child.id]);
  assert.deepEqual(tools.calls.map((c) => c.input['path']), ['a.txt', 'b.txt']);
  await child.close();
  await root.close();
  await recorded.done;
  assert.ok(recorded.events.some((e) => e.agentId === child.id));
});

// ---- what was allowed is what runs --------------------------------------------------------------------------------------------

const says = (name: string, said: (e: { readonly input: Record<string, unknown> }) => Record<string, unknown> | undefined, stage = 0) => definePlugin({ name, api: 1, apply: ({ hooks }) => { hooks.PermissionRequest.tap({ name, stage }, (e) => said(e as never) as never); } });
test('a tap that allows what another one wrote allows those words, and they are what runs', async (t) => {
  const tools = watchedTools();
  const p = project(t, { only: KIT, plugins: [tools.plugin, says('acme/rewrites', () => ({ updatedInput: { path: 'harmless' } })), says('acme/allows', (e) => (e.input['path'] === 'harmless' ? { behavior: 'allow' } : undefined), 1)], steps: [change('dangerous')] });
  await ask(await p.open(), 'go');
  assert.deepEqual(tools.calls.map((c) => c.input['path']), ['harmless']);
});
test('who rewrites what was rewritten already allows nothing: his allow was for words that do not run', async (t) => {
  const tools = watchedTools();
  let heard = 0;
  const p = project(t, { only: KIT, plugins: [tools.plugin, says('acme/first', () => (heard === 0 ? { behavior: 'allow', updatedInput: { path: 'middle' } } : undefined))], steps: [change('a')], files: { '~/.config/tappet/config.yaml': 'permissions: { ask: [Change(middle)] }\n' } });
  const end = await ask(await p.open({ host: { asks: [], hooks: [{ event: 'PermissionRequest', run: () => (heard++ === 0 ? undefined : { behavior: 'allow', updatedInput: { path: 'last' } }) }] } }), 'go');
  assert.equal(heard, 2);
  assert.equal(end.denials.length, 1);
  assert.equal(tools.calls.length, 0);
});
test('what a tap or a person rewrote is judged by the mode too: plan mode lets no change through', async (t) => {
  const tools = watchedTools();
  const mode = definePlugin({ name: 'acme/careful', api: 1, apply: ({ registries }) => registries.permissionModes.add({ name: 'careful', title: 'Careful', judge: (call) => (call.input['path'] === 'asked' ? { behavior: 'ask', until: 'mode' } : { behavior: 'deny', message: 'not in this mode' }) }) });
  const p = project(t, { only: KIT, plugins: [tools.plugin, mode, says('acme/rewrites', (e) => ((e.input['note'] as string) === 'tap' ? { behavior: 'allow', updatedInput: { path: 'other' } } : undefined))], steps: [change('asked', { note: 'tap' }), change('asked', { note: 'person' })] });
  const session = await p.open({ host: person, overlay: { mode: 'careful' } });
  answering(session, () => ({ behavior: 'allow', updatedInput: { path: 'other' } }));
  const end = await ask(session, 'go');
  assert.deepEqual(end.denials.map((d) => d.message), ['not in this mode', 'not in this mode']);
  assert.equal(tools.calls.length, 0);
});
