/** Money and tokens of a tree of agents: reserved before each request, so that ten at once cannot overdraw together. */
import type { Limits, ModelInfo, Usage } from '../schemas/index.ts';

export interface Reservation { /** Gives back the estimate and books what it really was. */ settle(usage: Usage, costUSD: number): void }
export interface Budget {
  /** The sentence that says what is used up, or a reservation. */
  reserve(limits: Limits, estimateUSD: number): Reservation | { readonly exceeded: string };
  readonly spentUSD: number;
  readonly outputTokens: number;
}

export function createBudget(): Budget {
  let spent = 0;
  let reserved = 0;
  let output = 0;
  return {
    get spentUSD() { return spent; },
    get outputTokens() { return output; },
    reserve(limits, estimate) {
      if (limits.costUsd !== undefined && spent + reserved + estimate > limits.costUsd) return { exceeded: `the limit of ${limits.costUsd} US dollars (spent ${spent.toFixed(4)}${estimate > 0 ? `, the next request costs about ${estimate.toFixed(4)}` : ''})` };
      if (limits.outputTokens !== undefined && output >= limits.outputTokens) return { exceeded: `the limit of ${limits.outputTokens} generated tokens` };
      reserved += estimate;
      let open = true;
      return {
        settle(usage, costUSD) {
          if (!open) return;
          open = false;
          reserved -= estimate;
          spent += costUSD;
          output += usage.output_tokens;
        },
      };
    },
  };
}

/** US dollars; 0 where nobody knows the prices. */
export function costOf(info: ModelInfo | undefined, usage: Usage): number {
  const p = info?.prices;
  if (p === undefined) return 0;
  return (usage.input_tokens * p.input + usage.output_tokens * p.output + usage.cache_read_input_tokens * (p.cacheRead ?? p.input) + usage.cache_creation_input_tokens * (p.cacheWrite ?? p.input)) / 1e6;
}
