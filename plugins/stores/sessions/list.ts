/** What a list of sessions needs, from the start and the end of each file; never whole files. */
import { open, readdir, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isAbsence } from 'tappet/kit';
import type { Line, SessionInfo } from 'tappet/schemas';
import { isMessage, readPart } from './lines.ts';

const STEP = 16 * 1024;
/** Bytes of one file that are read at most to find its first prompt. */
const MOST = 256 * 1024;
/** Bytes at its end that are looked through for a title. */
const TAIL = 64 * 1024;
const PROMPT_CHARS = 200;
const AT_ONCE = 16;

interface Candidate { readonly file: string; readonly modified: number; readonly size: number }

/** Newest first; the sessions of children are left out. */
export async function listSessions(folders: readonly string[], limit: number): Promise<readonly SessionInfo[]> {
  const files = (await Promise.all(folders.map(sessionFiles))).flat().sort((a, b) => b.modified - a.modified || a.file.localeCompare(b.file));
  const found: SessionInfo[] = [];
  for (let next = 0; next < files.length && found.length < limit;) {
    const some = files.slice(next, next + Math.min(AT_ONCE, limit - found.length));
    next += some.length;
    for (const info of await Promise.all(some.map(describe))) if (info !== null) found.push(info);
  }
  return found;
}

async function sessionFiles(folder: string): Promise<Candidate[]> {
  const names = await readdir(folder).catch(absent([]));
  const files = await Promise.all(names.filter((name) => name.endsWith('.jsonl')).map(async (name) => {
    const file = join(folder, name);
    const facts = await stat(file).catch(absent(null));
    return facts === null || !facts.isFile() || facts.size === 0 ? [] : [{ file, modified: facts.mtimeMs, size: facts.size }];
  }));
  return files.flat();
}
const absent = <T>(instead: T) => (e: unknown): T => {
  if (isAbsence(e)) return instead;
  throw e;
};

/** Null: it is gone, or a child's. One that cannot be read is listed by its name: opening it says why. */
async function describe(candidate: Candidate): Promise<SessionInfo | null> {
  try {
    return await readEnds(candidate);
  } catch (e) {
    const { file, modified, size } = candidate;
    return isAbsence(e) ? null : { sessionId: basename(file, '.jsonl'), cwd: '', file, modified, size, created: null, title: null, firstPrompt: null, messages: null };
  }
}
async function readEnds({ file, modified, size }: Candidate): Promise<SessionInfo | null> {
  const handle = await open(file, 'r');
  try {
    let head = await part(handle, 0, STEP);
    let lines = readPart(head);
    for (let bytes = STEP * 4; promptOf(lines) === null && head.length < Math.min(size, MOST); bytes *= 4) {
      head = await part(handle, 0, bytes);
      lines = readPart(head);
    }
    const isWhole = head.length >= size;
    const tail = isWhole ? null : await part(handle, Math.max(head.length, size - TAIL), TAIL);
    // Looking for a word is much cheaper than reading lines.
    const lateTitle = tail?.includes('"custom-title"') === true ? titleOf(readPart(tail)) : null;
    const first = lines.find(isMessage);
    if (first?.isSidechain === true) return null;
    return {
      sessionId: basename(file, '.jsonl'), cwd: first?.cwd ?? '', file, modified, size, created: first?.timestamp ?? null,
      title: lateTitle ?? titleOf(lines), firstPrompt: promptOf(lines), messages: isWhole ? lines.filter(isMessage).length : null,
    };
  } finally {
    await handle.close();
  }
}

async function part(handle: FileHandle, from: number, bytes: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytes), 0, bytes, from);
  return buffer.subarray(0, bytesRead);
}

const titleOf = (lines: readonly Line[]): string | null => lines.findLast((line) => line.type === 'custom-title')?.customTitle ?? null;
function promptOf(lines: readonly Line[]): string | null {
  for (const line of lines) {
    if (line.type !== 'user' || line.isMeta === true || line.isCompactSummary === true) continue;
    const { content } = line.message;
    const text = typeof content === 'string' ? content : content.map((block) => (block.type === 'text' ? block.text : '')).join(' ');
    const plain = text.replace(/\s+/g, ' ').trim();
    if (plain !== '') return plain.length > PROMPT_CHARS ? `${plain.slice(0, PROMPT_CHARS - 1)}…` : plain;
  }
  return null;
}
