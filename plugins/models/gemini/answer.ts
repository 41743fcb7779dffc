/** Gemini's answer as our events: parts become blocks, and what signs a part stays with its block. */
import { blockQueue, callIdOf, countOf, eventObject, isRecord, oddities, shown, splitUsage, textOf } from 'tappet/kit';
import type { GrowingBlock, SseEvent } from 'tappet/kit';
import { NO_USAGE } from 'tappet/schemas';
import type { ModelEvent, Usage } from 'tappet/schemas';
import type { Failing } from './faults.ts';
import { PROVIDER } from './request.ts';

type Json = Record<string, unknown>;
export interface Answering {
  readonly model: string;
  /** Ids of all calls in the conversation so far. */
  takenIds(): Set<string>;
  fail(fault: Failing): Error;
  failAs(error: unknown): Error;
}

/** Reasons that mean: the content was objected to. */
const FILTERED: Readonly<Record<string, string>> = {
  SAFETY: 'its safety filter objected', PROHIBITED_CONTENT: 'it may hold prohibited content', BLOCKLIST: 'it holds a forbidden term', SPII: 'it may hold personal data', RECITATION: 'it recites a source too closely',
  LANGUAGE: 'its language is not supported', IMAGE_SAFETY: 'its safety filter objected', IMAGE_PROHIBITED_CONTENT: 'it may hold prohibited content', IMAGE_RECITATION: 'it recites a source too closely',
  OTHER: 'for a reason of its own', MODEL_ARMOR: 'its filter objected', JAILBREAK: 'it looks like an attempt to get round the rules',
};

export async function* geminiEvents(events: AsyncIterable<SseEvent>, o: Answering): AsyncGenerator<ModelEvent, void, void> {
  const queue = blockQueue();
  const odd = oddities();
  const taken = o.takenIds();
  let started = false;
  let finish: string | null = null;
  let finishWords = '';
  let usage: Usage | null = null;
  const has = { text: false, calls: false, others: false };
  let open: { readonly kind: 'text' | 'thinking'; said: string; signature: string | undefined; readonly growing: GrowingBlock } | null = null;

  const closeOpen = (): void => {
    if (open?.kind === 'text') {
      open.growing.stop({ type: 'text', text: open.said });
      // A text cannot hold its signature; it stands behind it and goes back on the same part.
      if (open.signature !== undefined) queue.whole({ type: 'vendor', provider: PROVIDER, block: { thoughtSignature: open.signature } });
    } else if (open !== null) {
      if (open.signature !== undefined) open.growing.delta({ type: 'signature_delta', signature: open.signature });
      open.growing.stop({ type: 'thinking', thinking: open.said, provider: PROVIDER, ...(open.signature === undefined ? {} : { signature: open.signature }) });
    }
    open = null;
  };
  const say = (kind: 'text' | 'thinking', words: string, signature: string | undefined): void => {
    // Signed and unsigned parts must not be joined.
    if (open !== null && (open.kind !== kind || open.signature !== undefined)) closeOpen();
    if (words === '' && signature === undefined) return;
    if (words === '' && open === null && kind === 'text') {
      queue.whole({ type: 'vendor', provider: PROVIDER, block: { text: '', thoughtSignature: signature } });
      return;
    }
    open ??= { kind, said: '', signature: undefined, growing: queue.start(kind === 'text' ? { type: 'text', text: '' } : { type: 'thinking', thinking: '', provider: PROVIDER }) };
    open.said += words;
    open.signature = signature;
    if (kind === 'text' && words.trim() !== '') has.text = true;
    if (words !== '') open.growing.delta(kind === 'text' ? { type: 'text_delta', text: words } : { type: 'thinking_delta', thinking: words });
  };
  const takePart = (part: unknown): void => {
    if (!isRecord(part)) {
      odd.add('odd_field', `a part of the answer is ${shown(part)} and was skipped`);
      return;
    }
    const signature = textOf(part.thoughtSignature);
    if (isRecord(part.functionCall)) {
      closeOpen();
      const call = part.functionCall;
      if (call.args !== undefined && call.args !== null && !isRecord(call.args)) odd.add('odd_field', `the input of a call is ${shown(call.args)} where an object is due`);
      const input = isRecord(call.args) ? call.args : {};
      const wrong = call.args === undefined || call.args === null || isRecord(call.args) ? {} : { inputError: { why: 'the input of the call is no object', raw: shown(call.args) } };
      const block = { type: 'tool_use', id: callIdOf(call.id, taken), name: textOf(call.name) ?? '', input: {} } as const;
      const growing = queue.start(block);
      growing.delta({ type: 'input_json_delta', partial_json: JSON.stringify(input) });
      growing.stop({ ...block, input, ...wrong, ...(signature === undefined ? {} : { signature }) });
      has.calls = true;
    } else if (typeof part.text === 'string' || (part.text === undefined && signature !== undefined && Object.keys(part).every((k) => k === 'thought' || k === 'thoughtSignature'))) {
      say(part.thought === true ? 'thinking' : 'text', textOf(part.text) ?? '', signature);
    } else if (part.text !== undefined) odd.add('odd_field', `text is ${shown(part.text)} where text is due; it was skipped`);
    else if (Object.keys(part).length > 0) {
      // Code that it ran, files that it made: back to it as they came.
      closeOpen();
      queue.whole({ type: 'vendor', provider: PROVIDER, block: part });
      has.others = true;
    }
  };

  for await (const event of events) {
    const e = eventObject(event, odd);
    if (e === null) { yield* odd.take(); continue; }
    if (e.error !== undefined && e.error !== null) throw o.failAs(e.error);
    if (!started) {
      started = true;
      yield { type: 'message_start', id: textOf(e.responseId) ?? `gemini_${callIdOf(null, taken)}`, model: textOf(e.modelVersion) ?? o.model, usage: NO_USAGE };
    }
    if (isRecord(e.usageMetadata)) usage = usageIn(e.usageMetadata);
    const block = isRecord(e.promptFeedback) ? textOf(e.promptFeedback.blockReason) : undefined;
    if (block !== undefined && block !== 'BLOCK_REASON_UNSPECIFIED') throw o.fail({ kind: 'content_filter', transient: false, message: `the vendor does not take this request: ${FILTERED[block] ?? block} (${block})${because(e.promptFeedback as Json)}` });
    const candidate = Array.isArray(e.candidates) ? e.candidates.find(isRecord) : undefined;
    if (candidate !== undefined) {
      const parts = isRecord(candidate.content) ? candidate.content.parts : undefined;
      if (Array.isArray(parts)) parts.forEach(takePart);
      const why = textOf(candidate.finishReason);
      if (why !== undefined && why !== 'FINISH_REASON_UNSPECIFIED') {
        finish = why;
        finishWords = `${textOf(candidate.finishMessage) ?? ''}${because(candidate)}`;
      }
    }
    yield* odd.take();
    yield* queue.take();
    if (finish !== null && usage !== null) break;
  }

  if (finish === null) throw o.fail({ kind: 'broken_stream', transient: true, message: 'the answer ended before the vendor said that it is complete' });
  closeOpen();
  yield* queue.take();
  const words = finishWords === '' ? '' : `: ${finishWords.trim()}`;
  const full = finish === 'MAX_TOKENS' || finish === 'CONTINUATION';
  const fault = faultOfEnd(finish, words) ?? (!full && !has.text && !has.calls && !has.others ? EMPTY : null);
  if (fault === null && !full && finish !== 'STOP') odd.add('odd_finish', `the vendor ended the answer for a reason that is not known here: ${finish}`);
  if (usage === null) odd.add('no_usage', 'the server did not say how many tokens were used; they count as none');
  yield* odd.take();
  // What was used was used, whether it was any good or not.
  yield { type: 'message_delta', stop_reason: fault?.kind === 'content_filter' ? fault.kind : full ? 'max_tokens' : has.calls ? 'tool_use' : 'end_turn', usage: usage ?? NO_USAGE };
  if (fault !== null) throw o.fail(fault);
  yield { type: 'message_stop' };
}

const EMPTY: Failing = { kind: 'empty_answer', transient: true, message: 'the model ended without a word and without a call' };
function faultOfEnd(finish: string, words: string): Failing | null {
  switch (finish) {
    case 'MALFORMED_FUNCTION_CALL': return { kind: 'server_error', transient: true, message: `the model wrote a call that the vendor could not read (${finish})${words}` };
    case 'UNEXPECTED_TOOL_CALL': case 'TOO_MANY_TOOL_CALLS': case 'OTHER': return { kind: 'server_error', transient: true, message: `the vendor ended the answer early (${finish})${words}` };
    case 'MISSING_THOUGHT_SIGNATURE': return { kind: 'invalid_request', transient: false, message: `the vendor misses the signature of an earlier call (${finish})${words}` };
    default: return FILTERED[finish] === undefined ? null : { kind: 'content_filter', transient: false, message: `the vendor cut the answer off: ${FILTERED[finish]} (${finish})${words}` };
  }
}

/** The categories that were objected to. */
function because(o: Json): string {
  const ratings = Array.isArray(o.safetyRatings) ? o.safetyRatings.filter(isRecord).filter((r) => r.blocked === true || r.probability === 'HIGH') : [];
  return ratings.length === 0 ? '' : ` [${ratings.map((r) => String(r.category).replace('HARM_CATEGORY_', '').toLowerCase()).join(', ')}]`;
}

/** Thoughts are output, and what tools of the vendor's put into the prompt is input. */
function usageIn(u: Json): Usage {
  return splitUsage({ input: countOf(u.promptTokenCount) + countOf(u.toolUsePromptTokenCount), cached: countOf(u.cachedContentTokenCount), output: countOf(u.candidatesTokenCount) + countOf(u.thoughtsTokenCount) });
}
