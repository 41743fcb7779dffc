/** Where two values first differ, in words. */

export interface Difference { readonly path: string; readonly recorded: string; readonly now: string }

export function firstDifference(recorded: unknown, now: unknown, path: string): Difference | null {
  if (Object.is(recorded, now)) return null;
  if (typeof recorded === 'string' && typeof now === 'string') {
    let at = 0;
    while (recorded[at] === now[at]) at++;
    return { path, recorded: around(recorded, at), now: around(now, at) };
  }
  if (Array.isArray(recorded) && Array.isArray(now)) {
    for (let i = 0; i < Math.max(recorded.length, now.length); i++) {
      const found = firstDifference(recorded[i], now[i], `${path}[${i}]`);
      if (found !== null) return found;
    }
    return null;
  }
  if (isMap(recorded) && isMap(now)) {
    for (const key of new Set([...Object.keys(recorded), ...Object.keys(now)])) {
      const found = firstDifference(recorded[key], now[key], `${path}.${key}`);
      if (found !== null) return found;
    }
    return null;
  }
  return { path, recorded: shown(recorded), now: shown(now) };
}

const isMap = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
const WINDOW = 50;
function around(text: string, at: number): string {
  const from = Math.max(0, at - WINDOW);
  const to = Math.min(text.length, at + WINDOW);
  return JSON.stringify(`${from > 0 ? '…' : ''}${text.slice(from, to)}${to < text.length ? '…' : ''}`);
}
function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value);
  return text.length > 2 * WINDOW ? `${text.slice(0, 2 * WINDOW)}…` : text;
}
