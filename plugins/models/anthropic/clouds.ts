/** Claude at Bedrock or Vertex: by the vendor's SDK, if the user installed it. We bring none: they are heavy, and few need them. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isTappetError, messageOf, TappetError } from 'tappet/kernel';
import { isRecord } from 'tappet/kit';
import type { ProviderSettings } from 'tappet/schemas';
import { faultOfAnswer } from './faults.ts';
import type { Fault } from './faults.ts';

type Json = Record<string, unknown>;
const CLOUDS = {
  bedrock: { pkg: '@anthropic-ai/bedrock-sdk', name: 'AnthropicBedrock' },
  vertex: { pkg: '@anthropic-ai/vertex-sdk', name: 'AnthropicVertex' },
} as const;
export type Via = keyof typeof CLOUDS;
export interface Cloud { create(body: Json, o: { readonly signal: AbortSignal; readonly headers: Readonly<Record<string, string>>; readonly timeout: number }): Promise<AsyncIterable<Json>> }

/** @throws E_MODEL_UNAVAILABLE */
export function viaOf(settings: ProviderSettings | undefined): Via | null {
  const via = settings?.options?.via;
  if (via === undefined) return null;
  if (via === 'bedrock' || via === 'vertex') return via;
  throw new TappetError('E_MODEL_UNAVAILABLE', { message: 'providers.anthropic.options.via is neither bedrock nor vertex', do: 'write via: bedrock or via: vertex, or take the key out' });
}

/** Why it cannot be loaded; `null`: it is there. */
export function missingSdk(via: Via, folder: string): string | null {
  try { sdkFile(via, folder); return null; } catch { return `Claude at ${via} needs the package ${CLOUDS[via].pkg}, which is not installed in ${folder}`; }
}
const sdkFile = (via: Via, folder: string): string => createRequire(join(folder, 'package.json')).resolve(CLOUDS[via].pkg);

/** What stands in `options.client` goes to the SDK as it is; the cloud's own credentials are the SDK's affair. @throws E_MODEL_UNAVAILABLE */
export async function openCloud(via: Via, folder: string, settings: ProviderSettings | undefined): Promise<Cloud> {
  const { pkg, name } = CLOUDS[via];
  const missing = missingSdk(via, folder);
  if (missing !== null) throw new TappetError('E_MODEL_UNAVAILABLE', { message: missing, do: `run: npm install --prefix ${folder} ${pkg}` });
  const module = await import(pathToFileURL(sdkFile(via, folder)).href) as Json;
  const inner = isRecord(module.default) || typeof module.default === 'function' ? module.default as Json : {};
  const Client = [module[name], inner[name], module.default].find((c) => typeof c === 'function') as (new (o: Json) => { messages: { create: Cloud['create'] } }) | undefined;
  if (Client === undefined) throw new TappetError('E_MODEL_UNAVAILABLE', { message: `${pkg} in ${folder} has no class ${name}`, do: `install a current version: npm install --prefix ${folder} ${pkg}@latest` });
  // The loop has its own policy of trying again.
  const client = new Client({ ...(isRecord(settings?.options?.client) ? settings.options.client : {}), ...(settings?.baseUrl === undefined ? {} : { baseURL: settings.baseUrl }), maxRetries: 0 });
  return { create: async (body, o) => client.messages.create(body, o) };
}

export interface CloudRequest {
  readonly via: Via;
  readonly body: Json;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Until the answer begins, as the SDK sees to it. */
  readonly timeout: number;
  readonly betweenBytesMs: number;
  fail(fault: Fault, cause?: unknown): TappetError;
}
/** An answer's events, or why there is none; an SDK's errors in our words, and its silence with our limit. */
export async function askCloud(cloud: Cloud, o: CloudRequest): Promise<{ readonly events: AsyncIterable<Json> } | { readonly fault: Fault }> {
  const aborted = (cause?: unknown): TappetError => o.fail({ kind: 'aborted', message: 'the request was stopped', transient: false }, cause);
  if (o.signal.aborted) throw aborted();
  const stop = new AbortController();
  const onAbort = (): void => stop.abort();
  o.signal.addEventListener('abort', onAbort, { once: true });
  let silent = false;
  let timer: NodeJS.Timeout | undefined;
  const wait = (): void => { timer = setTimeout(() => { silent = true; stop.abort(); }, o.betweenBytesMs); };
  const done = (): void => {
    clearTimeout(timer);
    o.signal.removeEventListener('abort', onAbort);
  };
  const trouble = (e: unknown): { readonly error: Error } | { readonly fault: Fault } => {
    if (o.signal.aborted) return { error: aborted(e) };
    if (silent) return { error: o.fail({ kind: 'timeout_between_bytes', message: `${o.via} went silent for ${o.betweenBytesMs / 1000} s`, transient: true }, e) };
    if (isTappetError(e)) return { error: e };
    const { status, error, headers } = e as { status?: unknown; error?: unknown; headers?: unknown };
    if (typeof status !== 'number') return { error: o.fail({ kind: 'connection', message: messageOf(e), transient: true }, e) };
    return { fault: faultOfAnswer(status, headersOf(headers), isRecord(error) ? JSON.stringify(error) : messageOf(e)) };
  };
  // An SDK may be slow to notice a stop: nobody waits for it.
  const stopped = new Promise<never>((_, reject) => { stop.signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true }); });
  stopped.catch(() => { /* told where it is awaited */ });
  async function* watched(events: AsyncIterable<Json>): AsyncGenerator<Json, void, void> {
    const reader = events[Symbol.asyncIterator]();
    try {
      for (;;) {
        wait();
        const { done: end, value } = await Promise.race([reader.next(), stopped]);
        clearTimeout(timer);
        if (end === true) return;
        yield value;
      }
    } catch (e) {
      const known = trouble(e);
      throw 'error' in known ? known.error : o.fail(known.fault, e);
    } finally {
      done();
      reader.return?.().catch(() => { /* it is over either way */ });
    }
  }
  try {
    return { events: watched(await Promise.race([cloud.create(o.body, { signal: stop.signal, headers: o.headers, timeout: o.timeout }), stopped])) };
  } catch (e) {
    done();
    const known = trouble(e);
    if ('error' in known) throw known.error;
    return known;
  }
}

function headersOf(said: unknown): Record<string, string> {
  if (typeof said !== 'object' || said === null) return {};
  const pairs: [string, unknown][] = Symbol.iterator in said ? [...said as Iterable<[string, unknown]>] : Object.entries(said);
  return Object.fromEntries(pairs.flatMap(([k, v]) => (typeof v === 'string' ? [[k.toLowerCase(), v]] : [])));
}
