/** One message as the API takes it: pure, the same bytes for the same message, without cache markers. */
import type { Block, DocumentBlock, ImageBlock, NormalizedMessage, TextBlock, ToolResultBlock } from 'tappet/schemas';

type Json = Record<string, unknown>;
export const PROVIDER = 'anthropic';

/** Empty where nothing is left that an answer of the model could hold; the request leaves such a message out. */
export function encode(message: NormalizedMessage, o: { readonly thinking: boolean } = { thinking: true }): Uint8Array {
  const content = message.role === 'user' ? userContent(message.content) : message.content.flatMap((b) => answerBlock(b, o.thinking));
  // An answer that broke off behind its thoughts; the API refuses such an end, and would refuse it in each request from then on.
  while (message.role === 'assistant' && /thinking$/.test(String(content.at(-1)?.type))) content.pop();
  if (content.length === 0 && message.role === 'assistant') return new Uint8Array(0);
  return Buffer.from(wellFormed({ role: message.role, content: content.length === 0 ? [{ type: 'text', text: '(empty message)' }] : content }));
}

/** Results come first, says the API, and those of an error hold words only: pictures stand behind them. */
function userContent(blocks: readonly Block[]): Json[] {
  const results: Json[] = [];
  const rest: Json[] = [];
  for (const b of blocks) {
    if (b.type === 'tool_result') {
      const { result, behind } = toolResult(b);
      results.push(result);
      rest.push(...behind);
    } else rest.push(...shown(b));
  }
  return [...results, ...rest];
}

function toolResult(b: ToolResultBlock): { readonly result: Json; readonly behind: Json[] } {
  const parts = typeof b.content === 'string' ? (b.content.trim() === '' ? [] : [b.content]) : b.content.flatMap(shown);
  const words = parts.filter((p) => typeof p === 'string' || p.type === 'text');
  const failed = b.is_error === true;
  const kept = failed ? words : parts;
  const content = typeof kept[0] === 'string' ? kept[0] : kept.length > 0 ? kept : failed ? '(no output)' : undefined;
  return {
    result: { type: 'tool_result', tool_use_id: safeId(b.tool_use_id), ...(content === undefined ? {} : { content }), ...(failed ? { is_error: true } : {}) },
    behind: failed ? parts.filter((p): p is Json => !words.includes(p)) : [],
  };
}

/** Text without a visible character is refused by the API. */
function shown(b: Block | TextBlock | ImageBlock | DocumentBlock): Json[] {
  switch (b.type) {
    case 'text': return b.text.trim() === '' ? [] : [{ type: 'text', text: b.text, ...(Array.isArray(b.citations) && b.citations.length > 0 ? { citations: b.citations } : {}) }];
    case 'image': return [{ type: 'image', source: b.source }];
    case 'document': return [{ type: 'document', source: b.source, ...(b.title === undefined ? {} : { title: b.title }) }];
    case 'vendor': return b.provider === PROVIDER ? [b.block] : [];
    default: return [];
  }
}

/** Thoughts go back only to those who signed them, byte for byte. */
function answerBlock(b: Block, thinking: boolean): Json[] {
  switch (b.type) {
    case 'thinking': return thinking && ours(b.provider) && b.signature !== undefined && b.signature !== '' ? [{ type: 'thinking', thinking: b.thinking, signature: b.signature }] : [];
    case 'redacted_thinking': return thinking && ours(b.provider) ? [{ type: 'redacted_thinking', data: b.data }] : [];
    case 'tool_use': return [{ type: 'tool_use', id: safeId(b.id), name: safeName(b.name), input: b.inputError === undefined ? b.input : {} }];
    case 'text': case 'vendor': return shown(b);
    default: return [];
  }
}
const ours = (provider: string | undefined): boolean => provider === undefined || provider === PROVIDER;

/** Other vendors' ids hold characters that this one refuses; two ids stay two. */
const safeId = (id: string): string => (id === '' ? '_' : id.replace(/[^a-zA-Z0-9_-]/g, (c) => `_${c.charCodeAt(0).toString(16)}_`));
/** A model may call what is no name at all. */
const safeName = (name: string): string => name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 128) || 'unknown';

/** Halves of surrogate pairs, as a cut makes them, would make the whole request unreadable. */
function wellFormed(message: Json): string {
  const json = JSON.stringify(message);
  if (!/\\ud[89a-f][0-9a-f]{2}/.test(json)) return json;
  const mend = (v: unknown): unknown => (typeof v === 'string' ? Buffer.from(v, 'utf8').toString('utf8')
    : Array.isArray(v) ? v.map(mend) : typeof v === 'object' && v !== null ? Object.fromEntries(Object.entries(v).map(([k, x]) => [mend(k), mend(x)])) : v);
  return JSON.stringify(mend(message));
}
