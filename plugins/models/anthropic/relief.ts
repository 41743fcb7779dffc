/** What is tried once more, and how, when the server refuses a part of the request that the answer does not hang on. */
import type { ModelFault } from 'tappet/schemas';

/** Parts that are left out. */
export type Relief = 'binding' | 'display' | 'thinking' | 'effort' | 'tool_choice' | 'cache';
export type Remedy = { readonly notice: string } & (
  | { readonly kind: 'leave'; readonly part: Relief }
  /** Thoughts of earlier answers. */
  | { readonly kind: 'stale' }
  /** Tokens of the answer; `always`: with every request to this model. */
  | { readonly kind: 'most'; readonly most: number; readonly always: boolean });

const LEAVE: readonly { readonly part: Relief; readonly field: string; readonly says: RegExp; readonly notice: string }[] = [
  { part: 'binding', field: 'thinking.block_binding', says: /block_binding|thinking-binding|anthropic-beta/i, notice: '' },
  { part: 'display', field: 'thinking.display', says: /\bdisplay\b/i, notice: 'the server does not show the thoughts of this model' },
  { part: 'thinking', field: 'thinking', says: /\bthinking\b/i, notice: 'the model takes no settings for its thoughts; they were left out' },
  { part: 'effort', field: 'output_config', says: /\beffort\b|output_config/i, notice: 'the model does not know this effort; its own counts' },
  { part: 'tool_choice', field: 'tool_choice', says: /tool_choice|forced tool use/i, notice: 'the model cannot be told which tool to use; the choice was left to it' },
  { part: 'cache', field: 'cache_control', says: /cache_control/i, notice: 'the server keeps no cache; the whole conversation is paid for anew in each request' },
];
const STALE = /signature|bound to a different conversation|(?:latest|final) `?assistant`? message.{0,80}thinking|Expected `(?:redacted_)?thinking`|thinking` blocks .{0,60}cannot be modified/i;
/** Less room than this is no room for an answer. */
const LEAST_ANSWER = 1024;

/** @param fields names of what the body holds @param tried what was done already for this request */
export function remedyFor(fault: ModelFault, fields: ReadonlySet<string>, tried: ReadonlySet<Remedy['kind']>): Remedy | null {
  const text = fault.message;
  if (fault.status !== 400 && fault.status !== 422) return null;
  if (!tried.has('most')) {
    const sum = /exceed context limit: (\d+) \+ (\d+) > (\d+)/.exec(text);
    const most = sum === null ? Number(/max_tokens: \d+ > (\d+)/.exec(text)?.[1] ?? NaN) : Number(sum[3]) - Number(sum[1]);
    if (most >= LEAST_ANSWER) return { kind: 'most', most, always: sum === null, notice: `the answer may have at most ${most} tokens` };
  }
  if (fault.kind !== 'invalid_request') return null;
  if (STALE.test(text)) return tried.has('stale') ? null : { kind: 'stale', notice: 'the server does not take the thoughts of earlier answers any more; they were left out' };
  const rule = LEAVE.find((r) => fields.has(r.field) && r.says.test(text));
  return rule === undefined ? null : { kind: 'leave', part: rule.part, notice: rule.notice };
}
