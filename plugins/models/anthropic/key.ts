/** With which words the API is shown that one may use it. */
import type { FoundKey } from 'tappet/kit';
import type { ProviderSettings } from 'tappet/schemas';

/** A key in its own header; a token, by the name of its variable or by the configuration, as a bearer. */
export const keyHeaders = ({ key, variable }: FoundKey, settings: ProviderSettings | undefined): Readonly<Record<string, string>> =>
  (settings?.options?.auth === 'bearer' || /AUTH_TOKEN$/.test(variable ?? '') ? { authorization: `Bearer ${key}` } : { 'x-api-key': key });
