/** What a child writes, in bounded memory: characters joined across chunks, huge lines cut, head and tail kept, the whole in a file where one is given. */
import { isUtf8 } from 'node:buffer';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';

export type OutputStream = 'stdout' | 'stderr';
export interface OutputLimits {
  /** Characters kept from the start. */
  readonly head: number;
  /** Characters kept from the end. */
  readonly tail: number;
  /** Characters of one line that are shown. */
  readonly line: number;
  /** Names the file for the whole output; asked once, when something has to be left out. */
  readonly spill?: (() => Promise<string>) | undefined;
  /** Bytes of that file at most. */
  readonly spillBytes?: number | undefined;
  /** Hears what is shown, as it comes. */
  readonly onText?: ((stream: OutputStream, text: string) => void) | undefined;
}
export interface Kept {
  /** All characters, kept or not; of a line that was cut only those that are shown. */
  readonly chars: number;
  /** Everything, where it has at most `max` characters; else its start and its end, `max` characters together, with a count between. */
  excerpt(max: number): string;
}
export interface CollectedOutput {
  /** Both streams, in the order in which they came. */
  readonly both: Kept;
  readonly stdout: Kept;
  readonly stderr: Kept;
  /** Something was left out: lines were cut, or there was more than `head`. */
  readonly isCut: boolean;
  readonly spill: { readonly file: string; readonly bytes: number; /** Why the file does not hold everything. */ readonly lacks: string | null } | null;
}
export interface OutputCollector {
  /** A promise where the writer should wait: the file is behind. */
  add(stream: OutputStream, chunk: Buffer): Promise<void> | undefined;
  /** All that comes is in; closes the file. */
  finish(): Promise<CollectedOutput>;
}

const SPILL_BYTES = 64 * 1024 * 1024;

export function collectOutput(limits: OutputLimits): OutputCollector {
  const decode = { stdout: utf8Decoder(), stderr: utf8Decoder() };
  const cut = { stdout: lineCutter(limits.line), stderr: lineCutter(limits.line) };
  const kept = { stdout: keeper(limits), stderr: keeper(limits), both: keeper(limits) };
  const whole = limits.spill === undefined ? null : spiller(limits.spill, limits.spillBytes ?? SPILL_BYTES);
  const isCut = (): boolean => kept.both.chars > limits.head || cut.stdout.hasCut() || cut.stderr.hasCut();
  const take = (stream: OutputStream, text: string, shown: string): Promise<void> | undefined => {
    if (shown !== '') {
      kept[stream].add(shown);
      kept.both.add(shown);
      limits.onText?.(stream, shown);
    }
    return text === '' ? undefined : whole?.add(text, isCut());
  };
  return {
    add(stream, chunk) {
      const text = decode[stream].write(chunk);
      return take(stream, text, cut[stream].write(text));
    },
    async finish() {
      for (const stream of ['stdout', 'stderr'] as const) {
        const rest = decode[stream].end();
        await take(stream, rest, cut[stream].write(rest) + cut[stream].end());
      }
      return { both: kept.both, stdout: kept.stdout, stderr: kept.stderr, isCut: isCut(), spill: (await whole?.close()) ?? null };
    },
  };
}

/** One well-formed UTF-8 sequence of more than one byte, or one byte that belongs to none; on a string with one character per byte. */
const SEQUENCES = /((?:[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2})+)|[\x80-\xff]/g;

/** Bytes as text: a character cut by a chunk's end waits for the next chunk, a byte that is no UTF-8 becomes `\xNN`. */
export function utf8Decoder(): { write(chunk: Buffer): string; end(): string } {
  let waiting = Buffer.alloc(0);
  const text = (bytes: Buffer): string => (isUtf8(bytes) ? bytes.toString('utf8')
    : bytes.toString('latin1').replace(SEQUENCES, (found, good?: string) => (good === undefined ? `\\x${found.charCodeAt(0).toString(16)}` : Buffer.from(good, 'latin1').toString('utf8'))));
  return {
    write(chunk) {
      const bytes = waiting.length === 0 ? chunk : Buffer.concat([waiting, chunk]);
      const end = bytes.length - unfinished(bytes);
      waiting = Buffer.from(bytes.subarray(end));
      return text(bytes.subarray(0, end));
    },
    end() {
      const rest = text(waiting);
      waiting = Buffer.alloc(0);
      return rest;
    },
  };
}
/** How many bytes at the end begin a character that is not whole. */
function unfinished(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) > back ? back : 0;
  }
  return 0;
}

/** Lets `max` characters of each line through and says how many more it had. */
function lineCutter(max: number): { write(text: string): string; end(): string; hasCut(): boolean } {
  let column = 0;
  let isSkipping = false;
  let skipped = 0;
  let hasCut = false;
  const note = (): string => {
    const said = skipped === 0 ? '' : `… [${skipped} more characters in this line]`;
    isSkipping = false;
    skipped = 0;
    return said;
  };
  return {
    hasCut: () => hasCut,
    end: note,
    write(text) {
      let shown = '';
      for (let at = 0; at < text.length;) {
        if (isSkipping) {
          const newline = text.indexOf('\n', at);
          const end = newline === -1 ? text.length : newline;
          skipped += end - at;
          at = end;
          if (newline === -1) break;
          shown += note();
          column = 0;
        }
        const reach = at + max - column;
        const newline = text.lastIndexOf('\n', reach);
        // All lines that end within reach are short enough.
        const end = text.length <= reach ? text.length : newline >= at ? newline + 1 : cutAt(text, reach);
        shown += text.slice(at, end);
        column = newline >= at ? end - newline - 1 : column + end - at;
        isSkipping = text.length > reach && newline < at;
        hasCut ||= isSkipping;
        at = end;
      }
      return shown;
    },
  };
}

/** The nearest place at or before `at` that is not inside a character. */
const cutAt = (text: string, at: number): number => (at > 0 && at < text.length && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800 ? at - 1 : at);

function keeper(limits: { readonly head: number; readonly tail: number }): Kept & { add(text: string): void } {
  const first: string[] = [];
  const last: string[] = [];
  let firstChars = 0;
  let lastChars = 0;
  let chars = 0;
  return {
    get chars() { return chars; },
    add(text) {
      chars += text.length;
      const part = last.length > 0 ? 0 : cutAt(text, Math.min(text.length, limits.head - firstChars));
      if (part > 0) first.push(text.slice(0, part));
      firstChars += part;
      if (part === text.length) return;
      last.push(text.slice(part));
      lastChars += text.length - part;
      while (last.length > 1 && lastChars - last[0]!.length >= limits.tail) lastChars -= last.shift()!.length;
    },
    excerpt(max) {
      const [head, tail] = [first.join(''), last.join('')];
      if (chars <= max && chars === firstChars + lastChars) return head + tail;
      const start = head.slice(0, cutAt(head, Math.ceil(max / 2)));
      const rest = head.slice(start.length) + tail;
      const from = rest.length - Math.min(limits.tail, Math.floor(max / 2), rest.length);
      const end = rest.slice(cutAt(rest, from) < from ? from + 1 : from);
      return `${start}\n… [${chars - start.length - end.length} characters left out] …\n${end}`;
    },
  };
}

/** Holds back what fits into memory anyway; writes from the start once something else is left out. */
function spiller(name: () => Promise<string>, maxBytes: number): { add(text: string, isCut: boolean): Promise<void> | undefined; close(): Promise<CollectedOutput['spill']> } {
  const held: string[] = [];
  let work: Promise<void> | null = null;
  let file: string | null = null;
  let handle: FileHandle | null = null;
  let bytes = 0;
  let lacks: string | null = null;
  const write = async (text: string): Promise<void> => {
    if (lacks !== null) return;
    try {
      if (handle === null) {
        file = await name();
        handle = await open(file, 'wx', 0o600);
      }
      const data = Buffer.from(text);
      const part = data.subarray(0, maxBytes - bytes);
      await handle.writeFile(part);
      bytes += part.length;
      if (part.length < data.length) lacks = `it was cut at ${maxBytes} bytes`;
    } catch (e) {
      lacks = `it could not be written: ${e instanceof Error ? e.message : String(e)}`;
    }
  };
  return {
    add(text, isCut) {
      if (lacks !== null) return undefined;
      if (work === null && !isCut) { held.push(text); return undefined; }
      const all = held.splice(0).join('') + text;
      work = (work ?? Promise.resolve()).then(() => write(all));
      return work;
    },
    async close() {
      await work;
      await handle?.close();
      return file === null && lacks === null ? null : { file: file ?? '', bytes, lacks };
    },
  };
}
