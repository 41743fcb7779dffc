/** An answer's events, as the API sends them, in the words of the loop. */
import { blockQueue, callIdOf, callInput, countOf, eventObject, isRecord, oddities, shown, textOf } from 'tappet/kit';
import type { GrowingBlock, Oddities, SseEvent } from 'tappet/kit';
import type { Block, ModelEvent, Usage } from 'tappet/schemas';
import { NO_USAGE } from 'tappet/schemas';
import { PROVIDER } from './encode.ts';
import type { Fault } from './faults.ts';

type Json = Record<string, unknown>;
export interface Answering {
  readonly model: string;
  /** Ids of all calls in the conversation so far. */
  takenIds(): Set<string>;
  /** Thoughts that nobody shows are silence, but no sign of trouble. */
  thinks(open: boolean): void;
  fail(fault: Fault): Error;
  failAs(event: Json): Error;
}
interface Part { take(delta: Json): void; finish(): void }

/** Ends of an answer that need no words. */
const WORDLESS = ['max_tokens', 'model_context_window_exceeded', 'pause_turn'];

/** The objects in a stream's events; what is none is told by a made-up event of an unknown kind, which the reader skips aloud. */
export async function* answerObjects(events: AsyncIterable<SseEvent>): AsyncGenerator<Json, void, void> {
  const odd = oddities();
  for await (const e of events) {
    const said = eventObject(e, odd);
    yield said === null ? { type: 'no JSON object' } : said.type === undefined && e.event !== null ? { ...said, type: e.event } : said;
  }
}

export async function* answerEvents(events: AsyncIterable<Json>, o: Answering): AsyncGenerator<ModelEvent, void, void> {
  const queue = blockQueue();
  const odd = oddities();
  const open = new Map<unknown, Part>();
  const so = { spoke: false, calls: 0, cut: false };
  let ids: Set<string> | undefined;
  const idOf = (said: unknown): string => callIdOf(said, (ids ??= o.takenIds()));
  const close = (index: unknown): void => {
    const part = open.get(index);
    open.delete(index);
    part?.finish();
  };
  let usage: Usage = NO_USAGE;
  let begun = false;
  let stop: string | null = null;
  let sequence: string | null = null;
  let details: Json = {};
  let complete = false;

  for await (const e of events) {
    const type = e.type;
    if (type === 'ping') continue;
    if (type === 'error') throw o.failAs(e);
    const message: Json = type === 'message_start' && isRecord(e.message) ? e.message : {};
    if (isRecord(message.usage)) usage = merged(usage, message.usage);
    if (!begun) {
      begun = true;
      yield { type: 'message_start', id: textOf(message.id) ?? `msg_${callIdOf(null, new Set())}`, model: textOf(message.model) ?? o.model, usage };
    }
    if (type === 'content_block_start') {
      close(e.index);
      if (isRecord(e.content_block)) open.set(e.index, partOf(e.content_block, (block) => queue.start(block), odd, idOf, so, o.thinks));
      else odd.add('odd_field', `a block of the answer is ${shown(e.content_block)} and was skipped`);
    } else if (type === 'content_block_delta') {
      const part = open.get(e.index);
      if (part !== undefined && isRecord(e.delta)) part.take(e.delta);
      else odd.add('odd_field', `a piece of the answer belongs to no block and was skipped: ${shown(e.delta)}`);
    } else if (type === 'content_block_stop') {
      close(e.index);
    } else if (type === 'message_delta') {
      const delta = isRecord(e.delta) ? e.delta : {};
      stop = textOf(delta.stop_reason) ?? stop;
      sequence = textOf(delta.stop_sequence) ?? sequence;
      if (isRecord(delta.stop_details)) details = delta.stop_details;
      if (isRecord(e.usage)) usage = merged(usage, e.usage);
    } else if (type === 'message_stop') {
      complete = true;
    } else if (type !== 'message_start') {
      odd.add('odd_event', `an event of the answer is unknown and was skipped: ${shown(type)}`);
    }
    yield* queue.take();
    yield* odd.take();
    if (complete) break;
  }

  if (!complete) throw o.fail({ kind: 'broken_stream', message: 'the answer ended before the server said that it is complete', transient: true });
  for (const index of [...open.keys()]) close(index);
  yield* queue.take();
  if (stop === 'refusal' && !so.spoke) throw o.fail(refusal(details));
  if (so.cut && !WORDLESS.includes(stop ?? '')) {
    odd.add('cut_call', `the server says "${stop ?? 'done'}", but the input of a call is unfinished: the answer counts as cut off`);
    stop = 'max_tokens';
  }
  yield* odd.take();
  yield { type: 'message_delta', stop_reason: stop ?? (so.calls > 0 ? 'tool_use' : 'end_turn'), stop_sequence: sequence, usage };
  if (stop === 'refusal') throw o.fail(refusal(details));
  if (!so.spoke && !WORDLESS.includes(stop ?? '')) throw o.fail({ kind: 'empty_answer', message: 'the model ended without a word and without a call', transient: true });
  yield { type: 'message_stop' };
}

const refusal = (details: Json): Fault => ({ kind: 'refusal', transient: false, message: `the model refuses to answer${textOf(details.explanation) === undefined ? textOf(details.category) === undefined ? '' : ` (${String(details.category)})` : `: ${String(details.explanation)}`}` });

/** What comes later replaces what came before, field by field: a gateway may name only some. */
const merged = (u: Usage, said: Json): Usage => Object.fromEntries((Object.keys(u) as (keyof Usage)[]).map((k) => [k, typeof said[k] === 'number' ? countOf(said[k]) : u[k]])) as unknown as Usage;

type So = { spoke: boolean; calls: number; cut: boolean };
function partOf(start: Json, begin: (block: Block) => GrowingBlock, odd: Oddities, idOf: (said: unknown) => string, so: So, thinks: (open: boolean) => void): Part {
  const skip = (delta: Json): void => odd.add('odd_field', `a piece of a block ${shown(start.type)} is odd and was skipped: ${shown(delta)}`);
  const words = (value: unknown): string => textOf(value) ?? '';

  if (start.type === 'text') {
    let text = '';
    const citations: unknown[] = Array.isArray(start.citations) ? [...start.citations as unknown[]] : [];
    const growing = begin({ type: 'text', text: '' });
    const say = (more: string): void => {
      text += more;
      if (more.trim() !== '') so.spoke = true;
      growing.delta({ type: 'text_delta', text: more });
    };
    if (words(start.text) !== '') say(words(start.text));
    return {
      take: (d) => { if (d.type === 'text_delta' && typeof d.text === 'string') say(d.text); else if (d.type === 'citations_delta' && isRecord(d.citation)) citations.push(d.citation); else skip(d); },
      finish: () => growing.stop({ type: 'text', text, ...(citations.length === 0 ? {} : { citations }) }),
    };
  }
  if (start.type === 'thinking') {
    let thinking = words(start.thinking);
    let signature = words(start.signature);
    const growing = begin({ type: 'thinking', thinking: '', provider: PROVIDER });
    if (thinking !== '') growing.delta({ type: 'thinking_delta', thinking });
    thinks(true);
    return {
      take(d) {
        if (d.type === 'thinking_delta' && typeof d.thinking === 'string') {
          thinking += d.thinking;
          growing.delta({ type: 'thinking_delta', thinking: d.thinking });
        } else if (d.type === 'signature_delta' && typeof d.signature === 'string') {
          signature += d.signature;
          growing.delta({ type: 'signature_delta', signature: d.signature });
        } else return skip(d);
        thinks(true);
      },
      finish() {
        thinks(false);
        growing.stop({ type: 'thinking', thinking, ...(signature === '' ? {} : { signature }), provider: PROVIDER });
      },
    };
  }
  if (start.type === 'tool_use') {
    let json = '';
    const id = idOf(start.id);
    const name = words(start.name);
    const growing = begin({ type: 'tool_use', id, name, input: {} });
    so.spoke = true;
    so.calls++;
    return {
      take(d) {
        if (d.type !== 'input_json_delta' || typeof d.partial_json !== 'string') return skip(d);
        if (d.partial_json === '') return;
        json += d.partial_json;
        growing.delta({ type: 'input_json_delta', partial_json: d.partial_json });
      },
      finish() {
        const { cut, ...input } = callInput(json === '' ? start.input : json);
        if (cut) so.cut = true;
        growing.stop({ type: 'tool_use', id, name, ...input });
      },
    };
  }
  if (start.type === 'redacted_thinking') {
    const block: Block = { type: 'redacted_thinking', data: words(start.data), provider: PROVIDER };
    const growing = begin(block);
    return { take: skip, finish: () => growing.stop(block) };
  }
  return vendorPart(start, begin, odd, so);
}

/** A block of the API's own (server tools and their results, whatever comes next): kept as it is, grown as its pieces say, sent back unread. */
function vendorPart(start: Json, begin: (block: Block) => GrowingBlock, odd: Oddities, so: So): Part {
  const block: Json = { ...start };
  let json = '';
  const growing = begin({ type: 'vendor', provider: PROVIDER, block: start });
  so.spoke = true;
  return {
    take(d) {
      if (typeof d.partial_json === 'string') { json += d.partial_json; return; }
      for (const [key, value] of Object.entries(d)) if (key !== 'type') block[key] = typeof value === 'string' && typeof block[key] === 'string' ? block[key] + value : value;
    },
    finish() {
      if (json !== '') {
        const { input, inputError } = callInput(json);
        if (inputError === undefined) block.input = input;
        else odd.add('odd_field', `the input of a block ${shown(start.type)} is no JSON; it was left empty`);
      }
      growing.stop({ type: 'vendor', provider: PROVIDER, block });
    },
  };
}
