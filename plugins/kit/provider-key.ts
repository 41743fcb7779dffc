/** How a provider comes to its key: by the service `keys`; by variables and helper alone where no plugin provides that. */
import type { KeyStore, ProviderSettings } from '../../schemas/index.ts';
import { askKeyHelper, helperKeys } from './key-helper.ts';

/** Variables that usually hold the keys of providers that ship with us, in order. */
const USUAL: Readonly<Record<string, readonly string[]>> = {
  anthropic: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'], openai: ['OPENAI_API_KEY'], gemini: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
  openrouter: ['OPENROUTER_API_KEY'], groq: ['GROQ_API_KEY'], mistral: ['MISTRAL_API_KEY'], deepseek: ['DEEPSEEK_API_KEY'],
};
const AZURE = 'AZURE_OPENAI_API_KEY';

/** The variables that are looked at for a provider's key: the configured one alone, else the usual ones. */
export function keyVariables(provider: string, settings?: ProviderSettings): readonly string[] {
  if (settings?.apiKeyEnv !== undefined) return [settings.apiKeyEnv];
  const usual = Object.hasOwn(USUAL, provider) ? USUAL[provider]! : [];
  return settings?.options?.azure === undefined ? usual : [AZURE, ...usual];
}
/** All of them, whatever the provider. */
export const allKeyVariables = (): readonly string[] => [...Object.values(USUAL).flat(), AZURE];

export type FoundKey = NonNullable<Awaited<ReturnType<KeyStore['find']>>>;
/** The first variable that holds something. */
export function keyInVariables(env: Readonly<Record<string, string | undefined>>, names: readonly string[]): FoundKey | null {
  for (const variable of names) {
    const key = env[variable]?.trim() ?? '';
    if (key !== '') return { key, from: `the variable ${variable}`, variable };
  }
  return null;
}
export const FROM_HELPER = 'the output of keyHelper';

export interface ProviderKey {
  /** `null`: there is none. @throws where a helper fails or the stored keys cannot be read */
  get(): Promise<FoundKey | null>;
  /** Why there is none; `null`: there is one, or a helper will be asked. @throws where the stored keys cannot be read */
  missing(): Promise<string | null>;
  /** The server refused it: helper and key ring are asked anew. */
  forget(): void;
}
export interface ProviderKeyOptions {
  readonly provider: string;
  readonly settings: ProviderSettings | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Asked each time: the service may come from a plugin that is applied later. */
  keys(): KeyStore | undefined;
}

export function providerKey({ provider, settings, env, keys }: ProviderKeyOptions): ProviderKey {
  const names = keyVariables(provider, settings);
  const helper = settings?.keyHelper;
  const own = helperKeys((command) => askKeyHelper(command, env));
  const get = async (): Promise<FoundKey | null> => {
    const store = keys();
    if (store !== undefined) return store.find(provider, { env: names, helper });
    const found = keyInVariables(env, names);
    if (found !== null || helper === undefined) return found;
    const answer = await own.get(provider, helper);
    if ('problem' in answer) throw new Error(`keyHelper gave no key: ${answer.problem}`);
    return { key: answer.key, from: FROM_HELPER };
  };
  return {
    get,
    async missing() {
      if (helper !== undefined || (await get()) !== null) return null;
      const stored = keys() === undefined ? [] : [`no key is stored (\`tappet login ${provider}\`)`];
      return [...(names.length === 0 ? [] : [`${names.join(' or ')} is not set`]), ...stored].join(', and ') || 'there is no key';
    },
    forget() {
      own.forget(provider);
      keys()?.forget(provider);
    },
  };
}
