/** The parts of a request that stay the same from run to run: what two runs are compared by, and what a recording shows of a request. */
import { createHash } from 'node:crypto';
import type { ModelRequest, NormalizedMessage } from 'tappet/kernel';

const UUID = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi;
const TIME = /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|[+-]\d\d:?\d\d))?/g;
const DATE = /\b\d{4}-\d\d-\d\d\b/g;
const MONTH = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\\.?';
const SPOKEN_DATE = new RegExp(`\\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?(?:${MONTH} \\d{1,2},? \\d{4}|\\d{1,2}\\.? ${MONTH},? \\d{4})\\b`, 'g');
const ROOT = '{{root}}';
const HOME = '{{home}}';

export interface Places { readonly root: string; readonly home: string }
export interface Steady {
  /** Without secrets; folders by their role. For what is played back. */
  clean(text: string): string;
  /** The roles as folders of today again. */
  restore(text: string): string;
  /** The request, part by part: system, tools, tool choice, then each message. What follows from the model's own abilities is not among them. */
  parts(request: ModelRequest): readonly Part[];
}
export interface Part { readonly name: string; readonly value: unknown; readonly json: string }

export function createSteady(o: { readonly places: Places; readonly redact: (text: string) => string; readonly ignore: readonly RegExp[] }): Steady {
  const folders = ([[o.places.root, ROOT], [o.places.home, HOME]] as const).filter(([path]) => path.length > 1).sort((a, b) => b[0].length - a[0].length)
    .flatMap(([path, role]) => [...new Set([path, path.replaceAll('\\', '\\\\')])].map((p) => [new RegExp(`${p.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')}(?!\\.?[\\w-])`, 'g'), role] as const));
  const clean = (text: string): string => folders.reduce((t, [path, role]) => t.replace(path, role), o.redact(text));
  const steady = (text: string): string => o.ignore.reduce((t, pattern) => t.replace(pattern, '{{ignored}}'), clean(text))
    .replace(UUID, '{{uuid}}').replace(TIME, '{{time}}').replace(DATE, '{{date}}').replace(SPOKEN_DATE, '{{date}}');
  const known = new WeakMap<NormalizedMessage, Part>();
  const part = (name: string, value: unknown): Part => { const plain = mapTexts(hashData(value), steady); return { name, value: plain, json: JSON.stringify(plain) }; };
  return {
    clean,
    restore: (text) => text.replaceAll(ROOT, o.places.root).replaceAll(HOME, o.places.home),
    parts: ({ system, tools, messages, toolChoice }) => [
      part('system', system.map((b) => b.text)),
      part('tools', tools.map(({ name, description, input_schema }) => ({ name, description, input_schema }))),
      part('toolChoice', toolChoice ?? 'auto'),
      ...messages.map(({ message }, i) => {
        const made = known.get(message) ?? part('', message);
        known.set(message, made);
        return { ...made, name: `messages[${i}]` };
      }),
    ],
  };
}

/** What vendors signed or enciphered: a changed byte would spoil it. */
const SEALED = ['signature', 'encrypted_content'];

/** All texts of a value. */
export function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (typeof value !== 'object' || value === null) return value;
  const sealed = (key: string): boolean => SEALED.includes(key) || (key === 'data' && (value as { type?: unknown }).type === 'redacted_thinking');
  return Object.fromEntries(Object.entries(value).filter(([, v]) => v !== undefined).map(([k, v]) => [k, sealed(k) ? v : mapTexts(v, change)]));
}

/** Pictures and documents stand as their hash. */
function hashData(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(hashData);
  if (typeof value !== 'object' || value === null) return value;
  const { type, data } = value as { type?: unknown; data?: unknown };
  if (type === 'base64' && typeof data === 'string') return { ...value, data: `sha256:${createHash('sha256').update(data).digest('hex')}` };
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, hashData(v)]));
}
