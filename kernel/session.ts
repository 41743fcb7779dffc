/** One conversation as a port. Everything that drives an agent holds this and nothing else. */
import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { realpathSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import type {
  Answer, AppState, AssistantMessage, EventBody, FactLine, FlagLayer, Host, Message, ParentAdjudicator, PermissionMode, Prompt, QuerySettlement, Receipt, Session, SessionLog,
  SourcedRule, ToolUseBlock, TurnEnd, UserMessage, Uuid,
} from '../schemas/index.ts';
import { NO_USAGE } from '../schemas/message.ts';
import type { Desk } from './asks.ts';
import { createDesk } from './asks.ts';
import type { Budget } from './budget.ts';
import { createBudget } from './budget.ts';
import type { Live } from './changes.ts';
import { createChanges, firstMode, firstModel, flagRules } from './changes.ts';
import { freeze } from './chain.ts';
import { makeOrigin } from './config/origin.ts';
import type { Conversation } from './conversation.ts';
import { asTappetError, messageOf, printError, TappetError } from './errors.ts';
import type { EventLog } from './event-log.ts';
import { createEventLog } from './event-log.ts';
import { createFileStates } from './file-states.ts';
import type { LocalTap, TapReport } from './hooks.ts';
import type { Kernel } from './kernel.ts';
import { chooseModel } from './models.ts';
import { createNormalizer } from './normalize.ts';
import { createPrompt } from './prompt.ts';
import type { ReplacementStore } from './replacement.ts';
import { createReplacements } from './replacement.ts';
import { checkedSchema } from './schema.ts';
import type { Store } from './store.ts';
import { createStore } from './store.ts';
import { createTokenEstimate } from './tokens.ts';
import { offered } from './tools.ts';
import type { Restored } from './transcript.ts';
import { runTurn } from './turn.ts';

export interface SessionParts {
  readonly kernel: Kernel;
  readonly id: Uuid;
  readonly cwd: string;
  readonly log: SessionLog | null;
  readonly overlay: FlagLayer;
  readonly host: Host;
  readonly source: 'startup' | 'resume' | 'fork';
  readonly setup?: 'init' | 'maintenance' | undefined;
  readonly restored: Restored | null;
  /** What a fork shares with its parent. */
  readonly parent?: { readonly conversation: Conversation; readonly desk: Desk; readonly budget: Budget; readonly events: EventLog; readonly ancestors: readonly ParentAdjudicator[]; readonly replacements: ReplacementStore; readonly agentType: string | null } | undefined;
  readonly fork: (o: { readonly from: SessionInternals; readonly at?: Uuid | undefined; readonly agent?: string | undefined; readonly cwd?: string | undefined }) => Promise<Session>;
  readonly onClose: () => Promise<void>;
}
export interface SessionInternals { readonly conversation: Conversation; readonly events: EventLog; readonly parts: SessionParts; /** Its forks that are open. */ readonly children: Set<Session>; leaf(): string | null }

interface Queued { readonly id: Uuid; readonly prompt: Prompt; readonly priority: 'now' | 'next' | 'later'; readonly origin: string | undefined; readonly settle: (end: TurnEnd) => void }

export async function createSession(p: SessionParts): Promise<Session> {
  const { kernel } = p;
  const agentId = p.parent === undefined ? null : p.id;
  const agentType = p.parent?.agentType ?? null;
  const events = p.parent?.events ?? createEventLog();
  const desk = p.parent?.desk ?? createDesk();
  const budget = p.parent?.budget ?? createBudget();
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);
  const hosts = new Map<Host, true>([[p.host, true]]);
  const resources = new Set<Promise<QuerySettlement>>();
  const children = new Set<Session>();
  const queue: Queued[] = [];
  const normalizer = createNormalizer();
  const tokens = createTokenEstimate();
  const bytes = new WeakMap<never, never>();
  let messages: readonly Message[] = p.restored?.messages ?? [];
  let leaf = p.restored?.leaf ?? null;
  const live: Live = { cwd: p.cwd, directories: (p.overlay.directories ?? []).map((d) => resolve(p.cwd, d)), overlay: p.overlay, wantedModel: firstModel(kernel, p.overlay, p.restored?.model ?? null), rules: flagRules(kernel, p.overlay) };
  let turn: { readonly id: Uuid; readonly abort: AbortController; readonly ids: Uuid[]; interrupts: ((v: void) => void)[]; done: Promise<unknown> } | null = null;
  let begun = false;
  let closed: Promise<void> | null = null;
  let outputs: string | null = null;
  let roots: { readonly key: string; readonly real: readonly string[] } | undefined;
  let open: readonly { use: ToolUseBlock; parent: AssistantMessage }[] = p.restored?.deferred ?? [];
  let startContext: Message[] = [];

  const stamp = () => ({ sessionId: p.id, agentId, turnId: turn?.id ?? null });
  const emit = (body: EventBody): void => events.emit(body, stamp());
  const rules = (): readonly SourcedRule[] => [...kernel.config().rules, ...live.rules, ...(p.parent === undefined ? [] : p.parent.conversation.rules().filter((r) => r.behavior !== 'allow' && r.source === 'session'))];
  // A child begins in the mode that its parent is in now, whatever a flag said when the parent began.
  const initialMode = p.parent?.conversation.mode().name ?? firstMode(kernel, p.overlay, p.restored?.mode ?? null);
  const state: Store<AppState> = createStore<AppState>({
    settings: kernel.settings(), cwd: live.cwd, mainLoopModel: live.wantedModel ?? kernel.settings().model ?? '(first available)', title: p.restored?.title ?? null, turn: 'idle', tasks: {}, speculation: { status: 'idle' },
    toolPermissionContext: { mode: initialMode, rules: [...kernel.config().rules, ...live.rules], additionalDirectories: live.directories },
    mcp: { connections: [], tools: [], commands: [], resources: [] },
    plugins: { enabled: kernel.reports.filter((r) => r.state === 'running').map((r) => r.name), disabled: kernel.reports.filter((r) => r.state === 'off').map((r) => r.name), errors: kernel.reports.filter((r) => r.state === 'failed').map((r) => ({ name: r.name, message: r.error ?? '' })) },
    agentDefinitions: { all: kernel.registries.agents.all().map((a) => ({ agentType: a.agentType, whenToUse: a.whenToUse })), failures: [] },
  }, (e) => kernel.log({ level: 'error', name: 'session', text: `somebody who watches the state failed: ${messageOf(e)}` }));

  const store = async (line: Parameters<SessionLog['append']>[0]): Promise<void> => { await p.log?.append(line); };
  // One after the other: calls that run side by side write too, and each message names the one before it.
  let written: Promise<void> = Promise.resolve();
  const append = (message: Message): Promise<void> => {
    const done = written.then(() => write(message));
    written = done.catch(() => {}); // who appended hears it
    return done;
  };
  const write = async (message: Message): Promise<void> => {
    await store({ ...message, parentUuid: leaf, cwd: live.cwd, isSidechain: false, ...(agentId === null ? {} : { agentId }) } as never);
    leaf = message.uuid;
    messages = [...messages, message];
    emit({ type: 'message', message });
  };
  const mode = (): PermissionMode => kernel.registries.permissionModes.get(state.get().toolPermissionContext.mode) ?? DENIES_ALL;
  const localTaps = (name: string): readonly LocalTap[] => [...hosts.keys()].flatMap((h) => (h.hooks ?? []).filter((x) => x.event === name).map((x, i): LocalTap => ({ name: `(host) ${name} ${i + 1}`, layer: 'flag', origin: HOST_ORIGIN, matcher: x.matcher, timeoutMs: x.timeoutMs, onFailure: x.onFailure, run: x.run })));
  const onTapError = (r: TapReport): void => {
    kernel.log({ level: 'error', name: r.plugin, text: r.message, code: r.code });
    void append({ type: 'system', format: 'hook_error', level: 'error', content: r.message, uuid: randomUUID(), timestamp: now(), data: { event: r.event, tap: r.tap, plugin: r.plugin, code: r.code, ms: r.ms } }).catch(() => {});
  };

  const conversation: Conversation = {
    id: p.id, kernel, agentId, agentType, state, desk, budget, ancestors: p.parent?.ancestors ?? [],
    get overlay() { return live.overlay; },
    rootState: p.parent?.conversation.rootState ?? state,
    files: p.parent?.conversation.files ?? createFileStates(),
    replacements: p.parent?.replacements ?? createReplacements(),
    search: kernel.services.get('searchAggregator')?.(),
    messages: () => messages,
    cwd: () => live.cwd,
    moveTo(to) {
      if (to === live.cwd) return;
      const from = live.cwd;
      live.cwd = to;
      state.set((s) => ({ ...s, cwd: to }));
      emit({ type: 'state.changed', cwd: to });
      void conversation.fire('CwdChanged', { from, to }, { signal: closing.signal });
    },
    roots: () => {
      // Asked several times in each call: real paths are looked up anew only where the folders are others.
      const folders = [kernel.root, ...(p.cwd.startsWith(kernel.root) ? [] : [p.cwd]), ...kernel.settings().directories.map((d) => (isAbsolute(d) ? d : resolve(kernel.root, d))), ...live.directories, ...(outputs === null ? [] : [outputs])];
      const key = folders.join('\0');
      if (roots?.key !== key) roots = { key, real: folders.map(real) };
      return roots.real;
    },
    rules, mode, append, emit,
    fact: async (line: FactLine) => { await store(line); },
    sync: async () => { await p.log?.sync(); },
    outputFolder: async () => (outputs = real(await (p.log?.outputFolder() ?? temporaryFolder(kernel, p.id)))),
    fire: (name, event, o) => kernel.hooks.fire(name, { ...event, sessionId: p.id, cwd: live.cwd, agentId, agentType, mode: state.get().toolPermissionContext.mode } as never, { signal: o.signal, refine: o.refine, local: localTaps, onError: onTapError }),
    canAsk: (kind) => p.parent?.conversation.canAsk(kind) ?? [...hosts.keys()].some((h) => h.asks.includes(kind)),
    target: () => { const target = kernel.registries.executionTargets.all()[0]; const terminal = [...hosts.keys()].find((h) => h.terminal !== undefined)?.terminal; return target === undefined || terminal === undefined ? target : { ...target, spawn: (r) => terminal.spawn(r) }; },
    fs: () => [...hosts.keys()].find((h) => h.fs !== undefined)?.fs ?? kernel.registries.executionTargets.all()[0]?.fs ?? NO_FILES,
    tools: () => offered(kernel.registries.tools.all(), rules(), live.overlay.tools ?? null, conversation.canAsk('permission')),
    tool: (name) => conversation.tools().find((t) => t.name === name || t.aliases.includes(name)),
    update: (updates) => changes.update(updates),
    registerResource: (work) => { (p.parent?.conversation.registerResource ?? ((w: Promise<QuerySettlement>) => { resources.add(w); const settled = (): void => { resources.delete(w); }; w.then(settled, settled); }))(work); },
    judged: (call, at) => ({ ...call, agentId, cwd: at, roots: conversation.roots(), home: kernel.places.home, mode: state.get().toolPermissionContext.mode, rules: rules() }),
  };
  // What tools see of the rules is what the gate judges by.
  const syncRules = (): void => state.set((s) => ({ ...s, settings: kernel.settings(), toolPermissionContext: { ...s.toolPermissionContext, rules: rules() } }));
  syncRules();
  const unwatch = kernel.onSettings(syncRules);
  const prompt = createPrompt(conversation);
  const changes = createChanges({ kernel, live, state, initialMode, store, append, emit, syncRules });

  // ---- the life of a session -----------------------------------------------------------------------------------------------

  async function begin(signal: AbortSignal): Promise<void> {
    begun = true;
    for (const repair of p.restored?.repairs ?? []) await append(repair);
    const context: string[] = [];
    if (p.setup !== undefined) context.push((await conversation.fire('Setup', { trigger: p.setup }, { signal })).said?.additionalContext ?? '');
    const started = await conversation.fire('SessionStart', { source: p.source, model: state.get().mainLoopModel }, { signal });
    context.push(started.said?.additionalContext ?? '');
    startContext = context.filter((t) => t !== '').map((text): Message => ({ type: 'attachment', uuid: randomUUID(), timestamp: now(), attachment: { kind: 'hook', text, source: 'SessionStart' } }));
    emit({ type: 'session.started', source: p.source, cwd: live.cwd, model: state.get().mainLoopModel, mode: state.get().toolPermissionContext.mode, tools: conversation.tools().map((t) => t.name) });
    if (started.said?.initialUserMessage !== undefined && p.source === 'startup' && closed === null) void submit(started.said.initialUserMessage);
  }

  let pumping: Promise<void> | null = null;
  const pump = (): Promise<void> => (pumping ??= runAll());
  async function runAll(): Promise<void> {
    await Promise.resolve(); // several prompts of one tick are queued before the first turn takes one
    while (queue.length > 0) {
      const i = Math.max(0, queue.findIndex((q) => q.priority !== 'later'));
      const [first] = queue.splice(i, 1);
      await runOne(first!);
    }
    pumping = null; // in the same tick as the last look at the queue, or a prompt could fall between
  }

  async function runOne(first: Queued): Promise<void> {
    const abort = new AbortController();
    setMaxListeners(0, abort.signal);
    const taken: Queued[] = [first];
    const running = { id: randomUUID(), abort, ids: [first.id], interrupts: [] as ((v: void) => void)[], done: Promise.resolve() as Promise<unknown> };
    turn = running;
    const stop = (): void => abort.abort(closing.signal.reason);
    closing.signal.addEventListener('abort', stop, { once: true });
    const limit = smallest(live.overlay.timeMs, kernel.settings().limits.timeMs);
    const timer = limit === undefined ? undefined : setTimeout(() => abort.abort('timeout'), limit);
    state.set((s) => ({ ...s, turn: 'running' }));
    let end: TurnEnd;
    try {
      if (!begun) await begin(abort.signal);
      const { model } = { model: await chooseModel(kernel, currentModel(), live.overlay.fallbackModel ?? kernel.settings().fallbackModel).then((m) => m.name, () => currentModel() ?? '(none)') };
      emit({ type: 'turn.started', promptIds: running.ids, model, mode: state.get().toolPermissionContext.mode, cwd: live.cwd, tools: conversation.tools().map((t) => t.name) });
      await store({ type: 'turn', turnId: running.id, state: 'started' });
      const blocked = await take(first, running.id, abort.signal);
      end = blocked ?? (await runTurn(conversation, {
        turnId: running.id, signal: abort.signal, normalizer, prompt, bytes: bytes as never, tokens, open, wantedModel: currentModel,
        join: async () => {
          for (let i = queue.findIndex((q) => q.priority === 'next'); i >= 0; i = queue.findIndex((q) => q.priority === 'next')) {
            const [joined] = queue.splice(i, 1);
            taken.push(joined!);
            running.ids.push(joined!.id);
            emit({ type: 'prompt.joined', promptId: joined!.id });
            const refused = await take(joined!, running.id, abort.signal);
            if (refused !== null) joined!.settle(refused); // the turn goes on without it
          }
        },
      }));
    } catch (e) {
      end = crashed(running.id, e);
    }
    clearTimeout(timer);
    closing.signal.removeEventListener('abort', stop);
    if (end.reason !== 'blocked') open = [];
    try {
      if (end.reason === 'interrupted') await append({ type: 'user', isMeta: true, uuid: randomUUID(), timestamp: now(), turnId: running.id, message: { role: 'user', content: '[The user interrupted this turn.]' } });
      await written; // what hooks got wrong belongs to the turn
      await store({ type: 'turn', turnId: running.id, state: 'ended', reason: end.reason });
      await conversation.sync();
    } catch (e) {
      if (!end.isError) end = crashed(running.id, e);
    }
    while (running.interrupts.length > 0) {
      for (const settle of running.interrupts.splice(0)) settle();
      await new Promise<void>((r) => setImmediate(r)); // who interrupted hears it before the turn's last event
    }
    emit({ type: 'turn.ended', end });
    turn = null;
    state.set((s) => ({ ...s, turn: 'idle', settings: kernel.settings() }));
    for (const q of taken) q.settle(end);
  }

  function crashed(turnId: Uuid, error: unknown): TurnEnd {
    const e = asTappetError(error);
    kernel.log({ level: 'error', name: 'session', text: printError(e), code: e.code });
    return { ...unasked(turnId, 'internal_error', e.message, true), errors: [printError(e)] };
  }

  /** A prompt becomes a message; a turn that ends here was blocked. */
  async function take(q: Queued, turnId: Uuid, signal: AbortSignal): Promise<TurnEnd | null> {
    const heard = await conversation.fire('UserPromptSubmit', { prompt: q.prompt, promptId: q.id }, { signal });
    const isJudged = kernel.hooks.taps('UserPromptSubmit').length > 0 || localTaps('UserPromptSubmit').length > 0;
    if (signal.aborted && isJudged) return unasked(turnId, signal.reason === 'timeout' ? 'timeout' : 'interrupted', 'The turn was interrupted before hooks had judged the prompt; it was not taken. Send it again.', true); // a hook that was cut off has not said yes
    if (heard.said?.block !== undefined) {
      await append({ type: 'system', format: 'informational', level: 'warning', content: `The prompt was blocked: ${heard.said.block}`, uuid: randomUUID(), timestamp: now(), turnId });
      return unasked(turnId, 'blocked', `The prompt was blocked: ${heard.said.block}`, false);
    }
    for (const m of startContext.splice(0)) await append({ ...m, turnId });
    const message: UserMessage = { type: 'user', uuid: q.id, timestamp: now(), turnId, ...(q.origin === undefined ? {} : { isMeta: true }), message: { role: 'user', content: q.prompt } };
    await append(message);
    if (heard.said?.additionalContext !== undefined) await append({ type: 'attachment', uuid: randomUUID(), timestamp: now(), turnId, attachment: { kind: 'hook', text: heard.said.additionalContext, source: 'UserPromptSubmit' } });
    return null;
  }
  const currentModel = (): string | undefined => live.wantedModel ?? kernel.settings().model;

  const closeChildren = (o: { readonly drain?: boolean }): Promise<unknown> => Promise.all([...children].map((child) => child.close(o)));

  // ---- the port ------------------------------------------------------------------------------------------------------------

  function submit(given: Prompt, o: Parameters<Session['submit']>[1] = {}): Receipt {
    if (closed !== null) throw new TappetError('E_SESSION_CLOSED');
    const id = o.id ?? randomUUID();
    let settle!: (end: TurnEnd) => void;
    const done = new Promise<TurnEnd>((r) => { settle = r; });
    if (o.query === false) {
      void (async () => { if (!begun) await begin(closing.signal); await append({ type: 'user', uuid: id, timestamp: now(), message: { role: 'user', content: given } }); settle(unasked(id, 'answered', '', false)); })().catch((e: unknown) => settle(crashed(id, e)));
      return { id, turn: done };
    }
    const priority = o.priority ?? 'next';
    queue.push({ id, prompt: given, priority, origin: o.origin, settle });
    emit({ type: 'prompt.queued', promptId: id, priority });
    if (priority === 'now' && turn !== null) turn.abort.abort('superseded');
    void pump();
    return { id, turn: done };
  }

  const internals: SessionInternals = { conversation, events, parts: p, children, leaf: () => leaf };
  const session: Session = {
    id: p.id,
    state: { get: () => state.get(), subscribe: (select, fn) => state.subscribe(select, fn) },
    events: (o = {}) => events.read({ from: o.from ?? 'now', wants: o.tree === true && agentId === null ? () => true : (e) => e.agentId === agentId, isLast: (e) => e.type === 'session.closed' && e.agentId === agentId }),
    async *history() { for (const m of messages) yield m; },
    submit,
    withdraw(id) {
      const i = queue.findIndex((q) => q.id === id);
      if (i < 0) return false;
      const [gone] = queue.splice(i, 1);
      emit({ type: 'prompt.withdrawn', promptId: id });
      gone!.settle(unasked(id, 'interrupted', 'The prompt was withdrawn.', true));
      return true;
    },
    answer: (id: Uuid, answer: Answer) => desk.answer(id, answer),
    async interrupt(o) {
      if (o.queued === 'drop') for (const q of [...queue]) session.withdraw(q.id);
      const running = turn;
      if (running !== null) {
        const settled = new Promise<void>((r) => running.interrupts.push(r));
        running.abort.abort(o.reason);
        await settled;
      }
      return { stillQueued: queue.map((q) => q.id) };
    },
    set: (change) => changes.set(change),
    async control(name, input) {
      const control = kernel.registries.controls.get(name as string);
      if (control === undefined) throw new TappetError('E_CONTROL_UNKNOWN', { name, known: kernel.registries.controls.all().map((c) => c.name).join(', ') || 'none' });
      const checked = await checkedSchema(control.input, `input of control ${String(name)}`).check(input);
      if ('problems' in checked) throw new TappetError('E_USAGE', { message: `${String(name)}: ${checked.problems.join('; ')}` });
      return (await control.run(session, checked.value)) as never;
    },
    async attach(host) {
      hosts.delete(host);
      hosts.set(host, true);
      return () => {
        hosts.delete(host);
        if (p.parent === undefined && !conversation.canAsk('permission')) desk.withdraw();
      };
    },
    async fork(o) {
      if (closed !== null) throw new TappetError('E_SESSION_CLOSED');
      const child = await p.fork({ from: internals, at: o.at, agent: o.agent, cwd: o.cwd });
      if (closed !== null) { await child.close(); throw new TappetError('E_SESSION_CLOSED'); }
      return child;
    },
    close(o = {}) {
      return (closed ??= (async () => {
        if (o.drain !== true) {
          for (const q of [...queue]) session.withdraw(q.id);
          await Promise.all([turn === null ? null : session.interrupt({ reason: 'closed', queued: 'drop' }), closeChildren(o)]);
        }
        while (pumping !== null) await pumping;
        await closeChildren(o);
        if (begun) await conversation.fire('SessionEnd', { reason: 'other' }, { signal: new AbortController().signal });
        closing.abort(new Error('the session is closed'));
        unwatch();
        if (p.parent === undefined) { desk.close(); await Promise.allSettled(resources); }
        await written;
        await p.log?.close();
        emit({ type: 'session.closed', reason: 'closed' });
        if (p.parent === undefined) events.close();
        await p.onClose();
      })());
    },
  };
  SESSIONS.set(session, internals);
  return session;
}

/** What open.ts needs of a session that it made. */
const SESSIONS = new WeakMap<Session, SessionInternals>();
export const internalsOf = (session: Session): SessionInternals | undefined => SESSIONS.get(session);

export function adjudicatorsFor(parent: Conversation): readonly ParentAdjudicator[] {
  return [freeze(parent, parent.messages()), ...parent.ancestors];
}

const HOST_ORIGIN = makeOrigin('flag', '(host)');
/** The end of a turn in which no model was asked. */
const unasked = (turnId: Uuid, reason: TurnEnd['reason'], text: string, isError: boolean): TurnEnd => ({ turnId, reason, text, isError, stopReason: null, errors: [], usage: NO_USAGE, costUSD: 0, numTurns: 0, durationMs: 0, durationApiMs: 0, denials: [] });
const now = (): string => new Date().toISOString();
const smallest = (a: number | undefined, b: number | undefined): number | undefined => (a === undefined ? b : b === undefined ? a : Math.min(a, b));
/** Where the configured mode does not exist nothing runs. */
const DENIES_ALL: PermissionMode = { name: '(none)', title: 'No mode', judge: () => ({ behavior: 'deny', message: 'the configured permission mode does not exist here' }) };
const NO_FILES = new Proxy({}, { get: () => async () => { throw new TappetError('E_INTERNAL', { message: 'no execution target is there to reach files', do: 'switch the plugin targets/host on' }); } }) as never;
const real = (dir: string): string => { try { return realpathSync(dir); } catch { return resolve(dir); } };

async function temporaryFolder(kernel: Kernel, id: string): Promise<string> {
  const { mkdir } = await import('node:fs/promises');
  const { join } = await import('node:path');
  const folder = join(kernel.places.state, 'outputs', id);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return folder;
}
