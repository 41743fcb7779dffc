/** The models as the vendor lists them (October 2026), and how each generation thinks. */
import type { ModelInfo } from 'tappet/schemas';

const ALL = ['tools', 'images', 'documents', 'thinking', 'cache', 'effort'] as const;
const NO_EFFORT = ['tools', 'images', 'documents', 'thinking', 'cache'] as const;
const MILLION = 1_000_000;

function row(id: string, [input, output, cacheRead, cacheWrite]: readonly [number, number, number, number], more: Partial<ModelInfo> = {}): ModelInfo {
  return { id, contextWindow: MILLION, maxOutputTokens: 128_000, prices: { input, output, cacheRead, cacheWrite }, can: ALL, ...more };
}

export const MODELS: readonly ModelInfo[] = [
  row('claude-sonnet-5-5', [2, 10, 0.1, 2.5], { aliases: ['sonnet'] }),
  row('claude-opus-5-5', [4, 20, 0.2, 5], { aliases: ['opus'] }),
  // Prompts of more than 100 000 tokens cost five times as much; a row has room for one price.
  row('claude-haiku-5-5', [0.1, 0.5, 0.01, 0.125], { aliases: ['haiku'] }),
  row('claude-fable-5-1', [10, 50, 0.25, 12.5], { aliases: ['fable'] }),
  row('claude-fable-5', [10, 50, 1, 12.5]),
  row('claude-opus-5', [5, 25, 0.5, 6.25]),
  row('claude-opus-4-8', [5, 25, 0.5, 6.25]),
  row('claude-opus-4-7', [5, 25, 0.5, 6.25]),
  row('claude-opus-4-6', [5, 25, 0.5, 6.25]),
  row('claude-opus-4-5', [5, 25, 0.5, 6.25], { contextWindow: 200_000, maxOutputTokens: 64_000 }),
  row('claude-sonnet-5', [2, 10, 0.2, 2.5]),
  row('claude-sonnet-4-6', [3, 15, 0.3, 3.75], { maxOutputTokens: 64_000 }),
  row('claude-sonnet-4-5', [3, 15, 0.3, 3.75], { contextWindow: 200_000, maxOutputTokens: 64_000, can: NO_EFFORT }),
  row('claude-haiku-4-5', [1, 5, 0.1, 1.25], { contextWindow: 200_000, maxOutputTokens: 64_000, can: NO_EFFORT }),
];
/** What is taken for granted of a model that nobody described. */
export const UNKNOWN = { contextWindow: 200_000, maxOutputTokens: 32_000 } satisfies Omit<ModelInfo, 'id'>;

export interface Thinking {
  /** Which form the model takes; `any`: nothing is known, so the wish goes out as it is. */
  readonly form: 'budget' | 'both' | 'adaptive' | 'any';
  /** It thinks unless it is told not to. */
  readonly byDefault: boolean;
  /** How it is told not to, or as little as it can; `null`: it cannot be told. Only for those that think by default. */
  readonly off: 'disabled' | 'between_tools' | null;
  /** Its thoughts are good only behind the very same system prompt, tools and messages. */
  readonly bound: boolean;
  /** It may be told which tool to use. */
  readonly forcible: boolean;
}

/** Read from the name, in whichever way a cloud dresses it up: `us.anthropic.claude-opus-5-5-v1:0`, `claude-haiku-4-5@20251001`. */
export function thinkingOf(model: string): Thinking {
  const [, family, major, minor] = /claude-(opus|sonnet|haiku|fable|mythos)-(\d)(?:-(\d)(?!\d))?/.exec(model) ?? [];
  if (family === undefined) return { form: 'any', byDefault: false, off: null, bound: false, forcible: true };
  const version = Number(major) + Number(minor ?? 0) / 10;
  const own = family === 'fable' || family === 'mythos';
  const bound = version >= (own ? 5.1 : 5.5);
  const off = own || (bound && family === 'opus') ? null : bound && family === 'sonnet' ? 'between_tools' : 'disabled';
  return { form: version >= 4.7 ? 'adaptive' : version >= 4.6 ? 'both' : 'budget', byDefault: version >= 5, off, bound, forcible: !bound || family === 'haiku' };
}
