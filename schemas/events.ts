/** What a session emits: numbered, in order, to any number of readers. */
import { z } from 'zod';
import { once } from './lazy.ts';
import type { Message } from './message.ts';
import type { ModelEvent } from './model.ts';
import type { Decision, DecisionReason, PermissionUpdate } from './permissions.ts';
import type { TransitionReason, TurnEnd } from './query.ts';

const text = z.string();
const opaque = <T>() => z.custom<T>((v) => typeof v === 'object' && v !== null);
const input = z.record(text, z.unknown());
export const eventBody = once(() => z.discriminatedUnion('type', [
  z.object({ type: z.literal('session.started'), source: text, cwd: text, model: text, mode: text, tools: z.array(text) }),
  z.object({ type: z.literal('prompt.queued'), promptId: text, priority: text }),
  z.object({ type: z.literal('prompt.withdrawn'), promptId: text }),
  z.object({ type: z.literal('turn.started'), promptIds: z.array(text), model: text, mode: text, cwd: text, tools: z.array(text) }),
  z.object({ type: z.literal('prompt.joined'), promptId: text }),
  z.object({ type: z.literal('request.started'), model: text, round: z.number() }),
  z.object({ type: z.literal('model.event'), event: opaque<ModelEvent>() }),
  z.object({ type: z.literal('message'), message: opaque<Message>() }),
  z.object({ type: z.literal('tool.started'), toolUseId: text, toolName: text, input }),
  z.object({ type: z.literal('tool.progress'), toolUseId: text, toolName: text, data: z.unknown() }),
  z.object({ type: z.literal('tool.output.delta'), toolUseId: text, toolName: text, stream: z.enum(['stdout', 'stderr']), text }),
  z.object({ type: z.literal('tool.finished'), toolUseId: text, toolName: text, isError: z.boolean(), durationMs: z.number() }),
  z.object({
    type: z.literal('ask'), requestId: text, kind: z.enum(['permission']), toolUseId: text, toolName: text, input, message: text, reason: opaque<DecisionReason>(),
    suggestions: z.array(opaque<PermissionUpdate>()), blockedPath: text.optional(), matchedAskRule: text.optional(), pendingClassifierCheck: z.boolean(),
  }),
  z.object({ type: z.literal('ask_settled'), requestId: text, by: z.enum(['person', 'hook', 'classifier', 'withdrawn']), behavior: text }),
  z.object({ type: z.literal('decision'), decision: opaque<Decision>() }),
  z.object({ type: z.literal('transition'), reason: opaque<{ reason: TransitionReason | 'transport_retry' }>() }),
  z.object({ type: z.literal('tool.summary'), text }),
  z.object({ type: z.literal('notice'), level: z.enum(['info', 'warning', 'error']), code: text, text }),
  z.object({ type: z.literal('state.changed'), mode: text.optional(), model: text.optional(), cwd: text.optional(), title: text.optional() }),
  z.object({ type: z.literal('turn.ended'), end: opaque<TurnEnd>() }),
  z.object({ type: z.literal('events.missed'), count: z.number() }),
  z.object({ type: z.literal('session.closed'), reason: text }),
]));
export type EventBody = z.infer<ReturnType<typeof eventBody>>;
/** `seq` rises by one within a session; `agentId` is null on the main thread. */
export type SessionEvent = EventBody & { readonly seq: number; readonly sessionId: string; readonly agentId: string | null; readonly turnId: string | null; readonly timestamp: string };
export const sessionEvent = once(() => z.intersection(eventBody(), z.object({ seq: z.number().int(), sessionId: text, agentId: text.nullable(), turnId: text.nullable(), timestamp: text })));
