/** Reading what servers send, which is not always what they promise: odd things are skipped and told, ids that cannot serve are replaced. */
import { randomBytes } from 'node:crypto';
import type { ModelEvent, ModelRequest, Usage } from '../../schemas/index.ts';
import { nestsTooDeep } from './json-depth.ts';
import type { SseEvent } from './sse.ts';

export const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
/** A string that says something. */
export const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
/** A number of things; 0 for whatever is none. */
export const countOf = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.floor(value) : 0);
/** A value as it may stand in a sentence. */
export const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
};

/** The words of a web page, or of whatever else stands where JSON is due. */
export const plainWords = (text: string): string => text.slice(0, 16_384).replace(/<(style|script)[\s\S]*?<\/\1>/gi, ' ').replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ').trim().slice(0, 300);

/** Some servers repeat in their complaints what they were shown. */
export const hideSecrets = (text: string, secrets: readonly string[]): string => secrets.filter((s) => s.length >= 6).reduce((t, s) => t.replaceAll(s, '[key]'), text);

/** What a vendor counts as input holds what its cache held; we keep them apart. */
export const splitUsage = (o: { readonly input: number; readonly cached: number; readonly written?: number; readonly output: number }): Usage => ({
  input_tokens: Math.max(0, o.input - o.cached - (o.written ?? 0)), output_tokens: o.output, cache_creation_input_tokens: o.written ?? 0, cache_read_input_tokens: o.cached,
});

/** Things that were skipped, each told once, and not more than anybody would read. */
export interface Oddities {
  add(code: string, text: string): void;
  take(): ModelEvent[];
}
const MOST_ODDITIES = 20;
export function oddities(): Oddities {
  const seen = new Set<string>();
  let ready: ModelEvent[] = [];
  return {
    add(code, text) {
      if (seen.size > MOST_ODDITIES || seen.has(text)) return;
      seen.add(text);
      ready.push({ type: 'notice', code, text: seen.size > MOST_ODDITIES ? 'the answer holds more odd things; they were skipped too' : text });
    },
    take() {
      const now = ready;
      ready = [];
      return now;
    },
  };
}

/** The object that an event carries; `null` where it carries none, which is told. */
export function eventObject(e: SseEvent, odd: Oddities): Record<string, unknown> | null {
  if (!nestsTooDeep(e.data)) {
    try {
      const value: unknown = JSON.parse(e.data);
      if (isRecord(value)) return value;
    } catch { /* told below */ }
  }
  odd.add('odd_event', `an event of the answer is no JSON object and was skipped: ${e.data.slice(0, 80)}`);
  return null;
}

/** Ids of all calls in the conversation that is sent. */
export const callIdsIn = (request: ModelRequest): Set<string> => new Set(request.messages.flatMap(({ message }) => message.content.flatMap((b) => (b.type === 'tool_use' ? [b.id] : []))));

/** The server's id where it differs from all others of the session, else one of ours: nine letters and digits, which every server takes. */
export function callIdOf(said: unknown, taken: Set<string>): string {
  let id = typeof said === 'string' ? said.trim() : '';
  while (id === '' || taken.has(id)) id = randomBytes(18).toString('base64').replace(/[^A-Za-z0-9]/g, '').slice(0, 9).padEnd(9, '0');
  taken.add(id);
  return id;
}
