/** What a server of one's own says that it serves; some name their windows. */
import { countOf, isRecord } from 'tappet/kit';
import type { ModelInfo } from 'tappet/schemas';

/** Models that make numbers of words, or put texts in order: nobody can talk with them. */
const NO_TALK = /embed|rerank|^(?:.*\/)?(?:bge|gte|e5|all-minilm)\b/i;

/** `null`: this is no list of models, so what answers is something else. */
export function servedModels(body: unknown, unknown: Omit<ModelInfo, 'id'>): readonly ModelInfo[] | null {
  // Ollama without any model says `null`.
  if (!isRecord(body) || body.object !== 'list' || (!Array.isArray(body.data) && body.data !== null)) return null;
  return (Array.isArray(body.data) ? body.data : []).filter(isRecord).flatMap((m) => {
    if (typeof m.id !== 'string' || m.id === '' || NO_TALK.test(m.id)) return [];
    const window = windowOf(m, unknown.contextWindow);
    return [{ id: m.id, ...unknown, ...(window === 0 ? {} : { contextWindow: window, maxOutputTokens: Math.min(unknown.maxOutputTokens, window) }) }];
  });
}

/** The window that it was started with; what it was trained for only says that there is not more. */
function windowOf(m: Readonly<Record<string, unknown>>, usual: number): number {
  const meta = isRecord(m.meta) ? m.meta : {};
  return countOf(m.max_model_len) || countOf(m.max_context_length) || countOf(m.context_length) || countOf(meta.n_ctx) || (countOf(meta.n_ctx_train) === 0 ? 0 : Math.min(countOf(meta.n_ctx_train), usual));
}
