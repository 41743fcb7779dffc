/** Bytes of a file as text, and back into the same kind of bytes: byte order mark, encoding, line ends. */
import { isUtf8 } from 'node:buffer';

export interface TextFile {
  /** Without the byte order mark; line ends as they are. */
  readonly text: string;
  /** `utf8`, `utf16le`, `utf16be`, or a name that iconv knows. */
  readonly encoding: string;
  readonly bom: boolean;
  /** Encoding the text again gives the same bytes. */
  readonly exact: boolean;
}
/** `null`: this is no text. `cut`: the last character may be a part of one. */
export async function decodeText(bytes: Buffer, { cut = false } = {}): Promise<TextFile | null> {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return wide(bytes.toString('utf16le', 2), 'utf16le', bytes);
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return wide(swapped(bytes.subarray(2)).toString('utf16le'), 'utf16be', bytes);
  const bom = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  let body = bom ? bytes.subarray(3) : bytes;
  if (body.includes(0)) return null;
  const whole = body;
  for (let n = 0; cut && n < 3 && !isUtf8(body); n++) body = body.subarray(0, -1);
  return isUtf8(body) ? { text: body.toString('utf8'), encoding: 'utf8', bom, exact: true } : decodeOther(whole, bom);
}
const wide = (text: string, encoding: string, { length }: Buffer): TextFile | null => (text.includes('\0') ? null : { text, encoding, bom: true, exact: length % 2 === 0 });
async function decodeOther(bytes: Buffer, bom: boolean): Promise<TextFile | null> {
  const start = bytes.subarray(0, 65_536);
  if (start.filter(isControl).length > start.length / 100) return null;
  const [chardet, { default: iconv }] = await Promise.all([import('chardet'), import('iconv-lite')]);
  const guess = bom ? 'UTF-8' : chardet.detect(start);
  const encoding = guess === 'UTF-8' ? 'utf8' : guess !== null && guess !== 'ASCII' && iconv.encodingExists(guess) ? guess : 'windows-1252';
  const text = encoding === 'utf8' ? bytes.toString('utf8') : iconv.decode(bytes, encoding, { stripBOM: false });
  return { text, encoding, bom, exact: encoding !== 'utf8' && iconv.encode(text, encoding).equals(bytes) };
}

/** Signs that no text has, in whatever encoding. High bytes say nothing: a Russian text of the nineties is made of them. */
const isControl = (byte: number): boolean => byte === 0x7f || (byte < 0x20 && byte !== 0x1b && !(byte >= 0x08 && byte <= 0x0d));

/** `null`: the text has a character that this encoding lacks. A mark at its beginning counts as the mark: there is never a second. */
export async function encodeText(text: string, { encoding, bom }: Pick<TextFile, 'encoding' | 'bom'>): Promise<Buffer | null> {
  const body = bom && text.startsWith('\ufeff') ? text.slice(1) : text;
  const whole = bom ? `\ufeff${body}` : body;
  if (encoding === 'utf8') return Buffer.from(whole, 'utf8');
  if (encoding === 'utf16le') return Buffer.from(whole, 'utf16le');
  if (encoding === 'utf16be') return swapped(Buffer.from(whole, 'utf16le'));
  const { default: iconv } = await import('iconv-lite');
  const bytes = iconv.encode(whole, encoding);
  return iconv.decode(bytes, encoding, { stripBOM: false }) === whole ? bytes : null;
}
/** A copy with each two bytes exchanged; a byte too many is left out. */
const swapped = (bytes: Buffer): Buffer => Buffer.from(bytes.subarray(0, bytes.length & ~1)).swap16();

/** How lines end; `none` where there is one line only. */
export function lineEnds(text: string): 'lf' | 'crlf' | 'mixed' | 'none' {
  let lf = 0;
  let crlf = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) if (text[at - 1] === '\r') crlf++; else lf++;
  return lf + crlf === 0 ? 'none' : lf === 0 ? 'crlf' : crlf === 0 ? 'lf' : 'mixed';
}
