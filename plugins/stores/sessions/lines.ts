/** One line of a session: made with its number and checksum last, and read back with suspicion. */
import { crcHex, jsonlParser, readJsonl } from 'tappet/kit';
import type { JsonlParser } from 'tappet/kit';
import type { Line, LineDraft, MessageLine, SessionRead } from 'tappet/schemas';

/** What a line must have so that a session can use it. Lines of other writers may have more. */
const FIELDS = {
  user: { uuid: 'string', message: 'object' },
  assistant: { uuid: 'string', message: 'object' },
  system: { uuid: 'string', format: 'string', content: 'string' },
  progress: { uuid: 'string', toolUseID: 'string' },
  attachment: { uuid: 'string', attachment: 'object' },
  decision: { turnId: 'string', decision: 'object' },
  transition: { turnId: 'string', reason: 'string' },
  turn: { turnId: 'string', state: 'string' },
  'content-replacement': { toolUseId: 'string', file: 'string', size: 'number' },
  'custom-title': { customTitle: 'string' },
  tag: { tag: 'string' },
  'permission-mode': { mode: 'string' },
  model: { model: 'string' },
  'queue-operation': { operation: 'string', promptId: 'string' },
} satisfies Record<Line['type'], Readonly<Record<string, 'string' | 'number' | 'object'>>>;
const MESSAGES: ReadonlySet<string> = new Set<MessageLine['type']>(['user', 'assistant', 'system', 'progress', 'attachment']);
export const isMessage = (line: Line): line is MessageLine => MESSAGES.has(line.type);

const CRC = /,"crc":"([0-9a-f]{8})"\}\s*$/;
/** Bytes at the end of a line in which its checksum must stand. */
const CRC_BYTES = 64;
const MAX_NOTICES = 200;

/** The checksum is that of the text up to and with `seq`, closed by a brace: what the line would be without it. A draft that was read from another session loses that session's frame. */
export function encodeLine(draft: LineDraft, sessionId: string, seq: number, now: () => Date): string {
  const { v: _v, sessionId: _s, seq: _n, crc: _c, ...content } = draft as LineDraft & { v?: unknown; sessionId?: unknown; seq?: unknown; crc?: unknown };
  const text = JSON.stringify({ v: 1, ...content, sessionId, timestamp: ('timestamp' in content ? content.timestamp : undefined) ?? now().toISOString(), seq });
  return `${text.slice(0, -1)},"crc":"${crcHex(text)}"}`;
}

export interface ReadSession extends SessionRead { /** The highest number; 0 where no line has one. */ readonly lastSeq: number }

export async function readSession(file: string): Promise<ReadSession> {
  const reading = lineReader();
  const parser = await readJsonl(file, reading.onRecord);
  const notices = [...described(parser), ...reading.notices()];
  return { lines: reading.lines, notices: notices.length > MAX_NOTICES ? [...notices.slice(0, MAX_NOTICES), `and ${notices.length - MAX_NOTICES} notices more`] : notices, lastSeq: reading.lastSeq() };
}
/** The lines of a part of a file; what is wrong with the others does not matter. */
export function readPart(bytes: Buffer): readonly Line[] {
  const reading = lineReader();
  const parser = jsonlParser(reading.onRecord);
  parser.feed(bytes);
  parser.end();
  return reading.lines;
}

function lineReader() {
  const lines: Line[] = [];
  const gaps: string[] = [];
  const unknown = new Map<string, { count: number; offset: number }>();
  let lastSeq = 0;
  return {
    lines,
    lastSeq: () => lastSeq,
    notices: (): string[] => [...gaps, ...[...unknown].map(([type, { count, offset }]) => `${count} ${count === 1 ? 'line' : 'lines'} of the unknown type "${type}" left alone, the first at byte ${offset}`)],
    onRecord(value: Readonly<Record<string, unknown>>, bytes: Buffer, offset: number): string | void {
      if ('crc' in value && !isIntact(bytes)) return 'the checksum is wrong: the line was damaged';
      if (typeof value.type !== 'string') return 'no type';
      const { seq } = value;
      if ('crc' in value && typeof seq === 'number' && Number.isSafeInteger(seq)) {
        if (seq > lastSeq + 1 && lastSeq > 0) gaps.push(`lines ${lastSeq + 1} to ${seq - 1} are missing before byte ${offset}`);
        if (seq <= lastSeq) gaps.push(`line ${seq} at byte ${offset} comes after line ${lastSeq}`);
        lastSeq = Math.max(lastSeq, seq);
      }
      if (!Object.hasOwn(FIELDS, value.type)) {
        const seen = unknown.get(value.type);
        unknown.set(value.type, { count: (seen?.count ?? 0) + 1, offset: seen?.offset ?? offset });
        return;
      }
      const lacks = lackOf(value as { type: Line['type'] });
      if (lacks !== null) return `a line of type "${value.type}" without ${lacks}`;
      lines.push((MESSAGES.has(value.type) ? framed(value) : value) as unknown as Line);
    },
  };
}

function isIntact(bytes: Buffer): boolean {
  const from = Math.max(0, bytes.length - CRC_BYTES);
  const found = CRC.exec(bytes.subarray(from).toString('latin1'));
  return found !== null && crcHex(bytes.subarray(0, from + found.index), '}') === found[1];
}

/** Lines of other writers may lack what says where a message belongs. */
function framed(value: Readonly<Record<string, unknown>>): object {
  const text = (key: string): string | null => (typeof value[key] === 'string' ? value[key] : null);
  return { ...value, parentUuid: text('parentUuid'), cwd: text('cwd') ?? '', isSidechain: value.isSidechain === true, timestamp: text('timestamp') ?? '' };
}
function lackOf(value: Readonly<Record<string, unknown>> & { readonly type: Line['type'] }): string | null {
  for (const [key, type] of Object.entries(FIELDS[value.type])) if (typeof value[key] !== type || value[key] === null) return key;
  const { message, attachment } = value as { message?: { id?: unknown; content?: unknown }; attachment?: { kind?: unknown; text?: unknown } };
  switch (value.type) {
    case 'user': return typeof message?.content === 'string' || areBlocks(message?.content) ? null : 'content';
    case 'assistant': return typeof message?.id !== 'string' ? 'message.id' : areBlocks(message.content) ? null : 'content';
    case 'attachment': return typeof attachment?.kind === 'string' && typeof attachment.text === 'string' ? null : 'kind and text';
    default: return null;
  }
}

const areBlocks = (content: unknown): boolean => Array.isArray(content) && content.every((block: unknown) => typeof (block as { type?: unknown } | null)?.type === 'string');

const described = (parser: Pick<JsonlParser, 'notices' | 'skipped'>): string[] => [
  ...parser.notices.map(({ offset, bytes, why }) => `${bytes} bytes at byte ${offset} skipped: ${why}`),
  ...(parser.skipped > parser.notices.length ? [`${parser.skipped - parser.notices.length} further places skipped`] : []),
];
