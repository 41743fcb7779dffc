/** The body of a request: a head, the messages' own bytes, a tail. Only cache markers are put between. */
import type { EncodedMessage, ModelInfo, ModelRequest, NormalizedMessage, SystemPromptBlock, ToolSpec } from 'tappet/schemas';
import { encode } from './encode.ts';
import type { Relief } from './relief.ts';
import { thinkingOf } from './table.ts';

const BINDING_BETA = 'thinking-binding-controls-2026-08-01';
const MIN_BUDGET = 1024;
const MARK = '"cache_control":{"type":"ephemeral"}';
const MARKED_END = Buffer.from(`,${MARK}}]}`);
const COMMA = Buffer.from(',');
const TAIL = Buffer.from(']}');
/** Newer models do not finish an answer that was begun for them. */
const GO_ON = Buffer.from(',{"role":"user","content":[{"type":"text","text":"The answer broke off here. Go on."}]}');

export interface BodyOptions {
  readonly request: ModelRequest;
  /** As the API shall see it. */
  readonly model: string;
  readonly info: ModelInfo;
  readonly without: ReadonlySet<Relief>;
  /** What the server said is the most that fits. */
  readonly mostTokens: number | undefined;
  /** Messages whose thoughts the server does not take. */
  readonly staleThinking: { get(message: NormalizedMessage): Uint8Array | undefined };
  readonly tools: (tools: readonly ToolSpec[], marked: boolean) => string;
  readonly counting?: boolean | undefined;
}
export interface Body { readonly parts: readonly Uint8Array[]; readonly betas: readonly string[]; /** Fields that a server may refuse. */ readonly fields: ReadonlySet<string>; readonly notices: readonly string[] }

export function bodyOf(o: BodyOptions): Body {
  const { request, info, without, counting } = o;
  const notices: string[] = [];
  const caching = !without.has('cache') && (info.can?.includes('cache') ?? true);
  const system = systemOf(request.system, caching);
  const max = Math.min(request.maxOutputTokens ?? info.maxOutputTokens, o.mostTokens ?? Infinity);
  const choice = choiceOf(o, notices);
  const forced = choice?.type === 'any' || choice?.type === 'tool';
  const { thinking, maxTokens } = thinkingFor(o, max, forced, notices);
  const effort = effortFor(o, thinking, notices);
  const head = {
    model: o.model,
    ...(counting === true ? {} : { max_tokens: maxTokens, stream: true, metadata: { user_id: request.sessionId } }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(effort === undefined ? {} : { output_config: { effort } }),
    ...(choice === undefined ? {} : { tool_choice: choice }),
    ...(system.blocks.length === 0 ? {} : { system: system.blocks }),
  };
  const tools = request.tools.length === 0 ? '' : `,"tools":${o.tools(request.tools, caching && system.marks === 0)}`;
  const bound = thinking !== undefined && 'block_binding' in thinking;
  return {
    parts: [Buffer.from(`${JSON.stringify(head).slice(0, -1)}${tools},"messages":[`), ...messageParts(o, caching), TAIL],
    betas: bound ? [BINDING_BETA] : [],
    fields: new Set([...Object.keys(head), ...(thinking === undefined ? [] : Object.keys(thinking).map((k) => `thinking.${k}`)), ...(caching ? ['cache_control'] : [])]),
    notices,
  };
}

/** Of the API's four markers two are for the system prompt: behind what all sessions share, and behind what this one keeps. Nothing behind a changing block is worth one. */
function systemOf(blocks: readonly SystemPromptBlock[], caching: boolean): { readonly blocks: readonly object[]; readonly marks: number } {
  const said = blocks.filter((b) => b.text.trim() !== '');
  const changing = said.findIndex((b) => b.cacheScope === null);
  const stable = changing < 0 ? said : said.slice(0, changing);
  const marked = new Set(caching ? [stable.findLastIndex((b) => b.cacheScope === 'global'), stable.length - 1].filter((i) => i >= 0) : []);
  return { blocks: said.map(({ text }, i) => ({ type: 'text', text, ...(marked.has(i) ? { cache_control: { type: 'ephemeral' } } : {}) })), marks: marked.size };
}

/** The other two: at the end, and where the request before had its end, so that its cache entry is found however many blocks came since. */
function messageParts({ request, staleThinking }: BodyOptions, caching: boolean): Uint8Array[] {
  const sent = request.messages.map(({ message, bytes }) => ({ role: message.role, last: message.content.at(-1)?.type, bytes: staleThinking.get(message) ?? bytes })).filter((m) => m.bytes.length > 0);
  const marked = new Set<number>();
  for (let i = sent.length - 1; caching && i >= 0 && marked.size < 2; i--) if (sent[i]!.role === 'user') marked.add(i);
  const parts: Uint8Array[] = [];
  for (const [i, { bytes }] of sent.entries()) {
    if (i > 0) parts.push(COMMA);
    if (marked.has(i)) parts.push(bytes.subarray(0, bytes.length - 3), MARKED_END);
    else parts.push(bytes);
  }
  const end = sent.at(-1);
  // A pause in the middle of the API's own tools is no end.
  if (end?.role === 'assistant' && end.last !== 'vendor') parts.push(GO_ON);
  return parts;
}

function choiceOf({ request, model, without }: BodyOptions, notices: string[]): { readonly type: string; readonly name?: string } | undefined {
  const { toolChoice: wish } = request;
  if (wish === undefined || wish === 'auto' || request.tools.length === 0) return undefined;
  if (wish === 'none') return { type: 'none' };
  if (without.has('tool_choice') || !thinkingOf(model).forcible) {
    notices.push(`${model} cannot be told which tool to use; the choice was left to it`);
    return undefined;
  }
  return wish === 'any' ? { type: 'any' } : { type: 'tool', name: wish.name };
}

type ThinkingField = { readonly type: 'enabled' | 'adaptive' | 'disabled' | 'between_tools'; readonly [more: string]: unknown };
/** The wish in the form that the model takes. Thoughts are asked for in words: newer models keep them to themselves otherwise. */
function thinkingFor(o: BodyOptions, max: number, forced: boolean, notices: string[]): { readonly thinking: ThinkingField | undefined; readonly maxTokens: number } {
  const { request: { thinking: wish }, model, without, info } = o;
  const { form, byDefault, off, bound } = thinkingOf(model);
  const none = { thinking: undefined, maxTokens: max };
  if (without.has('thinking')) return none;
  if (forced && form !== 'any') return byDefault && off !== null ? { thinking: { type: off }, maxTokens: max } : none;
  const adaptive = (shown = true): ThinkingField => ({
    type: 'adaptive', ...(!shown || without.has('display') || form === 'any' ? {} : { display: 'summarized' }),
    ...(bound && !without.has('binding') ? { block_binding: { prefix_mismatch_behavior: 'drop_block' } } : {}),
  });
  if (wish === false) {
    if (!byDefault) return none;
    if (off !== null) return { thinking: { type: off }, maxTokens: max };
    notices.push(`${model} cannot do without thoughts; they are not shown, and a low effort makes them few`);
    return { thinking: adaptive(false), maxTokens: max };
  }
  if (wish === undefined) return byDefault ? { thinking: adaptive(), maxTokens: max } : none;
  if (info.can !== undefined && !info.can.includes('thinking')) {
    notices.push(`${model} does not think; the wish was left out`);
    return none;
  }
  if (form === 'adaptive' || (wish === 'adaptive' && form !== 'budget')) {
    if (wish !== 'adaptive') notices.push(`${model} takes no budget for its thoughts; it decides by itself, and by the effort`);
    return { thinking: adaptive(), maxTokens: max };
  }
  const budget = wish === 'adaptive' ? Math.min(16_000, Math.floor(max / 2)) : wish.budgetTokens;
  // The budget is a part of the answer's tokens and must leave room for the answer.
  const maxTokens = Math.max(max, Math.min(info.maxOutputTokens, o.mostTokens ?? Infinity, budget + max));
  const fitting = Math.min(Math.max(budget, MIN_BUDGET), maxTokens - 1);
  if (fitting < MIN_BUDGET) {
    notices.push(`${maxTokens} tokens leave no room for thoughts; they were left out`);
    return none;
  }
  return { thinking: { type: 'enabled', budget_tokens: fitting }, maxTokens };
}

/** Efforts that are refused where thoughts are switched off. */
const HARDEST = ['xhigh', 'max'];
function effortFor({ request: { effort }, model, info, without }: BodyOptions, thinking: ThinkingField | undefined, notices: string[]): string | undefined {
  if (effort === undefined || without.has('effort')) return undefined;
  if (info.can?.includes('effort') === false) {
    notices.push(`${model} takes no effort; it was left out`);
    return undefined;
  }
  if (!HARDEST.includes(effort) || (thinking?.type !== 'disabled' && thinking?.type !== 'between_tools')) return effort;
  notices.push(`without thoughts ${model} takes no effort above high; that was sent`);
  return 'high';
}

/** The bytes of a message without its thoughts; only where it has some. */
export const withoutThinking = (m: EncodedMessage): Uint8Array | null =>
  m.message.content.some((b) => b.type === 'thinking' || b.type === 'redacted_thinking') ? encode(m.message, { thinking: false }) : null;
/** Tools as JSON, their last one marked. */
export const toolsJson = (tools: readonly ToolSpec[], marked: boolean): string =>
  `[${tools.map(({ name, description, input_schema }, i) => `${JSON.stringify({ name, description, input_schema }).slice(0, -1)}${marked && i === tools.length - 1 ? `,${MARK}` : ''}}`).join(',')}]`;
