/** What a search found, as lines: a page of them, never more than fits. */
import type { Hit } from './scan.ts';

export interface Listing { readonly lines: string[]; /** There is more than the page holds. */ more: boolean; skipped: number; chars: number }
export interface PageSize { readonly offset: number; readonly limit: number; readonly maxChars: number }
export const newListing = (): Listing => ({ lines: [], more: false, skipped: 0, chars: 0 });

export function add(listing: Listing, line: string, { offset, limit, maxChars }: PageSize): void {
  if (listing.skipped < offset) { listing.skipped++; return; }
  if (listing.more || listing.lines.length >= limit || (listing.lines.length > 0 && listing.chars + line.length > maxChars)) { listing.more = true; return; }
  listing.lines.push(line);
  listing.chars += line.length + 1;
}

export interface Around { readonly before: number; readonly after: number; readonly numbers: boolean; readonly onlyMatches: boolean }
/** The lines of one file: `name:12:text`, what stands around as `name-13-text`, `--` between parts that do not touch. */
export function* contentLines(name: string, text: string, hits: readonly Hit[], { before, after, numbers, onlyMatches }: Around): Generator<string> {
  const mark = (line: number, sign: string) => `${name}${sign}${numbers ? `${line}${sign}` : ''}`;
  if (onlyMatches) {
    for (const hit of hits) for (const match of hit.matches) yield mark(hit.line, ':') + shorten(match, 0);
    return;
  }
  const lineAt = forwardLines(text);
  const byLine = new Map(hits.map((hit) => [hit.line, hit]));
  let last = 0;
  for (const hit of hits) {
    const from = Math.max(hit.line - before, last + 1);
    if ((before > 0 || after > 0) && last > 0 && from > last + 1) yield '--';
    for (let line = from; line <= hit.line + after; line++) {
      const own = byLine.get(line);
      const words = lineAt(line);
      if (words === null) break;
      yield mark(line, own === undefined ? '-' : ':') + shorten(words, own?.at ?? 0);
      last = line;
    }
  }
}

/** Lines by number, each asked for once and in order; a large text is not split for a few of them. `null` behind the last. */
function forwardLines(text: string): (line: number) => string | null {
  let [line, at] = [1, 0];
  return (wanted) => {
    for (; line < wanted && at !== -1; line++) at = text.indexOf('\n', at) + 1 || -1;
    if (at === -1 || at >= text.length) return null;
    const end = text.indexOf('\n', at);
    return text.slice(at, end === -1 ? text.length : end).replace(/\r$/, '');
  };
}

const MAX_LINE = 500;
/** A long line is shown where its match is. */
function shorten(line: string, at: number): string {
  if (line.length <= MAX_LINE) return line;
  const from = Math.max(0, Math.min(at - 100, line.length - MAX_LINE));
  const part = line.slice(from, from + MAX_LINE).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '');
  return `${from > 0 ? '[cut] ' : ''}${part}${from + MAX_LINE < line.length ? ' [cut]' : ''}`;
}
