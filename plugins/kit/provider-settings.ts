/** What every provider reads alike: its key, its server's way, its table of models, when a server says that it may be asked again. */
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

export interface KeySource {
  /** `null`: there is none. @throws where the helper fails */
  get(): Promise<string | null>;
  /** Why there is none; `null`: there is one, or a helper will be asked. */
  missing(): string | null;
  /** The server refused it: a helper is asked anew. */
  forget(): void;
}
const HELPER_KEEPS_MS = 5 * 60_000;

/** `apiKeyEnv` counts before the usual names; a helper before both. */
export function keySource(settings: ProviderSettings | undefined, env: Env, usual: readonly string[], now: () => number = Date.now): KeySource {
  const names = settings?.apiKeyEnv === undefined ? usual : [settings.apiKeyEnv];
  const fromEnv = (): string | null => names.map((n) => env[n]?.trim()).find((v) => v !== undefined && v !== '') ?? null;
  const helper = settings?.keyHelper;
  let kept: { readonly until: number; readonly key: Promise<string> } | undefined;
  return {
    get: async () => {
      if (helper === undefined) return fromEnv();
      if (kept === undefined || kept.until <= now()) {
        const key = askHelper(helper, env);
        kept = { until: now() + HELPER_KEEPS_MS, key };
        key.catch(() => { kept = undefined; });
      }
      return kept.key;
    },
    missing: () => (helper !== undefined || fromEnv() !== null || names.length === 0 ? null : `${names.join(' or ')} is not set`),
    forget() { kept = undefined; },
  };
}

async function askHelper(command: string, env: Env): Promise<string> {
  const { exec } = await import('node:child_process');
  return new Promise((resolve, reject) => {
    exec(command, { env: env as NodeJS.ProcessEnv, timeout: 30_000, maxBuffer: 64 * 1024, windowsHide: true }, (error, stdout, stderr) => {
      const key = stdout.trim();
      if (error !== null) reject(new Error(`keyHelper failed (${error.killed === true ? 'no answer in 30 s' : `exit code ${error.code ?? '?'}`})${stderr.trim() === '' ? '' : `: ${stderr.trim().slice(0, 300)}`}`));
      else if (key === '' || /[\r\n]/.test(key)) reject(new Error('keyHelper printed no key: it must print one line'));
      else resolve(key);
    });
  });
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
