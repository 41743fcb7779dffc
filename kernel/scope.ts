/** The scope that one plugin's `apply` is handed: it collects; what it collected is put in only when `apply` has returned. */
import type { Awaitable, Origin, RegistryName, Services } from '../schemas/index.ts';
import { HOOK_EVENTS } from '../schemas/hooks.ts';
import { REGISTRY_NAMES } from '../schemas/contracts.ts';
import { isOrigin } from './config/origin.ts';
import { TappetError } from './errors.ts';
import type { TapRecord } from './guard.ts';
import type { EventName, TapFunction, TapOptions } from './hooks.ts';
import { MOMENTS } from './hooks.ts';
import type { Kernel } from './kernel.ts';
import type { Plugin, Scope } from './plugin.ts';

export interface Collected {
  readonly scope: Scope;
  /** Puts in what was collected. Names that others hold are registry problems, not throws. */
  commit(): void;
  /** Closes what it opened, where `apply` failed half way. */
  abandon(): Promise<void>;
  /** Names of what it brought, for lists. */
  adds(): readonly string[];
}

/** These are the kernel's to fire. */
const KERNEL_ONLY = new Set<string>(['PreToolUse', 'PermissionRequest']);

export function createScope(kernel: Kernel, plugin: Plugin, origin: Origin, options: unknown, order: number): Collected {
  const owner = plugin.name;
  const by = { owner, origin };
  const commits: (() => void)[] = [];
  const adds: string[] = [];
  const opened: (() => Awaitable<void>)[] = [];
  let state: 'open' | 'applied' = 'open';
  const sealed = (what: string): TappetError => new TappetError('E_KERNEL_SEALED', { name: owner, what, where: origin });
  const later = (what: string, put: () => void): void => {
    if (state !== 'open') throw sealed(what);
    commits.push(put);
  };

  const registries = Object.fromEntries((Object.keys(REGISTRY_NAMES) as RegistryName[]).map((kind) => {
    const registry = kernel.registries[kind] as Kernel['registries']['tools'];
    return [kind, {
      add: (item: { name: string }) => { adds.push(`${kind}:${item.name}`); later(`add ${kind} "${item.name}"`, () => registry.add(item as never, by)); },
      get: (name: string) => registry.get(name),
      all: () => registry.all(),
      subscribe: (fn: () => void) => registry.subscribe(fn),
      source: () => {
        type Items = Parameters<ReturnType<typeof registry.source>['replace']>[0];
        const held: { real?: ReturnType<typeof registry.source>; waiting?: Items } = {};
        later(`take a source of ${kind}`, () => { held.real = registry.source(by); if (held.waiting !== undefined) held.real.replace(held.waiting); });
        return { replace: (items: Items) => { const own = items.map((i) => ({ item: i.item, ...(isOrigin(i.origin) ? { origin: i.origin } : {}) })); if (held.real === undefined) held.waiting = own; else held.real.replace(own); } };
      },
      reserve: (prefix: string) => {
        let real: ReturnType<typeof registry.reserve> | null = null;
        const waiting: { name: string }[] = [];
        later(`reserve "${prefix}" of ${kind}`, () => { real = registry.reserve(prefix, by); for (const item of waiting) real.add(item as never); });
        return { add: (item: { name: string }) => { if (real === null) waiting.push(item); else real.add(item as never); }, remove: (name: string) => real?.remove(name) };
      },
    }];
  })) as unknown as Scope['registries'];

  const tap = (event: string) => (given: string | TapOptions, fn: TapFunction) => {
    const o = typeof given === 'string' ? { name: given } : given;
    if (typeof fn !== 'function') throw new TappetError('E_PLUGIN_SHAPE', { name: owner, message: `its tap on ${event} is no function`, where: origin });
    // Names and layers are written by the kernel, last: they cannot be forged.
    const record: TapRecord = { event, plugin: owner, options: { ...o, name: o.name || owner, ...(o.timeoutMs === 'own' && !owner.startsWith('hooks/') ? { timeoutMs: undefined as never } : {}) }, origin: isOrigin(o.origin) ? o.origin : origin, fn, order, disposed: false };
    adds.push(`tap:${event}`);
    later(`tap ${event}`, () => { kernel.taps.push(record); });
    return () => { record.disposed = true; };
  };
  const tappable = (event: string) => ({ tap: tap(event), tapPromise: tap(event) });
  const known = [...HOOK_EVENTS, ...Object.keys(MOMENTS)];
  // A name that nobody declares is found at the seal, with the nearest that somebody does.
  const hooks = new Proxy({ extension: (name: string) => tappable(name) } as Record<string, unknown>, { get: (target, name) => (name in target ? target[name as string] : typeof name === 'string' && name !== 'then' ? (target[name] = tappable(name)) : undefined), has: (_, name) => known.includes(String(name)) || name === 'extension' }) as unknown as Scope['hooks'];

  const fire: Record<string, unknown> = {};
  for (const name of plugin.fires ?? []) {
    if (KERNEL_ONLY.has(name)) throw new TappetError('E_PLUGIN_SHAPE', { name: owner, message: `${name} is fired by the kernel alone`, where: origin });
    if (known.includes(name)) fire[name] = (event: never) => kernel.hooks.fire(name as EventName, event, { signal: kernel.abort.signal });
  }
  if (plugin.declares !== undefined) fire['extension'] = (name: string, event: unknown) => (Object.hasOwn(plugin.declares!, name) ? kernel.hooks.fireExtension(name, event, { signal: kernel.abort.signal }) : Promise.reject(new TappetError('E_PLUGIN_SHAPE', { name: owner, message: `it fires ${name}, which it does not declare`, where: origin })));

  const scope: Scope = {
    name: owner, options, registries, hooks, fire: fire as Scope['fire'],
    settings: {
      get: () => kernel.settings(),
      origin: (path) => kernel.config().chain(path).find((l) => l.status === 'counts')?.origin ?? null,
      watch: (key, fn) => kernel.onSettings((now, before) => { if (!Object.is(now[key], before[key])) fn(now[key]); }),
    },
    services: {
      provide: (name, service) => { adds.push(`service:${name}`); later(`provide ${name}`, () => kernel.services.provide(name, service, by)); },
      get: <K extends keyof Services>(name: K) => kernel.services.get(name),
    },
    open: (o) => kernel.open(o),
    own: (close: () => Awaitable<void>) => { if (state === 'open') opened.push(close); else kernel.own(owner, close); },
    log: { info: (text) => kernel.log({ level: 'info', name: owner, text }), warn: (text) => kernel.log({ level: 'warning', name: owner, text }), error: (text) => kernel.log({ level: 'error', name: owner, text }) },
    folders: { root: kernel.root, state: kernel.places.state, cache: kernel.places.cache, config: kernel.places.config, home: kernel.places.home },
    env: kernel.env,
  };
  return {
    scope,
    adds: () => adds,
    async abandon() {
      state = 'applied';
      for (const close of opened.reverse()) await close();
    },
    commit() {
      state = 'applied';
      for (const put of commits) put();
      for (const close of opened) kernel.own(owner, close);
      for (const [name, shape] of Object.entries(plugin.declares ?? {})) kernel.declared.set(name, shape);
    },
  };
}
