/** One search: from the folder to the page that is shown. */
import { basename, join } from 'node:path';
import { createTimeBox, decodeText, hiddenByRules, readBounded, shownPath, walk, codeOf } from 'tappet/kit';
import type { Found as FoundFile } from 'tappet/kit';
import type { FsLike, ToolUseContext } from 'tappet/schemas';
import { add, contentLines, newListing } from './listing.ts';
import type { Around, PageSize } from './listing.ts';
import type { SearchPattern } from './pattern.ts';
import { scanTexts } from './scan.ts';

export type Mode = 'content' | 'files_with_matches' | 'count';
export interface Search extends PageSize {
  /** As it was asked for, and the real one. */
  readonly root: string;
  readonly real: string;
  readonly isFile: boolean;
  readonly query: string;
  readonly pattern: SearchPattern;
  readonly mode: Mode;
  readonly around: Around;
  readonly timeoutMs: number;
  wanted(way: string): boolean;
  descends(way: string): boolean;
}
export interface Found {
  readonly mode: Mode; readonly filenames: readonly string[]; readonly numFiles: number; readonly content: string; readonly numLines: number; readonly numMatches: number;
  readonly appliedLimit?: number | undefined; readonly appliedOffset?: number | undefined; readonly timedOut: boolean; readonly notices: readonly string[];
}

/** Files that are read at once. */
const BATCH = 8;
const MAX_FILE = 16_000_000;
/** After so many files in which the pattern was given up, it is given up. */
const MAX_SLOW = 3;

/** What is known so far. */
interface Tally { readonly listing: ReturnType<typeof newListing>; readonly filenames: string[]; /** Where the pattern took too long. */ readonly slow: string[]; matches: number; large: number; unreadable: number; binary: number; timedOut: boolean }

/** @throws `E_PATTERN_SLOW` where nothing could be found for that reason */
export async function searchFiles(search: Search, context: ToolUseContext): Promise<Found> {
  const { mode, offset, timeoutMs } = search;
  const tally: Tally = { listing: newListing(), filenames: [], slow: [], matches: 0, large: 0, unreadable: 0, binary: 0, timedOut: false };
  const look = await createLook(search, tally, context);
  const ends = performance.now() + timeoutMs;
  for await (const batch of batches(search, context, () => tally.unreadable++)) {
    tally.timedOut = performance.now() > ends;
    if (tally.timedOut) break;
    await look(batch);
    if (tally.slow.length >= MAX_SLOW || (tally.listing.more && mode !== 'count')) break;
  }
  const { listing, filenames, matches, timedOut } = tally;
  if (tally.slow.length >= MAX_SLOW && filenames.length === 0) throw Object.assign(new Error(`this pattern takes too long, for example in ${tally.slow[0]}. Make it simpler: no repetition within a repetition`), { code: 'E_PATTERN_SLOW' });
  const hint = context.turnId === undefined ? null : context.searchAggregator?.sample(context.turnId, search.query, matches) ?? null;
  return {
    mode, filenames: mode === 'files_with_matches' ? listing.lines : filenames, numFiles: filenames.length, content: listing.lines.join('\n'), numLines: listing.lines.length, numMatches: matches,
    ...(listing.more ? { appliedLimit: listing.lines.length } : {}), ...(offset > 0 ? { appliedOffset: offset } : {}), timedOut, notices: [...noticesOf(search, tally), ...(hint === null ? [] : [hint])],
  };
}

/** Reads some files, scans them, and puts what they hold on the page. */
async function createLook(search: Search, tally: Tally, { fs, cwd, home, signal, getAppState }: ToolUseContext): Promise<(files: readonly FoundFile[]) => Promise<void>> {
  const { mode, pattern, around, offset, limit, maxChars } = search;
  const keep = mode === 'content' ? offset + Math.min(limit, maxChars) + 1 : 0;
  const scanning = { pattern, onlyMatches: mode === 'content' && around.onlyMatches, firstOnly: mode === 'files_with_matches', keep };
  const isHidden = hiddenByRules(getAppState().toolPermissionContext.rules, ['Read', 'Grep'], { cwd, home });
  const box = await createTimeBox();
  return async (files) => {
    const read = await Promise.all(files.map((file) => readText(fs, file.path)));
    for (const text of read) if (typeof text === 'string') tally[text]++;
    const texts = read.flatMap((text, i) => (typeof text === 'string' ? [] : [{ ...text, file: files[i]! }]));
    const scanned = await scanTexts(texts.map((t) => t.text), scanning, box, signal);
    for (const [i, found] of scanned.entries()) {
      const { file, text, cut } = texts[i]!;
      const path = search.isFile ? search.root : join(search.root, file.way);
      const name = shownPath(cwd, path);
      if (cut) tally.large++;
      if (found?.count === 0 || isHidden(path, file.path)) continue; // not even its name: that it matches would tell of what is in it
      if (found === null) { tally.slow.push(name); continue; }
      tally.filenames.push(name);
      tally.matches += found.count;
      const lines = mode === 'content' ? contentLines(name, text, found.hits, around) : [mode === 'count' ? `${name}:${found.count}` : name];
      for (const line of lines) { add(tally.listing, line, search); if (tally.listing.more) break; }
    }
  };
}

/** Files to look into, some at a time. Links are not followed: what they lead to is found where it is. */
async function* batches({ root, real, isFile, wanted, descends }: Search, { fs, signal }: ToolUseContext, onUnreadable: () => void): AsyncGenerator<readonly FoundFile[]> {
  if (isFile) { yield [{ path: real, way: basename(root), isLink: false }]; return; }
  let batch: FoundFile[] = [];
  for await (const files of walk(fs, real, { signal, descends, onUnreadable })) {
    for (const file of files) {
      if (file.isLink || !wanted(file.way)) continue;
      batch.push(file);
      if (batch.length === BATCH) { yield batch; batch = []; }
    }
  }
  if (batch.length > 0) yield batch;
}

const UNREADABLE = new Set(['EACCES', 'EPERM', 'ENOENT', 'EIO', 'EISDIR', 'E_FILE_MOVED', 'E_FILE_SPECIAL']);
async function readText(fs: FsLike, real: string): Promise<{ readonly text: string; readonly cut: boolean } | 'binary' | 'unreadable'> {
  try {
    const { bytes, cut } = await readBounded(fs, real, MAX_FILE, (start) => isWide(start) || !hasNul(start));
    if (isWide(bytes)) {
      const wide = await decodeText(bytes);
      return wide === null ? 'binary' : { text: wide.text, cut };
    }
    if (hasNul(bytes)) return 'binary';
    return { text: bytes.toString('utf8', bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0), cut };
  } catch (e) {
    if (UNREADABLE.has(codeOf(e) ?? '')) return 'unreadable';
    throw e;
  }
}
/** Perhaps two bytes for each character. */
const isWide = (bytes: Buffer): boolean => bytes[0] === 0xff || bytes[0] === 0xfe;
const hasNul = (bytes: Buffer): boolean => bytes.subarray(0, 8192).includes(0);

function noticesOf({ mode, isFile, offset, timeoutMs }: Search, { listing, filenames, slow, matches, large, unreadable, binary, timedOut }: Tally): string[] {
  const count = (n: number, what: string) => `${n} ${what}${n === 1 ? '' : 's'}`;
  const nothing = filenames.length === 0 ? (isFile && binary > 0 ? 'No matches: the file is binary.' : 'No matches.') : listing.lines.length === 0 ? `[offset ${offset} is past the last entry]` : null;
  return [
    ...(nothing === null ? [] : [nothing]),
    ...(mode === 'count' && filenames.length > 0 ? [`[${count(matches, 'matching line')} in ${count(filenames.length, 'file')}]`] : []),
    ...(listing.more ? [`[there is more: offset ${offset + listing.lines.length} goes on]`] : []),
    ...(timedOut ? [`[stopped after ${timeoutMs / 1000} s: there may be more; search a smaller folder]`] : []),
    ...(slow.length > 0 ? [`[the pattern took too long in ${slow.join(', ')}${slow.length >= MAX_SLOW ? ', and the search ended there' : ''}]`] : []),
    ...(large > 0 ? [`[${count(large, 'file')} searched in the first ${MAX_FILE / 1_000_000} MB only]`] : []),
    ...(unreadable > 0 ? [`[could not read ${unreadable} of the files or folders]`] : []),
  ];
}
