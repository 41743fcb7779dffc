/** What the messages of a request say: the prompts that wait for an answer, the calls made for them, and what came of those. */
import type { Block, ModelRequest, NormalizedMessage, ToolResultBlock } from 'tappet/kernel';
import { keyOf } from './job.ts';
import type { Outcome } from './job.ts';

export interface Talk {
  /** Since the last answer; usually one. */
  readonly prompts: readonly string[];
  /** What came of the calls made since then, by call. */
  readonly outcomes: ReadonlyMap<string, readonly Outcome[]>;
  readonly calls: number;
  /** Paths that earlier calls of the conversation named; the newest last. */
  readonly earlierFiles: readonly string[];
  /** Nobody has been told yet who answers here. */
  readonly isFirst: boolean;
}

export function readTalk(messages: readonly NormalizedMessage[], greeting: string): Talk {
  const answered = messages.findLastIndex((m) => m.role === 'assistant' && !m.content.some((b) => b.type === 'tool_use'));
  const now = messages.slice(answered + 1);
  const results = new Map<string, ToolResultBlock>();
  for (const m of now) for (const b of m.content) if (b.type === 'tool_result') results.set(b.tool_use_id, b);
  const outcomes = new Map<string, Outcome[]>();
  let calls = 0;
  for (const m of now) for (const b of m.content) {
    if (b.type !== 'tool_use') continue;
    calls++;
    const result = results.get(b.id);
    if (result === undefined) continue;
    const call = { name: b.name, input: b.input };
    const key = keyOf(call);
    outcomes.set(key, [...(outcomes.get(key) ?? []), { call, text: resultText(result), failed: result.is_error === true }]);
  }
  return {
    prompts: now.flatMap((m) => (m.role === 'user' ? promptOf(m.content) : [])),
    outcomes, calls,
    earlierFiles: messages.slice(0, answered + 1).flatMap((m) => m.content.flatMap((b) => (b.type === 'tool_use' && typeof b.input['file_path'] === 'string' ? [b.input['file_path']] : []))),
    isFirst: !messages.some((m) => m.role === 'assistant' && m.content.some((b) => b.type === 'text' && b.text.includes(greeting))),
  };
}

/** Instructions come before a prompt, notes of the harness behind it. */
function promptOf(content: readonly Block[]): string[] {
  const texts = content.flatMap((b) => (b.type === 'text' && !/^\s*<(note|system-reminder)\b/.test(b.text) ? [b.text] : []));
  return texts.slice(-1);
}
const resultText = ({ content }: ToolResultBlock): string => (typeof content === 'string' ? content : content.map((b) => (b.type === 'text' ? b.text : `[${b.type}]`)).join('\n'));

/** The folder that relative paths count from, if the system prompt names it. */
export function workingFolder({ system }: ModelRequest): string | null {
  for (const { text } of system) {
    const found = /^- Working folder: (.+)$/m.exec(text)?.[1];
    if (found !== undefined) return found.trim();
  }
  return null;
}
