/** The vendor's models as of the end of November 2026: prices of the usual tier, for requests of up to 272 000 input tokens. */
import type { ModelInfo, ModelPrices } from 'tappet/schemas';

const THINKS = ['tools', 'images', 'documents', 'thinking', 'cache', 'effort'] as const;
const PLAIN = ['tools', 'images', 'documents', 'cache'] as const;
const price = (input: number, output: number, cacheRead: number, cacheWrite?: number): ModelPrices => ({ input, output, cacheRead, ...(cacheWrite === undefined ? {} : { cacheWrite }) });
const row = (id: string, contextWindow: number, maxOutputTokens: number, prices: ModelPrices, can: ModelInfo['can'] = THINKS, ...aliases: string[]): ModelInfo =>
  ({ id, ...(aliases.length === 0 ? {} : { aliases }), contextWindow, maxOutputTokens, prices, can });

export const MODELS: readonly ModelInfo[] = [
  row('gpt-6.2-astra', 1_050_000, 128_000, price(8, 40, 0.4, 10), THINKS, 'astra'),
  row('gpt-6.2-sol', 1_050_000, 128_000, price(2, 10, 0.1, 2.5), THINKS, 'gpt', 'sol'),
  row('gpt-6.1-terra', 1_050_000, 128_000, price(1, 5, 0.05, 1.25), THINKS, 'terra'),
  row('gpt-6.1-sol', 1_050_000, 128_000, price(2, 10, 0.1, 2.5)),
  row('gpt-6-astra', 1_050_000, 128_000, price(10, 50, 1)),
  row('gpt-6-sol', 1_050_000, 128_000, price(2, 10, 0.2, 2.5)),
  row('gpt-6-luna', 1_050_000, 128_000, price(0.1, 0.5, 0.01, 0.125), THINKS, 'luna'),
  row('gpt-5.6-sol', 1_050_000, 128_000, price(4, 20, 0.4, 5), THINKS, 'gpt-5.6'),
  row('gpt-5.6-terra', 1_050_000, 128_000, price(2, 12, 0.2, 2.5)),
  row('gpt-5.6-luna', 1_050_000, 128_000, price(0.2, 1.2, 0.02, 0.25)),
  row('gpt-5.5', 1_050_000, 128_000, price(5, 30, 0.5)),
  row('gpt-5.4', 1_050_000, 128_000, price(2.5, 15, 0.25)),
  row('gpt-5.4-mini', 400_000, 128_000, price(0.75, 4.5, 0.075)),
  row('gpt-5.2', 400_000, 128_000, price(1.75, 14, 0.175)),
  row('gpt-5.1', 400_000, 128_000, price(1.25, 10, 0.125)),
  row('gpt-5', 400_000, 128_000, price(1.25, 10, 0.125)),
  row('gpt-5-mini', 400_000, 128_000, price(0.25, 2, 0.025)),
  row('gpt-5-nano', 400_000, 128_000, price(0.05, 0.4, 0.005)),
  row('gpt-4.1', 1_047_576, 32_768, price(2, 8, 0.5), PLAIN),
  row('gpt-4.1-mini', 1_047_576, 32_768, price(0.4, 1.6, 0.1), PLAIN),
  row('gpt-4o', 128_000, 16_384, price(2.5, 10, 1.25), PLAIN),
  row('gpt-4o-mini', 128_000, 16_384, price(0.15, 0.6, 0.075), PLAIN),
  row('o3', 200_000, 100_000, price(2, 8, 0.5)),
  row('o4-mini', 200_000, 100_000, price(1.1, 4.4, 0.275)),
];

/** The least effort that a model of the vendor takes, as it documents it; `undefined`: it does not think. */
export function leastEffort(model: string): string | undefined {
  if (/^o\d/.test(model)) return 'low';
  const version = Number(/^gpt-(\d+(?:\.\d+)?)/.exec(model)?.[1] ?? NaN);
  if (!(version >= 5)) return undefined;
  return model.includes('codex') ? 'low' : version === 5 ? 'minimal' : 'none';
}

/** What is taken of a model that no table knows. */
export const UNKNOWN = { contextWindow: 128_000, maxOutputTokens: 16_384, can: ['tools', 'images', 'documents'] } as const satisfies Partial<ModelInfo>;
/** The same on servers of one's own, where windows are smaller. */
export const UNKNOWN_LOCAL = { contextWindow: 32_768, maxOutputTokens: 8_192, can: ['tools', 'images'] } as const satisfies Partial<ModelInfo>;

/** Servers that speak the vendor's language, where they usually are. */
export const KNOWN_SERVERS: Readonly<Record<string, { readonly baseUrl: string }>> = {
  ollama: { baseUrl: 'http://127.0.0.1:11434/v1' },
  lmstudio: { baseUrl: 'http://127.0.0.1:1234/v1' },
  vllm: { baseUrl: 'http://127.0.0.1:8000/v1' },
  llamacpp: { baseUrl: 'http://127.0.0.1:8080/v1' },
  jan: { baseUrl: 'http://127.0.0.1:1337/v1' },
  openrouter: { baseUrl: 'https://openrouter.ai/api/v1' },
  groq: { baseUrl: 'https://api.groq.com/openai/v1' },
  mistral: { baseUrl: 'https://api.mistral.ai/v1' },
  deepseek: { baseUrl: 'https://api.deepseek.com/v1' },
};
