/** Compares what was sent to the model with what a step expects. */
import type { ModelRequest, TextBlock, ToolResultBlock } from 'tappet/kernel';
import type { Expect, Matcher } from './script.ts';

/** What was expected and what came instead, or null. */
export interface Mismatch { readonly what: string; readonly got: string }

export function mismatch(expect: Expect, request: ModelRequest): Mismatch | null {
  const miss = (name: string, matchers: readonly Matcher[], text: string): Mismatch | null => {
    const first = matchers.find((m) => !m.test(text));
    return first === undefined ? null : { what: `${name} to have ${first.shown}`, got: excerpt(text) };
  };
  const offered = request.tools.map((t) => t.name);
  const missing = expect.tools.find((name) => !offered.includes(name));
  const present = expect.noTools.find((name) => offered.includes(name));
  return miss('the last user message', expect.lastUser, lastUserText(request))
    ?? miss('the system prompt', expect.system, request.system.map((b) => b.text).join('\n\n'))
    ?? (missing === undefined ? null : { what: `the tool ${missing} to be offered`, got: `offered: ${offered.join(', ') || 'none'}` })
    ?? (present === undefined ? null : { what: `the tool ${present} not to be offered`, got: `offered: ${offered.join(', ')}` })
    ?? resultMismatch(expect, request);
}

function resultMismatch({ results }: Expect, request: ModelRequest): Mismatch | null {
  if (results === null) return null;
  const last = request.messages.at(-1)?.message.content ?? [];
  const came = last.filter((b): b is ToolResultBlock => b.type === 'tool_result').map((b) => ({ text: resultText(b), error: b.is_error === true }));
  const shown = came.length === 0 ? 'no result' : came.map((r) => `${r.error ? 'error: ' : ''}${excerpt(r.text)}`).join(' | ');
  if (results.all && came.length !== results.list.length) return { what: `${results.list.length} results`, got: `${came.length}: ${shown}` };
  const fits = (i: number, j: number): boolean => {
    const want = results.list[i]!;
    const is = came[j]!;
    return (want.text === null || want.text.test(is.text)) && (want.error === null || want.error === is.error);
  };
  for (let i = 0; i < results.list.length; i++) {
    if (results.all ? fits(i, i) : came.some((_, j) => fits(i, j))) continue;
    const { text, error } = results.list[i]!;
    const wanted = [text === null ? '' : `with ${text.shown}`, error === null ? '' : error ? 'that is an error' : 'that is no error'].filter(Boolean).join(' ');
    return { what: results.all ? `result ${i + 1} to be one ${wanted}` : `a result ${wanted}`, got: shown };
  }
  return null;
}

/** The text of the newest user message that has any. */
function lastUserText(request: ModelRequest): string {
  for (let i = request.messages.length - 1; i >= 0; i--) {
    const { role, content } = request.messages[i]!.message;
    const texts = role === 'user' ? content.filter((b): b is TextBlock => b.type === 'text') : [];
    if (texts.length > 0) return texts.map((b) => b.text).join('\n');
  }
  return '';
}
const resultText = ({ content }: ToolResultBlock): string => (typeof content === 'string' ? content : content.map((b) => (b.type === 'text' ? b.text : `[${b.type}]`)).join('\n'));
const excerpt = (text: string): string => JSON.stringify(text.length > 300 ? `${text.slice(0, 140)} … ${text.slice(-140)}` : text);
