/** Small matters of wording. */

export const count = (n: number, one: string, many = `${one}s`): string => `${n} ${n === 1 ? one : many}`;
export const listed = (items: readonly string[], most = 200): string => [...items.slice(0, most).map((item) => `- ${item}`), ...(items.length > most ? [`… and ${items.length - most} more`] : [])].join('\n');
/** Text as it is, in a block that it cannot end. */
export function fenced(text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((ticks) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}
export const inOrder = (files: readonly string[]): string[] => [...files].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
