/** What every provider reads alike: its server's way, its table of models, when a server says that it may be asked again. */
import type { ModelEntry, ModelInfo, ProviderSettings } from '../../schemas/index.ts';
import type { HttpClientOptions } from './http.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** A server may think for minutes without a word. */
const PATIENCE_MS = 300_000;

export function clientOptions(o: { readonly provider: string; readonly settings: ProviderSettings | undefined; readonly baseUrl: string; readonly env: Env; readonly headers?: Readonly<Record<string, string>> }): HttpClientOptions {
  const { provider, settings: s, baseUrl, env } = o;
  return {
    provider, baseUrl, env,
    headers: { ...o.headers, ...Object.fromEntries(Object.entries(s?.headers ?? {}).map(([k, v]) => [k.toLowerCase(), v])) },
    proxy: s?.proxy, noProxy: s?.noProxy, caFile: s?.caFile, certFile: s?.certFile, keyFile: s?.keyFile,
    firstByteMs: s?.timeouts?.firstByteMs ?? PATIENCE_MS, betweenBytesMs: s?.timeouts?.betweenBytesMs ?? PATIENCE_MS,
  };
}

/** What of the configured headers may stand in no error. */
export const headerSecrets = (settings: ProviderSettings | undefined): readonly string[] =>
  Object.entries(settings?.headers ?? {}).flatMap(([k, v]) => (/auth|key|token|cookie|secret|password/i.test(k) ? [v, v.replace(/^(?:Bearer|Basic|Token) /i, '')] : []));
/** An address as it may be shown: a query may hold a key. */
export const shownUrl = (url: string): string => (URL.canParse(url) ? `${new URL(url).origin}${new URL(url).pathname}` : 'the base URL').replace(/\/+$/, '');

/** A redirect is never followed: nobody else shall see the key and the conversation. */
export function elsewhere(provider: string, status: number, headers: Readonly<Record<string, string>>): string {
  const { location } = headers;
  const to = location === undefined ? '' : `, to ${URL.canParse(location) ? new URL(location).host : 'another path'}`;
  return `the server sends elsewhere${to} (${status}): set providers.${provider}.baseUrl to where the API is`;
}

/** The built-in rows, and before them what the configuration says of this provider's models. */
export function mergeModels(provider: string, table: readonly ModelInfo[], said: Readonly<Record<string, ModelEntry>>, defaults: Pick<ModelInfo, 'contextWindow' | 'maxOutputTokens' | 'can'>): readonly ModelInfo[] {
  const rows = [...table];
  const added: ModelInfo[] = [];
  for (const [name, { id: given, aliases: more = [], ...facts }] of Object.entries(said)) {
    if (!name.startsWith(`${provider}/`)) continue;
    const own = name.slice(provider.length + 1);
    const id = given ?? findModel(rows, own)?.id ?? own;
    const known = rows.find((m) => m.id === id);
    // An entry with another id stands beside the row of that id; one without speaks of the row itself.
    const replaces = known !== undefined && (given === undefined || given === own);
    if (replaces) rows.splice(rows.indexOf(known), 1);
    const aliases = [...new Set([...(replaces ? known.aliases ?? [] : []), own, ...more])].filter((a) => a !== id);
    added.push({ ...defaults, ...known, id, aliases, ...Object.fromEntries(Object.entries(facts).filter(([, v]) => v !== undefined)) });
  }
  return [...added, ...rows];
}
/** By id, else by alias. */
export const findModel = (models: readonly ModelInfo[], name: string): ModelInfo | undefined => models.find((m) => m.id === name) ?? models.find((m) => m.aliases?.includes(name) ?? false);

/** What `retry-after-ms` or `retry-after` (seconds or a date) says; junk and the past say nothing. */
export function retryAfter(headers: Readonly<Record<string, string>>, now: number = Date.now()): { readonly retryAfterMs?: number; readonly resetAt?: string } {
  const number = (text: string | undefined): number => (text !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : NaN);
  const said = headers['retry-after'];
  const date = said !== undefined && /[a-z]{3}/i.test(said) ? Date.parse(said) - now : NaN;
  const ms = [number(headers['retry-after-ms']), number(said) * 1000, date].find((n) => Number.isFinite(n) && n >= 0);
  return ms === undefined ? {} : waits(ms, now);
}
/** The same wait as a length and as a time. */
export const waits = (ms: number, now: number = Date.now()): { readonly retryAfterMs: number; readonly resetAt?: string } => {
  const at = new Date(now + ms);
  return { retryAfterMs: Math.round(ms), ...(Number.isNaN(at.getTime()) ? {} : { resetAt: at.toISOString() }) };
};
