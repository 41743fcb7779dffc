/** The files in which a project says what it is. */
import { askOne, ask, Impossible } from './job.ts';
import type { Call, Context, Job } from './job.ts';
import { parseGlob, parseRead } from './results.ts';
import { inOrder } from './wording.ts';

export interface Project {
  /** Names of the top folder. */
  readonly top: readonly string[];
  /** Texts by path; what could not be read is missing. */
  readonly files: ReadonlyMap<string, string>;
  /** What could not be read, and why. */
  readonly unread: readonly string[];
}

/** Looks which of the files are there, then reads these. `README*` stands for whatever it is called. */
export function* readProject(ctx: Context, wanted: readonly string[]): Job<Project> {
  const listing = yield* askOne(ctx, 'Glob', { pattern: '*' });
  if (listing.failed) throw new Impossible(`Looking at the folder did not succeed. Glob said: ${listing.text.trim()}`);
  const top = inOrder(parseGlob(listing.text).files);
  const names = wanted.flatMap((name) => (name.endsWith('*') ? top.filter((f) => f.toLowerCase().startsWith(name.slice(0, -1).toLowerCase())).slice(0, 1) : top.includes(name) ? [name] : []));
  const files = new Map<string, string>();
  const unread: string[] = [];
  if (names.length > 0) {
    for (const { call, text, failed } of yield* ask(ctx, ...names.map((name): Call => ({ name: 'Read', input: { file_path: name } })))) {
      const name = String(call.input['file_path']);
      if (failed) unread.push(`${name}: ${text.trim()}`);
      else files.set(name, parseRead(text).lines.join('\n'));
    }
  }
  return { top, files, unread };
}

export function parseJson(text: string | undefined): Record<string, unknown> | null {
  if (text === undefined) return null;
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
  } catch { return null; } // then it says nothing that could be told
}

/** Plain values of one table of a TOML file: `name = "x"`. */
export function tomlTable(text: string | undefined, table: string): Readonly<Record<string, string>> {
  const values: Record<string, string> = {};
  let current = '';
  for (const line of text?.split('\n') ?? []) {
    const head = /^\s*\[([^[\]]+)\]\s*(?:#.*)?$/.exec(line);
    if (head !== null) { current = head[1]!.trim(); continue; }
    const pair = /^\s*([\w.-]+)\s*=\s*(.+?)\s*$/.exec(line);
    if (pair !== null && current === table) values[pair[1]!] = /^(["'])(.*?)\1/.exec(pair[2]!)?.[2] ?? pair[2]!;
  }
  return values;
}
/** Names of the targets of a Makefile. */
export const makeTargets = (text: string | undefined): string[] => [...new Set([...(text ?? '').matchAll(/^([A-Za-z][\w-]*)\s*:(?!=)/gm)].map((m) => m[1]!))];

/** Title and first paragraph of a README. */
export function readmeWords(text: string | undefined): { readonly title: string | null; readonly summary: string | null } {
  if (text === undefined) return { title: null, summary: null };
  const lines = text.split('\n');
  const underlined = lines.findIndex((l, i) => i > 0 && /^(=+|-+)\s*$/.test(l) && lines[i - 1]!.trim() !== '');
  const hash = lines.findIndex((l) => /^#{1,2}\s+\S/.test(l));
  const at = hash >= 0 && (underlined < 0 || hash < underlined) ? hash : underlined;
  const title = at < 0 ? null : lines[at === hash ? at : at - 1]!.replace(/^#+\s*/, '').replace(/<[^>]+>/g, '').trim();
  const paragraph: string[] = [];
  for (const line of lines.slice(at + 1)) {
    const plain = line.replace(/!\[[^\]]*\]\([^)]*\)/g, '').replace(/\[\s*\]\([^)]*\)/g, '').replace(/<[^>]+>/g, '').trim();
    if (plain === '' || /^(?:#|[-=*_]{3,}$|\[!|>?\s*$|\|)/.test(plain)) { if (paragraph.length > 0) break; continue; }
    paragraph.push(plain);
  }
  const summary = paragraph.join(' ');
  return { title: title === '' ? null : title, summary: summary === '' ? null : summary.length > 600 ? `${summary.slice(0, 600)}…` : summary };
}
