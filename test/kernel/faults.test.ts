/** What goes wrong around a turn: a disk that is full, a provider that is silent, a client that left. Everything settles, nothing is lost, nothing runs behind the end. */
import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { definePlugin, defineTool, z } from 'tappet/kernel';
import type { LineDraft, ModelEvent } from '../../schemas/index.ts';
import { ask, BASIC, project, record } from '../support/project.ts';
import { memoryStore } from '../support/memory-store.ts';
import { watchedTools } from '../support/tools.ts';

const NO_STORE = BASIC.filter((n) => n !== 'stores/sessions');
const set = (t: Parameters<typeof project>[0], o: Parameters<typeof project>[1] = {}) => {
  const tools = watchedTools();
  const store = memoryStore(tmpdir());
  return { tools, store, p: project(t, { only: NO_STORE, files: { '~/.config/tappet/config.yaml': 'stores: { sessions: test/store }\n' }, ...o, plugins: [tools.plugin, store.plugin, ...(o.plugins ?? [])] }) };
};
const full = (): never => { throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' }); };
const later = (): Promise<void> => new Promise((r) => setImmediate(r));
const isResult = (l: LineDraft): boolean => l.type === 'user' && JSON.stringify(l).includes('tool_result');
const look = (path = 'a') => ({ name: 'Look', input: { path } });
const change = (path: string) => ({ name: 'Change', input: { path } });

// ---- the store ---------------------------------------------------------------------------------------------------------------

test('messages that are written at the same time form one chain, so that none is lost when the session is opened again', async (t) => {
  const { p, store } = set(t, { steps: [{ call: [look('a'), { name: 'Look', input: { path: '/x' } }, look('b')] }, { say: 'done' }] });
  store.before = later;
  const session = await p.open({ overlay: { deny: ['Look(/x)'] } });
  const turn = ask(session, 'go');
  await session.set({ model: 'test/model' });
  await turn;
  const messages = store.lines.flatMap((l) => ('uuid' in l ? [l] : []));
  assert.deepEqual(messages.map((m) => m.parentUuid), [null, ...messages.slice(0, -1).map((m) => m.uuid)]);
});
test('a full disk between two results ends the turn; no later call of the message runs', async (t) => {
  const { p, store, tools } = set(t, { steps: [{ call: [change('a'), change('b'), change('c')] }] });
  store.before = (l) => { if (isResult(l)) full(); };
  const end = await ask(await p.open({ overlay: { mode: 'acceptEdits' } }), 'go');
  assert.equal(end.reason, 'internal_error');
  assert.match(end.text, /ENOSPC/);
  for (let i = 0; i < 20; i++) await later();
  assert.deepEqual(tools.calls.map((c) => c.input['path']), ['a']);
});
test('a turn that a full disk ended waits for the calls that run beside: nothing comes behind its end', async (t) => {
  const { p, store, tools } = set(t, { steps: [{ call: [look('a'), look('b')] }] });
  store.before = (l) => { if (isResult(l)) full(); };
  tools.hold = async () => { if (tools.calls.length === 2) for (let i = 0; i < 20; i++) await later(); };
  const session = await p.open();
  const r = record(session);
  await ask(session, 'go');
  await later();
  const ended = r.events.findIndex((e) => e.type === 'turn.ended');
  assert.equal(r.events.slice(0, ended).filter((e) => e.type === 'tool.finished').length, 2);
  assert.deepEqual(r.events.slice(ended + 1).map((e) => e.type), []);
});
test('a disk that fails while a call runs is no unhandled rejection; the turn says it', async (t) => {
  const { p, store, tools } = set(t, { steps: [{ call: [look()] }, { say: 'x' }] });
  store.beforeSync = async () => full();
  tools.hold = async () => { for (let i = 0; i < 5; i++) await later(); };
  const session = await p.open();
  const r = record(session);
  const end = await ask(session, 'go');
  assert.equal(end.reason, 'internal_error');
  assert.ok(r.events.some((e) => e.type === 'message' && JSON.stringify(e.message).includes('ENOSPC')));
});
test('a disk that is full in the middle of an answer gives back what was reserved, and books what was used', async (t) => {
  let fail = true;
  const { p, store } = set(t, { steps: [{ say: 'one', cut: true, usage: { input: 100, output: 0 } }, { say: 'two' }] });
  store.before = (l) => { if (fail && l.type === 'assistant') full(); };
  const session = await p.open({ overlay: { costUsd: 0.002 } });
  assert.equal((await ask(session, 'x '.repeat(1000))).reason, 'internal_error');
  fail = false;
  assert.equal((await ask(session, 'again')).text, 'two');
});
test('a log that could not be made is made at the next prompt', async (t) => {
  const { p, store } = set(t, { steps: [{ say: 'one' }, { say: 'two' }] });
  store.beforeCreate = full;
  const session = await p.open();
  assert.equal((await ask(session, 'go')).reason, 'internal_error');
  store.beforeCreate = null;
  assert.equal((await ask(session, 'again')).reason, 'answered');
});
test('what a hook got wrong is written before the turn ends, and a session closes its log last', async (t) => {
  const { p, store } = set(t, { steps: [{ say: 'one' }] });
  store.before = later;
  const session = await p.open({ host: { asks: [], hooks: [{ event: 'Stop', run: () => { throw new Error('broken'); } }, { event: 'SessionEnd' as never, run: () => { throw new Error('broken too'); } }] } });
  const r = record(session);
  await ask(session, 'go');
  await session.close();
  await r.done;
  const ended = r.events.findIndex((e) => e.type === 'turn.ended');
  assert.ok(r.events.slice(0, ended).some((e) => e.type === 'message' && JSON.stringify(e.message).includes('broken')));
  assert.ok(JSON.stringify(store.lines).includes('broken too'));
});

// ---- interrupts ----------------------------------------------------------------------------------------------------------------

test('an interrupt settles though the provider never says anything and does not heed its signal', async (t) => {
  const silent = definePlugin({ name: 'acme/silent', api: 1, apply: ({ registries }) => registries.modelProviders.add({ name: 'silent', models: () => [], available: async () => null, encode: () => new Uint8Array(), stream: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise<IteratorResult<ModelEvent>>(() => {}) }) }) }) });
  const { p } = set(t, { plugins: [silent] });
  const session = await p.open({ overlay: { model: 'silent/x' } });
  const turn = ask(session, 'go');
  for await (const e of session.events({ from: 'start' })) if (e.type === 'request.started') break;
  await session.interrupt({ reason: 'test' });
  assert.equal((await turn).reason, 'interrupted');
});
test('an interrupt settles though a mode never answers, and the call does not run', async (t) => {
  const hung = definePlugin({ name: 'acme/hung', api: 1, apply: ({ registries }) => registries.permissionModes.add({ name: 'hung', title: 'Hung', judge: () => new Promise<never>(() => {}) }) });
  const { p, tools } = set(t, { plugins: [hung], steps: [{ call: [change('a')] }] });
  const session = await p.open({ overlay: { mode: 'hung' } });
  const turn = ask(session, 'go');
  for await (const e of session.events({ from: 'start' })) if (e.type === 'tool.started') break;
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let isOver = false;
  void session.interrupt({ reason: 'test' }).then(() => { isOver = true; });
  for (let i = 0; i < 200 && !isOver; i++) { await later(); t.mock.timers.tick(500); }
  t.mock.timers.reset();
  assert.equal((await turn).reason, 'interrupted');
  assert.equal(tools.calls.length, 0);
});
test('an interrupt while a recovery makes up its mind is not held up by the delay that it asks for', async (t) => {
  let asked: () => void = () => {};
  const slow = definePlugin({ name: 'acme/slow', api: 1, apply: ({ registries }) => registries.recoveries.add({ name: 'slow', on: async () => { asked(); await later(); return { reason: 'transport_retry', delayMs: 3_600_000 }; } }) });
  const { p } = set(t, { plugins: [slow], steps: [{ fault: { kind: 'overloaded' } }] });
  const session = await p.open();
  let settled: Promise<unknown> | undefined;
  asked = () => { settled = session.interrupt({ reason: 'test' }); };
  assert.equal((await ask(session, 'go')).reason, 'interrupted');
  await settled;
});
test('the signal of a query is the turn\'s: what summarises for a recovery hears the interrupt', async (t) => {
  let signal: AbortSignal | undefined;
  const recovery = definePlugin({ name: 'acme/waits', api: 1, apply: ({ registries }) => registries.recoveries.add({ name: 'waits', on: async (_, s) => { signal = s.toolUseContext.signal; void session.interrupt({ reason: 'test' }); await new Promise((r) => { if (signal!.aborted) r(null); else signal!.addEventListener('abort', r); }); return undefined; } }) });
  const { p } = set(t, { plugins: [recovery], steps: [{ fault: { kind: 'overloaded' } }] });
  const session = await p.open();
  await ask(session, 'go');
  assert.equal(signal?.aborted, true);
});
test('every interrupt settles, also one that comes between the last word and the end of the turn', async (t) => {
  const { p } = set(t, { steps: [] });
  const session = await p.open();
  const all: Promise<unknown>[] = [];
  p.model.push({ wait: async () => { all.push(session.interrupt({ reason: 'first' }).then(() => { all.push(session.interrupt({ reason: 'second' })); })); } });
  await ask(session, 'go');
  await later();
  await Promise.all(all);
  assert.equal(all.length, 2);
  await all[1];
});
test('an interrupted part of the prompt is asked again in the next turn', async (t) => {
  let session: Awaited<ReturnType<typeof p.open>>;
  let asked = 0;
  const part = definePlugin({ name: 'acme/part', api: 1, apply: ({ registries }) => registries.promptParts.add({ name: 'acme/part', slot: 'instructions', render: async ({ signal }) => { if (asked++ === 0) { void session.interrupt({ reason: 'test' }); await new Promise((_, no) => { if (signal.aborted) no(signal.reason); else signal.addEventListener('abort', () => no(signal.reason)); }); } return [{ text: 'be kind', cacheScope: null }]; } }) });
  const { p } = set(t, { plugins: [part], steps: [] });
  session = await p.open();
  assert.equal((await ask(session, 'go')).reason, 'interrupted');
  await ask(session, 'again');
  assert.match(JSON.stringify(p.model.requests.at(-1)!.messages.map((m) => m.message)), /be kind/);
});
test('a tool that is left behind says nothing more', async (t) => {
  let go: () => void = () => {};
  const deaf = definePlugin({ name: 'acme/deaf', api: 1, apply: ({ registries }) => registries.tools.add(defineTool({ name: 'Deaf', description: 'Hears nothing.', inputSchema: () => z.object({}), isReadOnly: true, subjects: () => [], call: async (_, c) => { void session.interrupt({ reason: 'test' }); await new Promise<void>((r) => { go = r; }); c.emit({ type: 'tool.progress', data: 'late' } as never); c.progress('later'); return { data: 'x' }; } })) });
  const { p } = set(t, { plugins: [deaf], steps: [{ call: [{ name: 'Deaf', input: {} }] }] });
  const session = await p.open();
  const r = record(session);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const turn = ask(session, 'go');
  for (let i = 0; i < 200 && !r.events.some((e) => e.type === 'turn.ended'); i++) { await later(); t.mock.timers.tick(500); }
  assert.equal((await turn).reason, 'interrupted');
  go();
  for (let i = 0; i < 5; i++) await later();
  assert.equal(r.events.at(-1)!.type, 'turn.ended');
  t.mock.timers.reset();
});

// ---- clients --------------------------------------------------------------------------------------------------------------------

test('the questions that a client leaves behind are withdrawn where nobody else can be asked', async (t) => {
  const { p, tools } = set(t, { steps: [{ call: [change('a')] }, { say: 'so be it' }] });
  const session = await p.open();
  const detach = await session.attach({ asks: ['permission'] });
  const turn = ask(session, 'go');
  for await (const e of session.events({ from: 'start' })) if (e.type === 'ask') break;
  detach();
  assert.equal((await turn).text, 'so be it');
  assert.equal(tools.calls.length, 0);
});
test('somebody who watches the state and throws stops neither the turn nor who watches beside him', async (t) => {
  const { p } = set(t, { steps: [{ say: 'fine' }] });
  const session = await p.open();
  const seen: unknown[] = [];
  session.state.subscribe((s) => s.turn, () => { throw new Error('a bad listener'); });
  session.state.subscribe((s) => s.turn, (turn) => { seen.push(turn); });
  assert.equal((await ask(session, 'go')).text, 'fine');
  assert.deepEqual(seen, ['running', 'idle']);
  assert.ok(p.logs.some((l) => l.text.includes('a bad listener')));
});
test('a session that is closed by draining while its first hooks run answers what it was asked', async (t) => {
  const { p } = set(t, { steps: [{ say: 'answered' }] });
  let session: Awaited<ReturnType<typeof p.open>>;
  session = await p.open({ host: { asks: [], hooks: [{ event: 'SessionStart', run: async () => { void session.close({ drain: true }); await later(); return { initialUserMessage: 'hello' }; } }] } });
  assert.equal((await ask(session, 'go')).text, 'answered');
});
test('a joined prompt that a hook blocks hears that it was', async (t) => {
  const { p, tools } = set(t, { steps: [{ call: [look()] }, { say: 'done' }] });
  const session = await p.open({ host: { asks: [], hooks: [{ event: 'UserPromptSubmit', run: (e) => (String((e as { prompt: string }).prompt) === 'bad' ? { block: 'no' } : undefined) }] } });
  let joined: ReturnType<typeof session.submit> | undefined;
  tools.hold = async () => { joined = session.submit('bad'); };
  assert.equal((await ask(session, 'go')).reason, 'answered');
  assert.equal((await joined!.turn).reason, 'blocked');
});

// ---- forks ------------------------------------------------------------------------------------------------------------------------

test('a child has the mode that its parent is in, not the one that its parent began in', async (t) => {
  const { p, tools } = set(t, { steps: [{ call: [change('a')] }, { say: 'x' }] });
  for (const [first, now] of [['acceptEdits', 'default'], ['bypassPermissions', 'plan'], ['acceptEdits', 'plan']] as const) {
    const root = await p.open({ overlay: { mode: first } });
    await root.set({ mode: now });
    const child = await root.fork({});
    assert.equal(child.state.get().toolPermissionContext.mode, now);
    p.model.drain();
    p.model.push({ call: [change('a')] }, { say: 'x' });
    await ask(child, 'go');
    await child.close();
  }
  assert.equal(tools.calls.length, 0);
});
test('a child of a parent that bypasses still needs a person where a tool or a hook says so', async (t) => {
  const { p, tools } = set(t, { steps: [{ call: [{ name: 'Person', input: {} }] }, { say: 'x' }, { call: [change('a')] }, { say: 'y' }] });
  const root = await p.open({ overlay: { mode: 'bypassPermissions' }, host: { asks: ['permission'] } });
  const child = await root.fork({});
  void (async () => { for await (const e of root.events({ from: 'start', tree: true })) if (e.type === 'ask') root.answer(e.requestId as never, { behavior: 'deny' }); })();
  assert.equal((await ask(child, 'go')).denials.length, 1);
  await child.attach({ asks: [], hooks: [{ event: 'PreToolUse', run: () => ({ behavior: 'ask' }) }] });
  assert.equal((await ask(child, 'again')).denials.length, 1);
  assert.equal(tools.calls.length, 0);
  await child.close();
});
test('who reads a child\'s events is done when the child is closed', async (t) => {
  const { p } = set(t, { steps: [{ say: 'x' }] });
  const root = await p.open();
  const child = await root.fork({});
  const r = record(child);
  await ask(child, 'go');
  await child.close();
  await r.done;
  assert.equal(r.events.at(-1)!.type, 'session.closed');
});
test('a root that closes closes its children first: nothing of theirs runs behind it', async (t) => {
  const { p, tools } = set(t, { steps: [{ call: [look()] }, { say: 'never' }] });
  const root = await p.open();
  const r = record(root);
  const child = await root.fork({});
  tools.hold = (signal) => new Promise((_, no) => { signal.addEventListener('abort', () => no(new Error('stopped'))); void root.close(); });
  assert.equal((await ask(child, 'go')).reason, 'interrupted');
  await root.close();
  await r.done;
  assert.deepEqual(r.events.filter((e) => e.type === 'session.closed').map((e) => e.agentId), [child.id, null]);
  assert.throws(() => child.submit('more'), { code: 'E_SESSION_CLOSED' });
});
test('a child asks the model that its parent asks now', async (t) => {
  const other = definePlugin({ name: 'acme/other', api: 1, apply: ({ registries }) => registries.modelProviders.add({ name: 'other', models: () => [], available: async () => null, encode: () => new Uint8Array(), async *stream() { yield { type: 'message_start', id: 'm', model: 'x', usage: { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 } } as ModelEvent; } }) });
  const { p } = set(t, { plugins: [other] });
  const root = await p.open();
  await root.set({ model: 'other/x' });
  const child = await root.fork({});
  const r = record(child);
  await ask(child, 'go');
  await child.close();
  await r.done;
  assert.deepEqual(r.events.flatMap((e) => (e.type === 'request.started' ? [e.model] : [])), ['other/x']);
  assert.equal(p.model.requests.length, 0);
});

// ---- prompts and histories ---------------------------------------------------------------------------------------------------------

test('a prompt that a hook was still looking at when the turn was interrupted is not taken', async (t) => {
  const { p } = set(t, { steps: [{ say: 'fine' }] });
  let n = 0;
  const session = await p.open({ host: { asks: [], hooks: [{ event: 'UserPromptSubmit', run: async (_, { signal }) => { if (n++ > 0) return undefined; void session.interrupt({ reason: 'test' }); await new Promise((r) => { if (signal.aborted) r(null); else signal.addEventListener('abort', r); }); return { block: 'a secret' }; } }] } });
  const end = await ask(session, 'my password is hunter2');
  assert.equal(end.reason, 'interrupted');
  assert.equal((await ask(session, 'go')).text, 'fine');
  assert.doesNotMatch(JSON.stringify(p.model.requests[0]!.messages.map((m) => m.message)), /hunter2/);
});
test('a deferred call is still open when the prompt that should go on with it was blocked', async (t) => {
  const { p, tools } = set(t, { steps: [{ call: [change('a')] }, { say: 'finished' }] });
  const first = await p.open({ overlay: { mode: 'acceptEdits' }, host: { asks: [], hooks: [{ event: 'PreToolUse', run: () => ({ behavior: 'defer' }) }] } });
  assert.equal((await ask(first, 'go')).reason, 'tool_deferred');
  await first.close();
  const again = await p.open({ resume: first.id, overlay: { mode: 'acceptEdits' }, host: { asks: [], hooks: [{ event: 'UserPromptSubmit', run: (e) => (String((e as { prompt: string }).prompt) === 'bad' ? { block: 'no' } : undefined) }] } });
  assert.equal((await ask(again, 'bad')).reason, 'blocked');
  assert.equal(tools.calls.length, 0);
  assert.equal((await ask(again, 'go on')).text, 'finished');
  assert.equal(tools.calls.length, 1);
});
test('a line that cannot be read costs that line, not the history before it', async (t) => {
  const { p, store } = set(t, { steps: [{ say: 'one' }, { say: 'two' }, { say: 'three' }] });
  const first = await p.open();
  await ask(first, 'first words');
  await ask(first, 'second words');
  await first.close();
  store.forget((l) => l.type === 'user' && JSON.stringify(l).includes('second words'));
  const again = await p.open({ resume: first.id });
  await ask(again, 'third words');
  const sent = JSON.stringify(p.model.requests.at(-1)!.messages.map((m) => m.message));
  assert.match(sent, /first words.*one.*two.*third words/);
});
test('nothing is left hanging on a session after many turns: no listener, no question, no resource', async (t) => {
  const { p } = set(t, { steps: [] });
  const signals = new Map<AbortSignal, number>();
  const add = AbortSignal.prototype.addEventListener;
  const remove = AbortSignal.prototype.removeEventListener;
  // A signal that outlives its turn is one that listeners pile up on.
  t.mock.method(AbortSignal.prototype, 'addEventListener', function (this: AbortSignal, ...a: Parameters<typeof add>) { signals.set(this, (signals.get(this) ?? 0) + 1); return add.apply(this, a); });
  t.mock.method(AbortSignal.prototype, 'removeEventListener', function (this: AbortSignal, ...a: Parameters<typeof remove>) { signals.set(this, (signals.get(this) ?? 0) - 1); return remove.apply(this, a); });
  const session = await p.open();
  const kernel = await p.boot();
  for (let i = 0; i < 30; i++) {
    p.model.push({ call: [look('a'), look('b')] }, { say: 'done' });
    await ask(session, `go ${i}`);
  }
  assert.equal(kernel.hooks.pending().length, 0);
  const left = [...signals.values()].filter((n) => n > 2);
  assert.deepEqual(left, []);
});
test('a tool that cannot describe itself is left out and said; the turn goes on', async (t) => {
  const mute = definePlugin({ name: 'acme/mute', api: 1, apply: ({ registries }) => registries.tools.add(defineTool({ name: 'Mute', description: () => { throw new Error('no words'); }, inputSchema: () => z.object({}), subjects: () => [], call: () => ({ data: 'x' }) })) });
  const { p } = set(t, { plugins: [mute], steps: [{ say: 'fine' }] });
  assert.equal((await ask(await p.open(), 'go')).text, 'fine');
  assert.ok(!p.model.requests[0]!.tools.some((x) => x.name === 'Mute'));
  assert.ok(p.model.requests[0]!.tools.some((x) => x.name === 'Look'));
  assert.ok(p.logs.some((l) => l.name === 'Mute' && l.text.includes('no words')));
});
test('a model that does nothing but pause is not asked for ever', async (t) => {
  const { p } = set(t, { steps: Array.from({ length: 500 }, () => ({ say: 'wait', stop: 'pause_turn' })) });
  const end = await ask(await p.open(), 'go');
  assert.equal(end.reason, 'model_error');
  assert.ok(p.model.requests.length < 100);
});
