/** What is left of a conversation when it is shortened: what was asked, what was done, what was answered last. Quoted, not retold. */
import type { NormalizedMessage } from 'tappet/kernel';

export const isSummaryRequest = (prompt: string): boolean => /\bsummari[sz]e\b|\bsummary\b/i.test(prompt) && /\b(?:conversation|session|messages|so far|task overview|history)\b/i.test(prompt);

export function summarize(messages: readonly NormalizedMessage[]): string {
  const said = messages.slice(0, -1);
  const texts = (role: 'user' | 'assistant'): string[] => said.flatMap((m) => (m.role === role ? m.content.flatMap((b) => (b.type === 'text' && !/^\s*<note\b/.test(b.text) ? [b.text.trim()] : [])) : [])).filter((t) => t !== '');
  const calls = said.flatMap((m) => m.content.flatMap((b) => (b.type === 'tool_use' ? [`${b.name} ${JSON.stringify(b.input)}`] : [])));
  const short = (t: string, most: number): string => (t.length > most ? `${t.slice(0, most)}…` : t);
  const list = (items: readonly string[], most: number): string => (items.length === 0 ? '- none' : items.slice(-20).map((i) => `- ${short(i.replace(/\s+/g, ' '), most)}`).join('\n'));
  return [
    '## Task overview', list(texts('user'), 500), '## Current state', `The last answer was:\n${short(texts('assistant').at(-1) ?? '(none)', 2000)}`,
    '## Key decisions', `Calls that were made, the last ones:\n${list(calls, 200)}`, '## Next steps', '- Go on with what is asked next. (Put together by fixed rules, without a language model.)',
  ].join('\n\n');
}
