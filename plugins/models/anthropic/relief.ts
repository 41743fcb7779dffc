/** What is tried once more, and how, when the server refuses a part of the request that the answer does not hang on. */
import type { ModelFault } from 'tappet/schemas';

/** Parts that are left out. */
export type Relief = 'binding' | 'display' | 'thinking' | 'effort' | 'tool_choice' | 'cache';
export type Remedy = { readonly leave: Relief; readonly notice: string } | { readonly stale: true; readonly notice: string } | { readonly most: number; readonly notice: string };

const LEAVE: readonly { readonly leave: Relief; readonly field: string; readonly says: RegExp; readonly notice: string }[] = [
  { leave: 'binding', field: 'thinking.block_binding', says: /block_binding|thinking-binding|anthropic-beta/i, notice: '' },
  { leave: 'display', field: 'thinking.display', says: /\bdisplay\b/i, notice: 'the server does not show the thoughts of this model' },
  { leave: 'thinking', field: 'thinking', says: /\bthinking\b/i, notice: 'the model takes no settings for its thoughts; they were left out' },
  { leave: 'effort', field: 'output_config', says: /\beffort\b|output_config/i, notice: 'the model does not know this effort; its own counts' },
  { leave: 'tool_choice', field: 'tool_choice', says: /tool_choice|forced tool use/i, notice: 'the model cannot be told which tool to use; the choice was left to it' },
  { leave: 'cache', field: 'cache_control', says: /cache_control/i, notice: 'the server keeps no cache; the whole conversation is paid for anew in each request' },
];
const STALE = /signature|bound to a different conversation|(?:latest|final) `?assistant`? message.{0,80}thinking|Expected `(?:redacted_)?thinking`|thinking` blocks .{0,60}cannot be modified/i;
/** Less room than this is no room for an answer. */
const LEAST_ANSWER = 1024;

/** @param fields names of what the body holds @param staleTried thoughts were already left out */
export function remedyFor(fault: ModelFault, fields: ReadonlySet<string>, staleTried: boolean, mostTried: boolean): Remedy | null {
  const text = fault.message;
  if (fault.status !== 400 && fault.status !== 422) return null;
  if (!mostTried) {
    const sum = /exceed context limit: (\d+) \+ (\d+) > (\d+)/.exec(text);
    const most = sum === null ? Number(/max_tokens: \d+ > (\d+)/.exec(text)?.[1] ?? NaN) : Number(sum[3]) - Number(sum[1]);
    if (most >= LEAST_ANSWER) return { most, notice: `the answer may have at most ${most} tokens` };
  }
  if (fault.kind !== 'invalid_request') return null;
  if (STALE.test(text)) return staleTried ? null : { stale: true, notice: 'the server does not take the thoughts of earlier answers any more; they were left out' };
  const rule = LEAVE.find((r) => fields.has(r.field) && r.says.test(text));
  return rule === undefined ? null : { leave: rule.leave, notice: rule.notice };
}
