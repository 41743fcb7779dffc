/** The session's events as lines: a view with its own state, and nothing that the session itself would need. */
import { randomUUID } from 'node:crypto';
import { NO_USAGE } from 'tappet/kernel';
import type { AssistantMessage, ModelFault, SessionEvent, SystemMessage, TurnEnd, UserMessage } from 'tappet/kernel';
import { turnRecord } from 'tappet/kit';
import { wireBlocks, wireEvent, wireFault } from './content.ts';
import type { Fields } from './protocol.ts';

export interface ProjectionOptions {
  readonly sessionId: string;
  /** `stream_event` lines, and a status before each request. */
  readonly partial: boolean;
  /** Prompts are echoed when they are taken. */
  readonly replay: boolean;
  /** The host listens to running, requires_action, idle. */
  readonly states: boolean;
  /** What `system/init` says beside the session's own facts. */
  init(turn: Extract<SessionEvent, { type: 'turn.started' }>): Fields;
  window(model: string): { readonly contextWindow: number; readonly maxOutputTokens: number };
}
export interface Projection {
  /** In order. */
  lines(event: SessionEvent): readonly Fields[];
  readonly lastEnd: TurnEnd | null;
  /** The last answer of the main thread. */
  readonly lastAnswer: AssistantMessage['message'] | null;
  readonly promptId: string | undefined;
}

type Line = { readonly type: string; readonly uuid?: string; readonly [field: string]: unknown };
interface Spent {
  inputTokens: number; outputTokens: number; cacheReadInputTokens: number; cacheCreationInputTokens: number; webSearchRequests: number; costUSD: number; readonly contextWindow: number; readonly maxOutputTokens: number;
}

export function createProjection(o: ProjectionOptions): Projection {
  const waiting = new Set<string>();
  const questions = new Set<string>();
  const inputs = new Map<string, Fields>();
  const spent: Record<string, Spent> = {};
  let cost = 0;
  let results = 0;
  let turn: { readonly prompts: string[]; inTools: boolean; deferred: Fields | undefined } | null = null;
  /** Calls whose results came after the last request before: what a summary is about, which may come later. */
  let batch: string[] = [];
  let isNewBatch = true;
  let state: string | null = null;
  let lastEnd: TurnEnd | null = null;
  let lastAnswer: AssistantMessage['message'] | null = null;
  let promptId: string | undefined;

  const system = (subtype: string, fields: Fields = {}): Line => ({ type: 'system', subtype, ...fields });
  /** The host's SDK hears it and does not hand it on. */
  const stateIs = (now: 'running' | 'requires_action' | 'idle'): readonly Line[] => {
    if (!o.states || state === now) return [];
    state = now;
    return [system('session_state_changed', { state: now, sdk_host_only: true })];
  };

  function project(event: SessionEvent): readonly Line[] {
    const isMain = event.agentId === null;
    switch (event.type) {
      case 'prompt.queued': if (isMain) waiting.add(event.promptId); return [];
      case 'prompt.withdrawn': waiting.delete(event.promptId); return [];
      case 'prompt.joined':
        waiting.delete(event.promptId);
        if (isMain) turn?.prompts.push(event.promptId);
        return [];
      case 'turn.started':
        if (!isMain) return [];
        for (const id of event.promptIds) waiting.delete(id);
        turn = { prompts: [...event.promptIds], inTools: false, deferred: undefined };
        promptId = event.promptIds[0];
        return [system('init', { cwd: event.cwd, session_id: o.sessionId, tools: event.tools, permissionMode: event.mode, ...o.init(event) }), ...stateIs('running')];
      case 'request.started':
        if (!isMain || turn === null) return [];
        turn.inTools = false;
        isNewBatch = true;
        return o.partial ? [system('status', { status: 'requesting' })] : [];
      case 'model.event': {
        if (!isMain || turn === null) return [];
        if (event.event.type === 'message_stop') turn.inTools = true;
        const wire = o.partial ? wireEvent(event.event) : null;
        return wire === null ? [] : [{ type: 'stream_event', event: wire, parent_tool_use_id: null }];
      }
      case 'message': return message(event.message, isMain);
      case 'tool.started': inputs.set(event.toolUseId, event.input); return [];
      case 'tool.finished': inputs.delete(event.toolUseId); return [];
      case 'tool.summary': return isMain ? [{ type: 'tool_use_summary', summary: event.text, preceding_tool_use_ids: batch }] : [];
      case 'ask': questions.add(event.requestId); return stateIs('requires_action');
      case 'ask_settled':
        questions.delete(event.requestId);
        return questions.size === 0 && turn !== null ? stateIs('running') : [];
      case 'decision': {
        const d = event.decision;
        if (d.behavior === 'defer' && isMain && turn !== null) turn.deferred = { id: d.toolUseId, name: d.toolName, input: inputs.get(d.toolUseId) ?? {} };
        if (d.behavior !== 'deny' || d.by === 'person') return [];
        const agent = event.agentId === null ? {} : { agent_id: event.agentId };
        return [system('permission_denied', { tool_name: d.toolName, tool_use_id: d.toolUseId, message: d.message ?? 'refused', decision_reason_type: d.reason.kind, ...agent })];
      }
      case 'notice': return [system('informational', { content: event.text, level: event.level === 'info' ? 'info' : 'warning', code: event.code })];
      case 'state.changed': return isMain && event.mode !== undefined ? [system('status', { status: null, permissionMode: event.mode })] : [];
      case 'turn.ended': {
        if (!isMain) return [];
        lastEnd = event.end;
        cost += event.end.costUSD;
        const line = result(event.end);
        turn = null;
        return waiting.size === 0 ? [line, ...stateIs('idle')] : [line];
      }
      case 'events.missed': return [system('informational', { content: `${event.count} events came too fast and are not shown`, level: 'warning' })];
      case 'session.started': case 'session.closed': case 'transition': case 'tool.progress': case 'tool.output.delta': return [];
    }
  }

  function message(m: Extract<SessionEvent, { type: 'message' }>['message'], isMain: boolean): readonly Line[] {
    if (m.type === 'assistant') {
      tally(m, isMain);
      if (!isMain || turn === null) return [];
      lastAnswer = m.message;
      return [{ type: 'assistant', message: { ...m.message, type: 'message', content: wireBlocks(m.message.content), stop_sequence: null }, parent_tool_use_id: null, uuid: m.uuid }];
    }
    if (!isMain) return [];
    if (m.type === 'system') return note(m);
    return m.type === 'user' ? userLine(m) : [];
  }

  function userLine(m: UserMessage): readonly Line[] {
    const line = { type: 'user', message: { role: 'user', content: wireBlocks(m.message.content) }, parent_tool_use_id: null, timestamp: m.timestamp, uuid: m.uuid };
    const answered = typeof m.message.content === 'string' ? [] : m.message.content.flatMap((b) => (b.type === 'tool_result' ? [b.tool_use_id] : []));
    if (answered.length > 0) {
      if (turn === null) return []; // it mends an old session, and was no part of a turn here
      batch = isNewBatch ? answered : [...batch, ...answered];
      isNewBatch = false;
      return [{ ...line, ...(m.toolUseResult === undefined ? {} : { tool_use_result: m.toolUseResult.output }) }];
    }
    if (m.isMeta === true) return turn === null ? [] : [{ ...line, isSynthetic: true }];
    return o.replay ? [{ ...line, isReplay: true }] : [];
  }

  function note(m: SystemMessage): readonly Line[] {
    const data = m.data ?? {};
    switch (m.format) {
      case 'api_error': return [{
        type: 'assistant', parent_tool_use_id: null, error: wireFault(data['fault'] as ModelFault | undefined), uuid: m.uuid,
        message: { id: m.uuid, type: 'message', role: 'assistant', model: '<synthetic>', content: [{ type: 'text', text: m.content }], stop_reason: 'stop_sequence', stop_sequence: '', usage: NO_USAGE },
      }];
      case 'api_retry': return [system('api_retry', { ...data, content: m.content, uuid: m.uuid })];
      case 'compact_boundary': return [system('compact_boundary', { compact_metadata: data, uuid: m.uuid })];
      case 'informational': return [system('informational', { content: m.content, level: m.level === 'info' ? 'info' : 'warning', uuid: m.uuid })];
      case 'local_command': return [system('local_command_output', { content: m.content, uuid: m.uuid })];
      default: return []; // told in other lines, or for logs only
    }
  }

  function tally(m: AssistantMessage, isMain: boolean): void {
    if (m.usage === undefined) return;
    const s = (spent[m.message.model] ??= { inputTokens: 0, outputTokens: 0, cacheReadInputTokens: 0, cacheCreationInputTokens: 0, webSearchRequests: 0, costUSD: 0, ...o.window(m.message.model) });
    s.inputTokens += m.usage.input_tokens;
    s.outputTokens += m.usage.output_tokens;
    s.cacheReadInputTokens += m.usage.cache_read_input_tokens;
    s.cacheCreationInputTokens += m.usage.cache_creation_input_tokens;
    s.costUSD += m.costUSD ?? 0;
    if (!isMain) cost += m.costUSD ?? 0; // the main thread's is in the sums of its turns
  }

  /** Money and models are counted over the whole process, all else over the turn. */
  function result(end: TurnEnd): Line {
    const prompts = turn?.prompts ?? [];
    return {
      ...turnRecord(end), total_cost_usd: cost, modelUsage: structuredClone(spent), queued_turn_count: waiting.size, result_index: results++,
      ...(prompts.length === 0 ? {} : { user_message_uuid: prompts[0], user_message_uuids: prompts }),
      ...(end.reason === 'interrupted' && turn?.inTools === true ? { terminal_reason: 'aborted_tools' } : {}),
      ...(end.reason === 'tool_deferred' ? { stop_reason: 'tool_deferred', ...(turn?.deferred === undefined ? {} : { deferred_tool_use: turn.deferred }) } : {}),
    };
  }

  return {
    lines: (event) => project(event).map((line) => ({ ...line, session_id: o.sessionId, uuid: line.uuid ?? randomUUID() })),
    get lastEnd() { return lastEnd; },
    get lastAnswer() { return lastAnswer; },
    get promptId() { return promptId; },
  };
}
