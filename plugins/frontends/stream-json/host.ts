/** What the host brings to the session: who may call what, its hooks, the MCP servers that live in it. */
import { parseRule, permissionUpdate } from 'tappet/kernel';
import type { Answer, EventBase, Host, HookEvent, PermissionUpdate, SessionEvent, Wire } from 'tappet/kernel';
import { DIALECT_EVENTS, dialectInput, dialectMatcher, dialectSaid } from 'tappet/kit';
import type { DialectFacts } from 'tappet/kit';
import type { Channel } from './channel.ts';
import { permissionAnswer } from './protocol.ts';
import type { Fields, Initialize } from './protocol.ts';

export interface HostParts {
  readonly channel: Channel;
  /** `--permission-prompt-tool stdio` was given. */
  readonly canAsk: boolean;
  facts(): Promise<DialectFacts>;
  report(text: string): void;
}
export interface ClientHost {
  readonly host: Host;
  /** Replaces what an earlier `initialize` brought. */
  bring(given: Initialize): void;
  /** What the host says goes to `answer`; a question that somebody else settled gets nothing. */
  ask(event: Extract<SessionEvent, { type: 'ask' }>, answer: (answer: Answer) => void): void;
  /** Settled by somebody else: the host is told to forget it. */
  settled(requestId: string): void;
  turnEnded(agentId: string | null): void;
  /** A message of an MCP server in the host; false: there is none of this name. */
  hear(server: string, message: unknown): boolean;
}

/** As long as scripts have; a host that wants less says so. */
const HOOK_SECONDS = 600;
/** Timers that are set for longer go off at once. */
const LONGEST_MS = 2 ** 31 - 2000;
/** Where a hook that is late must not open the gate. */
const SHUT: Readonly<Record<string, Fields>> = {
  PreToolUse: { behavior: 'deny', message: 'a hook of the host did not answer in time' },
  UserPromptSubmit: { block: 'a hook of the host did not answer in time' },
};

export function createHost(p: HostParts): ClientHost {
  const questions = new Map<string, AbortController>();
  /** Null until somebody connects. */
  const servers = new Map<string, HostWire | null>();
  let hooks: Hooks = [];
  const stops = createStops();
  const host: Host = {
    get asks() { return p.canAsk && !p.channel.isGone ? ['permission' as const] : []; },
    get hooks() { return hooks; },
    get mcp() { return Object.fromEntries([...servers.keys()].map((name) => [name, () => connect(name)])); },
  };
  const connect = (name: string): Wire => {
    const wire = wireTo(name, p.channel);
    servers.set(name, wire);
    return wire;
  };
  return {
    host,
    bring(given) {
      const known = Object.entries(given.hooks ?? {}).filter(([event]) => DIALECT_EVENTS.includes(event));
      const brought = known.flatMap(([event, groups]) => groups.flatMap((g) => g.hookCallbackIds.map((id) => hookOf(p, stops, event, id, g))));
      hooks = brought.length === 0 ? [] : [...brought, stops.hook];
      for (const name of given.sdkMcpServers ?? []) if (!servers.has(name)) servers.set(name, null);
    },
    ask(event, answer) {
      const abort = new AbortController();
      questions.set(event.requestId, abort);
      void p.channel.request(questionOf(event), abort.signal, event.requestId)
        .then((payload) => answerOf(payload, p.report), (e: Error): Answer => ({ behavior: 'deny', message: `nobody answered: ${e.message}` }))
        .then((said) => {
          questions.delete(event.requestId);
          if (!abort.signal.aborted) answer(said);
        });
    },
    turnEnded: stops.forget,
    settled(requestId) { questions.get(requestId)?.abort(); },
    hear(server, message) {
      servers.get(server)?.onmessage?.(message);
      return servers.has(server);
    },
  };
}

function questionOf(event: Extract<SessionEvent, { type: 'ask' }>): Fields {
  const rule = event.matchedAskRule === undefined ? null : parseRule(event.matchedAskRule);
  const source = event.reason.kind === 'rule' ? event.reason.source : 'settings';
  return {
    subtype: 'can_use_tool', tool_name: event.toolName, display_name: event.toolName, input: event.input, tool_use_id: event.toolUseId, permission_suggestions: event.suggestions,
    decision_reason: event.message, decision_reason_type: event.reason.kind,
    ...(rule === null ? {} : { matched_ask_rule: { source, tool_name: rule.toolName, ...(rule.ruleContent === undefined ? {} : { rule_content: rule.ruleContent }) } }),
    ...(event.blockedPath === undefined ? {} : { blocked_path: event.blockedPath }), ...(event.agentId === null ? {} : { agent_id: event.agentId }),
  };
}

/** Anything that is no answer refuses. */
function answerOf(payload: unknown, report: (text: string) => void): Answer {
  const read = permissionAnswer().safeParse(payload);
  if (!read.success) return { behavior: 'deny', message: 'the host gave an answer that cannot be read' };
  const said = read.data;
  if (said.behavior === 'deny') return { behavior: 'deny', message: said.message, interrupt: said.interrupt };
  const updates = said.updatedPermissions?.flatMap((u): PermissionUpdate[] => {
    const known = permissionUpdate().safeParse(u);
    if (!known.success) report(`a permission update of the host is left out, it cannot be read: ${JSON.stringify(u)}`);
    return known.success ? [known.data] : [];
  });
  return { behavior: 'allow', ...(said.updatedInput == null ? {} : { updatedInput: said.updatedInput }), ...(updates === undefined ? {} : { updatedPermissions: updates }) };
}

type Hooks = NonNullable<Host['hooks']>;
type Group = NonNullable<Initialize['hooks']>[string][number];

function hookOf(p: HostParts, stops: Stops, event: string, id: string, group: Group): Hooks[number] {
  let hears: ReturnType<typeof dialectMatcher>;
  try {
    hears = dialectMatcher(group.matcher ?? undefined);
  } catch {
    p.report(`the matcher ${JSON.stringify(group.matcher)} of a hook on ${event} is no regular expression; the hook hears of everything`);
    hears = () => true;
  }
  const ms = Math.min((group.timeout ?? HOOK_SECONDS) * 1000, LONGEST_MS);
  return {
    event: event as HookEvent, onFailure: group.onFailure ?? undefined, timeoutMs: ms + 1000, // ours comes first, and says more
    async run(given, { signal, toolUseId }) {
      const happened = given as EventBase;
      if (!hears(event, happened)) return undefined;
      const input = dialectInput(event, happened, await p.facts());
      if (input === null) return undefined;
      if (p.channel.isGone && group.onFailure !== 'block') return undefined; // nobody is there who could have an opinion
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), ms);
      try {
        const body = { subtype: 'hook_callback', callback_id: id, input, ...(toolUseId === undefined ? {} : { tool_use_id: toolUseId }) };
        const answer = await p.channel.request(body, AbortSignal.any([signal, late.signal]));
        const { said, stop } = dialectSaid(event, answer, happened);
        if (stop !== undefined) stops.want(happened, stop);
        return said;
      } catch (e) {
        if (late.signal.aborted && !signal.aborted && SHUT[event] !== undefined) return SHUT[event];
        if (p.channel.isGone && group.onFailure !== 'block') return undefined;
        throw e;
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

interface Stops { want(event: EventBase, reason: string): void; forget(agentId: string | null): void; readonly hook: Hooks[number] }

/** A hook on one call cannot end the turn; a hook on all calls of a message can: it hands on what the first one wanted. */
function createStops(): Stops {
  const wanted = new Map<string | null, string>();
  return {
    want: ({ agentId }, reason) => { wanted.set(agentId, reason); },
    forget: (agentId) => { wanted.delete(agentId); },
    hook: {
      event: 'PostToolBatch' as HookEvent,
      run(given) {
        const reason = wanted.get((given as EventBase).agentId);
        return reason === undefined ? undefined : { block: reason };
      },
    },
  };
}

interface HostWire extends Wire { onmessage?: ((message: unknown) => void) | undefined }

/** A server that lives in the host: each message is a request to the host, a JSON-RPC answer comes back in its payload. */
function wireTo(name: string, channel: Channel): HostWire {
  const closing = new AbortController();
  const wire: HostWire = {
    start: async () => {},
    async send(message) {
      const payload = await channel.request({ subtype: 'mcp_message', server_name: name, message }, closing.signal);
      const { id, method } = message as { readonly id?: unknown; readonly method?: unknown };
      const answer = (payload as { readonly mcp_response?: unknown } | null | undefined)?.mcp_response;
      if (id !== undefined && method !== undefined) wire.onmessage?.(answer); // what answers a notification is a filler
    },
    async close() { closing.abort(); wire.onclose?.(); },
  };
  return wire;
}
