/** The answer on the chat wire, as our events. Servers differ in nearly everything but the idea; what can be understood is. */
import { blockQueue, callIdOf, callInput, countOf, eventObject, isRecord, oddities, shown, splitUsage, textOf } from 'tappet/kit';
import type { GrowingBlock, SseEvent } from 'tappet/kit';
import { NO_USAGE } from 'tappet/schemas';
import type { ModelEvent, Usage } from 'tappet/schemas';
import { SIGNED } from './chat-request.ts';
import { originalName } from './content.ts';
import { failed } from './stream.ts';
import type { Answering } from './stream.ts';

type Json = Record<string, unknown>;
interface Call { readonly index: number | null; /** The server's, which may be missing. */ readonly said: string; readonly id: string; name: string; args: string; /** The last part ends as an object does. */ mayEnd: boolean; whole: Json | null; signature: string | undefined; readonly growing: GrowingBlock; done: boolean }

export async function* chatEvents(events: AsyncIterable<SseEvent>, o: Answering): AsyncGenerator<ModelEvent, void, void> {
  const queue = blockQueue();
  const odd = oddities();
  const taken = o.takenIds();
  const calls: Call[] = [];
  let started = false;
  let finish: string | null = null;
  let ended = false;
  let usage: Usage | null = null;
  let refusal = '';
  let spoke = false;
  let cut = false;
  /** Text or thinking that still grows. */
  let open: { readonly kind: 'text' | 'thinking'; said: string; readonly growing: GrowingBlock } | null = null;

  const closeOpen = (): void => {
    if (open !== null) open.growing.stop(open.kind === 'text' ? { type: 'text', text: open.said } : { type: 'thinking', thinking: open.said, provider: o.provider });
    open = null;
  };
  const say = (kind: 'text' | 'thinking', words: string): void => {
    if (words === '') return;
    if (open?.kind !== kind) {
      // A blank between two other things is no block of its own.
      if (kind === 'text' && words.trim() === '' && (open === null || open.kind === 'thinking')) return;
      closeOpen();
      open = { kind, said: '', growing: queue.start(kind === 'text' ? { type: 'text', text: '' } : { type: 'thinking', thinking: '', provider: o.provider }) };
    }
    if (kind === 'text' && words.trim() !== '') spoke = true;
    open.said += words;
    open.growing.delta(kind === 'text' ? { type: 'text_delta', text: words } : { type: 'thinking_delta', thinking: words });
  };
  const closeCall = (call: Call): void => {
    if (call.done) return;
    call.done = true;
    const got = callInput(call.whole ?? call.args);
    if (got.cut) cut = true;
    call.growing.stop({
      type: 'tool_use', id: call.id, name: call.name, input: got.input, ...(got.inputError === undefined ? {} : { inputError: got.inputError }),
      ...(call.signature === undefined ? {} : { signature: call.signature }),
    });
  };
  // Read only where it may be whole: some servers repeat the name with each part.
  const complete = (call: Call): boolean => call.whole !== null || (call.mayEnd && callInput(call.args).inputError === undefined);

  /** Which call a part belongs to: its index, else its id, else the last one; another name or id, or more input for what is complete, begins another. */
  const callOf = (part: Json, name: string): Call => {
    const index = typeof part.index === 'number' ? part.index : null;
    const id = textOf(part.id)?.trim() ?? '';
    const like = calls.findLast((c) => (index !== null ? c.index === index : id !== '' ? c.said === id : true));
    const other = like !== undefined && name !== '' && ((id !== '' && like.said !== '' && id !== like.said) || (like.name !== '' && originalName(o.tools, name) !== like.name) || (hasArguments(part) && complete(like)));
    if (like !== undefined && !other) return like;
    closeOpen();
    for (const c of calls) if (!c.done && complete(c)) closeCall(c);
    const mine = callIdOf(id, taken);
    const known = originalName(o.tools, name);
    const call: Call = { index, said: id, id: mine, name: known, args: '', mayEnd: false, whole: null, signature: undefined, growing: queue.start({ type: 'tool_use', id: mine, name: known, input: {} }), done: false };
    calls.push(call);
    return call;
  };
  const takeCall = (part: unknown): void => {
    if (!isRecord(part)) {
      odd.add('odd_field', `a tool call is ${shown(part)} and was skipped`);
      return;
    }
    const fn = isRecord(part.function) ? part.function : part;
    const name = textOf(fn.name) ?? '';
    const call = callOf(part, name);
    if (call.name === '' && name !== '') call.name = originalName(o.tools, name);
    const extra = isRecord(part.extra_content) && isRecord(part.extra_content.google) ? textOf(part.extra_content.google.thought_signature) : undefined;
    if (extra !== undefined) call.signature = `${SIGNED}${extra}`;
    const args = fn.arguments;
    if (args === undefined || args === null || args === '') return;
    if (call.done) odd.add('odd_field', `more input came for the call ${call.name} after it was complete; it was skipped`);
    else if (isRecord(args)) {
      call.whole = args;
      call.growing.delta({ type: 'input_json_delta', partial_json: JSON.stringify(args) });
    } else if (typeof args === 'string') {
      call.args += args;
      const last = args.trimEnd().at(-1);
      if (last !== undefined) call.mayEnd = last === '}' || last === '"';
      call.growing.delta({ type: 'input_json_delta', partial_json: args });
    } else odd.add('odd_field', `the input of a call is ${shown(args)} where text is due; it was skipped`);
  };
  const words = (kind: 'text' | 'thinking', field: string, value: unknown): void => {
    if (value === undefined || value === null) return;
    // Mistral's models answer in parts.
    for (const part of Array.isArray(value) ? value as unknown[] : [value]) {
      if (typeof part === 'string') say(kind, part);
      else if (isRecord(part) && part.type === 'thinking') words('thinking', 'thinking', part.thinking);
      else if (isRecord(part) && typeof part.text === 'string') say(kind, part.text);
      else odd.add('odd_field', `${field} is ${shown(part)} where text is due; it was skipped`);
    }
  };

  for await (const event of events) {
    if (event.data.trim() === '[DONE]') { ended = true; break; }
    const e = eventObject(event, odd);
    if (e === null) { yield* odd.take(); continue; }
    if (event.event === 'error' || (e.error !== undefined && e.error !== null) || e.object === 'error') throw o.failAs(e.error ?? e);
    if (!started) {
      started = true;
      yield { type: 'message_start', id: textOf(e.id) ?? `chatcmpl-${callIdOf(null, taken)}`, model: textOf(e.model) ?? o.model, usage: NO_USAGE };
    }
    if (isRecord(e.usage)) usage = usageIn(e.usage);
    const choice = Array.isArray(e.choices) ? e.choices.find((c) => isRecord(c) && (c.index === undefined || c.index === 0)) as Json | undefined : undefined;
    if (choice !== undefined) {
      if (isRecord(choice.usage)) usage = usageIn(choice.usage);
      if (isRecord(choice.error)) throw o.failAs(choice.error);
      const delta = isRecord(choice.delta) ? choice.delta : isRecord(choice.message) ? choice.message : {};
      // Some servers name the thoughts twice, alike.
      if (textOf(delta.reasoning_content)) words('thinking', 'reasoning_content', delta.reasoning_content);
      else words('thinking', 'reasoning', isRecord(delta.reasoning) ? textOf(delta.reasoning.text) ?? textOf(delta.reasoning.content) : delta.reasoning);
      words('text', 'content', delta.content);
      if (typeof delta.refusal === 'string') refusal += delta.refusal;
      if (Array.isArray(delta.tool_calls)) delta.tool_calls.forEach(takeCall);
      else if (isRecord(delta.function_call)) takeCall({ function: delta.function_call });
      if (typeof choice.finish_reason === 'string' && choice.finish_reason !== '') finish = choice.finish_reason;
    }
    yield* odd.take();
    yield* queue.take();
  }

  if (finish === null && !ended) throw o.fail(failed('broken_stream', 'the answer ended before the server said that it is complete', true));
  closeOpen();
  for (const call of calls) closeCall(call);
  yield* queue.take();
  const full = finish === 'length' || finish === 'max_tokens' || finish === 'model_length' || cut;
  const fault = finish === 'content_filter' ? failed('content_filter', 'the server cut the answer off: its content filter objected', false)
    : finish === 'error' ? failed('server_error', 'the server ended the answer with an error that it did not name', true)
      : refusal !== '' ? failed('refusal', `the model refuses: ${refusal}`, false)
        : !full && !spoke && calls.length === 0 ? failed('empty_answer', 'the model ended without a word and without a call', true) : null;
  if (finish === null) odd.add('no_finish', 'the server did not say why the answer ended');
  if (usage === null) odd.add('no_usage', 'the server did not say how many tokens were used; they count as none');
  if (cut && finish !== 'length') odd.add('cut_call', `the server says "${finish ?? 'done'}", but the input of a call is unfinished: the answer counts as cut off`);
  yield* odd.take();
  // What was used was used, whether it was any good or not.
  yield { type: 'message_delta', stop_reason: fault?.kind === 'content_filter' || fault?.kind === 'refusal' ? fault.kind : full ? 'max_tokens' : calls.length > 0 ? 'tool_use' : 'end_turn', usage: usage ?? NO_USAGE };
  if (fault !== null) throw o.fail(fault);
  yield { type: 'message_stop' };
}

function hasArguments(part: Json): boolean {
  const args = (isRecord(part.function) ? part.function : part).arguments;
  return typeof args === 'string' ? args.trim() !== '' : args !== undefined && args !== null;
}

function usageIn(said: Json): Usage {
  const details = isRecord(said.prompt_tokens_details) ? said.prompt_tokens_details : {};
  const cached = countOf(details.cached_tokens) || countOf(said.prompt_cache_hit_tokens);
  return splitUsage({ input: countOf(said.prompt_tokens), cached, written: countOf(details.cache_write_tokens), output: countOf(said.completion_tokens) });
}

/** A whole answer of a server that does not stream. */
export async function* wholeCompletion(body: unknown): AsyncGenerator<SseEvent, void, void> {
  yield { event: null, data: JSON.stringify(body) };
  yield { event: null, data: '[DONE]' };
}
