/** definePlugin and defineTool: what an author writes, and the scope that `apply` is handed. Builders hold no state and give no power. */
import type {
  Awaitable, CheckedSchema, Lazy, Open, Origin, OutputOf, RegistryItems, RegistryName, Schema, Services, Settings, Tool, ToolOptions, ToolResult,
} from '../schemas/index.ts';
import type { CodeRow } from './errors.ts';
import type { FireEvents, Hooks, Shape } from './hooks.ts';
import { checkedSchema } from './schema.ts';

export const API_VERSION = 1;
const PLUGIN = Symbol.for('tappet.plugin');

export type PluginDefaults = Partial<Pick<import('../schemas/index.ts').ConfigLayer, 'model' | 'limits' | 'models' | 'directories'>>;

export interface Plugin<Options extends Schema = Schema<any>> {
  /** Its place in the tree: `tools/read`; a third party's begins with its publisher: `acme/jira`. */
  readonly name: string;
  /** The contract that it was written for. */
  readonly api: 1;
  /** Checks the `with:` block of its config entry. */
  readonly options?: Lazy<Options>;
  /** Names that must be applied before. */
  readonly needs?: readonly string[];
  /** Events that it may fire. */
  readonly fires?: readonly string[];
  /** Extension events of its own. */
  readonly declares?: Readonly<Record<string, Shape<any, any>>>;
  readonly defaults?: PluginDefaults;
  /** Its rows of the error table, prefixed by its name. */
  readonly codes?: Readonly<Record<string, CodeRow>>;
  apply(scope: Scope<OutputOf<Options>>): void | Promise<void>;
}

/** `add` before the seal; `source` gives a live list for plugins that read folders; `reserve` a prefix below which one may add at any time. */
export interface ScopeRegistry<T> {
  add(item: T): void;
  get(name: string): T | undefined;
  all(): readonly T[];
  source(): { replace(items: readonly { readonly item: T; readonly origin?: Origin }[]): void };
  reserve(prefix: string): { add(item: T): void; remove(name: string): void };
  subscribe(fn: () => void): () => void;
}
export interface Scope<Options = unknown> {
  readonly name: string;
  readonly options: Options;
  readonly settings: {
    get(): Settings;
    /** Where a value of the configuration was said. */
    origin(path: string): Origin | null;
    watch<K extends keyof Settings>(key: K, fn: (value: Settings[K]) => void): () => void;
  };
  readonly registries: { readonly [K in RegistryName]: ScopeRegistry<RegistryItems[K]> };
  readonly hooks: Hooks;
  readonly fire: FireEvents;
  readonly services: { provide<K extends keyof Services>(name: K, service: Services[K]): void; get<K extends keyof Services>(name: K): Services[K] | undefined };
  readonly open: Open;
  /** Closed at dispose, last opened first. */
  own(close: () => Awaitable<void>): void;
  readonly log: { info(text: string): void; warn(text: string): void; error(text: string): void };
  /** Folders that a plugin may keep things in; made at first use by whoever writes. */
  readonly folders: { readonly root: string; readonly state: string; readonly cache: string; readonly config: string; readonly home: string };
  /** The environment at the start; nobody reads `process.env`. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

export function definePlugin<const Options extends Schema = Schema<Record<string, never>>>(plugin: Plugin<Options>): Plugin<Options> {
  return Object.freeze(Object.assign({ [PLUGIN]: true }, plugin));
}
export const isPlugin = (value: unknown): value is Plugin => typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[PLUGIN] === true;

/** Results longer than this many characters go to a file. */
export const MAX_RESULT_CHARS = 100_000;

/** Fills in, fail-closed, what the author leaves out. */
export function defineTool<const S extends Schema, Out = unknown>(options: ToolOptions<S, Out>): Tool<OutputOf<S> & {}, Out> {
  type Input = OutputOf<S> & {};
  const answer = (said: boolean | ((input: Input) => boolean) | undefined) => (input: Input): boolean => (typeof said === 'function' ? said(input) : said === true);
  let schema: CheckedSchema<Input> | undefined;
  const { description } = options;
  return {
    name: options.name,
    aliases: options.aliases ?? [],
    inputSchema: () => (schema ??= checkedSchema<Input>(options.inputSchema as Lazy<Schema<Input>>, `input schema of tool ${options.name}`)),
    description: async (_input, how) => (typeof description === 'string' ? description : description(how)),
    call: async (args, context, canUseTool, parentMessage, onProgress): Promise<ToolResult<Out>> =>
      options.call(args, { ...context, parentMessage, canUseTool, progress: (data) => (onProgress as ((d: unknown) => void) | undefined)?.(data) }),
    checkPermissions: options.checkPermissions ?? (() => ({ behavior: 'passthrough' })),
    isConcurrencySafe: answer(options.isConcurrencySafe),
    isReadOnly: answer(options.isReadOnly),
    maxResultSizeChars: options.maxResultSizeChars ?? MAX_RESULT_CHARS,
    subjects: options.subjects ?? (() => [{ kind: 'opaque', why: `${options.name} does not say what it touches` }]),
    matches: options.matches ?? (() => 'maybe'),
    render: options.render ?? ((data) => (typeof data === 'string' ? data : JSON.stringify(data) ?? '')),
    fromSpec: options.fromSpec ?? (() => null),
    suggest: options.suggest ?? (() => []),
    requiresUserInteraction: options.requiresUserInteraction ?? false,
  };
}
