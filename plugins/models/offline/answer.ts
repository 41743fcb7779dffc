/** The blocks that answer a request: a text, calls, or both. */
import { createHash } from 'node:crypto';
import type { Block, ModelRequest } from 'tappet/kernel';
import { readTalk, workingFolder } from './conversation.ts';
import { nextStep, WHO } from './perform.ts';
import { isSummaryRequest, summarize } from './summary.ts';

export function answer(request: ModelRequest): readonly Block[] {
  const messages = request.messages.map((m) => m.message);
  const talk = readTalk(messages, WHO);
  const prompt = talk.prompts.at(-1) ?? '';
  if (request.tools.length === 0 && isSummaryRequest(prompt)) return [{ type: 'text', text: summarize(messages) }];
  const { say, calls } = nextStep(talk, { tools: new Set(request.tools.map((t) => t.name)), cwd: workingFolder(request) });
  const id = placeOf(request);
  return [...(say === '' ? [] : [{ type: 'text' as const, text: say }]), ...calls.map((call, i) => ({ type: 'tool_use' as const, id: `toolu_offline_${id}_${i + 1}`, name: call.name, input: call.input }))];
}

/** The same for the same place in the same conversation, and no other. */
export const placeOf = ({ sessionId, turnId, messages }: ModelRequest): string =>
  createHash('sha256').update(`${sessionId} ${turnId} ${messages.length} `).update(messages.at(-1)?.bytes ?? '').digest('hex').slice(0, 12);
