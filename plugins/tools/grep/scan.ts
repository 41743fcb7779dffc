/** Looks through texts in portions that are ended when they take too long, so that no pattern holds up all else. */
import type { TimeBox } from 'tappet/kit';
import type { SearchPattern } from './pattern.ts';

/** A line that matches; numbers count from 1. `matches` only where they were asked for. */
export interface Hit { readonly line: number; /** Where in the line the first match begins. */ readonly at: number; readonly matches: readonly string[] }
interface Job { readonly text: string; readonly firstLine: number; readonly hits: Hit[] }
/** `null`: the pattern took too long in this text. */
export type Scanned = readonly Hit[] | null;
export interface ScanOptions { readonly pattern: SearchPattern; /** Only what matches. */ readonly onlyMatches: boolean; /** One hit is enough. */ readonly firstOnly: boolean }

/** Characters that one portion holds. */
const PORTION = 1_000_000;
const PORTION_MS = 250;

/** One answer for each text. Between portions everything else has its turn. */
export async function scanTexts(texts: readonly string[], options: ScanOptions, box: TimeBox, signal: AbortSignal): Promise<Scanned[]> {
  const results: (Hit[] | null)[] = texts.map(() => []);
  const jobs = texts.flatMap((text, of) => slices(text, options.pattern.multiline).map((slice) => ({ ...slice, of })));
  for (let at = 0; at < jobs.length;) {
    let end = at;
    for (let size = 0; end < jobs.length && (end === at || size + jobs[end]!.text.length <= PORTION); end++) size += jobs[end]!.text.length;
    const done = box(PORTION_MS, () => {
      for (; at < end; at++) {
        const { of, text, firstLine } = jobs[at]!;
        const hits = results[of];
        if (hits == null || (options.firstOnly && hits.length > 0)) continue;
        scan({ text, firstLine, hits }, options);
      }
    });
    if (done === null) results[jobs[at++]!.of] = null;
    if (at < jobs.length) await new Promise((next) => setImmediate(next));
    signal.throwIfAborted();
  }
  return results;
}

/** At ends of lines; a pattern that crosses lines needs the whole text. */
function slices(text: string, whole: boolean): { text: string; firstLine: number }[] {
  if (whole || text.length <= PORTION) return [{ text, firstLine: 1 }];
  const out = [];
  let firstLine = 1;
  for (let from = 0; from < text.length;) {
    const stop = text.indexOf('\n', Math.min(from + PORTION, text.length) - 1);
    const slice = text.slice(from, stop === -1 ? text.length : stop + 1);
    out.push({ text: slice, firstLine });
    firstLine += slice.split('\n').length - 1;
    from += slice.length;
  }
  return out;
}

function scan({ text, firstLine, hits }: Job, { pattern: { regex, multiline, anywhere }, onlyMatches, firstOnly }: ScanOptions): void {
  if (multiline) { scanAcross(text, regex, hits, onlyMatches, firstOnly); return; }
  if (anywhere !== null && !anywhere.test(text)) return;
  for (let [from, line] = [0, firstLine]; from < text.length; line++) {
    const stop = text.indexOf('\n', from);
    const end = stop === -1 ? text.length : stop;
    const words = text.slice(from, text[end - 1] === '\r' && end > from ? end - 1 : end);
    regex.lastIndex = 0;
    const match = regex.exec(words);
    if (match !== null) {
      regex.lastIndex = 0;
      hits.push({ line, at: match.index, matches: onlyMatches ? Array.from(words.matchAll(regex), (m) => m[0]).filter((m) => m !== '') : [] });
      if (firstOnly) return;
    }
    from = end + 1;
  }
}

/** Every line that a match touches is a hit; the match itself is told with the line that it begins in. */
function scanAcross(text: string, regex: RegExp, hits: Hit[], onlyMatches: boolean, firstOnly: boolean): void {
  let [line, at] = [1, 0];
  for (const match of text.matchAll(regex)) {
    if (match.index === text.length && (text === '' || text.endsWith('\n'))) continue; // behind the last line
    for (let next = text.indexOf('\n', at); next !== -1 && next < match.index; next = text.indexOf('\n', at)) { line++; at = next + 1; }
    const crossed = match[0].replace(/\n$/, '').split('\n').length;
    const matches = onlyMatches && match[0] !== '' ? [match[0]] : [];
    for (let i = 0; i < crossed; i++) {
      const last = hits.at(-1);
      if (last?.line === line + i) hits[hits.length - 1] = { ...last, matches: [...last.matches, ...(i === 0 ? matches : [])] };
      else if (last === undefined || last.line < line + i) hits.push({ line: line + i, at: i === 0 ? match.index - at : 0, matches: i === 0 ? matches : [] });
    }
    if (firstOnly) return;
  }
}
