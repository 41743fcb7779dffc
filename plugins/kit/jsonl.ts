/** Files of one JSON object per line: an append that is whole or known to be torn, and a reader that no content can stop. */
import { isUtf8 } from 'node:buffer';
import { closeSync, constants, fdatasync, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import { open } from 'node:fs/promises';

/** Longer lines are neither written nor read. */
export const MAX_LINE_BYTES = 64 * 1024 * 1024;
const NEWLINE = 0x0a;
const READ_BYTES = 1024 * 1024;
const MAX_NOTICES = 200;

// ---- writing ---------------------------------------------------------------------------------------------------------------

export interface JsonlWriter {
  /** One line, without its newline. When it returns the line is written, though not yet on the disk; when it throws the line does not count, and the next one is unharmed. */
  append(line: string): void;
  /** Resolves when all that was appended is on the disk. */
  sync(): Promise<void>;
  close(): void;
  readonly bytes: number;
}
export interface JsonlWriterOptions {
  /** The file must not be there yet. */
  readonly isNew?: boolean | undefined;
  /** For tests of full disks. */
  readonly write?: ((fd: number, data: Buffer, from: number, bytes: number) => number) | undefined;
}

/** One writer at a time: hold a lock. The file is made with mode 0600; a torn last line is ended by a newline, never cut. A link is not followed: it could lead into anybody's file. */
export function openJsonl(file: string, o: JsonlWriterOptions = {}): JsonlWriter {
  const fd = openSync(file, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0) | (o.isNew === true ? constants.O_EXCL : 0), 0o600);
  const write = o.write ?? writeSync;
  let bytes = 0;
  let isTorn = false;
  const put = (data: Buffer): void => {
    for (let from = 0; from < data.length;) {
      const n = write(fd, data, from, data.length - from);
      if (n === 0) throw new Error('the system wrote nothing');
      from += n;
      bytes += n;
    }
  };
  try {
    bytes = fstatSync(fd).size;
    const last = Buffer.from('\n');
    if (bytes > 0) readSync(fd, last, 0, 1, bytes - 1);
    isTorn = last[0] !== NEWLINE;
  } catch (e) {
    closeSync(fd);
    throw e;
  }
  if (isTorn) {
    try {
      put(Buffer.from('\n'));
      isTorn = false;
    } catch {
      // A full disk: the next line that can be written brings the newline with it.
    }
  }
  const sync = coalesced(() => new Promise<void>((resolve, reject) => fdatasync(fd, (e) => (e === null ? resolve() : reject(e)))));
  return {
    get bytes() { return bytes; },
    append(line) {
      const data = Buffer.from(`${isTorn ? '\n' : ''}${line}\n`);
      if (data.length > MAX_LINE_BYTES) throw new Error(`the line has ${data.length} bytes; at most ${MAX_LINE_BYTES} can be read back`);
      if (fstatSync(fd).nlink === 0) throw new Error('the file was removed');
      isTorn = true;
      put(data);
      isTorn = false;
    },
    sync,
    close: () => closeSync(fd),
  };
}

/** Calls that come while one is under way share the next one: what they wait for may have come too late for the first. */
function coalesced(work: () => Promise<void>): () => Promise<void> {
  let current: Promise<void> | null = null;
  let next: Promise<void> | null = null;
  const run = (): Promise<void> => (current = work().finally(() => { current = null; }));
  return () => {
    if (current === null) return run();
    return (next ??= current.catch(() => {}).then(() => { next = null; return run(); }));
  };
}

// ---- reading ---------------------------------------------------------------------------------------------------------------

export interface JsonlNotice { /** Where the bytes begin in the file. */ readonly offset: number; readonly bytes: number; readonly why: string }
/** `bytes` are those that were parsed. A string refuses the record and says why. */
export type JsonlRecord = (value: Readonly<Record<string, unknown>>, bytes: Buffer, offset: number) => string | void;
export interface JsonlParser {
  feed(chunk: Buffer): void;
  /** The last line may lack its newline. */
  end(): void;
  readonly notices: readonly JsonlNotice[];
  /** How much was left out; `notices` is bounded, this is not. */
  readonly skipped: number;
}

/** Throws where the file cannot be read; never for what is in it. */
export async function readJsonl(file: string, onRecord: JsonlRecord, o: { maxLineBytes?: number } = {}): Promise<Pick<JsonlParser, 'notices' | 'skipped'>> {
  const parser = jsonlParser(onRecord, o);
  const handle = await open(file, 'r');
  try {
    for (;;) {
      // A buffer of its own for each read: the parser keeps parts of it.
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(READ_BYTES), 0, READ_BYTES, null);
      if (bytesRead === 0) break;
      parser.feed(buffer.subarray(0, bytesRead));
    }
  } finally {
    await handle.close();
  }
  parser.end();
  return parser;
}

export function jsonlParser(onRecord: JsonlRecord, o: { maxLineBytes?: number } = {}): JsonlParser {
  const maxLineBytes = o.maxLineBytes ?? MAX_LINE_BYTES;
  const notices: JsonlNotice[] = [];
  let skipped = 0;
  let parts: Buffer[] = [];
  let partBytes = 0;
  let offset = 0;
  const skip = (at: number, bytes: number, why: string): void => {
    skipped++;
    if (notices.length < MAX_NOTICES) notices.push({ offset: at, bytes, why });
  };
  const piece = (bytes: Buffer, at: number): void => {
    const record = parse(bytes);
    const refused = typeof record === 'string' ? record : onRecord(record, bytes, at);
    if (typeof refused === 'string') skip(at, bytes.length, refused);
  };
  const line = (bytes: Buffer, at: number): void => {
    if (!bytes.includes(0)) { if (!isBlank(bytes)) piece(bytes, at); return; }
    // A crash of the machine can leave blocks of zero bytes; JSON has none, so what stands between them is looked at by itself.
    for (let from = 0; from < bytes.length;) {
      const isZero = bytes[from] === 0;
      let to = from;
      while (to < bytes.length && (bytes[to] === 0) === isZero) to++;
      const part = bytes.subarray(from, to);
      if (isZero) skip(at + from, part.length, 'zero bytes');
      else if (!isBlank(part)) piece(part, at + from);
      from = to;
    }
  };
  const finish = (): void => {
    if (partBytes > maxLineBytes) skip(offset, partBytes, `a line of more than ${maxLineBytes} bytes`);
    else if (partBytes > 0) line(parts.length === 1 ? parts[0]! : Buffer.concat(parts), offset);
    offset += partBytes;
    parts = [];
    partBytes = 0;
  };
  const collect = (part: Buffer): void => {
    partBytes += part.length;
    if (partBytes > maxLineBytes) parts = [];
    else parts.push(part);
  };
  return {
    notices,
    get skipped() { return skipped; },
    feed(chunk) {
      let from = 0;
      for (let newline = chunk.indexOf(NEWLINE); newline !== -1; newline = chunk.indexOf(NEWLINE, from)) {
        collect(chunk.subarray(from, newline));
        finish();
        offset++;
        from = newline + 1;
      }
      if (from < chunk.length) collect(chunk.subarray(from));
    },
    end: finish,
  };
}

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);
const isBlank = (bytes: Buffer): boolean => bytes.length < 16 && bytes.toString('latin1').trim() === '';

function parse(bytes: Buffer): Readonly<Record<string, unknown>> | string {
  const text = (bytes.subarray(0, 3).equals(BOM) ? bytes.subarray(3) : bytes).toString('utf8');
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : 'no JSON object';
  } catch {
    const start = text.trimStart().startsWith('{');
    return `no JSON${isUtf8(bytes) ? '' : ', and not UTF-8'}${start && !text.trimEnd().endsWith('}') ? ': cut off, probably by a crash' : ''}`;
  }
}
