/** What stands around every tap: match, time-box, safe outcome, fold, report. The one place that touches tapable. */
import { setMaxListeners } from 'node:events';
import { AsyncParallelHook, AsyncSeriesBailHook, AsyncSeriesWaterfallHook, HookMap } from 'tapable';
import type { JudgedCall, Origin } from '../schemas/index.ts';
import { LAYERS } from '../schemas/origin.ts';
import { messageOf, nearest, TappetError } from './errors.ts';
import type { AnyHook, EventName, Firing, Folded, In, LocalTap, Out, Passage, Shape, TapFunction, TapOptions, TapReport, Voice } from './hooks.ts';
import { TABLE, withoutAllow } from './hooks.ts';
import type { Matcher } from './matcher.ts';
import { compileMatcher } from './matcher.ts';

const TAP_TIMEOUT_MS = 60_000;
/** A longer one would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** A tap as its plugin asked for it, with what the kernel knows of the plugin. */
export interface TapRecord { readonly event: string; readonly plugin: string; readonly options: TapOptions; readonly origin: Origin; readonly fn: TapFunction; /** Position of the plugin in the merged configuration. */ readonly order: number; disposed: boolean }
type GuardedTap = { name: string; fn: (passage: Passage) => Promise<unknown>; record?: TapRecord };

export interface HookTable {
  /** Installs the taps in final order; to be called once. Throws nothing: what can't be installed comes back. */
  seal(records: readonly TapRecord[], declared: ReadonlyMap<string, Shape<any, any>>): readonly TappetError[];
  fire<N extends EventName>(name: N, event: In<N>, firing: Firing): Promise<Folded<In<N>, Out<N>>>;
  fireExtension(name: string, event: any, firing: Firing): Promise<Folded<any, any>>;
  /** Taps whose promise has not settled. */
  pending(): readonly string[];
  taps(name: string): readonly TapRecord[];
}
/** What the taps of one table share. */
interface Shared { readonly inFlight: Map<symbol, string>; readonly matcher: (text: string) => Matcher }

export function createHookTable(): HookTable {
  const shapes = new Map<string, Shape<any, any>>(Object.entries(TABLE));
  const installed = new Map<string, TapRecord[]>();
  const compiled = new Map<string, Matcher>();
  const shared: Shared = {
    inFlight: new Map(),
    matcher(text) {
      let matcher = compiled.get(text);
      if (matcher === undefined) compiled.set(text, (matcher = compileMatcher(text)));
      return matcher;
    },
  };
  const hooks = new HookMap<AnyHook>((name) => create(shapes.get(String(name))!, shared));

  const fire = async (name: string, event: any, firing: Firing): Promise<Folded<any, any>> => {
    const shape = shapes.get(name);
    if (shape === undefined) throw new TappetError('E_INTERNAL', { message: `nobody declares the event ${name}` });
    const so: Folded<any, any> = { event, said: undefined, voices: [], ended: false };
    const hook = hooks.get(name);
    if (hook === undefined && (firing.local?.(name) ?? []).length === 0) return so;
    setMaxListeners(0, firing.signal); // each tap listens to it
    const passage: Passage = { so, name, shape, firing };
    await (hook ?? hooks.for(name)).promise(passage);
    return passage.so;
  };
  return {
    seal(records, declared) {
      const problems: TappetError[] = [];
      for (const [name, shape] of declared) if (!shapes.has(name)) shapes.set(name, shape);
      for (const record of [...records].sort((a, b) => tapOrder(a, b, shapes.get(a.event)?.kind === 'answer'))) {
        if (!shapes.has(record.event)) {
          if (record.options.optional !== true) problems.push(unknownEvent(record, shapes.keys()));
          continue;
        }
        try { if (record.options.matcher !== undefined) shared.matcher(record.options.matcher); } catch (e) {
          problems.push(new TappetError('E_PLUGIN_SHAPE', { name: record.plugin, message: `its tap on ${record.event}: ${messageOf(e)}`, where: record.origin }));
          continue;
        }
        installed.set(record.event, [...(installed.get(record.event) ?? []), record]);
      }
      // A hook is made when it has a tap; one made later, for a session's own taps alone, has only the standing one.
      for (const [name, list] of installed) for (const record of list) install(hooks.for(name), record);
      return problems;
    },
    fire: (name, event, firing) => fire(name, event, firing),
    fireExtension: fire,
    pending: () => [...shared.inFlight.values()],
    taps: (name) => installed.get(name) ?? [],
  };

  function install(hook: AnyHook, record: TapRecord): void {
    hook.tapPromise({ name: record.options.name, stage: band(record.origin, shapes.get(record.event)!.kind === 'answer') * 1000 + clampStage(record.options.stage), record } as any, record.fn as any);
  }
}

const clampStage = (stage = 0): number => (Number.isNaN(Number(stage)) ? 0 : Math.max(-99, Math.min(99, Math.trunc(Number(stage)))));
/** Null: it times itself. */
function timeBox(given: TapOptions['timeoutMs']): number | null {
  if (given === 'own') return null;
  return typeof given === 'number' && given > 0 ? Math.min(given, LONGEST_TIMER_MS) : TAP_TIMEOUT_MS;
}
/** Fold events hear policy last, so that it sees the final draft; answer events first. */
const band = (origin: Pick<Origin, 'layer'>, isAnswer: boolean): number => (isAnswer ? LAYERS.length - 1 - LAYERS.indexOf(origin.layer) : LAYERS.indexOf(origin.layer));
const tapOrder = (a: TapRecord, b: TapRecord, isAnswer: boolean): number =>
  band(a.origin, isAnswer) - band(b.origin, isAnswer) || clampStage(a.options.stage) - clampStage(b.options.stage) || a.order - b.order || (a.options.name < b.options.name ? -1 : a.options.name > b.options.name ? 1 : 0);

function unknownEvent(record: TapRecord, known: Iterable<string>): TappetError {
  const near = nearest(record.event, known);
  return new TappetError('E_PLUGIN_EVENT', { name: record.plugin, event: record.event, where: record.origin, ...(near === null ? {} : { do: `did you mean "${near}"?` }) });
}

function create(shape: Shape<any, any>, shared: Shared): AnyHook {
  const hook = shape.kind === 'fold' ? new AsyncSeriesWaterfallHook<[Passage]>(['passage']) : shape.kind === 'answer' ? new AsyncSeriesBailHook<[Passage], unknown>(['passage']) : new AsyncParallelHook<[Passage]>(['passage']);
  hook.intercept({
    register: (tap: any) => {
      const { record } = tap as GuardedTap;
      if (record === undefined) return tap; // the standing tap: it guards each of its own
      const { matcher } = record.options;
      const matches = matcher === undefined ? null : shared.matcher(matcher);
      const timeoutMs = timeBox(record.options.timeoutMs);
      tap.fn = async (passage: Passage) => {
        if (record.disposed || passage.so.ended || (matches !== null && !concerns(matches, passage))) return forward(passage);
        const by = { by: record.options.name, plugin: record.plugin, origin: record.origin };
        return hear(passage, by, await listen(passage, by, record.fn, timeoutMs, shared.inFlight));
      };
      return tap;
    },
  } as any);
  // One standing tap for what lives with one session, in the band of flags.
  hook.tapPromise({ name: '(session)', stage: band({ layer: 'flag' }, shape.kind === 'answer') * 1000 + 100 } as any, ((passage: Passage) => hearLocal(passage, shared)) as any);
  return hook;
}
const concerns = (matches: Matcher, passage: Passage): boolean => matches(passage.shape.on?.(passage.so.event) ?? '', passage.so.event as Partial<JudgedCall>);

/** A session's own taps: asked side by side, folded in their order. */
async function hearLocal(passage: Passage, shared: Shared): Promise<unknown> {
  const taps = passage.so.ended ? [] : (passage.firing.local?.(passage.name) ?? []).filter((t) => {
    if (t.matcher === undefined) return true;
    try { return concerns(shared.matcher(t.matcher), passage); } catch { return true; } // words that can't be read concern everything
  });
  if (taps.length === 0) return forward(passage);
  const heard = await Promise.all(taps.map(async (t) => {
    const by: By = { by: t.name, plugin: t.name, origin: t.origin };
    return { by, ...(await listen(passage, by, (e, c) => t.run(e, { signal: c.signal, toolUseId: e.toolUseId }), timeBox(t.timeoutMs), shared.inFlight, t)) };
  }));
  const rewrites = heard.filter((h) => rewriteOf(h.said) !== undefined);
  let last: unknown = forward(passage);
  for (const { by, ...h } of heard) {
    if (passage.so.ended) break;
    // None of them saw what another one wrote: what it allowed were other words.
    const isStale = rewrites.some((r) => r.by !== by);
    last = (await hear(passage, by, isStale && h.said !== undefined ? { ...h, said: withoutAllow({ ...by, said: h.said }).said } : h)) ?? last;
  }
  return last;
}
const rewriteOf = (said: unknown): unknown => (said as { updatedInput?: unknown } | undefined)?.updatedInput;

/** In a waterfall what is returned is handed on; elsewhere nothing may be. */
const forward = (passage: Passage): Passage | undefined => (passage.shape.kind === 'fold' ? passage : undefined);

type Heard = { readonly said?: unknown; readonly failed?: boolean };
type By = Pick<Voice<unknown>, 'by' | 'plugin' | 'origin'>;

/** Runs one tap inside its time-box; what it does wrong becomes the event's safe outcome. */
async function listen(passage: Passage, by: By, fn: TapFunction, timeoutMs: number | null, inFlight: Map<symbol, string>, local?: LocalTap): Promise<Heard> {
  const { shape, name, firing } = passage;
  const started = Date.now();
  const report = (code: string, message: string): void => firing.onError?.({ event: name, tap: by.by, plugin: by.plugin, origin: by.origin, code, message, ms: Date.now() - started });
  const fail = (code: string, message: string): Heard => {
    const error = new TappetError(code, { name: by.by, event: name, message, ms: timeoutMs });
    if (!firing.signal.aborted) report(code, error.message); // an interrupt is no failure
    if (shape.fails === 'event') throw error;
    const words = local?.onFailure === 'block' || by.origin.layer === 'policy' ? shape.policySafe ?? shape.safe : local !== undefined ? undefined : shape.safe;
    const said = words !== undefined && 'message' in words ? { ...words, message: `${error.message}; a broken gate stays shut` } : words;
    return said === undefined ? {} : { said, failed: true };
  };
  const abort = new AbortController();
  const onAbort = (): void => abort.abort(firing.signal.reason);
  const key = Symbol();
  let timer: NodeJS.Timeout | undefined;
  let isLate = false;
  let said: unknown;
  inFlight.set(key, `${by.by} on ${name}`);
  firing.signal.addEventListener('abort', onAbort, { once: true });
  if (firing.signal.aborted) onAbort();
  try {
    const noop = (): void => {};
    said = fn(snapshot(passage.so.event), { signal: abort.signal, log: { info: noop, warn: noop, error: (text) => report('E_HOOK_THROW', text) } });
    if (isThenable(said)) {
      const ended = new Promise<never>((_, reject) => {
        const stop = (): void => reject(new Error('interrupted'));
        if (abort.signal.aborted) stop(); else abort.signal.addEventListener('abort', stop, { once: true });
        // A ref'd timer: with nothing else alive an unref'd one would let the process end in the middle of a decision.
        if (timeoutMs !== null) timer = setTimeout(() => { isLate = true; abort.abort(new Error('timeout')); }, timeoutMs);
      });
      said = await Promise.race([said, ended]);
    }
  } catch (e) {
    return isLate ? fail('E_HOOK_TIMEOUT', 'it is late') : fail('E_HOOK_THROW', messageOf(e));
  } finally {
    clearTimeout(timer);
    firing.signal.removeEventListener('abort', onAbort);
    inFlight.delete(key);
  }
  if (said === undefined || said === null || shape.output === null) return {}; // on a tell event nothing may be said
  const parsed = shape.output().safeParse(said);
  if (!parsed.success) return fail('E_HOOK_OUTPUT', parsed.error.issues.map((i) => `${i.path.join('.') || '(answer)'}: ${i.message}`).join('; '));
  return { said: parsed.data };
}
export const isThenable = (value: unknown): value is PromiseLike<unknown> => typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';

/** What a tap does to its copy of an input does not reach the call: only what it says counts, and what it says is judged. */
const snapshot = (event: any): unknown => (typeof event?.input === 'object' && event.input !== null ? Object.freeze({ ...event, input: frozenCopy(event.input) }) : event);
function frozenCopy(value: unknown): unknown {
  if (Array.isArray(value)) return Object.freeze(value.map(frozenCopy));
  if (typeof value !== 'object' || value === null || ![Object.prototype, null].includes(Object.getPrototypeOf(value))) return value;
  return Object.freeze(Object.fromEntries(Object.entries(value).map(([k, v]) => [k, frozenCopy(v)])));
}

/** Folds what was said into what is. */
async function hear(passage: Passage, by: By, heard: Heard): Promise<unknown> {
  const { shape } = passage;
  if (heard.said === undefined || shape.kind === 'tell') return forward(passage);
  const voice: Voice<unknown> = { ...by, said: heard.said, ...(heard.failed === true ? { failed: true } : {}) };
  if (shape.kind === 'answer') {
    passage.so = { ...passage.so, said: heard.said, voices: [...passage.so.voices, voice], ended: true };
    return heard.said;
  }
  const before = passage.so;
  passage.so = shape.fold!(before, voice);
  if (rewriteOf(voice.said) !== undefined && passage.firing.refine !== undefined) {
    try {
      passage.so = { ...passage.so, event: await passage.firing.refine(passage.so.event) };
    } catch (e) {
      const message = `its new input does not fit: ${messageOf(e)}`;
      passage.firing.onError?.({ event: passage.name, tap: by.by, plugin: by.plugin, origin: by.origin, code: 'E_HOOK_OUTPUT', message, ms: 0 } satisfies TapReport);
      passage.so = shape.safe === undefined ? before : shape.fold!(before, { ...voice, said: { ...(shape.safe as object), message: `${by.by}: ${message}` }, failed: true });
    }
  }
  return passage;
}
