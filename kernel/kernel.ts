/** The Kernel object: hooks, registries, services, settings, and what it owns until it is disposed. */
import type { Awaitable, KernelView, Open, Origin, PluginReport, RegistryItems, RegistryName, Services, Settings } from '../schemas/index.ts';
import { REGISTRY_NAMES } from '../schemas/contracts.ts';
import { compareLayers, place } from '../schemas/origin.ts';
import type { Builtins } from './builtins.ts';
import type { Config } from './config/load.ts';
import type { Env, Places } from './config/places.ts';
import { printError, TappetError } from './errors.ts';
import type { Shape } from './hooks.ts';
import { createHookTable } from './guard.ts';
import type { HookTable, TapRecord } from './guard.ts';
import { chooseModel } from './models.ts';
import { createRegistry } from './registry.ts';
import type { Registry } from './registry.ts';

export type Registries = { readonly [K in RegistryName]: Registry<RegistryItems[K]> };
export interface LogLine { readonly level: 'info' | 'warning' | 'error'; readonly name: string; readonly text: string; readonly code?: string | undefined }

export interface Kernel {
  readonly root: string;
  readonly env: Env;
  readonly places: Places;
  readonly builtins: Builtins;
  readonly hooks: HookTable;
  readonly registries: Registries;
  readonly services: { provide(name: string, service: unknown, by: { owner: string; origin: Origin }): void; get<K extends keyof Services>(name: K): Services[K] | undefined };
  /** Changes only between turns. */
  config(): Config;
  setConfig(next: Config): void;
  settings(): Settings;
  onSettings(fn: (now: Settings, before: Settings) => void): () => void;
  /** Reads the configuration again where files have changed; says which problems are new. */
  refresh(): Promise<{ readonly changed: boolean }>;
  readonly reports: PluginReport[];
  readonly taps: TapRecord[];
  readonly declared: Map<string, Shape<any, any>>;
  /** Closed at dispose, last opened first. */
  own(owner: string, close: () => Awaitable<void>): void;
  log(line: LogLine): void;
  onLog(fn: (line: LogLine) => void): () => void;
  readonly abort: AbortController;
  /** Set by whoever opens sessions in it. */
  open: Open;
  dispose(): Promise<void>;
}

export function createKernel(o: { root: string; env: Env; places: Places; builtins: Builtins; config: Config }): Kernel {
  let config = o.config;
  const settingsListeners = new Set<(now: Settings, before: Settings) => void>();
  const logListeners = new Set<(line: LogLine) => void>();
  const early: LogLine[] = [];
  const owned: { owner: string; close: () => Awaitable<void> }[] = [];
  const services = new Map<string, { service: unknown; owner: string; origin: Origin }[]>();
  const abort = new AbortController();
  const registries = Object.fromEntries((Object.keys(REGISTRY_NAMES) as RegistryName[]).map((kind) => [kind, createRegistry(kind, { additive: kind === 'guards' })])) as unknown as Registries;
  const kernel: Kernel = {
    root: o.root, env: o.env, places: o.places, builtins: o.builtins, registries, abort,
    hooks: createHookTable(),
    services: {
      provide: (name, service, by) => {
        const before = services.get(name) ?? [];
        const rival = before.find((s) => s.origin.layer === by.origin.layer);
        if (rival !== undefined) kernel.log({ level: 'error', name: by.owner, code: 'E_NAME_TAKEN', text: printError(new TappetError('E_NAME_TAKEN', { kind: 'services', name, where: by.origin, cause: `${rival.owner} at ${place(rival.origin)} and ${by.owner} at ${place(by.origin)}` })) });
        services.set(name, [...before, { service, ...by }]);
      },
      get: (name) => {
        const all = services.get(name) ?? [];
        // `stores.sessions: acme/store` names the plugin; elsewhere the nearest layer provides.
        const wanted = name.startsWith('stores.') ? config.settings.stores[name.slice('stores.'.length) as 'sessions'] : undefined;
        const sorted = [...all].sort((a, b) => compareLayers(b.origin.layer, a.origin.layer));
        // Two of one layer are both withheld, as in a registry.
        const clash = sorted.length > 1 && sorted[0]!.origin.layer === sorted[1]!.origin.layer;
        const chosen = wanted === undefined ? (clash ? undefined : sorted[0]) : all.find((s) => s.owner === wanted);
        return chosen?.service as never;
      },
    },
    config: () => config,
    setConfig(next) {
      const before = config.settings;
      config = next;
      for (const fn of settingsListeners) fn(next.settings, before);
    },
    settings: () => config.settings,
    onSettings(fn) { settingsListeners.add(fn); return () => settingsListeners.delete(fn); },
    async refresh() {
      if (!(await config.stale())) return { changed: false };
      const known = new Set(config.problems.map((p) => p.printed));
      const next = await config.reload();
      kernel.setConfig(next);
      for (const p of next.problems) if (!known.has(p.printed)) kernel.log({ level: 'error', name: 'configuration', text: p.printed, code: p.code });
      return { changed: true };
    },
    reports: [], taps: [], declared: new Map(),
    own: (owner, close) => { owned.push({ owner, close }); },
    log: (line) => { if (logListeners.size === 0) early.push(line); for (const fn of logListeners) fn(line); },
    onLog(fn) { logListeners.add(fn); for (const line of early.splice(0)) fn(line); return () => logListeners.delete(fn); },
    open: () => Promise.reject(new Error('nobody opens sessions in this kernel')),
    async dispose() {
      abort.abort(new Error('the kernel is closed'));
      for (const t of kernel.taps) t.disposed = true;
      for (const { owner, close } of owned.splice(0).reverse()) {
        try { await inTime(close); } catch (e) { kernel.log({ level: 'error', name: owner, text: `failed to close: ${e instanceof Error ? e.message : String(e)}` }); }
      }
    },
  };
  return kernel;
}

/** What never closes must not keep the process. */
const CLOSE_MS = 10_000;
async function inTime(close: () => Awaitable<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => { timer = setTimeout(() => reject(new Error(`it took longer than ${CLOSE_MS} ms`)), CLOSE_MS); });
  try { await Promise.race([close(), late]); } finally { clearTimeout(timer); }
}

/** What sub-commands may see of it. */
export function viewOf(kernel: Kernel, dryRun: KernelView['dryRun']): KernelView {
  return {
    get config() { return kernel.config(); },
    plugins: kernel.reports,
    registry: (name) => kernel.registries[name],
    service: (name) => kernel.services.get(name),
    chooseModel: (wanted) => chooseModel(kernel, wanted),
    open: (o) => kernel.open(o),
    dryRun,
  };
}
