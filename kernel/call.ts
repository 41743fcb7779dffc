/** One tool call: from the model's request to the result block. It always ends in exactly one result. */
import { randomUUID } from 'node:crypto';
import type { AssistantMessage, AttachmentMessage, Block, JudgedCall, Message, Opinion, Tool, ToolUseBlock, ToolUseContext, UserMessage, Uuid } from '../schemas/index.ts';
import { foldOpinions } from './verdict.ts';
import type { Conversation } from './conversation.ts';
import { createContext } from './context.ts';
import { isTappetError, messageOf, nearest } from './errors.ts';
import type { PreparedCall } from './gate.ts';
import { decide, derived, suggest } from './gate.ts';
import { ruleText } from '../schemas/permissions.ts';
import { orAborted } from './waiting.ts';

export interface CallOptions {
  readonly turnId: Uuid;
  readonly parent: AssistantMessage;
  readonly model: string;
  readonly signal: AbortSignal;
  /** The working folder as earlier calls of the message left it. */
  readonly cwd: string;
  readonly hold: Promise<void>;
}
export interface CallOutcome {
  readonly use: ToolUseBlock;
  readonly result: UserMessage;
  /** Behind the result: what hooks and the tool add. */
  readonly after: readonly Message[];
  readonly isError: boolean;
  readonly contextModifier?: ((context: ToolUseContext) => ToolUseContext) | undefined;
  readonly context?: ToolUseContext | undefined;
  readonly denial?: { readonly message: string; readonly wouldAllow?: string | undefined } | undefined;
  /** Ends the turn: a person refused and meant it, or a hook deferred. */
  readonly ends?: 'interrupt' | 'defer' | undefined;
}

const INTERRUPTED_BY_USER = 'The call was interrupted before it ended.';
/** How long a tool that ignores its signal is waited for. */
const ABORT_GRACE_MS = 3000;
/** And whatever else hangs in a call: its tool's own check, a mode, a store. */
const CALL_GRACE_MS = 2 * ABORT_GRACE_MS;

export async function runCall(c: Conversation, use: ToolUseBlock, o: CallOptions): Promise<CallOutcome> {
  const started = Date.now();
  const abort = new AbortController();
  let over = false;
  const onAbort = (): void => abort.abort(o.signal.reason);
  if (o.signal.aborted) onAbort(); else o.signal.addEventListener('abort', onAbort, { once: true });
  try {
    const outcome = await orAborted(attempt(c, use, o, abort, started, () => over), abort.signal, CALL_GRACE_MS);
    c.emit({ type: 'tool.finished', toolUseId: use.id, toolName: use.name, isError: outcome.isError, durationMs: Date.now() - started });
    return outcome;
  } catch (e) {
    // Nothing a plugin does may leave a call without its result.
    const message = o.signal.aborted ? INTERRUPTED_BY_USER : `Tappet failed in this call: ${messageOf(e)}`;
    if (!o.signal.aborted) c.kernel.log({ level: 'error', name: use.name, text: `the call ${use.id} failed inside of Tappet: ${messageOf(e)}` });
    c.emit({ type: 'tool.finished', toolUseId: use.id, toolName: use.name, isError: true, durationMs: Date.now() - started });
    return failed(c, use, o, message);
  } finally {
    over = true;
    o.signal.removeEventListener('abort', onAbort);
  }
}

/** A result for a call that was never made. */
export function failed(c: Conversation, use: ToolUseBlock, o: Pick<CallOptions, 'turnId'>, message: string, more: Partial<CallOutcome> = {}): CallOutcome {
  return { use, isError: true, after: [], result: resultMessage(c, use, o.turnId, message, true, message), ...more };
}

async function attempt(c: Conversation, use: ToolUseBlock, o: CallOptions, abort: AbortController, started: number, isOver: () => boolean): Promise<CallOutcome> {
  if (use.inputError !== undefined) return failed(c, use, o, `The input of this call was cut off or is no valid JSON (${use.inputError.why}); ${use.inputError.raw.length} characters arrived. Nothing was run. Send the call again, whole${use.inputError.raw.length > 2000 ? ', and smaller' : ''}.`);
  const tool = c.tool(use.name);
  if (tool === undefined) {
    const known = c.tools().map((t) => t.name);
    const near = nearest(use.name, known);
    return failed(c, use, o, `There is no tool "${use.name}".${near === null ? '' : ` Did you mean ${near}?`} Known here: ${known.join(', ') || 'none'}.`);
  }
  const holder: { context?: ToolUseContext } = {};
  const prepareInput = (input: Readonly<Record<string, unknown>>): Promise<PreparedCall> => prepare(c, tool, use, input, o);
  let call: PreparedCall;
  try { call = await prepareInput(use.input); } catch (e) { return failed(c, use, o, messageOf(e)); }
  const context = (holder.context = createContext(c, {
    turnId: o.turnId, use, abort, cwd: o.cwd, model: o.model, isOver,
    readjudicate: async (args) => { try { return await derived(c, await prepareInput(args)); } catch (e) { return { behavior: 'deny', message: messageOf(e) }; } },
  }));

  c.emit({ type: 'tool.started', toolUseId: use.id, toolName: tool.name, input: { ...call.input } });
  const hooked = await beforeUse(c, call, abort.signal, prepareInput);
  const notes: AttachmentMessage[] = note(c, o.turnId, hooked.context, `PreToolUse on ${tool.name}`);
  const gate = await decide(c, hooked.call, { signal: abort.signal, context, hold: o.hold, prepare: prepareInput });
  const { decision } = gate;
  if (isOver()) throw new Error('left behind'); // nobody waits for it any more
  c.emit({ type: 'decision', decision });
  await c.fact({ type: 'decision', turnId: o.turnId, decision });
  if (decision.behavior === 'defer') return failed(c, use, o, decision.message ?? 'deferred', { ends: 'defer' });
  if (decision.behavior === 'deny') return refused(c, use, o, gate.call, decision, notes, gate.interrupt, abort.signal);

  const { input } = gate.call;
  if (abort.signal.aborted) return failed(c, use, o, INTERRUPTED_BY_USER); // an interrupt while it was being judged
  return perform(c, use, { ...gate.call, input }, context, o, abort, notes, started, isOver);
}

/** Known to fit the tool's schema, subjects found. @throws a sentence for the model */
async function prepare(c: Conversation, tool: Tool, use: ToolUseBlock, input: Readonly<Record<string, unknown>>, o: CallOptions): Promise<PreparedCall> {
  const checked = await tool.inputSchema().check(input);
  if ('problems' in checked) throw new Error(`The input of ${tool.name} does not fit: ${checked.problems.join('; ')}. Nothing was run.`);
  const value = checked.value as Readonly<Record<string, unknown>>;
  let subjects: JudgedCall['subjects'];
  try {
    subjects = await tool.subjects(value, { cwd: o.cwd, roots: c.roots(), home: c.kernel.places.home, fs: c.fs(), env: c.kernel.settings().env });
  } catch (e) { subjects = [{ kind: 'opaque', why: `what it touches could not be found out: ${messageOf(e)}` }]; }
  let isReadOnly = false;
  try { isReadOnly = tool.isReadOnly(value); } catch { /* not known to be harmless */ }
  return { tool, input: value, said: [], judged: c.judged({ toolUseId: use.id, turnId: o.turnId, tool: tool.name, input: value, subjects, isReadOnly, matches: (s, spec, place) => tool.matches(s, spec, place) }, o.cwd) };
}

async function beforeUse(c: Conversation, call: PreparedCall, signal: AbortSignal, again: (input: Readonly<Record<string, unknown>>) => Promise<PreparedCall>): Promise<{ call: PreparedCall; context: string | undefined }> {
  let current = call;
  const heard = await c.fire('PreToolUse', { ...call.judged, verdict: null }, {
    signal,
    refine: async (event) => {
      current = await again(event.input);
      return { ...event, input: current.input, subjects: current.judged.subjects, isReadOnly: current.judged.isReadOnly };
    },
  });
  const opinions: readonly Opinion[] = heard.event.verdict?.opinions ?? foldOpinions([])?.opinions ?? [];
  return { call: { ...current, said: opinions }, context: heard.said?.additionalContext };
}

async function refused(c: Conversation, use: ToolUseBlock, o: CallOptions, call: PreparedCall, decision: Awaited<ReturnType<typeof decide>>['decision'], notes: readonly Message[], interrupt: boolean, signal: AbortSignal): Promise<CallOutcome> {
  const message = decision.message ?? 'refused';
  const heard = await c.fire('PermissionDenied', { tool: call.tool.name, toolUseId: use.id, input: call.input, reason: decision.reason, message, opinions: decision.opinions }, { signal });
  const rules = suggest(call).flatMap((u) => (u.type === 'addRules' ? u.rules.map(ruleText) : u.type === 'setMode' ? [`--permission-mode ${u.mode}`] : []));
  const wouldAllow = decision.by === 'nobody' && rules.length > 0 ? rules.join(', ') : undefined;
  await c.append({ type: 'system', format: 'permission_denied', level: 'warning', content: `${call.tool.name}: ${message}`, uuid: randomUUID(), timestamp: new Date().toISOString(), turnId: o.turnId, data: { toolName: call.tool.name, toolUseId: use.id, reason: decision.reason } });
  const text = `Refused: ${message}.${heard.said?.retry === true ? ' You may try again.' : ' Do not try the same in another way.'}`;
  return failed(c, use, o, text, { after: notes, denial: { message, wouldAllow }, ...(interrupt ? { ends: 'interrupt' as const } : {}) });
}

async function perform(c: Conversation, use: ToolUseBlock, call: PreparedCall, context: ToolUseContext, o: CallOptions, abort: AbortController, notes: readonly Message[], started: number, isOver: () => boolean): Promise<CallOutcome> {
  const { tool, input } = call;
  const synced = c.sync(); // beside the effect; awaited before the result counts
  synced.catch(() => {}); // heard below, however long the tool takes
  const running = Promise.resolve().then(() => tool.call(input, context, async (name, args) => {
    const other = c.tool(name);
    return other === undefined ? { behavior: 'deny', message: `there is no tool "${name}"` } : derived(c, await prepare(c, other, use, args, o));
  }, o.parent, (data: unknown) => { if (!isOver()) c.emit({ type: 'tool.progress', toolUseId: use.id, toolName: tool.name, data }); }));
  let content: string | readonly Block[];
  let data: unknown;
  let isError = false;
  let more: Awaited<typeof running> | undefined;
  try {
    more = await orAborted(running, abort.signal, ABORT_GRACE_MS);
    data = more.data;
    isError = more.isError === true;
    content = tool.render(data, input);
  } catch (e) {
    running.catch(() => {}); // its own end is of no interest any more
    isError = true;
    content = abort.signal.aborted ? INTERRUPTED_BY_USER : isTappetError(e) ? `${e.message}. ${e.facts.do ?? ''}`.trim() : `${tool.name} failed: ${messageOf(e)}`;
    data = content;
  }
  await synced;
  const fitted = await c.replacements.fit(use.id, content, tool.maxResultSizeChars, () => c.outputFolder());
  content = fitted.content;
  if (fitted.file !== undefined) await c.fact({ type: 'content-replacement', toolUseId: use.id, file: fitted.file, size: fitted.size! });

  const after: Message[] = [...notes];
  const facts = { tool: tool.name, toolUseId: use.id, input, subjects: call.judged.subjects, durationMs: Date.now() - started };
  if (isError) {
    const error = typeof content === 'string' ? content : content.map((b) => (b.type === 'text' ? b.text : '')).join('\n');
    const heard = await c.fire('PostToolUseFailure', { ...facts, error, isInterrupt: abort.signal.aborted }, { signal: o.signal });
    after.push(...note(c, o.turnId, heard.said?.additionalContext, `PostToolUseFailure on ${tool.name}`));
  } else {
    const heard = await c.fire('PostToolUse', { ...facts, output: data, content }, { signal: o.signal });
    const { said } = heard;
    if (said?.updatedOutput !== undefined) content = said.updatedOutput as string | readonly Block[];
    if (said?.updatedOutput !== undefined) data = said.updatedOutput;
    after.push(...note(c, o.turnId, join(said?.block, said?.additionalContext), `PostToolUse on ${tool.name}`));
  }
  after.push(...(more?.newMessages ?? []));
  const result = resultMessage(c, use, o.turnId, content, isError, data);
  const modifier = more?.contextModifier !== undefined && !tool.isConcurrencySafe(input) ? more.contextModifier : undefined;
  return { use, isError, after, context, contextModifier: modifier, result: more?.mcpMeta === undefined ? result : { ...result, mcpMeta: more.mcpMeta } };
}

const join = (a: string | undefined, b: string | undefined): string | undefined => (a === undefined ? b : b === undefined ? a : `${a}\n${b}`);

function note(c: Conversation, turnId: Uuid, text: string | undefined, source: string): AttachmentMessage[] {
  return text === undefined || text === '' ? [] : [{ type: 'attachment', uuid: randomUUID(), timestamp: new Date().toISOString(), turnId, ...(c.agentId === null ? {} : { agentId: c.agentId }), attachment: { kind: 'hook', text, source } }];
}
function resultMessage(c: Conversation, use: ToolUseBlock, turnId: Uuid, content: string | readonly Block[], isError: boolean, output: unknown): UserMessage {
  return {
    type: 'user', uuid: randomUUID(), timestamp: new Date().toISOString(), turnId, ...(c.agentId === null ? {} : { agentId: c.agentId }),
    message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, content: content as never, ...(isError ? { is_error: true } : {}) }] },
    toolUseResult: { toolUseID: use.id, toolName: use.name, output },
  };
}
