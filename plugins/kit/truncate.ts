/** Long texts made short, with a word on what was cut; never in the middle of a character. */

/** A number means characters (UTF-16 units). The word on what was cut comes on top. */
export type TextLimit = number | { readonly chars?: number | undefined; readonly bytes?: number | undefined; readonly lines?: number | undefined };

/** The beginning. */
export function head(text: string, limit: TextLimit): string {
  const end = headEnd(text, limit);
  return end === text.length ? text : `${text.slice(0, end)}${lineBreakAfter(text, end)}[${cutWords(text, end, text.length)} cut]`;
}
/** The beginning and the end, half of the limit each. */
export function headTail(text: string, limit: TextLimit): string {
  if (headEnd(text, limit) === text.length) return text;
  const end = headEnd(text, part(limit, Math.ceil));
  const start = Math.max(end, tailStart(text, part(limit, Math.floor)));
  return `${text.slice(0, end)}${lineBreakAfter(text, end)}[${cutWords(text, end, start)} cut]${start < text.length ? '\n' : ''}${text.slice(start)}`;
}

/** Lines with their numbers, as a file is shown to a model. */
export const numbered = (text: string | readonly string[], first = 1): string =>
  (typeof text === 'string' ? text.split('\n') : text).map((line, i) => `${String(first + i).padStart(5)}\t${line}`).join('\n');

const named = (limit: TextLimit) => (typeof limit === 'number' ? { chars: limit } : limit);
function part(limit: TextLimit, round: (n: number) => number): TextLimit {
  const { chars, bytes, lines } = named(limit);
  const half = (n: number | undefined) => (n === undefined ? undefined : round(n / 2));
  return { chars: half(chars), bytes: half(bytes), lines: half(lines) };
}
function headEnd(text: string, limit: TextLimit): number {
  const { chars = Infinity, bytes = Infinity, lines = Infinity } = named(limit);
  let end = Math.min(text.length, chars);
  if (bytes < end * 3) end = Math.min(end, new TextEncoder().encodeInto(text, new Uint8Array(bytes)).read); // whole characters only
  if (lines < end) {
    let at = 0;
    for (let n = 0; n < lines && at <= end; n++) at = text.indexOf('\n', at) + 1 || Infinity;
    end = Math.min(end, at);
  }
  return inPair(text, end) ? end - 1 : end;
}
function tailStart(text: string, limit: TextLimit): number {
  const { chars = Infinity, bytes = Infinity, lines = Infinity } = named(limit);
  let start = Math.max(0, text.length - chars);
  if (bytes < (text.length - start) * 3) {
    const encoded = Buffer.from(text.slice(Math.max(start, text.length - bytes)));
    let from = Math.max(0, encoded.length - bytes);
    while (from < encoded.length && (encoded[from]! & 0xc0) === 0x80) from++;
    start = Math.max(start, text.length - encoded.toString('utf8', from).length);
  }
  if (lines < text.length - start) {
    let at = text.endsWith('\n') ? text.length - 1 : text.length;
    for (let n = 0; n < lines && at > start; n++) at = at === 0 ? -1 : text.lastIndexOf('\n', at - 1);
    if (lines === 0) at = text.length - 1;
    start = Math.max(start, at + 1);
  }
  return inPair(text, start) ? start + 1 : start;
}
const isHigh = (c: number) => c >= 0xd800 && c <= 0xdbff;
const isLow = (c: number) => c >= 0xdc00 && c <= 0xdfff;
const inPair = (text: string, at: number): boolean => at > 0 && at < text.length && isHigh(text.charCodeAt(at - 1)) && isLow(text.charCodeAt(at));
const lineBreakAfter = (text: string, end: number): string => (end === 0 || text[end - 1] === '\n' ? '' : '\n');
function cutWords(text: string, from: number, to: number): string {
  let lines = 0;
  for (let at = text.indexOf('\n', from); at !== -1 && at < to; at = text.indexOf('\n', at + 1)) lines++;
  return `${to - from} characters${lines > 1 ? ` in ${lines} lines` : ''}`;
}
