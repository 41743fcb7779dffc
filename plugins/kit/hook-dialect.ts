/** The JSON dialect of hooks that SDK hosts and users' scripts speak: our events as its input, its answers as what a tap may say. */
import { basename } from 'node:path';
import type {
  AgentEnd, AskedCall, Batch, Block, CallDraft, CallFailure, CallResult, Compacted, Compaction, ConfigChange, CwdChange, DeniedCall, ElicitationRequest, ElicitationSaid, EventBase, FileChange, Note,
  SessionEnding, SessionStarting, SettingUp, StopFailing, Stopping, SubagentStarting, SubmittedPrompt, WorktreeRequest,
} from '../../schemas/index.ts';

type Fields = Readonly<Record<string, unknown>>;
/** What came back, as far as it is of the right shape. */
interface Answer { readonly block: string | undefined; readonly approves: boolean; readonly stop: string | undefined; readonly specific: Fields }
interface Row<E> {
  input(event: E): Fields;
  /** What a matcher is compared with; without it every matcher fits. */
  subject?(event: E): string;
  said?(answer: Answer, event: E): Fields;
  /** False: the dialect does not tell this one. */
  tells?(event: E): boolean;
  /** What is said already ends the turn, or keeps it ended. */
  stopsItself?: true;
}
export interface DialectFacts { readonly transcriptPath: string; readonly promptId?: string | undefined }
export interface DialectSaid { readonly said: Fields | undefined; /** Why the turn has to end, where the words alone cannot end it. */ readonly stop: string | undefined }

const row = <E extends EventBase>(r: Row<E>): Row<EventBase> => r;
const call = (e: { readonly tool: string; readonly toolUseId: string; readonly input: Fields }): Fields => ({ tool_name: e.tool, tool_input: e.input, tool_use_id: e.toolUseId });
const tool = (e: { readonly tool: string }): string => e.tool;
const textOf = (v: unknown): string | undefined => (typeof v === 'string' && v !== '' ? v : undefined);
const recordOf = (v: unknown): Fields | undefined => (typeof v === 'object' && v !== null && !Array.isArray(v) ? (v as Fields) : undefined);
const some = (fields: Fields): Fields => Object.fromEntries(Object.entries(fields).filter(([, v]) => v !== undefined));
const context = (a: Answer): Fields => some({ additionalContext: textOf(a.specific['additionalContext']) });
const blockAndContext = (a: Answer): Fields => some({ block: a.block ?? a.stop, additionalContext: textOf(a.specific['additionalContext']) });
/** Both keep the turn going; asking it to stop wins. */
const goesOn = (a: Answer): Fields => (a.stop === undefined ? some({ block: a.block ?? textOf(a.specific['additionalContext']) }) : {});
const action = (a: Answer): Fields => (['accept', 'decline', 'cancel'].includes(a.specific['action'] as string) ? some({ action: a.specific['action'], content: recordOf(a.specific['content']) }) : {});
const stopping = (e: Stopping | AgentEnd): Fields => ({ stop_hook_active: e.stopHookActive, last_assistant_message: e.lastMessage });

/** In the dialect new input replaces the old one whole; a tap's is merged, so what is left out is taken away. */
function replacing(input: Fields, updated: unknown): Fields | undefined {
  const fields = recordOf(updated);
  return fields === undefined ? undefined : { ...Object.fromEntries(Object.keys(input).filter((k) => !Object.hasOwn(fields, k)).map((k) => [k, undefined])), ...fields };
}

const ROWS: Readonly<Record<string, Row<EventBase>>> = {
  PreToolUse: row<CallDraft>({
    input: call, subject: tool,
    said: (a, e) => {
      const said = a.specific['permissionDecision'];
      const behavior = a.stop !== undefined || a.block !== undefined ? 'deny' : ['allow', 'deny', 'ask', 'defer'].includes(said as string) ? said : a.approves ? 'allow' : undefined;
      const updatedInput = behavior === 'defer' ? undefined : replacing(e.input, a.specific['updatedInput']);
      return some({ behavior, message: a.stop ?? textOf(a.specific['permissionDecisionReason']) ?? a.block, updatedInput, ...context(a) });
    },
  }),
  PermissionRequest: row<AskedCall>({
    input: (e) => ({ tool_name: e.tool, tool_input: e.input, permission_suggestions: e.suggestions }), subject: tool, stopsItself: true,
    said: (a, e) => {
      if (a.stop !== undefined) return { behavior: 'deny', message: a.stop, interrupt: true };
      const d = recordOf(a.specific['decision']);
      const updates = d?.['updatedPermissions'];
      if (d?.['behavior'] === 'allow') return some({ behavior: 'allow', updatedInput: replacing(e.input, d['updatedInput']), updatedPermissions: Array.isArray(updates) ? updates : undefined });
      return d?.['behavior'] === 'deny' ? some({ behavior: 'deny', message: textOf(d['message']), interrupt: d['interrupt'] === true ? true : undefined }) : {};
    },
  }),
  PermissionDenied: row<DeniedCall>({
    input: (e) => ({ ...call(e), reason: e.message }), subject: tool, tells: (e) => e.reason.kind === 'classifier',
    said: (a) => (a.specific['retry'] === true ? { retry: true } : {}),
  }),
  PostToolUse: row<CallResult>({
    input: (e) => ({ ...call(e), tool_response: e.output, duration_ms: e.durationMs }), subject: tool,
    said: (a) => {
      const output = a.specific['updatedToolOutput'] ?? a.specific['updatedMCPToolOutput'];
      const isContent = output === undefined || typeof output === 'string' || (Array.isArray(output) && output.every((b) => recordOf(b) !== undefined));
      return { ...blockAndContext(a), ...some({ updatedOutput: isContent ? output : JSON.stringify(output) }) };
    },
  }),
  PostToolUseFailure: row<CallFailure>({
    input: (e) => ({ ...call(e), error: e.error, is_interrupt: e.isInterrupt, duration_ms: e.durationMs }), subject: tool,
    said: (a) => some({ additionalContext: [a.block, textOf(a.specific['additionalContext'])].filter((t) => t !== undefined).join('\n') || undefined }),
  }),
  PostToolBatch: row<Batch>({ input: (e) => ({ tool_calls: e.calls.map(call) }), said: blockAndContext, stopsItself: true }),
  UserPromptSubmit: row<SubmittedPrompt>({ input: (e) => ({ prompt: promptText(e.prompt) }), said: blockAndContext, stopsItself: true }),
  Stop: row<Stopping>({ input: stopping, said: goesOn, stopsItself: true }),
  SubagentStop: row<AgentEnd>({ input: stopping, subject: (e) => e.agentType ?? '', said: goesOn, stopsItself: true }),
  StopFailure: row<StopFailing>({ input: (e) => ({ error: 'unknown', error_details: e.error, last_assistant_message: e.error }), subject: () => 'unknown' }),
  SessionStart: row<SessionStarting>({
    input: (e) => ({ source: e.source, model: e.model }), subject: (e) => e.source,
    said: (a) => {
      const paths = a.specific['watchPaths'];
      return { ...context(a), ...some({ initialUserMessage: textOf(a.specific['initialUserMessage']), watchPaths: Array.isArray(paths) ? paths.filter((p) => typeof p === 'string') : undefined }) };
    },
  }),
  SessionEnd: row<SessionEnding>({ input: (e) => ({ reason: e.reason }), subject: (e) => e.reason }),
  Setup: row<SettingUp>({ input: (e) => ({ trigger: e.trigger }), subject: (e) => e.trigger, said: context }),
  SubagentStart: row<SubagentStarting>({ input: (e) => ({ agent_id: e.childId, agent_type: e.agentType ?? '' }), subject: (e) => e.agentType ?? '', said: context }),
  Notification: row<Note>({ input: (e) => some({ message: e.text, title: e.title, notification_type: e.kind }), subject: (e) => e.kind }),
  CwdChanged: row<CwdChange>({ input: (e) => ({ old_cwd: e.from, new_cwd: e.to }) }),
  FileChanged: row<FileChange>({ input: (e) => ({ file_path: e.path, event: e.change }), subject: (e) => basename(e.path) }),
  Elicitation: row<ElicitationRequest>({ input: (e) => ({ mcp_server_name: e.serverName, message: e.message, mode: 'form', requested_schema: e.requestedSchema }), subject: (e) => e.serverName, said: action }),
  ElicitationResult: row<ElicitationSaid>({ input: (e) => some({ mcp_server_name: e.serverName, mode: 'form', action: e.answer.action, content: e.answer.content }), subject: (e) => e.serverName, said: action }),
  WorktreeCreate: row<WorktreeRequest>({ input: (e) => ({ name: e.name }), said: (a) => some({ path: textOf(a.specific['worktreePath']) }) }),
  PreCompact: row<Compaction>({ input: (e) => ({ trigger: e.trigger, custom_instructions: null }), subject: (e) => e.trigger, said: blockAndContext }),
  PostCompact: row<Compacted>({ input: (e) => ({ trigger: e.trigger, compact_summary: e.summary }), subject: (e) => e.trigger }),
  ConfigChange: row<ConfigChange>({ input: (e) => some({ source: 'project_settings', file_path: e.files[0] }), subject: () => 'project_settings', said: blockAndContext }),
};
const promptText = (prompt: string | readonly Block[]): string => (typeof prompt === 'string' ? prompt : prompt.flatMap((b) => (b.type === 'text' ? [b.text] : [])).join('\n'));

/** The events that exist here and in the dialect. */
export const DIALECT_EVENTS: readonly string[] = Object.keys(ROWS);

/** What a handler is handed; null: it is not told of this one. */
export function dialectInput(name: string, event: EventBase, facts: DialectFacts): Fields | null {
  const r = ROWS[name];
  if (r === undefined || r.tells?.(event) === false) return null;
  return {
    session_id: event.sessionId, transcript_path: facts.transcriptPath, cwd: event.cwd, hook_event_name: name, permission_mode: event.mode,
    ...some({ prompt_id: facts.promptId, agent_id: event.agentId ?? undefined, agent_type: event.agentType ?? undefined }), ...r.input(event),
  };
}

/** What a handler answered. Anything that is no answer says nothing. */
export function dialectSaid(name: string, answer: unknown, event: EventBase): DialectSaid {
  const fields = recordOf(answer);
  const r = ROWS[name];
  if (fields === undefined || r === undefined || fields['async'] === true) return { said: undefined, stop: undefined };
  const given = recordOf(fields['hookSpecificOutput']) ?? {};
  const specific = given['hookEventName'] === undefined || given['hookEventName'] === name ? given : {};
  const reason = textOf(fields['reason']);
  const a: Answer = {
    block: fields['decision'] === 'block' ? reason ?? 'blocked by a hook' : undefined,
    approves: fields['decision'] === 'approve',
    stop: fields['continue'] === false ? textOf(fields['stopReason']) ?? 'stopped by a hook' : undefined,
    specific,
  };
  const said = r.said?.(a, event);
  return { said: said === undefined || Object.keys(said).length === 0 ? undefined : said, stop: r.stopsItself === true ? undefined : a.stop };
}

/** Names or lists of names are exact; anything else is a regular expression that is not anchored. @throws SyntaxError where it is none */
export function dialectMatcher(matcher: string | undefined): (name: string, event: EventBase) => boolean {
  if (matcher === undefined || matcher === '' || matcher === '*') return () => true;
  const names = /^[\w\-,| ]+$/.test(matcher) ? matcher.split(/[,|]/).map((n) => n.trim()) : null;
  const pattern = names === null ? new RegExp(matcher) : null;
  return (name, event) => {
    const subject = ROWS[name]?.subject?.(event);
    return subject === undefined || (names === null ? pattern!.test(subject) : names.includes(subject));
  };
}
