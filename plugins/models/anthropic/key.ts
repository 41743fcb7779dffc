/** With which words the API is shown that one may use it. */
import { keySource } from 'tappet/kit';
import type { ProviderSettings } from 'tappet/schemas';

export interface Key {
  /** The headers that carry it; `null`: there is none. @throws where the helper fails */
  headers(): Promise<Readonly<Record<string, string>> | null>;
  /** Why there is none. */
  missing(): string | null;
  /** The server refused it. True: it came from a helper, which will be asked anew. */
  refused(): boolean;
}

/** A named variable or a helper first, then `ANTHROPIC_API_KEY`, then `ANTHROPIC_AUTH_TOKEN` (for gateways, as a bearer token). */
export function findKey(settings: ProviderSettings | undefined, env: Readonly<Record<string, string | undefined>>): Key {
  const own = Object.keys(settings?.headers ?? {}).some((h) => /^(?:authorization|x-api-key)$/i.test(h));
  const said = settings?.apiKeyEnv !== undefined || settings?.keyHelper !== undefined;
  const key = keySource(settings, env, ['ANTHROPIC_API_KEY']);
  const token = said ? null : keySource(undefined, env, ['ANTHROPIC_AUTH_TOKEN']);
  const bearer = settings?.options?.auth === 'bearer' || /AUTH_TOKEN$/.test(settings?.apiKeyEnv ?? '');
  const as = (secret: string, bear: boolean): Record<string, string> => (bear ? { authorization: `Bearer ${secret}` } : { 'x-api-key': secret });
  return {
    async headers() {
      if (own) return {};
      const secret = await key.get();
      if (secret !== null) return as(secret, bearer);
      const other = await token?.get() ?? null;
      return other === null ? null : as(other, true);
    },
    missing: () => (own || token?.missing() === null ? null : key.missing()),
    refused() {
      key.forget();
      return settings?.keyHelper !== undefined;
    },
  };
}
