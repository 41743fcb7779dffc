/** Notices that a model searches on and on and finds nothing. */
import type { SearchAggregator } from 'tappet/schemas';

/** After how many searches in a row something is said. */
const EMPTY = 3;
/** One for each session. */
export function createSearchAggregator(): SearchAggregator {
  let turn: string | null = null;
  let empty: string[] = [];
  return {
    sample(turnId, query, hits) {
      if (turnId !== turn) { turn = turnId; empty = []; }
      if (hits > 0) { empty = []; return null; }
      empty.push(query.length > 60 ? `${query.slice(0, 60).replace(/[\ud800-\udbff]$/, '')}…` : query);
      if (empty.length % EMPTY !== 0) return null;
      return `${empty.length} searches in a row found nothing, the last for ${empty.slice(-EMPTY).map((q) => JSON.stringify(q)).join(', ')}. It may be named otherwise, or not be here: look at the folders with Glob, or try one short word.`;
    },
  };
}
