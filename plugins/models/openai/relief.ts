/** What is left out, once, where a server refuses a part of the request that the answer does not hang on. */
import type { Refusal } from './faults.ts';

/** `stream` is left out where tokens are only counted. */
export type Relief = 'stream' | 'stream_options' | 'tool_choice' | 'max_tokens' | 'other_max_tokens' | 'effort' | 'summary' | 'reasoning' | 'encrypted' | 'store' | 'prompt_cache_key' | 'files' | 'long_ids' | 'stale_reasoning' | 'reasoning_back' | 'reasoning_kept';

interface Rule {
  readonly relief: Relief;
  /** The field of the body without which the rule makes no sense. */
  readonly field?: string;
  readonly says: RegExp;
  readonly notice: string;
}

/** The first that fits counts. */
const RULES: readonly Rule[] = [
  { relief: 'stale_reasoning', says: /invalid_encrypted_content|encrypted content .{0,80}could not be (?:verified|decrypted)|Item '?rs_\w+'? .{0,60}(?:not found|without its required)/i, notice: 'the server does not know the reasoning of earlier answers any more; it was left out' },
  { relief: 'stream_options', field: 'stream_options', says: /stream_options|include_usage/i, notice: 'the server does not count tokens in a stream; they count as none' },
  { relief: 'tool_choice', field: 'tool_choice', says: /tool[_ ]choice/i, notice: 'the server refuses to be told which tool to use; the choice was left to the model' },
  { relief: 'other_max_tokens', field: 'max_tokens', says: /max_tokens.{0,60}(?:not supported|unsupported|deprecated).{0,80}max_completion_tokens|use 'max_completion_tokens'/i, notice: '' },
  { relief: 'other_max_tokens', field: 'max_completion_tokens', says: /max_completion_tokens.{0,60}(?:not (?:supported|permitted|allowed)|unsupported|unknown|unrecognized|extra)|(?:unknown|unrecognized|unsupported|extra).{0,60}max_completion_tokens/i, notice: '' },
  { relief: 'max_tokens', field: 'max_output_tokens', says: /max_output_tokens/i, notice: 'the server refuses the limit of the answer\'s length; its own counts' },
  { relief: 'max_tokens', field: 'max_tokens', says: /max_tokens/i, notice: 'the server refuses the limit of the answer\'s length; its own counts' },
  { relief: 'max_tokens', field: 'max_completion_tokens', says: /max_completion_tokens|max_tokens/i, notice: 'the server refuses the limit of the answer\'s length; its own counts' },
  { relief: 'summary', field: 'reasoning.summary', says: /reasoning\.summary|reasoning summar|generate_summary/i, notice: 'the vendor shows no summaries of its reasoning to this account or of this model' },
  { relief: 'effort', field: 'reasoning.effort', says: /reasoning\.effort|reasoning effort/i, notice: 'the model does not know this effort; its own counts' },
  { relief: 'effort', field: 'reasoning_effort', says: /reasoning_effort|reasoning effort|"?think"? value|does not support thinking/i, notice: 'the model does not know this effort; its own counts' },
  { relief: 'encrypted', field: 'include', says: /encrypted content is not supported|\binclude\b/i, notice: '' },
  { relief: 'reasoning', field: 'reasoning', says: /\breasoning\b/i, notice: 'the model takes no settings of its reasoning; they were left out' },
  { relief: 'store', field: 'store', says: /\bstore\b/i, notice: '' },
  { relief: 'prompt_cache_key', field: 'prompt_cache_key', says: /prompt_cache_key/i, notice: '' },
  { relief: 'reasoning_back', says: /reasoning_content.{0,80}(?:must be passed back|missing|required)|(?:missing|required).{0,40}reasoning_content/i, notice: '' },
  { relief: 'reasoning_kept', says: /reasoning_content/i, notice: '' },
  { relief: 'long_ids', says: /length of 9/i, notice: '' },
  { relief: 'files', field: 'files', says: /(?:not|cannot|n't|no) .{0,60}(?:support|accept|process).{0,60}(?:image|vision|file)|(?:image|vision|multi-?modal|file).{0,60}(?:not |un)support|not a multi-?modal|only supported by certain models|mmproj|required for image|at most 0 image/i, notice: 'the model takes no images or files; it was told in words that they are there' },
];

/** @param sent names of what the body holds: its fields, and `files` where a message has some */
export function reliefFor(refusal: Refusal, sent: ReadonlySet<string>, tried: ReadonlySet<Relief>): { readonly relief: Relief; readonly notice: string } | null {
  const { status } = refusal;
  if (status === undefined || ![400, 404, 415, 422, 500, 501].includes(status)) return null;
  const said = `${refusal.code} ${refusal.param ?? ''} ${refusal.message}`;
  return RULES.find((r) => !tried.has(r.relief) && (r.field === undefined || sent.has(r.field)) && r.says.test(said)) ?? null;
}

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
/** The least effort that a refusal names as one that is taken. */
export function leastNamed({ message }: Refusal): string | undefined {
  const list = /(?:\bsupported values?[^:]{0,20}:|(?:must|should) be(?: one of)?|expected one of)(.{0,200})/i.exec(message)?.[1] ?? '';
  const named = [...list.matchAll(/['"`](\w+)['"`]/g)].map((m) => m[1]);
  return EFFORTS.find((e) => named.includes(e));
}
