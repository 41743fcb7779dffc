/** Applies one plugin to a scope that only collects: what it brings, without a kernel. */
import { checkedSchema } from 'tappet/kernel';
import type { Plugin, Scope } from 'tappet/kernel';
import { REGISTRY_NAMES } from 'tappet/schemas';
import type { Origin, RegistryItems, RegistryName, Services, Settings } from 'tappet/schemas';

export interface CollectOptions {
  /** The `with:` block of its entry. */
  readonly options?: Readonly<Record<string, unknown>>;
  readonly folders?: Partial<Scope['folders']>;
  readonly settings?: Partial<Settings>;
  readonly origin?: (path: string) => Origin | null;
  readonly env?: Scope['env'];
  /** What other plugins would provide. */
  readonly services?: Partial<Services>;
}
export type Brought = { readonly [K in RegistryName]: readonly RegistryItems[K][] };

const NO_FOLDERS: Scope['folders'] = { root: '/nowhere/project', state: '/nowhere/state', cache: '/nowhere/cache', config: '/nowhere/config', home: '/nowhere/home' };
const NO_SETTINGS: Settings = {
  model: undefined, fallbackModel: undefined, mode: 'default', plugins: {}, permissions: { allow: [], ask: [], deny: [] }, directories: [], env: {}, limits: {}, providers: {}, models: {}, stores: {},
  earlyStart: true, effort: undefined, thinking: undefined, bounds: {},
};

/** Taps, services of its own and sessions are not to be had here: a plugin that takes them is tested on a kernel. */
export async function collect(plugin: Plugin, o: CollectOptions = {}): Promise<Brought> {
  const brought = Object.fromEntries(Object.keys(REGISTRY_NAMES).map((kind) => [kind, [] as unknown[]]));
  const absent = (what: string) => (): never => { throw new Error(`${plugin.name} uses ${what}, which collect() has not`); };
  const scope = {
    name: plugin.name,
    options: await checked(plugin, o.options ?? {}),
    registries: Object.fromEntries(Object.entries(brought).map(([kind, items]) => [kind, {
      add: (item: unknown) => void items.push(item),
      get: (name: string) => items.find((i) => (i as { name: string }).name === name),
      all: () => items,
      source: absent(`a source of ${kind}`), reserve: absent(`a prefix of ${kind}`), subscribe: () => () => {},
    }])),
    settings: { get: () => ({ ...NO_SETTINGS, ...o.settings }), origin: (path: string) => o.origin?.(path) ?? null, watch: () => () => {} },
    hooks: new Proxy({}, { get: (_, event) => ({ tap: absent(`hooks.${String(event)}`), tapPromise: absent(`hooks.${String(event)}`) }) }),
    fire: {},
    services: { provide: absent('services.provide'), get: (name: keyof Services) => o.services?.[name] },
    open: absent('open'),
    own: () => {},
    log: { info: () => {}, warn: () => {}, error: () => {} },
    folders: { ...NO_FOLDERS, ...o.folders },
    env: o.env ?? {},
  } as unknown as Scope;
  await plugin.apply(scope);
  return brought as unknown as Brought;
}

async function checked(plugin: Plugin, given: unknown): Promise<unknown> {
  if (plugin.options === undefined) return {};
  const said = await checkedSchema(plugin.options, `options of ${plugin.name}`).check(given);
  if ('problems' in said) throw new Error(`${plugin.name}: ${said.problems.join('; ')}`);
  return said.value;
}
