/** Stands up a model plugin on a small scope, and talks to the provider that it registers. */
import type { Block, EncodedMessage, ModelEvent, ModelFault, ModelProvider, ModelRequest, NormalizedMessage, Plugin, Settings, ToolSpec } from 'tappet/kernel';
import { faultOf, isTappetError } from 'tappet/kernel';
import type { TappetError } from 'tappet/kernel';

export interface Bench { readonly providers: Map<string, ModelProvider>; readonly get: (name: string) => ModelProvider }
export interface BenchOptions { readonly root?: string; readonly home?: string; readonly options?: unknown; readonly env?: Readonly<Record<string, string>>; readonly settings?: Partial<Settings>; readonly others?: readonly ModelProvider[] }

export async function standUp(plugin: unknown, o: BenchOptions = {}): Promise<Bench> {
  const providers = new Map<string, ModelProvider>((o.others ?? []).map((p) => [p.name, p]));
  const scope = {
    name: (plugin as Plugin).name,
    options: o.options ?? {},
    settings: { get: () => ({ models: {}, providers: {}, ...o.settings }), origin: () => null, watch: () => () => undefined },
    registries: { modelProviders: { add: (p: ModelProvider) => { providers.set(p.name, p); }, get: (name: string) => providers.get(name), all: () => [...providers.values()] } },
    folders: { root: o.root ?? '/nowhere', state: '/nowhere', cache: '/nowhere', config: '/nowhere', home: o.home ?? '/nowhere-home' },
    env: o.env ?? {},
    log: { info() {}, warn() {}, error() {} },
    own: () => undefined,
  };
  await (plugin as { apply(s: unknown): void | Promise<void> }).apply(scope);
  return { providers, get: (name) => providers.get(name)! };
}

export const user = (...content: (string | Block)[]): NormalizedMessage => ({ role: 'user', content: content.map((c) => (typeof c === 'string' ? { type: 'text', text: c } : c)) });
export const assistant = (...content: (string | Block)[]): NormalizedMessage => ({ role: 'assistant', content: content.map((c) => (typeof c === 'string' ? { type: 'text', text: c } : c)) });
export const result = (id: string, content: string, is_error = false): Block => ({ type: 'tool_result', tool_use_id: id, content, is_error });
export const tool = (name: string): ToolSpec => ({ name, description: `${name}.`, input_schema: { type: 'object' } });

export function request(provider: ModelProvider, model: string, messages: readonly NormalizedMessage[], more: Partial<ModelRequest> = {}): ModelRequest {
  return { model, system: [], messages: messages.map((message): EncodedMessage => ({ message, bytes: provider.encode(message) })), tools: [], sessionId: 's1', turnId: 't1', ...more };
}

export interface Spoken { readonly events: readonly ModelEvent[]; readonly content: readonly Block[]; readonly text: string; readonly stop: string | null; readonly error: TappetError | null; readonly fault: ModelFault | null }
/** Reads a stream to its end, or to its error. */
export async function speak(provider: ModelProvider, r: ModelRequest, signal: AbortSignal = new AbortController().signal): Promise<Spoken> {
  const events: ModelEvent[] = [];
  let error: TappetError | null = null;
  try {
    for await (const event of provider.stream(r, signal)) events.push(event);
  } catch (e) {
    if (!isTappetError(e)) throw e;
    error = e;
  }
  const content = events.flatMap((e) => (e.type === 'content_block_stop' ? [e.block] : []));
  return {
    events, content, error,
    text: content.flatMap((b) => (b.type === 'text' ? [b.text] : [])).join('\n'),
    stop: events.flatMap((e) => (e.type === 'message_delta' ? [e.stop_reason] : []))[0] ?? null,
    fault: error === null ? null : faultOf(error),
  };
}
