/** How a provider shows, request by request, that it may ask: with which key, what to do when that is refused, and that it stands in no error. */
import type { ModelFault } from '../../schemas/index.ts';
import { hideSecrets } from './answer-reading.ts';
import { providerKey } from './provider-key.ts';
import type { FoundKey, ProviderKeyOptions } from './provider-key.ts';
import { headerSecrets } from './provider-settings.ts';

export interface ProviderAccessOptions extends ProviderKeyOptions {
  /** False: a server may ask for none, so none is asked for. */
  readonly needed: boolean;
}
export interface ProviderAccess {
  /** `null`: none is needed, or it stands among the configured headers. Who stops does not wait for a helper. */
  key(signal: AbortSignal): Promise<{ readonly found: FoundKey | null } | { readonly fault: Omit<ModelFault, 'provider' | 'model'> }>;
  /** The server refused this key: is there another one by now? */
  another(refused: FoundKey | null, signal: AbortSignal): Promise<boolean>;
  /** Why nothing can be asked; `null`: it can. */
  missing(): Promise<string | null>;
  hide(text: string): string;
}

/** Headers that carry a key. */
const OWN = /^(?:authorization|(?:x-|x-goog-)?api-key)$/i;

export function providerAccess(o: ProviderAccessOptions): ProviderAccess {
  const { settings, needed } = o;
  const source = providerKey(o);
  const own = Object.keys(settings?.headers ?? {}).some((h) => OWN.test(h));
  const secrets = new Set(headerSecrets(settings));
  const key: ProviderAccess['key'] = async (signal) => {
    if (own) return { found: null };
    const fault = (kind: 'auth' | 'aborted', message: string) => ({ fault: { kind, message, transient: false } });
    const stopped = fault('aborted', 'the request was stopped');
    if (signal.aborted) return stopped;
    try {
      const found = await unlessStopped(source.get(), signal);
      if (found !== null) secrets.add(found.key);
      return found === null && needed ? fault('auth', await source.missing() ?? 'there is no key') : { found };
    } catch (e) {
      return signal.aborted ? stopped : fault('auth', wordsOf(e));
    }
  };
  return {
    key,
    async another(refused, signal) {
      if (own || refused === null) return false;
      source.forget();
      const now = await key(signal);
      return 'found' in now && now.found !== null && now.found.key !== refused.key;
    },
    async missing() {
      if (own || !needed) return null;
      try { return await source.missing(); } catch (e) { return wordsOf(e); }
    },
    hide: (text) => hideSecrets(text, [...secrets]),
  };
}
/** With the place, where the error knows it: a file of keys that is damaged must be found. */
function wordsOf(e: unknown): string {
  if (!(e instanceof Error)) return String(e);
  const { where } = e as { where?: unknown };
  return typeof where === 'string' ? `${e.message} (${where})` : e.message;
}

async function unlessStopped<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort = (): void => {};
  const stopped = new Promise<never>((_, reject) => {
    onAbort = () => reject(new Error('stopped'));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, stopped]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
