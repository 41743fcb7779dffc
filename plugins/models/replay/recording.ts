/** The file of a recording: lines of JSON, one exchange after the other; what a request shares with an earlier one is not written twice. */
import { readFile, stat } from 'node:fs/promises';
import { isTappetError, messageOf } from 'tappet/kernel';
import type { Block, BlockDelta, ModelEvent, ModelFault } from 'tappet/kernel';
import { blockEvents, textPieces } from 'tappet/kit';
import { replayError } from './codes.ts';
import type { Part } from './steady.ts';

/** What came: whole blocks as such, other events as they were. */
export type Piece =
  | { readonly event: ModelEvent }
  | { readonly block: Block; readonly index: number }
  | { readonly unfinished: Block; readonly index: number; readonly deltas: readonly BlockDelta[] };
export type Outcome = { readonly end: true } | { readonly fault: Omit<ModelFault, 'provider' | 'model'> };
export interface Exchange { readonly line: number; readonly parts: readonly Part[]; readonly pieces: readonly Piece[]; readonly outcome: Outcome }
export interface Head { readonly recording: 1; readonly provider: string; readonly model: string }

const MAX_BYTES = 256 * 1024 * 1024;
const FIXED = ['system', 'tools', 'toolChoice'] as const;
const EVENT_TYPES = ['message_start', 'message_delta', 'message_stop', 'notice'];

/** The lines of one more exchange. */
export function writeExchange(earlier: readonly { readonly parts: readonly Part[] }[], parts: readonly Part[], pieces: readonly Piece[], outcome: Outcome): string {
  let like = -1;
  let keeps = 0;
  earlier.forEach((e, i) => { const n = shared(e.parts.slice(FIXED.length), parts.slice(FIXED.length)); if (like < 0 || n >= keeps) { like = i; keeps = n; } });
  const old = earlier[like]?.parts;
  const fixed = FIXED.flatMap((name, i) => (old?.[i]?.json === parts[i]!.json ? [] : [[name, parts[i]!.value]]));
  const request = { request: earlier.length + 1, ...(like < 0 ? {} : { like: like + 1, keeps }), ...Object.fromEntries(fixed), messages: parts.slice(FIXED.length + keeps).map((p) => p.value) };
  return [request, ...pieces, outcome].map((line) => `${JSON.stringify(line)}\n`).join('');
}
const shared = (a: readonly Part[], b: readonly Part[]): number => { let n = 0; while (n < a.length && n < b.length && a[n]!.json === b[n]!.json) n++; return n; };

/** @throws E_REPLAY_READ, E_REPLAY_SYNTAX with the line */
export async function readRecording(file: string): Promise<readonly Exchange[]> {
  return parseRecording(await load(file), file);
}

async function load(file: string): Promise<string> {
  const fail = (message: string) => replayError('E_REPLAY_READ', { file, message, where: file });
  try {
    const info = await stat(file);
    if (!info.isFile()) throw fail(info.isDirectory() ? 'it is a folder' : 'it is no regular file');
    if (info.size > MAX_BYTES) throw fail(`it is larger than ${MAX_BYTES} bytes`);
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file));
  } catch (e) {
    if (isTappetError(e)) throw e;
    const { code } = e as NodeJS.ErrnoException;
    throw fail(code === 'ENOENT' || code === 'ENOTDIR' ? 'there is no such file' : code === 'EACCES' || code === 'EPERM' ? 'permission denied' : code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'it is not UTF-8 text' : messageOf(e));
  }
}

type Open = { readonly line: number; readonly parts: readonly Part[]; readonly pieces: Piece[] };

function parseRecording(text: string, file: string): readonly Exchange[] {
  const lines = text.split(/\r?\n/);
  const torn = lines.at(-1) !== '';
  const done: Exchange[] = [];
  let open: Open | null = null;
  let headed = false;
  const fail = (line: number, message: string, column = 1) => replayError('E_REPLAY_SYNTAX', { message, where: `${file}:${line}:${column}` });
  lines.forEach((source, i) => {
    const line = i + 1;
    if (source.trim() === '') return;
    const value = ((): Record<string, unknown> => {
      try {
        const made = JSON.parse(source) as unknown;
        if (isMap(made)) return made;
      } catch (e) {
        if (torn && line === lines.length) throw fail(line, 'it breaks off: the recording was cut while it was written', source.length);
        throw fail(line, `it is no JSON (${messageOf(e)})`, Number(/position (\d+)/.exec(messageOf(e))?.[1] ?? 0) + 1);
      }
      throw fail(line, 'it is JSON, but no object');
    })();
    const bad = (message: string) => fail(line, message);
    if (!headed) {
      if (value['recording'] !== 1) throw bad('a recording begins with {"recording":1,…}');
      headed = true;
    } else if ('request' in value) {
      if (open !== null) throw fail(open.line, 'this exchange has no end: the recording was cut, or lines were taken out');
      open = { line, parts: readParts(value, done, bad), pieces: [] };
    } else if (open === null) {
      throw bad('no request stands before it');
    } else if ('end' in value || 'fault' in value) {
      done.push({ ...open, outcome: readOutcome(value, open.pieces, bad) });
      open = null;
    } else {
      open.pieces.push(readPiece(value, bad));
    }
  });
  if (open !== null) throw fail((open as Open).line, 'this exchange has no end: the recording was cut, or lines were taken out');
  if (done.length === 0) throw fail(1, headed ? 'it holds no exchange' : 'the file is empty');
  return done;
}

type Bad = (message: string) => Error;

function readParts(value: Record<string, unknown>, done: readonly Exchange[], bad: Bad): readonly Part[] {
  const { request, like, keeps, messages } = value;
  if (request !== done.length + 1) throw bad(`this is exchange ${done.length + 1}, and it says ${JSON.stringify(request)}: lines were taken out or put in`);
  const old = like === undefined ? undefined : done[Number(like) - 1]?.parts;
  if (like !== undefined && old === undefined) throw bad(`it refers to exchange ${JSON.stringify(like)}, which does not stand before it`);
  const kept = Number(keeps ?? 0);
  if (!Number.isInteger(kept) || kept < 0 || kept > Math.max(0, (old?.length ?? 0) - FIXED.length)) throw bad(`it keeps ${JSON.stringify(keeps)} messages of an exchange that has fewer`);
  if (!Array.isArray(messages)) throw bad('"messages" must be a list');
  const fixed = FIXED.map((name, i) => {
    if (name in value) return part(name, value[name]);
    if (old === undefined) throw bad(`"${name}" is missing`);
    return old[i]!;
  });
  return [...fixed, ...(old ?? []).slice(FIXED.length, FIXED.length + kept), ...messages.map((m, i) => part(`messages[${kept + i}]`, m))];
}
const part = (name: string, value: unknown): Part => ({ name, value, json: JSON.stringify(value) });

function readPiece(value: Record<string, unknown>, bad: Bad): Piece {
  if ('event' in value) {
    const { event } = value;
    if (!isMap(event) || !EVENT_TYPES.includes(event['type'] as string)) throw bad('this event is not known');
    if ((event['type'] === 'message_start' || event['type'] === 'message_delta') && !isMap(event['usage'])) throw bad('the event has no usage');
    return { event: event as unknown as ModelEvent };
  }
  const block = value['block'] ?? value['unfinished'];
  if (!isMap(block) || typeof block['type'] !== 'string' || !Number.isInteger(value['index'])) throw bad('it is neither a request, an event, a block nor an end');
  if ('block' in value) return { block: block as unknown as Block, index: value['index'] as number };
  if (!Array.isArray(value['deltas']) || !value['deltas'].every((d) => isMap(d) && typeof d['type'] === 'string')) throw bad('"deltas" must be a list of deltas');
  return { unfinished: block as unknown as Block, index: value['index'] as number, deltas: value['deltas'] as BlockDelta[] };
}

function readOutcome(value: Record<string, unknown>, pieces: readonly Piece[], bad: Bad): Outcome {
  if ('end' in value) {
    const last = pieces.at(-1);
    if (last === undefined || !('event' in last) || last.event.type !== 'message_stop') throw bad('the answer has no message_stop: lines were taken out');
    return { end: true };
  }
  const { fault } = value;
  if (!isMap(fault) || typeof fault['kind'] !== 'string' || typeof fault['message'] !== 'string' || typeof fault['transient'] !== 'boolean') throw bad('a fault needs kind, message and transient');
  return { fault: fault as unknown as ModelFault };
}

const isMap = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

// ---- between events and pieces ---------------------------------------------------------------------------------------------

export interface Collector { take(event: ModelEvent): void; pieces(): readonly Piece[] }
/** Deltas are kept only of a block that never ended. */
export function collector(): Collector {
  const pieces: Piece[] = [];
  let growing: { readonly unfinished: Block; readonly index: number; readonly deltas: BlockDelta[] } | null = null;
  return {
    take(event) {
      if (event.type === 'content_block_start') growing = { unfinished: event.block, index: event.index, deltas: [] };
      else if (event.type === 'content_block_delta') growing?.deltas.push(event.delta);
      else if (event.type === 'content_block_stop') { pieces.push({ block: event.block, index: event.index }); growing = null; }
      else pieces.push({ event });
    },
    pieces: () => (growing === null ? pieces : [...pieces, { ...growing, deltas: joined(growing.deltas) }]),
  };
}

export function eventsOf(piece: Piece): readonly ModelEvent[] {
  if ('event' in piece) return [piece.event];
  if ('block' in piece) return blockEvents(piece.block, piece.index);
  const { index } = piece;
  return [{ type: 'content_block_start', index, block: piece.unfinished }, ...piece.deltas.flatMap(cut).map((delta): ModelEvent => ({ type: 'content_block_delta', index, delta }))];
}

const FIELD = { text_delta: 'text', thinking_delta: 'thinking', signature_delta: 'signature', input_json_delta: 'partial_json' } as const;
const textOf = (d: BlockDelta): string => String((d as unknown as Record<string, unknown>)[FIELD[d.type]] ?? '');
const withText = (d: BlockDelta, text: string): BlockDelta => ({ ...d, [FIELD[d.type]]: text });
const cut = (d: BlockDelta): readonly BlockDelta[] => textPieces(textOf(d)).map((text) => withText(d, text));
function joined(deltas: readonly BlockDelta[]): readonly BlockDelta[] {
  const out: BlockDelta[] = [];
  for (const d of deltas) {
    const last = out.at(-1);
    if (last?.type === d.type) out[out.length - 1] = withText(last, textOf(last) + textOf(d)); else out.push(d);
  }
  return out;
}
