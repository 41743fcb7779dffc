/** The scope that one plugin's `apply` is handed: it collects; what it collected is put in only when `apply` has returned. */
import type { Awaitable, Origin, RegistryName, Services, Tool } from '../schemas/index.ts';
import { HOOK_EVENTS } from '../schemas/hooks.ts';
import { REGISTRY_NAMES } from '../schemas/contracts.ts';
import { compareLayers } from '../schemas/origin.ts';
import { isOrigin } from './config/origin.ts';
import { messageOf, nearest, TappetError } from './errors.ts';
import type { TapRecord } from './guard.ts';
import type { EventName, Firing, Shape, TapFunction, TapOptions } from './hooks.ts';
import { MOMENTS, TABLE } from './hooks.ts';
import type { Kernel } from './kernel.ts';
import { compileMatcher } from './matcher.ts';
import type { Plugin, Scope } from './plugin.ts';
import { prefixTaken } from './registry.ts';
import { describable } from './schema.ts';

export interface Collected {
  readonly scope: Scope;
  /** Puts in what was collected; it does not throw. */
  commit(): void;
  /** Closes what it opened, where `apply` failed half way. */
  abandon(): Promise<void>;
  /** Names of what it brought, for lists. */
  adds(): readonly string[];
}
type Named = { readonly name: string };

/** These are the kernel's to fire. */
const KERNEL_ONLY = new Set<string>(['PreToolUse', 'PermissionRequest']);
const KNOWN_EVENTS = [...HOOK_EVENTS, ...Object.keys(MOMENTS)];

/** `isOurs`: it ships with us, so it may speak for any layer whose words it was handed. @throws E_PLUGIN_SHAPE, E_NAME_TAKEN for what it says of itself */
export function createScope(kernel: Kernel, plugin: Plugin, origin: Origin, options: unknown, order: number, isOurs = true): Collected {
  const owner = plugin.name;
  const by = { owner, origin };
  const commits: (() => void)[] = [];
  const adds: string[] = [];
  const opened: (() => Awaitable<void>)[] = [];
  let state: 'open' | 'applied' = 'open';
  const bad = (message: string, more: { do?: string } = {}): TappetError => new TappetError('E_PLUGIN_SHAPE', { name: owner, message, where: origin, ...more });
  const complain = (what: string) => (e: unknown): void => kernel.log({ level: 'error', name: owner, text: `${what}: ${messageOf(e)}` });
  const later = (what: string, name: string, put: () => void): void => {
    if (state !== 'open') throw new TappetError('E_KERNEL_SEALED', { name: owner, what, where: origin });
    adds.push(name);
    commits.push(put);
  };
  /** Nobody speaks for a layer above his own with words that only passed through his hands. */
  const spoken = (given: unknown): Origin => (isOrigin(given) && (isOurs || compareLayers(given.layer, origin.layer) <= 0) ? given : origin);
  const named = <T extends Named>(kind: string, item: T): T => {
    if (typeof item !== 'object' || item === null || typeof item.name !== 'string' || item.name === '') throw bad(`what it adds to ${kind} has no name`);
    if (kind === 'tools' && !isOurs) describable(item as unknown as Tool); // ours were described when they were built
    return item;
  };
  /** What it only listens to ends with it. */
  const listening = (undo: () => void): (() => void) => { if (state === 'open') opened.push(undo); else kernel.own(owner, undo); return undo; };
  const safely = <A extends unknown[]>(what: string, fn: (...args: A) => unknown) => (...args: A): void => {
    try { Promise.resolve(fn(...args)).catch(complain(what)); } catch (e) { complain(what)(e); }
  };

  const registries = Object.fromEntries((Object.keys(REGISTRY_NAMES) as RegistryName[]).map((kind) => {
    const registry = kernel.registries[kind] as unknown as import('./registry.ts').Registry<Named>;
    return [kind, {
      add: (item: Named) => {
        named(kind, item);
        later(`add ${kind} "${item.name}"`, `${kind}:${item.name}`, () => registry.add(item, by));
      },
      get: (name: string) => registry.get(name),
      all: () => registry.all(),
      subscribe: (fn: () => void) => listening(registry.subscribe(safely(`it listens to ${kind}, and failed`, fn))),
      source: () => {
        let real: ReturnType<typeof registry.source> | null = null;
        let waiting: readonly { item: Named; origin: Origin }[] = [];
        later(`take a source of ${kind}`, `${kind}:(live)`, () => { real = registry.source(by); if (waiting.length > 0) real.replace(waiting); });
        return {
          replace: (items: readonly { item: Named; origin?: Origin }[]) => {
            const own = items.map((i) => ({ item: named(kind, i.item), origin: spoken(i.origin) }));
            if (real === null) waiting = own; else real.replace(own);
          },
        };
      },
      reserve: (prefix: string) => {
        if (typeof prefix !== 'string' || prefix === '') throw bad(`it reserves an empty prefix of ${kind}`);
        const held = registry.heldBy(prefix, owner);
        if (held !== null) throw prefixTaken(kind, prefix, held, origin);
        let real: ReturnType<typeof registry.reserve> | null = null;
        let waiting: Named[] = [];
        later(`reserve "${prefix}" of ${kind}`, `${kind}:${prefix}*`, () => { real = registry.reserve(prefix, by); for (const item of waiting) real.add(item); });
        return {
          add: (item: Named) => {
            if (!named(kind, item).name.startsWith(prefix)) throw bad(`"${item.name}" does not begin with ${prefix}, which it reserved`);
            if (real === null) waiting.push(item); else real.add(item);
          },
          remove: (name: string) => { if (real === null) waiting = waiting.filter((i) => i.name !== name); else real.remove(name); },
        };
      },
    }];
  })) as unknown as Scope['registries'];

  const log: Scope['log'] = { info: (text) => kernel.log({ level: 'info', name: owner, text }), warn: (text) => kernel.log({ level: 'warning', name: owner, text }), error: (text) => kernel.log({ level: 'error', name: owner, text }) };
  const tap = (event: string) => (given: string | TapOptions, fn: TapFunction) => {
    const o = typeof given === 'string' ? { name: given } : given;
    if (typeof fn !== 'function') throw bad(`its tap on ${event} is no function`);
    try { if (o.matcher !== undefined) compileMatcher(o.matcher); } catch (e) { throw bad(`its tap on ${event}: ${messageOf(e)}`); }
    // Only named options go on, name and layer written by the kernel: they cannot be forged, and tapable's own are not reached.
    const kept: TapOptions = {
      name: typeof o.name === 'string' && o.name !== '' ? o.name : owner,
      ...(o.matcher === undefined ? {} : { matcher: o.matcher }), ...(o.stage === undefined ? {} : { stage: o.stage }), ...(o.optional === undefined ? {} : { optional: o.optional }),
      ...(o.timeoutMs === undefined || (o.timeoutMs === 'own' && !(isOurs && owner.startsWith('hooks/'))) ? {} : { timeoutMs: o.timeoutMs }),
    };
    const record: TapRecord = { event, plugin: owner, options: kept, origin: spoken(o.origin), fn: (e, context) => fn(e, { ...context, log }), order, disposed: false };
    later(`tap ${event}`, `tap:${event}`, () => { kernel.taps.push(record); });
    return () => { record.disposed = true; };
  };
  const tappable = (event: string) => ({ tap: tap(event), tapPromise: tap(event) });
  // A name that nobody declares is found at the seal, with the nearest that somebody does.
  const hooks = new Proxy({ extension: (name: string) => tappable(name) } as Record<string, unknown>, {
    get: (target, name) => (Object.hasOwn(target, name) ? target[name as string] : typeof name === 'string' && name !== 'then' ? (target[name] = tappable(name)) : undefined),
    has: (_, name) => KNOWN_EVENTS.includes(String(name)) || name === 'extension',
  }) as unknown as Scope['hooks'];

  const fire: Record<string, unknown> = {};
  const firing: Firing = { signal: kernel.abort.signal, onError: (r) => kernel.log({ level: 'error', name: r.plugin, text: r.message, code: r.code }) };
  const declares = plugin.declares ?? {};
  for (const [name, shape] of Object.entries(declares)) {
    if (Object.hasOwn(TABLE, name)) throw bad(`it declares ${name}, which is the kernel's`);
    if (kernel.declared.has(name)) throw bad(`it declares ${name}, which another plugin declares`);
    if (!isShape(shape)) throw bad(`it declares ${name}, but not as a fold, an answer or a tell`, { do: 'author: declares: { name: fold(output, folding) }, answer(output) or tell()' });
  }
  for (const name of plugin.fires ?? []) {
    if (KERNEL_ONLY.has(name)) throw bad(`${name} is fired by the kernel alone`);
    if (Object.hasOwn(declares, name)) continue;
    const near = nearest(name, KNOWN_EVENTS);
    if (!KNOWN_EVENTS.includes(name)) throw bad(`it fires ${name}, which there is not`, near === null ? {} : { do: `did you mean "${near}"?` });
    fire[name] = (event: never) => kernel.hooks.fire(name as EventName, event, firing);
  }
  if (plugin.declares !== undefined) fire['extension'] = (name: string, event: unknown) => (Object.hasOwn(declares, name) ? kernel.hooks.fireExtension(name, event, firing) : Promise.reject(bad(`it fires ${name}, which it does not declare`)));

  const scope: Scope = {
    name: owner, options, registries, hooks, fire: fire as Scope['fire'],
    settings: {
      get: () => kernel.settings(),
      origin: (path) => kernel.config().chain(path).find((l) => l.status === 'counts')?.origin ?? null,
      watch: (key, fn) => { const call = safely(`it watches ${key}, and failed`, fn); return listening(kernel.onSettings((now, before) => { if (JSON.stringify(now[key]) !== JSON.stringify(before[key])) call(now[key]); })); },
    },
    services: {
      provide: (name, service) => later(`provide ${name}`, `service:${name}`, () => kernel.services.provide(name, service, by)),
      get: <K extends keyof Services>(name: K) => kernel.services.get(name),
    },
    open: (o) => kernel.open(o),
    own: (close: () => Awaitable<void>) => { if (state === 'open') opened.push(close); else kernel.own(owner, close); },
    log,
    folders: { root: kernel.root, state: kernel.places.state, cache: kernel.places.cache, config: kernel.places.config, home: kernel.places.home },
    env: kernel.env,
  };
  return {
    scope,
    adds: () => adds,
    async abandon() {
      state = 'applied';
      for (const close of opened.splice(0).reverse()) await Promise.resolve().then(close).catch(complain('failed to close'));
    },
    commit() {
      state = 'applied';
      for (const put of commits) put();
      for (const close of opened) kernel.own(owner, close);
      for (const [name, shape] of Object.entries(declares)) kernel.declared.set(name, shape);
    },
  };
}

const isShape = (shape: Shape<any, any>): boolean => ['fold', 'answer', 'tell'].includes(shape?.kind) && (shape.kind !== 'fold' || typeof shape.fold === 'function') && (shape.output === null || typeof shape.output === 'function');
