/** Which step is next: read off the conversation, so that a resumed session goes on at the right place. */
import type { Block, NormalizedMessage } from 'tappet/kernel';
import type { Script, Step } from './script.ts';

/** The blocks of a step as the loop keeps them. */
export function blocksOf(step: Step): Block[] {
  return [
    ...(step.think === null ? [] : [{ type: 'thinking' as const, thinking: step.think, signature: 'scripted', provider: 'scripted' }]),
    ...step.say.map((text) => ({ type: 'text' as const, text })),
    ...step.calls.map(({ id, name, input, raw }) => ({ type: 'tool_use' as const, id, name, input, ...(raw === undefined ? {} : { inputError: { why: 'it is no JSON', raw } }) })),
  ];
}
/** A step that fails leaves only what was finished before. */
const finished = (step: Step): Block[] => (step.cut ? blocksOf(step).slice(0, -1) : blocksOf(step));
export const fails = (step: Step): boolean => step.cut || step.fault !== null;

/**
 * Each assistant message uses up one step, whoever made it. Steps that fail and leave nothing are passed over on the way; of those that leave finished blocks,
 * the message with these blocks counts. A call of the script's own says for certain which step it belongs to, also when a compaction has taken messages away.
 */
export function nextStep(script: Script, messages: readonly NormalizedMessage[]): number {
  const { steps } = script;
  let next = 0;
  for (const { role, content } of messages) {
    if (role !== 'assistant') continue;
    let rest = content;
    const anchor = stepOfCall(steps, content);
    if (anchor !== null && anchor > next) next = anchor;
    while (next < steps.length && fails(steps[next]!)) {
      const left = finished(steps[next]!);
      next++;
      if (left.length > 0 && startsWith(rest, left)) rest = rest.slice(left.length);
      if (rest.length === 0) break;
    }
    if (rest.length > 0) next++;
  }
  return next;
}

function stepOfCall(steps: readonly Step[], content: readonly Block[]): number | null {
  for (const block of content) {
    if (block.type !== 'tool_use') continue;
    const i = steps.findIndex((step) => step.calls.some((call) => call.id === block.id && call.name === block.name));
    if (i >= 0) return i;
  }
  return null;
}
function startsWith(content: readonly Block[], head: readonly Block[]): boolean {
  return head.length <= content.length && head.every((block, i) => {
    const there = content[i]!;
    if (block.type === 'tool_use') return there.type === 'tool_use' && there.id === block.id;
    if (block.type === 'text') return there.type === 'text' && there.text === block.text;
    return there.type === block.type;
  });
}
