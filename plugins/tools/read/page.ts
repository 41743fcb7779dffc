/** The lines of a text that one call shows, and what is to be said about them. */
import { StringDecoder } from 'node:string_decoder';
import { lineEnds, openRegular } from 'tappet/kit';
import type { TextFile } from 'tappet/kit';
import type { FsLike } from 'tappet/schemas';

export interface Range { readonly offset?: number | undefined; readonly limit?: number | undefined }
export interface PageLimits { readonly maxLines: number; readonly maxBytes: number }
export interface Page {
  readonly content: string;
  readonly startLine: number;
  readonly numLines: number;
  /** `null`: the file is too large to count them. */
  readonly totalLines: number | null;
  readonly partial: boolean;
  readonly notices: readonly string[];
}
/** `{ tooLarge }`: the lines that were asked for by number do not fit. */
export type Paged = Page | { readonly tooLarge: number };

const MAX_LINE = 2000;
const start = ({ offset }: Range): number => Math.max(1, offset ?? 1);

export function pageOf(file: TextFile, range: Range, limits: PageLimits): Paged {
  const lines = file.text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const from = start(range);
  const about = [...(file.encoding === 'utf8' ? [] : [`encoding: ${file.encoding}`]), ...(file.bom ? ['begins with a byte order mark'] : []), ...(ENDS[lineEnds(file.text)] ?? [])];
  const said = about.length === 0 ? [] : [about.join('; ')];
  if (lines.length === 0) return { content: '', startLine: from, numLines: 0, totalLines: 0, partial: false, notices: ['the file is empty', ...said] };
  if (from > lines.length) return { content: '', startLine: from, numLines: 0, totalLines: lines.length, partial: true, notices: [`the file has ${count(lines.length)}; offset ${from} is past its end`] };
  const shown = fit(lines.slice(from - 1, from - 1 + (range.limit ?? limits.maxLines)), limits.maxBytes);
  if (shown.left > 0 && range.limit !== undefined) return { tooLarge: shown.chars };
  const end = from - 1 + shown.lines.length;
  const partial = from > 1 || end < lines.length || shown.cutLines > 0;
  return {
    content: shown.lines.join('\n'), startLine: from, numLines: shown.lines.length, totalLines: lines.length, partial,
    notices: [...said, ...(partial ? [partialWords(from, end, lines.length, shown.cutLines)] : [])],
  };
}
const ENDS: Readonly<Record<string, readonly string[]>> = { crlf: ['lines end in CRLF'], mixed: ['some lines end in CRLF, some in LF'] };

/** As many whole lines as fit; a line that is longer than anybody reads is cut. */
function fit(lines: readonly string[], maxBytes: number): { lines: string[]; left: number; chars: number; cutLines: number } {
  const out: string[] = [];
  let [chars, cutLines, full] = [0, 0, false];
  for (const raw of lines) {
    const whole = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
    const cut = whole.length > MAX_LINE;
    const line = cut ? `${whole.slice(0, MAX_LINE).replace(/[\ud800-\udbff]$/, '')} [line cut here]` : whole;
    chars += Buffer.byteLength(line) + 7;
    full ||= chars > maxBytes && out.length > 0;
    if (full) continue; // the sum is told
    out.push(line);
    if (cut) cutLines++;
  }
  return { lines: out, left: lines.length - out.length, chars, cutLines };
}
const count = (n: number): string => (n === 1 ? '1 line' : `${n} lines`);
function partialWords(from: number, end: number, total: number | null, cutLines: number): string {
  const what = [`lines ${from}-${end} of ${total ?? 'a very large file'}`, ...(cutLines > 0 ? [`${count(cutLines)} cut`] : [])].join(', ');
  return `PARTIAL view: ${what}. ${total === null || end < total ? `Read on with offset ${end + 1}, or search with Grep. ` : ''}The file does not count as read`;
}

const CHUNK = 1 << 18;
/** The same for files that are not held in memory: lines are counted until those that were asked for have come. */
export async function pageOfLarge(fs: FsLike, real: string, range: Range, limits: PageLimits, signal: AbortSignal): Promise<Paged | null> {
  const from = start(range);
  const wanted = range.limit ?? limits.maxLines;
  const { handle } = await openRegular(fs, real, real);
  try {
    const decoder = new StringDecoder('utf8');
    const buffer = Buffer.allocUnsafe(CHUNK);
    const lines: string[] = [];
    let [line, carry, chars] = [1, '', 0];
    let ended = false;
    while (!ended && lines.length < wanted && chars <= limits.maxBytes) {
      signal.throwIfAborted();
      const { bytesRead } = await handle.read(buffer, 0, CHUNK, null);
      if (buffer.subarray(0, Math.min(bytesRead, 8192)).includes(0)) return null;
      ended = bytesRead === 0;
      const parts = (carry + (ended ? decoder.end() : decoder.write(buffer.subarray(0, bytesRead)))).split('\n');
      carry = ended ? '' : parts.pop()!;
      if (carry.length > MAX_LINE * 2) carry = carry.slice(0, MAX_LINE * 2); // an endless line is cut anyway
      if (ended && parts.at(-1) === '') parts.pop();
      for (const part of parts) {
        if (line++ < from || lines.length >= wanted) continue;
        lines.push(part);
        chars += Math.min(part.length, MAX_LINE);
      }
    }
    if (lines.length === 0) return { content: '', startLine: from, numLines: 0, totalLines: line - 1, partial: true, notices: [`the file has ${count(line - 1)}; offset ${from} is past its end`] };
    const shown = fit(lines, limits.maxBytes);
    if (shown.left > 0 && range.limit !== undefined) return { tooLarge: shown.chars };
    const end = from - 1 + shown.lines.length;
    return { content: shown.lines.join('\n'), startLine: from, numLines: shown.lines.length, totalLines: null, partial: true, notices: [partialWords(from, end, null, shown.cutLines)] };
  } finally {
    await handle.close();
  }
}
