/** How many tokens a request has, before anybody says so: by classes of characters, corrected by what the last answer reported. */
import type { Block, NormalizedMessage, SystemPromptBlock, ToolSpec, Usage } from '../schemas/index.ts';

const LETTERS_PER_TOKEN = 6;
const DIGITS_PER_TOKEN = 3;
const MARKS_PER_TOKEN = 2.2;
const TOKENS_PER_IDEOGRAPH = 0.85;
/** An image costs by its size in pixels, which is not known here; this is about one of middle size. */
const TOKENS_PER_IMAGE = 1500;
const TOKENS_PER_BLOCK = 4;

/** Good to some ten per cent for prose, code and JSON alike. */
export function estimateTokens(text: string): number {
  let tokens = 0;
  let letters = 0;
  let digits = 0;
  const flush = (): void => {
    tokens += Math.ceil(letters / LETTERS_PER_TOKEN) + Math.ceil(digits / DIGITS_PER_TOKEN);
    letters = digits = 0;
  };
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if ((c >= 97 && c <= 122) || (c >= 65 && c <= 90) || (c >= 0xc0 && c < 0x2000)) { if (digits > 0) flush(); letters++; }
    else if (c >= 48 && c <= 57) { if (letters > 0) flush(); digits++; }
    else {
      flush();
      if (c === 32) continue; // goes with the word behind it
      tokens += c >= 0x2e80 ? TOKENS_PER_IDEOGRAPH : 1 / MARKS_PER_TOKEN;
    }
  }
  flush();
  return tokens;
}

export interface TokenEstimate {
  /** Of a whole request. Each message is looked at once. */
  request(system: readonly SystemPromptBlock[], tools: readonly ToolSpec[], messages: readonly NormalizedMessage[]): number;
  /** What the server counted for the request that was estimated last. */
  correct(usage: Usage): void;
}

/** The correction stays between these: one odd answer must not spoil the next estimates. */
const LEAST = 0.5;
const MOST = 3;
export function createTokenEstimate(): TokenEstimate {
  const messages = new WeakMap<NormalizedMessage, number>();
  const heads = new WeakMap<object, number>();
  let factor = 1;
  let raw = 0;
  const once = <K extends object>(map: WeakMap<K, number>, key: K, count: () => number): number => {
    let n = map.get(key);
    if (n === undefined) map.set(key, (n = count()));
    return n;
  };
  return {
    request(system, tools, list) {
      raw = system.reduce((n, b) => n + estimateTokens(b.text), 0) + once(heads, tools, () => tools.reduce((n, t) => n + estimateTokens(t.name + t.description + JSON.stringify(t.input_schema)), 0));
      for (const m of list) raw += once(messages, m, () => m.content.reduce((n, b) => n + TOKENS_PER_BLOCK + estimateTokens(textOf(b)) + (b.type === 'image' ? TOKENS_PER_IMAGE : 0), 0));
      return Math.ceil(raw * factor);
    },
    correct(usage) {
      const counted = usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
      if (counted > 0 && raw > 0) factor = Math.min(MOST, Math.max(LEAST, counted / raw));
    },
  };
}

function textOf(b: Block): string {
  switch (b.type) {
    case 'text': return b.text;
    case 'thinking': return b.thinking;
    case 'tool_use': return b.name + JSON.stringify(b.input);
    case 'tool_result': return typeof b.content === 'string' ? b.content : b.content.map((x) => (x.type === 'text' ? x.text : '')).join('');
    case 'vendor': return JSON.stringify(b.block);
    default: return '';
  }
}
