/** The session as a port: its queue, its readers, what may be changed, and that it opens again. */
import assert from 'node:assert/strict';
import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { SessionEvent } from '../../schemas/index.ts';
import { KEPT_EVENTS } from '../../kernel/event-log.ts';
import { ask, BASIC, project, record } from '../support/project.ts';
import { watchedTools } from '../support/tools.ts';

const set = (t: Parameters<typeof project>[0], o: Parameters<typeof project>[1] = {}) => { const tools = watchedTools(); return { tools, p: project(t, { only: BASIC, ...o, plugins: [tools.plugin, ...(o.plugins ?? [])] }) }; };
const prompts = (p: ReturnType<typeof project>, i: number): string => JSON.stringify(p.model.requests[i]!.messages.map((m) => m.message));
const sessionFile = (p: ReturnType<typeof project>): string => {
  const root = join(p.home, '.local/state/tappet/projects');
  const [slug] = readdirSync(root);
  const folder = join(root, slug!, 'sessions');
  return join(folder, readdirSync(folder).find((f) => f.endsWith('.jsonl'))!);
};

test('prompts that come during a turn join it at the next round; later ones wait for its end', async (t) => {
  const { p, tools } = set(t, { steps: [{ call: [{ name: 'Look', input: { path: 'a' } }] }, { say: 'both' }, { say: 'after' }] });
  const session = await p.open();
  const receipts: ReturnType<typeof session.submit>[] = [];
  tools.hold = async () => { tools.hold = null; receipts.push(session.submit('joined'), session.submit('waits', { priority: 'later' })); };
  const first = session.submit('first');
  const end = await first.turn;
  assert.equal(end.text, 'both');
  assert.equal((await receipts[0]!.turn).turnId, end.turnId);
  assert.equal((await receipts[1]!.turn).text, 'after');
  assert.match(prompts(p, 1), /joined/);
  assert.doesNotMatch(prompts(p, 1), /waits/);
});
test('a prompt with priority now interrupts the turn and is answered next', async (t) => {
  const { p, tools } = set(t, { steps: [{ call: [{ name: 'Look', input: { path: 'a' } }] }, { say: 'urgent answer' }] });
  const session = await p.open();
  let urgent: ReturnType<typeof session.submit> | undefined;
  tools.hold = (signal) => new Promise((_, reject) => { signal.addEventListener('abort', () => reject(new Error('x'))); urgent = session.submit('urgent', { priority: 'now' }); });
  assert.equal((await session.submit('slow').turn).reason, 'interrupted');
  assert.equal((await urgent!.turn).text, 'urgent answer');
});
test('a queued prompt can be withdrawn, one that runs cannot', async (t) => {
  const { p, tools } = set(t, { steps: [{ call: [{ name: 'Look', input: { path: 'a' } }] }, { say: 'x' }] });
  const session = await p.open();
  const seen: boolean[] = [];
  let queued: ReturnType<typeof session.submit> | undefined;
  tools.hold = async () => { tools.hold = null; queued = session.submit('never', { priority: 'later' }); seen.push(session.withdraw(queued.id), session.withdraw(first.id)); };
  const first = session.submit('first');
  await first.turn;
  assert.deepEqual(seen, [true, false]);
  assert.equal((await queued!.turn).reason, 'interrupted');
  assert.equal(p.model.requests.length, 2);
});
test('interrupt says what is still queued, and settles before the last event of the turn', async (t) => {
  const { p, tools } = set(t, { steps: [{ call: [{ name: 'Look', input: { path: 'a' } }] }, { say: 'x' }] });
  const session = await p.open();
  const order: string[] = [];
  void (async () => { for await (const e of session.events({ from: 'start' })) if (e.type === 'turn.ended') order.push('ended'); })();
  let later: ReturnType<typeof session.submit> | undefined;
  tools.hold = (signal) => new Promise((_, reject) => {
    tools.hold = null;
    later = session.submit('later', { priority: 'later' });
    signal.addEventListener('abort', () => reject(new Error('x')));
    void session.interrupt({ reason: 'test' }).then((r) => { order.push('interrupted'); assert.deepEqual(r.stillQueued, [later!.id]); });
  });
  await session.submit('first').turn;
  await later!.turn;
  assert.deepEqual(order.slice(0, 2), ['interrupted', 'ended']);
});
test('a prompt with query false is history and starts no turn', async (t) => {
  const { p } = set(t, { steps: [{ say: 'ok' }] });
  const session = await p.open();
  await session.submit('a fact', { query: false }).turn;
  assert.equal(p.model.requests.length, 0);
  await ask(session, 'go');
  assert.match(prompts(p, 0), /a fact/);
});
test('any number of readers see the same events in order; one that starts late sees those from now', async (t) => {
  const { p } = set(t, { steps: [{ say: 'a' }, { say: 'b' }] });
  const session = await p.open();
  const one = record(session);
  const two = record(session);
  await ask(session, 'first');
  const late: SessionEvent[] = [];
  const lateDone = (async () => { for await (const e of session.events()) late.push(e); })();
  await ask(session, 'second');
  await session.close();
  await Promise.all([one.done, two.done, lateDone]);
  assert.deepEqual(one.events, two.events);
  assert.ok(late.length > 0 && late.length < one.events.length);
  assert.deepEqual(late, one.events.slice(-late.length));
});
test('a reader that falls behind is told how much it missed, and holds nobody', async (t) => {
  const { createEventLog } = await import('../../kernel/event-log.ts');
  const log = createEventLog();
  t.after(() => log.close());
  const reader = log.read({ from: 'start', wants: () => true })[Symbol.asyncIterator]();
  const stamp = { agentId: null, turnId: null, sessionId: 's' };
  for (let i = 0; i < KEPT_EVENTS * 2; i++) log.emit({ type: 'notice', level: 'info', code: 'x', text: String(i) }, stamp);
  const first = (await reader.next()).value as SessionEvent;
  assert.equal(first.type, 'events.missed');
  const second = (await reader.next()).value as SessionEvent & { text: string };
  assert.equal(Number(second.text), (first as { count: number }).count);
});
test('mode, model, title and directories can be set; what is unknown or not allowed is refused with who says so', async (t) => {
  const { p } = set(t, { files: { 'policy:policy.yaml': 'bounds:\n  mode: { oneOf: [default, plan] }\n  model: { oneOf: ["test/*"] }\n' } });
  const session = await p.open();
  assert.deepEqual(await session.set({ mode: 'plan', title: 'a title' }), { applied: { mode: 'plan', title: 'a title' } });
  assert.deepEqual([session.state.get().toolPermissionContext.mode, session.state.get().title], ['plan', 'a title']);
  const bypass = await session.set({ mode: 'acceptEdits' });
  assert.ok('refused' in bypass && bypass.by.layer === 'policy' && bypass.by.line === 2);
  assert.ok('refused' in (await session.set({ mode: 'nonsense' })));
  assert.ok('refused' in (await session.set({ model: 'other/model' })));
  assert.ok('applied' in (await session.set({ model: 'test/model' })));
});
test('bypassing is chosen at the start or where it was permitted, not in the middle', async (t) => {
  const { p } = set(t);
  const plain = await p.open();
  assert.ok('refused' in (await plain.set({ mode: 'bypassPermissions' })));
  const permitted = await p.open({ overlay: { allowBypass: true } });
  assert.ok('applied' in (await permitted.set({ mode: 'bypassPermissions' })));
});
test('state is heard by slice: a listener is called only when what it picks has changed', async (t) => {
  const { p } = set(t, { steps: [{ say: 'x' }] });
  const session = await p.open();
  const modes: string[] = [];
  session.state.subscribe((s) => s.toolPermissionContext.mode, (m) => modes.push(m));
  await ask(session, 'go');
  await session.set({ mode: 'plan' });
  assert.deepEqual(modes, ['plan']);
});
test('a host that attaches brings its hooks, attaching again replaces them, its undo takes them away', async (t) => {
  const { p } = set(t, { steps: [{ say: 'a' }, { say: 'b' }, { say: 'c' }] });
  const session = await p.open();
  let heard = 0;
  const host = { asks: [] as const, hooks: [{ event: 'UserPromptSubmit' as const, run: () => { heard++; } }] };
  await session.attach(host);
  const undo = await session.attach(host);
  await ask(session, 'one');
  assert.equal(heard, 1);
  undo();
  await ask(session, 'two');
  assert.equal(heard, 1);
});
test('close with drain answers what was read; without it the queue is dropped', async (t) => {
  const { p } = set(t, { steps: [{ say: 'a' }, { say: 'b' }] });
  const drained = await p.open();
  const receipts = [drained.submit('one', { priority: 'later' }), drained.submit('two', { priority: 'later' })];
  await drained.close({ drain: true });
  assert.deepEqual((await Promise.all(receipts.map((r) => r.turn))).map((e) => e.text), ['a', 'b']);
  const dropped = await p.open();
  const gone = [dropped.submit('one', { priority: 'later' }), dropped.submit('two', { priority: 'later' })];
  await dropped.close();
  assert.ok((await Promise.all(gone.map((r) => r.turn))).some((e) => e.reason === 'interrupted'));
  assert.throws(() => dropped.submit('x'), { code: 'E_SESSION_CLOSED' });
});
test('a session opens again with its messages, mode and title; latest is the newest of this project', async (t) => {
  const { p } = set(t, { steps: [{ call: [{ name: 'Look', input: { path: 'a' } }] }, { say: 'remember the number seven' }, { say: 'seven' }] });
  const first = await p.open();
  await ask(first, 'go');
  await first.set({ mode: 'acceptEdits', title: 'numbers' });
  await first.close();
  const again = await p.open({ resume: 'latest' });
  assert.equal(again.id, first.id);
  assert.deepEqual([again.state.get().toolPermissionContext.mode, again.state.get().title], ['acceptEdits', 'numbers']);
  await ask(again, 'which?');
  assert.match(prompts(p, 2), /number seven/);
  assert.match(prompts(p, 2), /Look a/);
});
test('a fork of a session on disk has its own id and leaves the first as it was; at cuts it off', async (t) => {
  const { p } = set(t, { steps: [{ say: 'one' }, { say: 'two' }, { say: 'three' }] });
  const first = await p.open();
  await ask(first, 'a');
  const messages = [];
  for await (const m of first.history()) messages.push(m);
  await ask(first, 'b');
  await first.close();
  const before = readFileSync(sessionFile(p), 'utf8');
  const forked = await p.open({ resume: first.id, fork: true, at: messages.at(-1)!.uuid });
  assert.notEqual(forked.id, first.id);
  await ask(forked, 'c');
  assert.doesNotMatch(prompts(p, 2), /"two"/);
  assert.match(prompts(p, 2), /"one"/);
  await forked.close();
  assert.equal(readFileSync(join(sessionFile(p), '..', `${first.id}.jsonl`), 'utf8'), before);
});
test('a call that was cut off by the end of the process is told so when the session opens again', async (t) => {
  const { p } = set(t, { steps: [{ call: [{ name: 'Look', input: { path: 'a' }, id: 'cut' }] }, { say: 'x' }, { say: 'ok' }] });
  const first = await p.open();
  await ask(first, 'go');
  await first.close();
  const file = sessionFile(p);
  const lines = readFileSync(file, 'utf8').split('\n');
  const at = lines.findIndex((l) => l.includes('"type":"tool_use"'));
  const { writeFileSync } = await import('node:fs');
  writeFileSync(file, `${lines.slice(0, at + 1).join('\n')}\n`);
  const again = await p.open({ resume: first.id });
  await ask(again, 'more');
  assert.match(prompts(p, 2), /effect is unknown/);
  await again.close();
  assert.match(readFileSync(file, 'utf8'), /effect is unknown/);
});
test('a torn line costs itself, not the next one', async (t) => {
  const { p } = set(t, { steps: [{ say: 'one' }, { say: 'two' }, { say: 'three' }] });
  const first = await p.open();
  await ask(first, 'a');
  await first.close();
  appendFileSync(sessionFile(p), '{"v":1,"type":"user","uuid":"torn');
  const again = await p.open({ resume: first.id });
  await ask(again, 'b');
  await again.close();
  const third = await p.open({ resume: first.id });
  await ask(third, 'c');
  assert.match(prompts(p, 2), /"one".*"two"/);
});
test('an unknown session is an error that says so; a session in use is not opened twice', async (t) => {
  const { p } = set(t, { steps: [{ say: 'x' }] });
  await assert.rejects(p.open({ resume: '00000000-0000-4000-8000-000000000000' }), { code: 'E_SESSION_UNKNOWN' });
  const first = await p.open();
  await ask(first, 'a');
  await assert.rejects(p.open({ resume: first.id }), { code: 'E_SESSION_BUSY' });
});
test('an ephemeral session leaves nothing on disk', async (t) => {
  const { p } = set(t, { steps: [{ say: 'x' }] });
  const session = await p.open({ ephemeral: true });
  await ask(session, 'a');
  await session.close();
  const { existsSync } = await import('node:fs');
  assert.equal(existsSync(join(p.home, '.local/state/tappet/projects')), false);
});
test('what was shown as done is on the disk: each message is a line before the next request', async (t) => {
  const { p } = set(t);
  const session = await p.open();
  const lines: number[] = [];
  p.model.push({ call: [{ name: 'Look', input: { path: 'a' } }] }, () => { lines.push(readFileSync(sessionFile(p), 'utf8').split('\n').filter((l) => l.includes('"uuid"')).length); return { say: 'ok' }; });
  await ask(session, 'go');
  assert.deepEqual(lines, [3]);
});
test('two sessions of one project share a kernel, and it closes with the last', async (t) => {
  const { p } = set(t, { steps: [{ say: 'a' }, { say: 'b' }] });
  const kernel = await p.boot();
  const one = await p.open();
  const two = await p.open();
  await one.close();
  assert.equal(kernel.abort.signal.aborted, false);
  assert.equal((await ask(two, 'still there?')).text, 'a');
  await two.close();
  assert.equal(kernel.abort.signal.aborted, true);
});
test('policy binds flags, resumed sessions and the choice where nothing is configured', async (t) => {
  const { p, tools } = set(t, { files: { 'policy:policy.yaml': 'bounds:\n  permissions: { onlyPolicyAllows: true }\n  model: { oneOf: ["test/*"] }\n' }, steps: [{ call: [{ name: 'Change', input: { path: 'a' } }] }, { say: 'ok' }] });
  const session = await p.open({ overlay: { allow: ['Change'] } });
  assert.equal((await ask(session, 'go')).denials.length, 1);
  assert.equal(tools.calls.length, 0);
  assert.ok(p.logs.some((l) => /--allowedTools does not count: only policy may allow/.test(l.text)));
  await assert.rejects(p.open({ overlay: { model: 'other/model' } }), { code: 'E_SET_REFUSED' });
  await assert.rejects(p.open({ overlay: { fallbackModel: 'other/model' } }), { code: 'E_SET_REFUSED' });
  const strict = set(t, { files: { 'policy:policy.yaml': 'bounds: { model: { oneOf: ["other/*"] } }\n' } }).p;
  const { chooseModel } = await import('../../kernel/models.ts');
  await assert.rejects(chooseModel(await strict.boot(), undefined), { code: 'E_MODEL_UNAVAILABLE' });
});
