/** The loop: prompt -> model -> calls -> ... -> answer. Why it goes round again is always one of five reasons, each bounded and written down. */
import { randomUUID } from 'node:crypto';
import type {
  AssistantMessage, Block, EncodedMessage, Message, ModelChoice, ModelEvent, NormalizedMessage, Problem, QueryParams, QueryState, RecoveryState, ToolUseBlock, ToolUseContext, Transition, TransitionReason, TurnEnd, TurnEndReason, Usage, Uuid,
} from '../schemas/index.ts';
import { addUsage, NO_USAGE } from '../schemas/message.ts';
import { costOf } from './budget.ts';
import type { CallOutcome } from './call.ts';
import { failed, runCall } from './call.ts';
import { createContext } from './context.ts';
import type { Conversation } from './conversation.ts';
import { asTappetError, faultError, faultOf, messageOf, printError } from './errors.ts';
import { chooseModel, infoOfAnswer } from './models.ts';
import type { Normalizer } from './normalize.ts';
import type { PromptSource } from './prompt.ts';
import { systemBlocks } from './prompt.ts';
import { createScheduler } from './scheduler.ts';
import type { TokenEstimate } from './tokens.ts';
import { delay, orAborted, untilAborted } from './waiting.ts';

export interface TurnOptions {
  readonly turnId: Uuid;
  readonly signal: AbortSignal;
  readonly normalizer: Normalizer;
  readonly prompt: PromptSource;
  /** Encoded messages by provider; lives with the session. */
  readonly bytes: WeakMap<NormalizedMessage, Map<string, Uint8Array>>;
  /** Lives with the session: each answer makes it better. */
  readonly tokens: TokenEstimate;
  /** Takes prompts that join at the next round into the messages. */
  readonly join: () => Promise<void>;
  readonly wantedModel: () => string | undefined;
  /** Calls that a deferred turn left open. */
  readonly open: readonly { readonly use: ToolUseBlock; readonly parent: AssistantMessage }[];
}

const MAX_STOP_CONTINUATIONS = 10;
const MAX_CUT_ROUNDS = 3;
/** Pauses of a server's own tools in one turn. */
const MAX_PAUSES = 50;
/** How long a recovery that ignores its signal is waited for. */
const RECOVERY_GRACE_MS = 1000;
const MAX_RECOVERY: RecoveryState = { continuationAttempts: 5, compactAttempts: 2, transportAttempts: 10 };
const NO_RECOVERY: RecoveryState = { continuationAttempts: 0, compactAttempts: 0, transportAttempts: 0 };

interface Answer { readonly lines: readonly AssistantMessage[]; readonly text: string; readonly uses: readonly ToolUseBlock[]; readonly stopReason: string; readonly stopped: boolean }

export async function runTurn(c: Conversation, o: TurnOptions): Promise<TurnEnd> {
  const started = Date.now();
  const tally = { usage: NO_USAGE as Usage, cost: 0, rounds: 0, apiMs: 0, text: '', stopReason: null as string | null, denials: [] as TurnEnd['denials'][number][] };
  let cutRounds = 0;
  let stops = 0;
  let pauses = 0;
  let model: ModelChoice | undefined;
  let modelFor: string | undefined | null = null;
  let modelOverride: string | undefined;
  const toolUseContext = queryContext(c, o, o.wantedModel() ?? 'default');
  let state: QueryState = {
    messages: c.messages(), toolUseContext, turnCount: 0, maxOutputTokensRecoveryCount: 0, hasAttemptedReactiveCompact: false, maxOutputTokensOverride: undefined,
    pendingToolUseSummary: null, stopHookActive: false, transition: undefined, recovery: NO_RECOVERY,
  };
  const end = (reason: TurnEndReason, text: string, more: Partial<TurnEnd> = {}): TurnEnd => ({
    turnId: o.turnId, reason, text, isError: reason !== 'answered' && reason !== 'blocked' && reason !== 'tool_deferred', stopReason: tally.stopReason, errors: reason === 'answered' ? [] : [text].filter((t) => t !== ''),
    usage: tally.usage, costUSD: tally.cost, numTurns: tally.rounds, durationMs: Date.now() - started, durationApiMs: tally.apiMs, denials: tally.denials, ...more,
  });
  const goRound = async (reason: TransitionReason | 'transport_retry'): Promise<void> => {
    c.emit({ type: 'transition', reason: { reason } });
    await c.fact({ type: 'transition', turnId: o.turnId, reason });
    if (reason !== 'transport_retry') state = { ...state, transition: { reason } };
  };
  const fail = async (error: unknown): Promise<TurnEnd> => {
    const e = asTappetError(error);
    const fault = faultOf(e);
    const text = e.code === 'E_INTERNAL' || fault === null ? printError(e) : e.message;
    await c.append({ type: 'system', format: 'api_error', level: 'error', content: e.message, uuid: randomUUID(), timestamp: new Date().toISOString(), turnId: o.turnId, data: { code: e.code, ...(fault === null ? {} : { fault }) } });
    void c.fire('StopFailure', { reason: 'model_error', error: e.message }, { signal: c.kernel.abort.signal });
    return end(fault?.kind === 'refusal' ? 'refused' : fault === null && e.code === 'E_INTERNAL' ? 'internal_error' : 'model_error', text, { isError: true, ...(fault === null ? {} : { fault }), code: e.code, errors: [printError(e)] });
  };
  const interrupted = (): TurnEnd => {
    const why = o.signal.reason === 'timeout' ? 'timeout' : 'interrupted';
    return end(why, why === 'timeout' ? 'The time for this prompt is over.' : 'The turn was interrupted.', { isError: true });
  };

  if (o.open.length > 0) {
    const outcomes = await runCalls(c, o, 'resumed', o.open[0]!.parent, o.open.map((x) => x.use));
    const over = await afterCalls(outcomes);
    if (over !== null) return over;
  }

  for (;;) {
    if (o.signal.aborted) return interrupted();
    await o.join();
    await c.kernel.refresh();
    const limit = tightest(c.overlay.maxTurns, c.kernel.settings().limits.turns);
    if (limit !== undefined && tally.rounds >= limit) return end('max_turns', `The turn was ended after ${limit} model requests (limit: ${limit}).`);
    try {
      const wanted = modelOverride ?? o.wantedModel();
      if (model === undefined || modelFor !== wanted) { model = await chooseModel(c.kernel, wanted, modelOverride === undefined ? c.overlay.fallbackModel ?? c.kernel.settings().fallbackModel : undefined); modelFor = wanted; }
    } catch (e) { return fail(e); }
    c.state.set((s) => (s.mainLoopModel === model!.name ? s : { ...s, mainLoopModel: model!.name }));

    let answer: Answer;
    const round = createRound(c, o, model, state, tally);
    try {
      const over = await round.budget();
      if (over !== null) return end('budget', `The turn was ended: ${over} is reached.`);
      answer = await round.stream();
    } catch (e) {
      await round.cut('the answer of the model broke off before this call was complete; it was not run');
      if (o.signal.aborted) return interrupted();
      const fault = faultOf(e);
      const transition = fault === null ? undefined : await recover({ kind: 'fault', fault });
      if (o.signal.aborted) return interrupted();
      if (transition === undefined) return fail(e);
      if (transition.reason === 'transport_retry') tally.rounds--; // the same request again
      await goRound(transition.reason);
      continue;
    }
    state = { ...state, recovery: { ...state.recovery, transportAttempts: 0 } };
    tally.text = answer.text;
    tally.stopReason = answer.stopReason;
    state = { ...state, messages: c.messages(), turnCount: tally.rounds };

    const cutShort = answer.stopReason === 'max_tokens' || answer.stopReason === 'model_context_window_exceeded';
    if (cutShort && round.calls > 0) {
      // What looks like a whole call may be the first half of one: none of this message runs.
      const outcomes = await round.cut('the message was cut off at the token limit, so none of its calls was run; send it again in smaller parts');
      collect(outcomes);
      if (++cutRounds > MAX_CUT_ROUNDS) return end('max_output_tokens', `The answer was cut off at the token limit ${cutRounds} times in a row.`);
      await goRound('next_turn');
      continue;
    }
    cutRounds = 0;
    if (cutShort) {
      const transition = await recover({ kind: 'max_output_tokens' });
      if (transition === undefined) return end('max_output_tokens', answer.text === '' ? 'The answer was cut off at the token limit.' : answer.text, { errors: ['The answer was cut off at the token limit.'] });
      state = { ...state, maxOutputTokensRecoveryCount: state.maxOutputTokensRecoveryCount + 1 };
      await goRound(transition.reason);
      continue;
    }
    if (answer.stopReason === 'refusal') { await round.cut('the model refused'); return end('refused', answer.text === '' ? 'The model refused to answer.' : answer.text); }
    if (round.calls > 0) {
      const over = await afterCalls(await round.finish());
      if (over !== null) return over;
      await goRound('next_turn');
      continue;
    }
    if (answer.stopReason === 'pause_turn') {
      if (++pauses > MAX_PAUSES) return end('model_error', `The model paused ${pauses} times without an answer.`);
      await goRound('next_turn');
      continue;
    }
    if (o.signal.aborted) return interrupted();

    const stop = await c.fire('Stop', { lastMessage: answer.text, stopHookActive: state.stopHookActive }, { signal: o.signal });
    if (stop.said?.block === undefined || stops >= MAX_STOP_CONTINUATIONS) {
      if (stop.said?.block !== undefined) c.emit({ type: 'notice', level: 'warning', code: 'E_HOOK_OUTPUT', text: `a Stop hook wanted to go on for the ${stops + 1}. time; the turn ends` });
      return end('answered', answer.text);
    }
    stops++;
    state = { ...state, stopHookActive: true };
    await c.append({ type: 'user', isMeta: true, uuid: randomUUID(), timestamp: new Date().toISOString(), turnId: o.turnId, message: { role: 'user', content: stop.said.block } });
    await goRound('stop_hook_continuation');
  }

  async function recover(problem: Problem): Promise<Transition | undefined> {
    for (const recovery of c.kernel.registries.recoveries.all()) {
      let transition: Transition | undefined;
      if (o.signal.aborted) return undefined;
      try { transition = await orAborted(Promise.resolve(recovery.on(problem, state)), o.signal, RECOVERY_GRACE_MS); } catch (e) { c.kernel.log({ level: 'error', name: recovery.name, text: `a recovery failed: ${messageOf(e)}` }); continue; }
      if (transition === undefined) continue;
      const counter: keyof RecoveryState = transition.reason === 'reactive_compact_retry' ? 'compactAttempts' : transition.reason === 'transport_retry' ? 'transportAttempts' : 'continuationAttempts';
      if (state.recovery[counter] >= MAX_RECOVERY[counter]) continue;
      state = { ...state, recovery: { ...state.recovery, [counter]: state.recovery[counter] + 1 }, hasAttemptedReactiveCompact: state.hasAttemptedReactiveCompact || counter === 'compactAttempts', maxOutputTokensOverride: transition.maxOutputTokensOverride ?? state.maxOutputTokensOverride };
      for (const m of transition.messages ?? []) await c.append(m);
      if (transition.model !== undefined) modelOverride = transition.model;
      if (transition.delayMs !== undefined) await delay(transition.delayMs, o.signal);
      return transition;
    }
    return undefined;
  }

  function collect(outcomes: readonly CallOutcome[]): void {
    for (const x of outcomes) if (x.denial !== undefined) tally.denials.push({ toolName: x.use.name, toolUseId: x.use.id, input: x.use.input, message: x.denial.message, wouldAllow: x.denial.wouldAllow });
  }
  /** Null: the turn goes on. */
  async function afterCalls(outcomes: readonly CallOutcome[]): Promise<TurnEnd | null> {
    collect(outcomes);
    if (outcomes.some((x) => x.ends === 'defer')) return end('tool_deferred', 'A call is deferred; open the session again to go on.', { isError: false });
    if (o.signal.aborted || outcomes.some((x) => x.ends === 'interrupt')) return interrupted();
    const batch = await c.fire('PostToolBatch', { calls: outcomes.map((x) => ({ tool: x.use.name, toolUseId: x.use.id, input: x.use.input, isError: x.isError })) }, { signal: o.signal });
    const summary = batch.said?.toolUseSummary;
    if (summary !== undefined) {
      state = { ...state, pendingToolUseSummary: summary };
      void summary.then((text) => { if (text !== null) c.emit({ type: 'tool.summary', text }); }, () => {}); // never waited for; a summary that fails is none
    }
    if (batch.said?.additionalContext !== undefined) await c.append(hookNote(o.turnId, batch.said.additionalContext, 'PostToolBatch'));
    return batch.said?.block === undefined ? null : end('hook_stopped', batch.said.block);
  }
}

type Tally = { usage: Usage; cost: number; rounds: number; apiMs: number };

/** One request and its answer. */
function createRound(c: Conversation, o: TurnOptions, model: ModelChoice, state: QueryState, tally: Tally) {
  const parentHolder: { line?: AssistantMessage } = {};
  const uses: ToolUseBlock[] = [];
  let reservation: { settle(usage: Usage, cost: number): void } | undefined;
  let request: Awaited<ReturnType<typeof build>> | undefined;
  const scheduler = schedulerOf(c, o, model.name, () => parentHolder.line!);

  async function build() {
    const [parts, tools] = await Promise.all([o.prompt.query(model.name, o.signal), o.prompt.tools()]);
    const limits = c.kernel.settings().limits;
    const params: QueryParams = { ...parts, messages: c.messages(), toolUseContext: state.toolUseContext, fallbackModel: c.overlay.fallbackModel ?? c.kernel.settings().fallbackModel, maxOutputTokensOverride: state.maxOutputTokensOverride, maxTurns: tightest(c.overlay.maxTurns, limits.turns) };
    const messages = o.prompt.lead(o.normalizer.normalize(params.messages), params.userContext).map((message): EncodedMessage => ({ message, bytes: encoded(message) }));
    const thinking = c.overlay.thinking ?? c.kernel.settings().thinking;
    const effort = c.overlay.effort ?? c.kernel.settings().effort;
    return {
      model: model.id, system: systemBlocks(params), messages, tools, sessionId: c.id, turnId: o.turnId,
      ...(params.maxOutputTokensOverride === undefined ? {} : { maxOutputTokens: params.maxOutputTokensOverride }),
      ...(thinking === undefined ? {} : { thinking: typeof thinking === 'number' ? { budgetTokens: thinking } : thinking }),
      ...(effort === undefined ? {} : { effort }),
    };
  }
  /** Each message is made into bytes once for each provider. */
  function encoded(message: NormalizedMessage): Uint8Array {
    const known = o.bytes.get(message) ?? new Map<string, Uint8Array>();
    o.bytes.set(message, known);
    let bytes = known.get(model.provider.name);
    if (bytes === undefined) known.set(model.provider.name, (bytes = model.provider.encode(message)));
    return bytes;
  }

  async function stream(): Promise<Answer> {
    const started = Date.now();
    tally.rounds++;
    c.emit({ type: 'request.started', model: model.name, round: tally.rounds });
    const lines: AssistantMessage[] = [];
    let id = '';
    let usage: Usage = NO_USAGE;
    let stopReason: string | null = null;
    let stopped = false;
    let held: Block | undefined;
    let answeredBy = model.id;
    // A finished block waits for the next event, so that the last one of a message carries its sums.
    const write = async (last: boolean): Promise<void> => {
      if (held === undefined) return;
      const block = held;
      held = undefined;
      const line: AssistantMessage = {
        type: 'assistant', uuid: randomUUID(), timestamp: new Date().toISOString(), turnId: o.turnId, ...(c.agentId === null ? {} : { agentId: c.agentId }),
        message: { id, role: 'assistant', model: answeredBy, content: [block], stop_reason: last ? stopReason : null, usage },
        ...(last ? { usage, costUSD: costOf(infoOfAnswer(c.kernel, model, answeredBy), usage) } : {}),
      };
      parentHolder.line = line;
      lines.push(line);
      await c.append(line);
      if (block.type === 'tool_use') { uses.push(block); scheduler.offer(block); }
    };
    try {
      for await (const event of untilAborted(model.provider.stream(request!, o.signal), o.signal)) {
        if (o.signal.aborted) break;
        await hear(event);
      }
      if (!stopped && !o.signal.aborted) throw brokenStream(model);
      if (o.signal.aborted) throw o.signal.reason;
    } finally {
      tally.apiMs += Date.now() - started;
      const cost = costOf(infoOfAnswer(c.kernel, model, answeredBy), usage);
      reservation?.settle(usage, cost);
      if (stopReason !== null) o.tokens.correct(usage);
      tally.usage = addUsage(tally.usage, usage);
      tally.cost += cost;
      await write(stopReason !== null); // last: where it fails, the sums are booked
    }
    const text = lines.flatMap((l) => l.message.content).map((b) => (b.type === 'text' ? b.text : '')).join('');
    return { lines, text, uses, stopReason: stopReason ?? 'end_turn', stopped };

    async function hear(event: ModelEvent): Promise<void> {
      switch (event.type) {
        case 'notice': c.emit({ type: 'notice', level: 'info', code: event.code, text: event.text }); return;
        case 'message_start': id = event.id; usage = event.usage; if (event.model !== '') answeredBy = event.model; break;
        case 'content_block_start': await write(false); break;
        case 'content_block_stop': await write(false); held = event.block; break;
        case 'message_delta': stopReason = event.stop_reason; usage = event.usage; await write(true); break;
        case 'message_stop': stopped = true; break;
        default: break;
      }
      c.emit({ type: 'model.event', event });
    }
  }

  return {
    async budget(): Promise<string | null> {
      request = await build();
      const estimate = costOf(model.info, { ...NO_USAGE, input_tokens: o.tokens.request(request.system, request.tools, request.messages.map((m) => m.message)) });
      const limits = c.kernel.settings().limits;
      const reserved = c.budget.reserve({ ...limits, ...(tightest(limits.costUsd, c.overlay.costUsd) === undefined ? {} : { costUsd: tightest(limits.costUsd, c.overlay.costUsd)! }) }, estimate);
      if ('exceeded' in reserved) return reserved.exceeded;
      reservation = reserved;
      return null;
    },
    stream,
    get calls() { return scheduler.size; },
    finish: () => scheduler.finish(),
    cut: async (why: string): Promise<readonly CallOutcome[]> => (scheduler.size === 0 ? [] : scheduler.cut(why)),
  };
}

function schedulerOf(c: Conversation, o: TurnOptions, model: string, parent: () => AssistantMessage) {
  const checked = async (use: ToolUseBlock, ask: (tool: NonNullable<ReturnType<Conversation['tool']>>, input: Record<string, unknown>) => boolean): Promise<boolean> => {
    const tool = c.tool(use.name);
    if (tool === undefined || use.inputError !== undefined) return true; // it only yields an error result
    try {
      const result = await tool.inputSchema().check(use.input);
      return 'problems' in result ? true : ask(tool, result.value as Record<string, unknown>);
    } catch { return false; } // unknown is unsafe
  };
  return createScheduler({
    run: (use, x) => runCall(c, use, { turnId: o.turnId, parent: parent(), model, signal: x.signal, cwd: x.cwd, hold: x.hold }),
    skip: (use, why) => failed(c, use, o, why === 'interrupted' ? 'The call was interrupted before it began.' : `Not run: ${why}.`),
    isSafe: (use) => checked(use, (tool, input) => tool.isConcurrencySafe(input)),
    mayStartEarly: (use) => checked(use, (tool, input) => tool.isReadOnly(input) && tool.isConcurrencySafe(input)),
    earlyStart: c.kernel.settings().earlyStart,
    signal: o.signal,
    cwd: c.cwd(),
    deliver: async (outcome) => {
      if (outcome.ends === 'defer') return; // it stays open: a resume asks again
      await c.append(outcome.result);
      for (const m of outcome.after) await c.append(m);
    },
    applyContext: (modifier, before) => {
      try {
        const after = modifier(before);
        if (after.cwd !== before.cwd) c.moveTo(after.cwd);
        return after;
      } catch (e) {
        c.kernel.log({ level: 'error', name: 'context', text: `a tool's change of the context failed: ${messageOf(e)}` });
        return before;
      }
    },
  });
}

/** Calls outside of a stream: those that a deferred turn left open. */
async function runCalls(c: Conversation, o: TurnOptions, model: string, parent: AssistantMessage, uses: readonly ToolUseBlock[]): Promise<readonly CallOutcome[]> {
  const scheduler = schedulerOf(c, o, model, () => parent);
  for (const use of uses) scheduler.offer(use);
  return scheduler.finish();
}

/** The channel of the query as a whole; each call gets its own. */
function queryContext(c: Conversation, o: TurnOptions, model: string): ToolUseContext {
  const abort = new AbortController();
  o.signal.addEventListener('abort', () => abort.abort(o.signal.reason), { once: true });
  return createContext(c, { turnId: o.turnId, use: { type: 'tool_use', id: '', name: '', input: {} }, abort, cwd: c.cwd(), model, readjudicate: async () => ({ behavior: 'deny', message: 'no call is being made' }) });
}
const brokenStream = (model: ModelChoice): unknown => faultError({ kind: 'broken_stream', message: 'the answer ended without its end', provider: model.provider.name, model: model.id, transient: true });
const tightest = (...numbers: readonly (number | undefined)[]): number | undefined => { const known = numbers.filter((n) => n !== undefined); return known.length === 0 ? undefined : Math.min(...known); };
function hookNote(turnId: Uuid, text: string, source: string): Message {
  return { type: 'attachment', uuid: randomUUID(), timestamp: new Date().toISOString(), turnId, attachment: { kind: 'hook', text, source } };
}
