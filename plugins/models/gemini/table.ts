/** The vendor's models as of December 2026: prices of the usual tier; where long requests cost more, the price up to 200 000 tokens. */
import type { ModelInfo } from 'tappet/schemas';

const CAN = ['tools', 'images', 'documents', 'thinking', 'cache', 'effort'] as const;
const row = (id: string, input: number, output: number, cacheRead: number, ...aliases: string[]): ModelInfo =>
  ({ id, ...(aliases.length === 0 ? {} : { aliases }), contextWindow: 1_048_576, maxOutputTokens: 65_536, prices: { input, output, cacheRead }, can: CAN });

export const MODELS: readonly ModelInfo[] = [
  row('gemini-4-argon', 4, 20, 0.2, 'argon'),
  row('gemini-4-neon', 3, 15, 0.15, 'neon'),
  row('gemini-4-hydrogen', 1.5, 7.5, 0.075, 'hydrogen', 'gemini'),
  row('gemini-3.8-flash', 0.75, 3.75, 0.075, 'flash'),
  row('gemini-3.7-flash', 0.75, 3.75, 0.075),
  row('gemini-3.6-flash', 0.75, 3.75, 0.075),
  row('gemini-3.5-flash', 1.5, 9, 0.15),
  row('gemini-3.1-pro-preview', 2, 12, 0.2),
  row('gemini-3.1-flash-lite', 0.25, 1.5, 0.025, 'flash-lite'),
  row('gemini-2.5-pro', 1.25, 10, 0.125),
  row('gemini-2.5-flash', 0.3, 2.5, 0.03),
  row('gemini-2.5-flash-lite', 0.1, 0.4, 0.01),
];

/** What is taken of a model that no table knows. */
export const UNKNOWN = { contextWindow: 1_048_576, maxOutputTokens: 65_536, can: CAN } as const satisfies Partial<ModelInfo>;

/** From the third generation on, calls must come back with their signatures, and thinking is counted in levels. */
export const isThirdOrLater = (model: string): boolean => Number(/^gemini-(\d+)/.exec(model)?.[1] ?? 3) >= 3;

/** The least that a model can be told to think, as the vendor documents it: a level, or before the third generation a number of tokens. */
export function leastThinking(model: string): { readonly thinkingLevel: string } | { readonly thinkingBudget: number } {
  if (!isThirdOrLater(model)) return { thinkingBudget: /-pro\b/.test(model) ? 128 : 0 };
  const version = Number(/^gemini-(\d+(?:\.\d+)?)/.exec(model)?.[1] ?? NaN);
  return { thinkingLevel: /-flash-lite\b/.test(model) || (/-flash\b/.test(model) && version < 3.7) ? 'minimal' : 'low' };
}
