/** From the lines of a session on disk back to its messages: the chain that ends at the newest (or a given) message, with cut-off calls made visible. */
import { randomUUID } from 'node:crypto';
import type { AssistantMessage, Line, Message, MessageLine, ToolUseBlock, UserMessage, Uuid } from '../schemas/index.ts';
import { INTERRUPTED } from './normalize.ts';

export interface Restored {
  readonly messages: readonly Message[];
  readonly leaf: string | null;
  readonly mode: string | null;
  readonly model: string | null;
  readonly title: string | null;
  /** Calls of a turn that ended deferred: to be asked again. */
  readonly deferred: readonly { readonly use: ToolUseBlock; readonly parent: AssistantMessage }[];
  /** Results that must be added for calls that were cut off by the end of the process. */
  readonly repairs: readonly UserMessage[];
}

const isMessage = (line: Line): line is MessageLine => 'uuid' in line && typeof line.uuid === 'string';

export function restore(lines: readonly Line[], at: Uuid | undefined): Restored | null {
  const byId = new Map<string, MessageLine>();
  const before = new Map<string, string | null>(); // as they stand in the file
  let leaf: string | null = null;
  let mode: string | null = null;
  let model: string | null = null;
  let title: string | null = null;
  let lastTurn: string | null = null;
  for (const line of lines) {
    if (isMessage(line)) {
      if (line.isSidechain) continue;
      if (!byId.has(line.uuid)) before.set(line.uuid, leaf);
      byId.set(line.uuid, line);
      leaf = line.uuid;
    } else if (line.type === 'permission-mode') mode = line.mode;
    else if (line.type === 'model') model = line.model;
    else if (line.type === 'custom-title') title = line.customTitle;
    else if (line.type === 'turn' && line.state === 'ended') lastTurn = line.reason ?? null;
  }
  if (at !== undefined) { if (!byId.has(at)) return null; leaf = at; }
  const chain: MessageLine[] = [];
  const seen = new Set<string>();
  for (let id = leaf; id !== null && !seen.has(id); ) {
    const line = byId.get(id);
    if (line === undefined) break;
    seen.add(id);
    chain.push(line);
    // Where the line of its parent could not be read, the one before it in the file is the nearest that is left.
    id = line.parentUuid === null || byId.has(line.parentUuid) ? line.parentUuid : before.get(line.uuid) ?? null;
  }
  const messages: Message[] = chain.reverse().map(asMessage);
  const open = openCalls(messages);
  const deferred = lastTurn === 'tool_deferred' && at === undefined ? open : [];
  const repairs = deferred.length > 0 ? [] : open.map(({ use, parent }): UserMessage => ({
    type: 'user', uuid: randomUUID(), timestamp: new Date().toISOString(), ...(parent.turnId === undefined ? {} : { turnId: parent.turnId }), isMeta: true,
    message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, content: INTERRUPTED, is_error: true }] },
    toolUseResult: { toolUseID: use.id, toolName: use.name, output: INTERRUPTED },
  }));
  return { messages, leaf, mode, model, title, deferred, repairs };
}

/** Calls of the last message of the model that have no result yet. */
function openCalls(messages: readonly Message[]): { use: ToolUseBlock; parent: AssistantMessage }[] {
  const open = new Map<string, { use: ToolUseBlock; parent: AssistantMessage }>();
  for (const m of messages) {
    if (m.type === 'assistant') for (const b of m.message.content) if (b.type === 'tool_use') open.set(b.id, { use: b, parent: m });
    if (m.type === 'user' && typeof m.message.content !== 'string') for (const b of m.message.content) if (b.type === 'tool_result') open.delete(b.tool_use_id);
  }
  return [...open.values()];
}

/** Other writers leave out what we always write. */
function asMessage(line: MessageLine): Message {
  const { parentUuid: _p, isSidechain: _s, cwd: _c, v: _v, seq: _q, crc: _r, sessionId: _i, ...message } = line as MessageLine & Record<string, unknown>;
  return message as unknown as Message;
}
