/** Looks through texts in portions that are ended when they take too long, so that no pattern holds up all else. */
import type { TimeBox } from 'tappet/kit';
import type { SearchPattern } from './pattern.ts';

/** A line that matches; numbers count from 1. `matches` only where they were asked for. */
export interface Hit { readonly line: number; /** Where in the line the first match begins. */ readonly at: number; readonly matches: readonly string[] }
/** All lines that match are counted; hits are kept while they can be shown. */
interface Findings { count: number; readonly hits: Hit[] }
/** `null`: the pattern took too long in this text. */
export type Scanned = { readonly count: number; readonly hits: readonly Hit[] } | null;
export interface ScanOptions { readonly pattern: SearchPattern; /** Only what matches. */ readonly onlyMatches: boolean; /** One hit is enough. */ readonly firstOnly: boolean; /** Entries that are kept of one text. */ readonly keep: number }

/** Characters that one portion holds. */
const PORTION = 250_000;
/** Far more than a portion needs; a pattern that needs it twice will need it always. */
const PORTION_MS = 250;

interface Job { readonly text: string; readonly firstLine: number; readonly of: number }

/** One answer for each text. Between portions everything else has its turn. */
export async function scanTexts(texts: readonly string[], options: ScanOptions, box: TimeBox, signal: AbortSignal): Promise<Scanned[]> {
  const results: (Findings | null)[] = texts.map(() => ({ count: 0, hits: [] }));
  let portion: Job[] = [];
  let size = 0;
  for (const job of jobsOf(texts, options.pattern.multiline)) {
    if (portion.length > 0 && size + job.text.length > PORTION) { await scanPortion(portion, results, options, box, signal); [portion, size] = [[], 0]; }
    portion.push(job);
    size += job.text.length;
  }
  await scanPortion(portion, results, options, box, signal);
  return results;
}

async function scanPortion(jobs: readonly Job[], results: (Findings | null)[], options: ScanOptions, box: TimeBox, signal: AbortSignal): Promise<void> {
  let [at, again] = [0, -1];
  let before = { count: 0, hits: 0 };
  while (at < jobs.length) {
    const end = at === again ? at + 1 : jobs.length;
    const done = box(PORTION_MS, () => {
      for (; at < end; at++) {
        const { of, text, firstLine } = jobs[at]!;
        const into = results[of];
        if (into == null || (options.firstOnly && into.count > 0)) continue;
        before = { count: into.count, hits: into.hits.length };
        scan(text, firstLine, into, options);
      }
    });
    await new Promise((next) => setImmediate(next));
    signal.throwIfAborted();
    if (done !== null) continue;
    const { of } = jobs[at]!;
    const into = results[of];
    if (into == null || at === again) { results[of] = null; at++; continue; }
    again = at; // once more by itself: perhaps the machine was busy
    into.count = before.count;
    into.hits.length = before.hits;
  }
}

/** Long texts in parts, at ends of lines; a pattern that crosses lines needs the whole. */
function* jobsOf(texts: readonly string[], whole: boolean): Generator<Job> {
  for (const [of, text] of texts.entries()) {
    if (whole || text.length <= PORTION) { yield { text, firstLine: 1, of }; continue; }
    let firstLine = 1;
    for (let from = 0; from < text.length;) {
      const stop = text.indexOf('\n', Math.min(from + PORTION, text.length) - 1);
      const part = text.slice(from, stop === -1 ? text.length : stop + 1);
      yield { text: part, firstLine, of };
      for (let end = part.indexOf('\n'); end !== -1; end = part.indexOf('\n', end + 1)) firstLine++;
      from += part.length;
    }
  }
}

function scan(text: string, firstLine: number, into: Findings, options: ScanOptions): void {
  const { pattern: { regex, multiline, anywhere }, firstOnly } = options;
  if (multiline) { scanAcross(text, into, options); return; }
  if (anywhere !== null && !anywhere.test(text)) return;
  for (let [from, line] = [0, firstLine]; from < text.length; line++) {
    const stop = text.indexOf('\n', from);
    const end = stop === -1 ? text.length : stop;
    const words = text.slice(from, text[end - 1] === '\r' && end > from ? end - 1 : end);
    regex.lastIndex = 0;
    const match = regex.exec(words);
    if (match !== null) {
      into.count++;
      if (into.hits.length < options.keep) into.hits.push({ line, at: match.index, matches: matchesIn(words, options) });
      if (firstOnly) return;
    }
    from = end + 1;
  }
}
function matchesIn(words: string, { pattern: { regex }, onlyMatches, keep }: ScanOptions): string[] {
  const matches: string[] = [];
  regex.lastIndex = 0;
  if (onlyMatches) for (const [match] of words.matchAll(regex)) { if (match !== '') matches.push(match); if (matches.length >= keep) break; }
  return matches;
}

/** Every line that a match touches is a hit; the match itself is told with the line that it begins in. */
function scanAcross(text: string, into: Findings, { pattern: { regex }, onlyMatches, firstOnly, keep }: ScanOptions): void {
  let [line, at, last, kept] = [1, 0, 0, 0];
  for (const match of text.matchAll(regex)) {
    if (match.index === text.length && (text === '' || text.endsWith('\n'))) continue; // behind the last line
    for (let next = text.indexOf('\n', at); next !== -1 && next < match.index; next = text.indexOf('\n', at)) { line++; at = next + 1; }
    const end = line + match[0].replace(/\n$/, '').split('\n').length - 1;
    const tells = onlyMatches && match[0] !== '' && kept++ < keep;
    const hit = into.hits.at(-1);
    if (tells && line === last && hit?.line === line) into.hits[into.hits.length - 1] = { ...hit, matches: [...hit.matches, match[0]] };
    for (let touched = Math.max(line, last + 1); touched <= end; touched++) {
      into.count++;
      if (into.hits.length < keep) into.hits.push({ line: touched, at: touched === line ? match.index - at : 0, matches: tells && touched === line ? [match[0]] : [] });
    }
    last = Math.max(last, end);
    if (firstOnly) return;
  }
}
