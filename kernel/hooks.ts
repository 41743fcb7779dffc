/** The sixteen events and the moments: their kind, their fold, and what a throw, a timeout or nonsense counts as. The tables are the code. */
import type { AsyncParallelHook, AsyncSeriesBailHook, AsyncSeriesWaterfallHook } from 'tapable';
import type { z } from 'zod';
import type {
  AgentEnd, AskedCall, AskedSaid, Awaitable, Batch, BatchSaid, BlockSaid, CallDraft, CallFailure, CallResult, CallSaid, Compacted, Compaction, ConfigChange, ContextSaid, CwdChange, DeniedCall,
  DeniedSaid, ElicitationAnswer, ElicitationRequest, ElicitationSaid, EventBase, FileChange, HookEvent, Layer, MomentName, Note, Opinion, Origin, PromptSaid, ResultSaid, SessionEnding, SessionStarting,
  SettingUp, StartSaid, StopFailing, Stopping, StopSaid, SubagentStarting, SubmittedPrompt, WorktreePath, WorktreeRequest,
} from '../schemas/index.ts';
import {
  askedSaid, batchSaid, blockSaid, callSaid, contextSaid, deniedSaid, elicitationAnswer, promptSaid, resultSaid, startSaid, stopSaid, worktreePath,
} from '../schemas/hooks.ts';
import { foldOpinions, voidAllows } from './verdict.ts';

/** One thing that was said, and by whom. */
export interface Voice<Out> { readonly by: string; readonly plugin: string; readonly origin: Origin; readonly said: Out; /** It is the safe outcome of a failure. */ readonly failed?: boolean }
/** What all voices so far have made of an event. */
export interface Folded<In, Out> { readonly event: In; readonly said: Out | undefined; readonly voices: readonly Voice<Out>[]; readonly ended: boolean }
export type Fold<In, Out> = (so: Folded<In, Out>, voice: Voice<Out>) => Folded<In, Out>;

type Output = () => z.ZodType;
export interface Shape<In extends EventBase, Out> {
  readonly kind: 'fold' | 'answer' | 'tell';
  /** Checks what a tap returns; null where nothing may be said. */
  readonly output: Output | null;
  readonly fold?: Fold<In, Out>;
  /** What a failure counts as; undefined: as nothing said. */
  readonly safe?: Out;
  /** The same where the words are policy's. */
  readonly policySafe?: Out;
  /** A failure fails the event itself. */
  readonly fails?: 'event';
  /** What a tap's matcher is compared with. */
  readonly on?: (event: In) => string;
  readonly $in?: In;
}
export function fold<In extends EventBase, Out>(output: Output, folding: Fold<In, Out>, more: { safe?: Out; policySafe?: Out; on?: (event: In) => string } = {}): Shape<In, Out> {
  return { kind: 'fold', output, fold: folding, ...more };
}
/** The first voice is the answer. */
export function answer<In extends EventBase, Out>(output: Output, more: { safe?: Out; fails?: 'event'; on?: (event: In) => string } = {}): Shape<In, Out> {
  return { kind: 'answer', output, ...more };
}
export function tell<In extends EventBase>(on?: (event: In) => string): Shape<In, void> {
  return { kind: 'tell', output: null, ...(on === undefined ? {} : { on }) };
}

const tool = (e: { readonly tool: string }) => e.tool;
const DENY = { behavior: 'deny' as const, message: 'a hook failed; a broken gate stays shut' };
const DECLINE: ElicitationAnswer = { action: 'decline' };
const WITHHELD = 'The result is withheld: a check that policy demands failed.';

export const EVENTS = {
  PreToolUse: fold<CallDraft, CallSaid>(callSaid, foldCall, { safe: DENY, on: tool }),
  PermissionRequest: fold<AskedCall, AskedSaid>(askedSaid, foldAsked, { safe: DENY, on: tool }),
  PermissionDenied: fold<DeniedCall, DeniedSaid>(deniedSaid, foldRetry, { on: tool }),
  PostToolUse: fold<CallResult, ResultSaid>(resultSaid, gather, { policySafe: { updatedOutput: WITHHELD, block: WITHHELD }, on: tool }),
  PostToolUseFailure: fold<CallFailure, ContextSaid>(contextSaid, gather, { on: tool }),
  UserPromptSubmit: fold<SubmittedPrompt, PromptSaid>(promptSaid, gather, { policySafe: { block: 'a check of prompts that policy demands failed' } }),
  Stop: fold<Stopping, StopSaid>(stopSaid, gather),
  SessionStart: fold<SessionStarting, StartSaid>(startSaid, gather, { on: (e) => e.source }),
  Setup: fold<SettingUp, ContextSaid>(contextSaid, gather, { on: (e) => e.trigger }),
  SubagentStart: fold<SubagentStarting, ContextSaid>(contextSaid, gather, { on: (e) => e.agentType ?? '' }),
  ElicitationResult: fold<ElicitationSaid, ElicitationAnswer>(elicitationAnswer, foldAction, { safe: DECLINE, on: (e) => e.serverName }),
  Elicitation: answer<ElicitationRequest, ElicitationAnswer>(elicitationAnswer, { safe: DECLINE, on: (e) => e.serverName }),
  WorktreeCreate: answer<WorktreeRequest, WorktreePath>(worktreePath, { fails: 'event' }),
  Notification: tell<Note>((e) => e.kind),
  CwdChanged: tell<CwdChange>(),
  FileChanged: tell<FileChange>((e) => e.path),
} satisfies Record<HookEvent, Shape<any, any>>;

/** What kernel rooms fire beyond the sixteen; typed and tapped alike. */
export const MOMENTS = {
  SessionEnd: tell<SessionEnding>((e) => e.reason),
  PreCompact: fold<Compaction, BlockSaid>(blockSaid, gather, { on: (e) => e.trigger }),
  PostCompact: tell<Compacted>((e) => e.trigger),
  StopFailure: tell<StopFailing>((e) => e.reason),
  PostToolBatch: fold<Batch, BatchSaid>(batchSaid, gather),
  SubagentStop: fold<AgentEnd, BlockSaid>(blockSaid, gather, { on: (e) => e.agentType ?? '' }),
  ConfigChange: fold<ConfigChange, BlockSaid>(blockSaid, gather),
} satisfies Record<MomentName, Shape<any, any>>;

export type Moment = keyof typeof MOMENTS;
export type EventTable = typeof EVENTS & typeof MOMENTS;
export type EventName = keyof EventTable;
export type In<N extends EventName> = EventTable[N] extends Shape<infer I, any> ? I : never;
export type Out<N extends EventName> = EventTable[N] extends Shape<any, infer O> ? O : never;
export const TABLE: EventTable = { ...EVENTS, ...MOMENTS };

export interface TapContext { readonly signal: AbortSignal; readonly log: { info(text: string): void; warn(text: string): void; error(text: string): void } }
export interface TapOptions {
  readonly name: string;
  /** A name, a list `A|B`, a glob, or `Tool(content)`; anchored. */
  readonly matcher?: string;
  /** Order inside the band of the layer: -99 to 99. */
  readonly stage?: number;
  /** Milliseconds; 60 000 if left out. `own`: it times its handlers itself (reserved). */
  readonly timeoutMs?: number | 'own';
  /** Whose words these are, where the plugin speaks for several layers. */
  readonly origin?: Origin;
  /** Silent where nobody declares the event. */
  readonly optional?: boolean;
}
export type Undo = () => void;
export type TapFunction = (event: any, context: TapContext) => Awaitable<unknown>;
type Tappable<E> = E extends Shape<infer I, infer O> ? { tap(o: string | TapOptions, fn: (event: I, context: TapContext) => Awaitable<([O] extends [void] ? void : O) | void>): Undo; tapPromise(o: string | TapOptions, fn: (event: I, context: TapContext) => Awaitable<([O] extends [void] ? void : O) | void>): Undo } : never;
export type Hooks = { readonly [N in EventName]: Tappable<EventTable[N]> } & { /** An extension event that a plugin declares. */ readonly extension: (name: string) => { tap(o: string | TapOptions, fn: TapFunction): Undo; tapPromise(o: string | TapOptions, fn: TapFunction): Undo } };
export type FireEvents = { readonly [N in EventName]?: (event: In<N>) => Promise<Folded<In<N>, Out<N>>> } & { readonly extension?: (name: string, event: EventBase) => Promise<Folded<any, any>> };

/** What travels through a tapable hook: the folded state. */
export interface Passage { so: Folded<any, any>; readonly name: string; readonly shape: Shape<any, any>; readonly firing: Firing }
/** How one firing differs from another. */
export interface Firing {
  readonly signal: AbortSignal;
  /** Makes a changed input whole again: checked by the tool's schema, subjects asked anew. @throws where it does not fit */
  readonly refine?: ((event: any) => Promise<any>) | undefined;
  /** Taps that only this session has (its host's). */
  readonly local?: ((name: string) => readonly LocalTap[]) | undefined;
  readonly onError?: ((report: TapReport) => void) | undefined;
}
export interface LocalTap { readonly name: string; readonly layer: Layer; readonly origin: Origin; readonly matcher?: string | undefined; readonly timeoutMs?: number | undefined; readonly onFailure?: 'continue' | 'block' | undefined; readonly run: (event: any, context: { signal: AbortSignal; toolUseId?: string | undefined }) => Awaitable<unknown> }
export interface TapReport { readonly event: string; readonly tap: string; readonly plugin: string; readonly origin: Origin; readonly code: string; readonly message: string; readonly ms: number }

export type AnyHook = AsyncSeriesWaterfallHook<[Passage], any> | AsyncSeriesBailHook<[Passage], unknown, any> | AsyncParallelHook<[Passage], any>;

// ---- folds -----------------------------------------------------------------------------------------------------------------

function opinionOf(name: string, said: { behavior?: string | undefined; message?: string | undefined; until?: 'rule' | 'mode' | 'person' | undefined }, voice: Voice<unknown>): Opinion | null {
  const stamp = { reason: { kind: 'hook' as const, hook: voice.by, event: name }, origin: voice.origin };
  switch (said.behavior) {
    case 'deny': return { behavior: 'deny', message: said.message ?? `denied by ${voice.by}`, ...stamp };
    case 'ask': return { behavior: 'ask', until: voice.origin.layer === 'policy' ? 'person' : said.until ?? 'person', message: said.message, ...stamp };
    case 'allow': return { behavior: 'allow', ...stamp };
    case 'defer': return { behavior: 'defer', message: said.message, ...stamp };
    default: return null;
  }
}
function foldCall(so: Folded<CallDraft, CallSaid>, voice: Voice<CallSaid>): Folded<CallDraft, CallSaid> {
  const { said } = voice;
  const rewritten = said.updatedInput !== undefined;
  const before = so.event.verdict?.opinions ?? [];
  const opinion = opinionOf('PreToolUse', said, voice);
  const opinions = [...(rewritten ? voidAllows(before) : before), ...(opinion === null ? [] : [opinion])];
  return {
    event: { ...so.event, input: rewritten ? { ...so.event.input, ...said.updatedInput } : so.event.input, verdict: foldOpinions(opinions) },
    said: { ...join(so.said, said), ...(rewritten ? { updatedInput: { ...so.said?.updatedInput, ...said.updatedInput } } : {}) },
    voices: [...so.voices, voice],
    ended: opinion?.behavior === 'deny',
  };
}
const ASKED_RANK = { allow: 1, deny: 2 } as const;
/** A rewrite voids an allow here too: it was given for other words. */
function foldAsked(so: Folded<AskedCall, AskedSaid>, voice: Voice<AskedSaid>): Folded<AskedCall, AskedSaid> {
  const { said } = voice;
  const rewritten = said.updatedInput !== undefined;
  const { behavior: earlier, message, interrupt, ...others } = so.said ?? {};
  const kept = earlier === undefined || (rewritten && earlier === 'allow') ? {} : { behavior: earlier, message, interrupt };
  const isStricter = said.behavior !== undefined && (kept.behavior === undefined || ASKED_RANK[said.behavior] > ASKED_RANK[kept.behavior]);
  return {
    event: rewritten ? { ...so.event, input: { ...so.event.input, ...said.updatedInput } } : so.event,
    said: {
      ...others, ...kept,
      ...(isStricter ? { behavior: said.behavior, message: said.message, interrupt: said.interrupt } : {}),
      ...(rewritten ? { updatedInput: { ...so.said?.updatedInput, ...said.updatedInput } } : {}),
      ...(said.updatedPermissions === undefined ? {} : { updatedPermissions: [...(so.said?.updatedPermissions ?? []), ...said.updatedPermissions] }),
    },
    voices: [...(rewritten ? so.voices.map(withoutAllow) : so.voices), voice],
    ended: said.behavior === 'deny',
  };
}
/** What else it said stays. */
export function withoutAllow<Out>(voice: Voice<Out>): Voice<Out> {
  return (voice.said as { readonly behavior?: string }).behavior === 'allow' ? { ...voice, said: without(voice.said as object, 'behavior') as Out } : voice;
}
function foldRetry(so: Folded<DeniedCall, DeniedSaid>, voice: Voice<DeniedSaid>): Folded<DeniedCall, DeniedSaid> {
  return { ...so, said: { retry: so.said?.retry === true || voice.said.retry === true }, voices: [...so.voices, voice] };
}
const ACTION_RANK = { accept: 0, decline: 1, cancel: 2 } as const;
function foldAction(so: Folded<ElicitationSaid, ElicitationAnswer>, voice: Voice<ElicitationAnswer>): Folded<ElicitationSaid, ElicitationAnswer> {
  const before = so.said ?? so.event.answer;
  const action = ACTION_RANK[voice.said.action] > ACTION_RANK[before.action] ? voice.said.action : before.action;
  const content = voice.said.content ?? before.content;
  // Where nothing is accepted, nothing that a person wrote goes along.
  const said: ElicitationAnswer = { action, ...(content === undefined || action !== 'accept' ? {} : { content }) };
  return { event: { ...so.event, answer: said }, said, voices: [...so.voices, voice], ended: false };
}
/** Texts add up; what replaces something replaces it in order, but nothing takes the place of what was withheld. */
function gather<In extends EventBase, Out extends object>(so: Folded<In, Out>, given: Voice<Out>): Folded<In, Out> {
  const withheld = so.voices.some((v) => v.failed === true && 'updatedOutput' in v.said);
  const voice = withheld && 'updatedOutput' in given.said ? { ...given, said: without(given.said, 'updatedOutput') } : given;
  return { ...so, event: withOutput(so.event, voice.said), said: join(so.said, voice.said), voices: [...so.voices, voice] };
}
function without<T extends object>(value: T, key: string): T {
  return Object.fromEntries(Object.entries(value).filter(([k]) => k !== key)) as T;
}
const TEXTS = new Set(['additionalContext', 'block', 'message']);
function join<Out extends object>(before: Out | undefined, said: Out): Out {
  const joined: Record<string, unknown> = { ...before };
  for (const [key, value] of Object.entries(said)) {
    if (value === undefined) continue;
    const old = joined[key];
    joined[key] = TEXTS.has(key) && typeof old === 'string' ? `${old}\n${value as string}` : Array.isArray(old) && Array.isArray(value) && key === 'watchPaths' ? [...old, ...value] : value;
  }
  return joined as Out;
}
function withOutput<In extends EventBase>(event: In, said: object): In {
  return 'updatedOutput' in said && said.updatedOutput !== undefined && 'content' in event ? { ...event, content: said.updatedOutput } : event;
}
