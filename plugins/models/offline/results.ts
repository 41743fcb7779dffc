/** What the tools' results say, and whether they say all: a number that was computed from a part is worse than none. */

/** The end of a result whose rest is in a file. */
const STUB = /\n… The result has \d+ characters; the whole is in [^\n]+$/;
const STOPPED = /^\[(?:stopped after|the pattern took too long|\d+ files? searched in the first|\d+ files or folders could not be read)/;

export interface Listed { readonly files: readonly string[]; /** Also of those that are not named. */ readonly total: number; /** All are named. */ readonly whole: boolean; /** The total itself may be too small. */ readonly atLeast: boolean }
export function parseGlob(text: string): Listed {
  const stub = STUB.test(text);
  const files: string[] = [];
  let total: number | null = null;
  let stopped = stub;
  let cut = stub;
  for (const line of text.replace(STUB, '').split('\n')) {
    const newest = /^\[the newest \d+ of (\d+) files\b.*\]$/.exec(line);
    if (newest !== null) { total = Number(newest[1]); cut = true; } else if (STOPPED.test(line)) stopped = true;
    else if (/^[[(].*\btruncated\b.*[\])]$/i.test(line)) { cut = true; stopped = true; } else if (line !== '' && !/^No files(?: found)?\.?$/.test(line)) files.push(line);
  }
  return { files, total: total ?? files.length, whole: !cut && !stopped, atLeast: stopped };
}

export interface Found { /** One for each file, line or match. */ readonly entries: readonly string[]; /** Where the next page begins. */ readonly next: number | null; readonly lines: number | null; readonly files: number | null; /** Why there may be more than was found. */ readonly limits: readonly string[] }
export function parseGrep(text: string): Found {
  const entries: string[] = [];
  const limits: string[] = STUB.test(text) ? ['the result was too long'] : [];
  let [next, lines, files]: (number | null)[] = [null, null, null];
  for (const line of text.replace(STUB, '').split('\n')) {
    const more = /^\[there is more: offset (\d+) goes on\]$/.exec(line);
    const sums = /^\[(\d+) matching lines? in (\d+) files?\]$/.exec(line);
    if (more !== null) next = Number(more[1]);
    else if (sums !== null) [lines, files] = [Number(sums[1]), Number(sums[2])];
    else if (STOPPED.test(line)) limits.push(line.slice(1, -1));
    else if (line === '' || /^No matches\b/.test(line) || /^No files? found/.test(line) || /^\d+ searches in a row found nothing/.test(line) || /^\[offset \d+ is past the last entry\]$/.test(line)) continue;
    else entries.push(line);
  }
  return { entries, next: next ?? null, lines: lines ?? null, files: files ?? null, limits };
}
/** `src/a.ts:12` of a count, `src/a.ts:12:text` of contents. */
export function countEntry(entry: string): { readonly file: string; readonly n: number } | null {
  const found = /^(.*):(\d+)$/.exec(entry);
  return found === null ? null : { file: found[1]!, n: Number(found[2]) };
}
export function lineEntry(entry: string): { readonly file: string; readonly line: number; readonly text: string } | null {
  const found = /^(.+?):(\d+):(.*)$/s.exec(entry);
  return found === null ? null : { file: found[1]!, line: Number(found[2]), text: found[3]! };
}

export interface Shown { readonly first: number; readonly lines: readonly string[]; /** Null: not said; all there are if nothing is missing. */ readonly total: number; readonly whole: boolean; /** A line was too long to be shown. */ readonly cutLines: boolean; readonly crlf: boolean; /** No numbered text: a picture, a note. */ readonly other: string | null }
export function parseRead(text: string): Shown {
  const lines: string[] = [];
  const notices: string[] = [];
  let first = 1;
  for (const line of text.split('\n')) {
    const found = /^ *(\d+)\t(.*)$/s.exec(line);
    if (found !== null && (lines.length === 0 || Number(found[1]) === first + lines.length)) {
      if (lines.length === 0) first = Number(found[1]);
      lines.push(found[2]!);
    } else notices.push(line);
  }
  const said = notices.join('\n');
  const of = /\blines \d+-\d+ of (\d+|a very large file)/.exec(said);
  const has = /\bthe file has (\d+) lines?/.exec(said);
  const isPart = /\bPARTIAL view\b/.test(said) || STUB.test(text);
  const total = of !== null ? Number(of[1]) : has !== null ? Number(has[1]) : isPart ? NaN : first - 1 + lines.length;
  const empty = /\bthe file is empty\b/.test(said);
  return {
    first, lines, total: empty ? 0 : total, whole: !isPart && has === null && first === 1, cutLines: /\blines? cut\b/.test(said), crlf: /\bend in CRLF\b/.test(said),
    other: lines.length === 0 && !empty && has === null ? text : null,
  };
}
