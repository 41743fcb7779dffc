/** What stands around every tap: match, time-box, safe outcome, fold, report. The one place that touches tapable. */
import { AsyncParallelHook, AsyncSeriesBailHook, AsyncSeriesWaterfallHook, HookMap } from 'tapable';
import type { JudgedCall, Origin } from '../schemas/index.ts';
import { LAYERS } from '../schemas/origin.ts';
import { messageOf, nearest, TappetError } from './errors.ts';
import type { AnyHook, EventName, Firing, Folded, In, LocalTap, Out, Passage, Shape, TapContext, TapFunction, TapOptions, TapReport, Voice } from './hooks.ts';
import { TABLE } from './hooks.ts';
import { compileMatcher } from './matcher.ts';

export const TAP_TIMEOUT_MS = 60_000;

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

export function createHookTable(): HookTable {
  const shapes = new Map<string, Shape<any, any>>(Object.entries(TABLE));
  const inFlight = new Map<symbol, string>();
  const installed = new Map<string, TapRecord[]>();
  const hooks = new HookMap<AnyHook>((name) => create(shapes.get(String(name))!, inFlight));

  const fire = async (name: string, event: any, firing: Firing): Promise<Folded<any, any>> => {
    const hook = hooks.get(name);
    const so: Folded<any, any> = { event, said: undefined, voices: [], ended: false };
    const shape = shapes.get(name);
    if (shape === undefined) throw new TappetError('E_INTERNAL', { message: `nobody declares the event ${name}` });
    const local = firing.local?.(name) ?? [];
    if (hook === undefined && local.length === 0) return so;
    const passage: Passage = { so, name, shape, firing };
    await (hook ?? hooks.for(name)).promise(passage);
    return passage.so;
  };
  return {
    seal(records, declared) {
      const problems: TappetError[] = [];
      for (const [name, shape] of declared) shapes.set(name, shape);
      for (const record of [...records].sort((a, b) => tapOrder(a, b, shapes.get(a.event)?.kind === 'answer'))) {
        if (!shapes.has(record.event)) {
          if (record.options.optional !== true) problems.push(unknownEvent(record, shapes.keys()));
          continue;
        }
        const list = installed.get(record.event) ?? [];
        installed.set(record.event, [...list, record]);
      }
      // A hook is made when it has a tap; one made later, for a session's own taps alone, has only the standing one.
      for (const [name, list] of installed) for (const record of list) install(hooks.for(name), record);
      return problems;
    },
    fire: (name, event, firing) => fire(name, event, firing),
    fireExtension: fire,
    pending: () => [...inFlight.values()],
    taps: (name) => installed.get(name) ?? [],
  };

  function install(hook: AnyHook, record: TapRecord): void {
    hook.tapPromise({ name: record.options.name, stage: band(record.origin, shapes.get(record.event)!.kind === 'answer') * 1000 + clampStage(record.options.stage), record } as any, record.fn as any);
  }
}

const clampStage = (stage = 0): number => Math.max(-99, Math.min(99, Math.trunc(stage)));
/** Fold events hear policy last, so that it sees the final draft; answer events first. */
const band = (origin: Origin, isAnswer: boolean): number => (isAnswer ? LAYERS.length - 1 - LAYERS.indexOf(origin.layer) : LAYERS.indexOf(origin.layer));
const tapOrder = (a: TapRecord, b: TapRecord, isAnswer: boolean): number =>
  band(a.origin, isAnswer) - band(b.origin, isAnswer) || clampStage(a.options.stage) - clampStage(b.options.stage) || a.order - b.order || (a.options.name < b.options.name ? -1 : a.options.name > b.options.name ? 1 : 0);

function unknownEvent(record: TapRecord, known: Iterable<string>): TappetError {
  const near = nearest(record.event, known);
  return new TappetError('E_PLUGIN_EVENT', { name: record.plugin, event: record.event, where: record.origin, ...(near === null ? {} : { do: `did you mean "${near}"?` }) });
}

function create(shape: Shape<any, any>, inFlight: Map<symbol, string>): AnyHook {
  const hook = shape.kind === 'fold' ? new AsyncSeriesWaterfallHook<[Passage]>(['passage']) : shape.kind === 'answer' ? new AsyncSeriesBailHook<[Passage], unknown>(['passage']) : new AsyncParallelHook<[Passage]>(['passage']);
  hook.intercept({
    register: (tap: any) => {
      const record = (tap as GuardedTap).record;
      if (record === undefined) return tap; // the standing tap: it guards each of its own
      const matches = record.options.matcher === undefined ? null : compileMatcher(record.options.matcher);
      const timeoutMs = record.options.timeoutMs === 'own' ? null : record.options.timeoutMs ?? TAP_TIMEOUT_MS;
      tap.fn = async (passage: Passage) => {
        if (record.disposed || passage.so.ended) return forward(passage);
        if (matches !== null && !matches(passage.shape.on?.(passage.so.event) ?? '', passage.so.event as Partial<JudgedCall>)) return forward(passage);
        const by = { by: record.options.name, plugin: record.plugin, origin: record.origin };
        return hear(passage, by, await listen(passage, by, record.fn, timeoutMs, inFlight));
      };
      return tap;
    },
  } as any);
  // One standing tap for what lives with one session, in the band of flags.
  const flagBand = band({ layer: 'flag' } as Origin, shape.kind === 'answer');
  hook.tapPromise({ name: '(session)', stage: flagBand * 1000 + 100 } as any, (async (passage: Passage) => {
    const taps = passage.so.ended ? [] : (passage.firing.local?.(passage.name) ?? []).filter((t) => t.matcher === undefined || compileMatcher(t.matcher)(passage.shape.on?.(passage.so.event) ?? '', passage.so.event));
    if (taps.length === 0) return forward(passage);
    const heard = await Promise.all(taps.map(async (t) => ({ t, said: await listen(passage, { by: t.name, plugin: t.name, origin: t.origin }, (e, c) => t.run(e, { signal: c.signal, toolUseId: e.toolUseId }), t.timeoutMs ?? TAP_TIMEOUT_MS, inFlight, t) })));
    let last: unknown = forward(passage);
    for (const { t, said } of heard) if (!passage.so.ended) last = (await hear(passage, { by: t.name, plugin: t.name, origin: t.origin }, said)) ?? last;
    return last;
  }) as any);
  return hook;
}

/** In a waterfall what is returned is handed on; elsewhere nothing may be. */
const forward = (passage: Passage): Passage | undefined => (passage.shape.kind === 'fold' ? passage : undefined);

type Heard = { readonly said?: unknown; readonly failed?: boolean };
type By = Pick<Voice<unknown>, 'by' | 'plugin' | 'origin'>;

/** Runs one tap inside its time-box; what it does wrong becomes the event's safe outcome. */
async function listen(passage: Passage, by: By, fn: TapFunction, timeoutMs: number | null, inFlight: Map<symbol, string>, local?: LocalTap): Promise<Heard> {
  const { shape, name, firing } = passage;
  const started = Date.now();
  const abort = new AbortController();
  const onAbort = () => abort.abort(firing.signal.reason);
  if (firing.signal.aborted) onAbort(); else firing.signal.addEventListener('abort', onAbort, { once: true });
  const key = Symbol();
  inFlight.set(key, `${by.by} on ${name}`);
  let timer: NodeJS.Timeout | undefined;
  const fail = (code: string, message: string, facts: Record<string, unknown> = {}): Heard => {
    const error = new TappetError(code, { name: by.by, event: name, message, ...facts });
    firing.onError?.({ event: name, tap: by.by, plugin: by.plugin, origin: by.origin, code, message: error.message, ms: Date.now() - started });
    if (shape.fails === 'event') throw error;
    const words = local?.onFailure === 'block' || by.origin.layer === 'policy' ? shape.policySafe ?? shape.safe : local !== undefined ? undefined : shape.safe;
    const said = words !== undefined && 'message' in words ? { ...words, message: `${error.message}; a broken gate stays shut` } : words;
    return said === undefined ? {} : { said, failed: true };
  };
  const noop = () => {};
  const context: TapContext = { signal: abort.signal, log: { info: noop, warn: noop, error: (text) => firing.onError?.({ event: name, tap: by.by, plugin: by.plugin, origin: by.origin, code: 'E_HOOK_THROW', message: text, ms: Date.now() - started }) } };
  try {
    let said: unknown;
    const raw = fn(passage.so.event, context);
    if (raw instanceof Promise || (typeof raw === 'object' && raw !== null && 'then' in raw)) {
      const late = new Promise<never>((_, reject) => {
        // A ref'd timer: with nothing else alive an unref'd one would let the process end in the middle of a decision.
        if (timeoutMs !== null) timer = setTimeout(() => { abort.abort(new Error('timeout')); reject(new TappetError('E_HOOK_TIMEOUT', { name: by.by, event: name, ms: timeoutMs })); }, timeoutMs);
        abort.signal.addEventListener('abort', () => reject(new TappetError('E_HOOK_THROW', { name: by.by, event: name, message: 'interrupted' })), { once: true });
      });
      said = await Promise.race([raw, late]);
    } else said = raw;
    if (said === undefined || said === null) return {};
    if (shape.output === null) return {}; // nothing may be said on a tell event
    const parsed = shape.output().safeParse(said);
    if (!parsed.success) return fail('E_HOOK_OUTPUT', parsed.error.issues.map((i) => `${i.path.join('.') || '(answer)'}: ${i.message}`).join('; '));
    return { said: parsed.data };
  } catch (e) {
    if (e instanceof TappetError && e.code === 'E_HOOK_TIMEOUT') return fail('E_HOOK_TIMEOUT', e.message, { ms: timeoutMs });
    return fail('E_HOOK_THROW', messageOf(e));
  } finally {
    clearTimeout(timer);
    firing.signal.removeEventListener('abort', onAbort);
    inFlight.delete(key);
  }
}

/** Folds what was said into what is. */
async function hear(passage: Passage, by: By, heard: Heard): Promise<unknown> {
  const { shape } = passage;
  if (heard.said === undefined) return forward(passage);
  const voice: Voice<unknown> = { ...by, said: heard.said, ...(heard.failed === true ? { failed: true } : {}) };
  if (shape.kind === 'answer') {
    passage.so = { ...passage.so, said: heard.said, voices: [...passage.so.voices, voice], ended: true };
    return heard.said;
  }
  if (shape.kind === 'tell') return undefined;
  const before = passage.so;
  passage.so = shape.fold!(before, voice);
  if ((voice.said as { updatedInput?: unknown }).updatedInput !== undefined && passage.firing.refine !== undefined) {
    try {
      const event = await passage.firing.refine(passage.so.event);
      passage.so = { ...passage.so, event };
    } catch (e) {
      const message = `its new input does not fit: ${messageOf(e)}`;
      passage.firing.onError?.({ event: passage.name, tap: by.by, plugin: by.plugin, origin: by.origin, code: 'E_HOOK_OUTPUT', message, ms: 0 } satisfies TapReport);
      passage.so = shape.safe === undefined ? before : shape.fold!(before, { ...voice, said: { ...(shape.safe as object), message: `${by.by}: ${message}` }, failed: true });
    }
  }
  return passage;
}
