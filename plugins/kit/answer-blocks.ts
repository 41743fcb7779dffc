/** Blocks of an answer that may grow side by side, told one after another as the events' contract wants it; and what a model wrote as a call's input. */
import type { Block, BlockDelta, ModelEvent, ToolUseBlock } from '../../schemas/index.ts';
import { nestsTooDeep } from './json-depth.ts';

export interface GrowingBlock {
  delta(delta: BlockDelta): void;
  /** Nothing may follow; later words are ignored. */
  stop(block: Block): void;
}
export interface BlockQueue {
  start(block: Block): GrowingBlock;
  whole(block: Block): void;
  /** What may be said now: all of the oldest block that still grows, and of those before it. */
  take(): ModelEvent[];
}

export function blockQueue(): BlockQueue {
  const lanes: { readonly events: ModelEvent[]; done: boolean }[] = [];
  let next = 0;
  const start = (block: Block): GrowingBlock => {
    const index = next++;
    const lane = { events: [{ type: 'content_block_start', index, block }] as ModelEvent[], done: false };
    lanes.push(lane);
    return {
      delta(delta) { if (!lane.done) lane.events.push({ type: 'content_block_delta', index, delta }); },
      stop(whole) {
        if (lane.done) return;
        lane.done = true;
        lane.events.push({ type: 'content_block_stop', index, block: whole });
      },
    };
  };
  return {
    start,
    whole: (block) => start(block).stop(block),
    take() {
      const said: ModelEvent[] = [];
      for (let head = lanes[0]; head !== undefined; head = lanes[0]) {
        said.push(...head.events.splice(0));
        if (!head.done) break;
        lanes.shift();
      }
      return said;
    },
  };
}

export interface CallInput extends Pick<ToolUseBlock, 'input' | 'inputError'> { /** It ends in the middle: the answer was cut. */ readonly cut: boolean }

/** The input of a call, from JSON text or from what is an object already. What is neither is kept beside an empty input, so that it can be sent back. */
export function callInput(raw: unknown): CallInput {
  if (isObject(raw)) return { input: raw, cut: false };
  if (raw === undefined || raw === null) return { input: {}, cut: false };
  const text = typeof raw === 'string' ? raw : JSON.stringify(raw);
  if (text.trim() === '') return { input: {}, cut: false };
  const wrong = (why: string, cut = false): CallInput => ({ input: {}, inputError: { why, raw: text }, cut });
  if (nestsTooDeep(text)) return wrong('the input of the call is nested too deep');
  try {
    let value: unknown = JSON.parse(text);
    // Some servers write the JSON as a JSON string.
    if (typeof value === 'string' && value.trimStart().startsWith('{')) {
      if (nestsTooDeep(value)) return wrong('the input of the call is nested too deep');
      value = JSON.parse(value);
    }
    if (value === null) return { input: {}, cut: false };
    return isObject(value) ? { input: value, cut: false } : wrong('the input of the call is JSON, but no object');
  } catch (e) {
    if (unfinished(text)) return wrong(`the answer was cut off inside the input of the call, after ${text.length} characters`, true);
    return wrong(`the input of the call is no JSON: ${e instanceof Error ? e.message : String(e)}`);
  }
}

/** Whether text that is no JSON merely lacks its end: something that was opened is still open. */
export function unfinished(text: string): boolean {
  let depth = 0;
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) {
      if (c === '\\') i++;
      else if (c === '"') quoted = false;
    } else if (c === '"') quoted = true;
    else if (c === '{' || c === '[') depth++;
    else if (c === '}' || c === ']') depth--;
  }
  return quoted || depth > 0;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
