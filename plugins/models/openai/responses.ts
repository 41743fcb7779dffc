/** The answer on the Responses wire, as our events. */
import { blockQueue, callIdOf, callInput, countOf, eventObject, isRecord, oddities, shown, splitUsage, textOf } from 'tappet/kit';
import type { GrowingBlock, Oddities, SseEvent } from 'tappet/kit';
import { NO_USAGE } from 'tappet/schemas';
import type { ModelEvent, Usage } from 'tappet/schemas';
import { originalName } from './content.ts';
import { PHASE } from './responses-request.ts';
import { failed } from './stream.ts';
import type { Answering } from './stream.ts';

type Json = Record<string, unknown>;
/** One item of the answer while it grows. */
interface Item { kind: 'text' | 'reasoning' | 'call' | 'other'; growing: GrowingBlock | null; said: string; id: string; name: string; done: boolean }

export async function* responsesEvents(events: AsyncIterable<SseEvent>, o: Answering): AsyncGenerator<ModelEvent, void, void> {
  const queue = blockQueue();
  const odd = oddities();
  const items = new Map<number, Item>();
  const taken = o.takenIds();
  let started: ModelEvent | null = null;
  let refusal = '';
  const has = { text: false, calls: false, others: false, cut: false };

  const begin = (response: unknown): ModelEvent[] => {
    if (started !== null) return [];
    const r = isRecord(response) ? response : {};
    started = { type: 'message_start', id: textOf(r.id) ?? `resp_${callIdOf(null, taken)}`, model: textOf(r.model) ?? o.model, usage: NO_USAGE };
    return [started];
  };
  const itemAt = (index: unknown, kind: Item['kind'], more: { id?: unknown; name?: unknown } = {}): Item => {
    const at = typeof index === 'number' ? index : [...items].findLast(([, i]) => i.kind === kind && !i.done)?.[0] ?? items.size;
    let item = items.get(at);
    if (item === undefined) {
      item = { kind, growing: null, said: '', id: '', name: '', done: false };
      items.set(at, item);
      if (kind === 'call') {
        item.id = callIdOf(more.id, taken);
        item.name = originalName(o.tools, textOf(more.name) ?? '');
        item.growing = queue.start({ type: 'tool_use', id: item.id, name: item.name, input: {} });
        has.calls = true;
      }
    }
    if (item.kind === 'call' && item.name === '' && typeof more.name === 'string') item.name = originalName(o.tools, more.name);
    return item;
  };
  const grow = (item: Item, words: string): void => {
    if (words === '' || item.done) return;
    item.said += words;
    if (item.kind === 'text') {
      if (words.trim() !== '') has.text = true;
      item.growing ??= queue.start({ type: 'text', text: '' });
      item.growing.delta({ type: 'text_delta', text: words });
    } else if (item.kind === 'reasoning') {
      item.growing ??= queue.start({ type: 'thinking', thinking: '', provider: o.provider });
      item.growing.delta({ type: 'thinking_delta', thinking: words });
    } else if (item.kind === 'call') item.growing?.delta({ type: 'input_json_delta', partial_json: words });
  };
  const close = (item: Item): void => {
    if (item.done) return;
    item.done = true;
    if (item.kind === 'text') item.growing?.stop({ type: 'text', text: item.said });
    else if (item.kind === 'reasoning') item.growing?.stop({ type: 'thinking', thinking: item.said, provider: o.provider });
    else if (item.kind === 'call') {
      const { input, inputError, cut } = callInput(item.said);
      if (cut) has.cut = true;
      item.growing?.stop({ type: 'tool_use', id: item.id, name: item.name, input, ...(inputError === undefined ? {} : { inputError }) });
    }
  };
  /** Deltas that a server left out are made up for from the finished words. */
  const complete = (item: Item, whole: unknown): void => {
    if (typeof whole === 'string' && !item.done && whole.length > item.said.length && whole.startsWith(item.said)) grow(item, whole.slice(item.said.length));
  };
  const words = (e: Json, field: string): string => {
    if (typeof e[field] === 'string') return e[field];
    odd.add('odd_field', `${String(e.type)}: ${field} is ${shown(e[field])} where text is due; it was skipped`);
    return '';
  };
  const added = (index: unknown, item: Json): Item => {
    if (item.type === 'function_call') return itemAt(index, 'call', { id: item.call_id, name: item.name });
    if (item.type !== 'message') return itemAt(index, item.type === 'reasoning' ? 'reasoning' : 'other');
    // It stands before its text.
    if (typeof item.phase === 'string' && !items.has(Number(index))) queue.whole({ type: 'vendor', provider: o.provider, block: { type: PHASE, phase: item.phase } });
    return itemAt(index, 'text');
  };
  const finished = (index: unknown, item: Json): void => {
    const mine = added(index, item);
    if (mine.done) return;
    if (item.type === 'message') {
      const content = Array.isArray(item.content) ? item.content.filter(isRecord) : [];
      complete(mine, content.map((p) => (p.type === 'output_text' ? textOf(p.text) ?? '' : '')).join(''));
      if (refusal === '') refusal = content.map((p) => (p.type === 'refusal' ? textOf(p.refusal) ?? '' : '')).join('');
      close(mine);
    } else if (item.type === 'function_call') {
      complete(mine, isRecord(item.arguments) ? JSON.stringify(item.arguments) : item.arguments);
      close(mine);
    } else {
      if (item.type === 'reasoning') {
        if (mine.said === '') grow(mine, [...parts(item.summary), ...parts(item.content)].join('\n\n'));
        close(mine);
        // Without its content the vendor, which keeps nothing for us, could not know it again.
        if (typeof item.encrypted_content !== 'string' && parts(item.content).length === 0) return;
      } else {
        mine.done = true;
        has.others = true;
      }
      queue.whole({ type: 'vendor', provider: o.provider, block: item });
    }
  };

  for await (const event of events) {
    if (event.data === '[DONE]') break;
    const e = eventObject(event, odd);
    if (e === null) { yield* odd.take(); continue; }
    const type = textOf(e.type) ?? event.event ?? '';
    if (type === 'error' || (type === '' && e.error !== undefined)) throw o.failAs(e.error ?? e);
    if (type === 'response.failed') throw o.failAs((e.response as Json | undefined)?.error ?? { message: 'the vendor says that the answer failed, and not why' });
    if (type.startsWith('response.')) yield* begin(e.response);
    switch (type) {
      case 'response.output_item.added': if (isRecord(e.item)) added(e.output_index, e.item); break;
      case 'response.output_text.delta': grow(itemAt(e.output_index, 'text'), words(e, 'delta')); break;
      case 'response.output_text.done': if (itemAt(e.output_index, 'text').said === '') grow(itemAt(e.output_index, 'text'), textOf(e.text) ?? ''); break;
      case 'response.refusal.delta': refusal += words(e, 'delta'); break;
      case 'response.reasoning_summary_part.added': {
        const item = itemAt(e.output_index, 'reasoning');
        if (item.said !== '') grow(item, '\n\n');
        break;
      }
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta': grow(itemAt(e.output_index, 'reasoning'), words(e, 'delta')); break;
      case 'response.function_call_arguments.delta': grow(itemAt(e.output_index, 'call', { name: e.name }), isRecord(e.delta) ? JSON.stringify(e.delta) : words(e, 'delta')); break;
      case 'response.output_item.done': if (isRecord(e.item)) finished(e.output_index, e.item); break;
      case 'response.completed':
      case 'response.incomplete': {
        const r = isRecord(e.response) ? e.response : {};
        if (Array.isArray(r.output)) r.output.forEach((item, i) => { if (isRecord(item)) finished(i, item); });
        for (const item of items.values()) close(item);
        yield* odd.take();
        yield* queue.take();
        const reason = r.status === 'incomplete' || type === 'response.incomplete' ? textOf((r.incomplete_details as Json | undefined)?.reason) ?? 'unknown' : null;
        const fault = reason === 'content_filter' ? failed('content_filter', 'the vendor cut the answer off: its content filter objected', false)
          : reason !== null && reason !== 'max_output_tokens' ? failed('server_error', `the vendor ended the answer early: ${reason}`, true)
            : refusal !== '' ? failed('refusal', `the model refuses: ${refusal}`, false)
              : reason === null && !has.text && !has.calls && !has.others ? failed('empty_answer', 'the model ended without a word and without a call', true) : null;
        const stop = reason !== null || has.cut ? 'max_tokens' : has.calls ? 'tool_use' : 'end_turn';
        // What was used was used, whether it was any good or not.
        yield { type: 'message_delta', stop_reason: fault?.kind === 'content_filter' || fault?.kind === 'refusal' ? fault.kind : stop, usage: usage(r.usage, odd) };
        if (fault !== null) throw o.fail(fault);
        yield* odd.take();
        yield { type: 'message_stop' };
        return;
      }
      default:
    }
    yield* odd.take();
    yield* queue.take();
  }
  throw o.fail(failed('broken_stream', 'the answer ended before the vendor said that it is complete', true));
}

const parts = (list: unknown): readonly string[] => (Array.isArray(list) ? list.flatMap((p) => (isRecord(p) && typeof p.text === 'string' && p.text !== '' ? [p.text] : [])) : []);

function usage(said: unknown, odd: Oddities): Usage {
  if (!isRecord(said)) {
    odd.add('no_usage', 'the server did not say how many tokens were used; they count as none');
    return NO_USAGE;
  }
  const details = isRecord(said.input_tokens_details) ? said.input_tokens_details : {};
  return splitUsage({ input: countOf(said.input_tokens), cached: countOf(details.cached_tokens), written: countOf(details.cache_write_tokens), output: countOf(said.output_tokens) });
}

/** A whole answer of a server that does not stream. */
export async function* wholeResponse(body: unknown): AsyncGenerator<SseEvent, void, void> {
  const failure = isRecord(body) && body.status === 'failed';
  yield { event: null, data: JSON.stringify(failure ? { type: 'response.failed', response: body } : isRecord(body) && body.error != null ? { type: 'error', error: body.error } : { type: 'response.completed', response: body }) };
}
