/** Message[] -> NormalizedMessage[]: always valid. Roles alternate, every tool use has exactly one result right behind it, in the model's order. */
import type { Block, Message, NormalizedMessage, ToolResultBlock, ToolUseBlock } from '../schemas/index.ts';

/** What a call is told that was cut off before its result was written. */
export const INTERRUPTED = 'Interrupted before a result was recorded. Its effect is unknown: check before you repeat it.';
const CONTINUES = '(the conversation continues)';

interface Group { readonly role: 'user' | 'assistant'; readonly from: readonly Message[] }
interface Made { readonly from: readonly Message[]; readonly before: NormalizedMessage | null; readonly message: NormalizedMessage | null }

/** Keeps what it made: a group whose messages are the same objects gives the same object, so its bytes can be kept too. */
export interface Normalizer { normalize(messages: readonly Message[]): readonly NormalizedMessage[] }

export function createNormalizer(): Normalizer {
  const made = new WeakMap<Message, Made>();
  const tails = new WeakMap<NormalizedMessage, NormalizedMessage>();
  return {
    normalize(messages) {
      const out: NormalizedMessage[] = [];
      for (const group of groups(messages)) {
        const before = out.at(-1) ?? null;
        if (group.role === 'assistant' && before !== null && before.role === 'assistant') continue; // cannot be: groups alternate
        const kept = made.get(group.from[0]!);
        const same = kept !== undefined && kept.before === before && kept.from.length === group.from.length && kept.from.every((m, i) => m === group.from[i]);
        const message = same ? kept.message : make(group, before);
        if (!same) made.set(group.from[0]!, { from: group.from, before, message });
        if (message === null) continue;
        const last = out.at(-1);
        if (last === undefined && message.role === 'assistant') out.push(OPENING);
        if (last !== undefined && last.role === message.role) out[out.length - 1] = { role: last.role, content: [...last.content, ...message.content] };
        else out.push(message);
      }
      const last = out.at(-1);
      if (last?.role === 'assistant' && uses(last).length > 0) {
        let tail = tails.get(last);
        if (tail === undefined) tails.set(last, (tail = { role: 'user', content: uses(last).map(lost) }));
        out.push(tail);
      }
      return out;
    },
  };
}
const OPENING: NormalizedMessage = { role: 'user', content: [{ type: 'text', text: CONTINUES }] };

/** One-off form for tests and tools. */
export const normalize = (messages: readonly Message[]): readonly NormalizedMessage[] => createNormalizer().normalize(messages);

/** Runs of one role. What says nothing to a model is left out here, so that it can't part a call from its result. */
function groups(messages: readonly Message[]): Group[] {
  const list: { role: 'user' | 'assistant'; from: Message[] }[] = [];
  for (const m of messages) {
    if (m.type === 'system' || m.type === 'progress') continue;
    const role = m.type === 'assistant' ? 'assistant' : 'user';
    if (role === 'assistant' && blocksOf(m).every(isEmpty)) continue;
    const last = list.at(-1);
    if (last?.role === role) last.from.push(m); else list.push({ role, from: [m] });
  }
  return list;
}

function make(group: Group, before: NormalizedMessage | null): NormalizedMessage | null {
  const blocks = group.from.flatMap(blocksOf).filter((b) => !isEmpty(b));
  if (group.role === 'assistant') {
    const ids = new Set<string>();
    const content = blocks.filter((b) => b.type !== 'tool_result' && (b.type !== 'tool_use' || (!ids.has(b.id) && ids.add(b.id))));
    return content.length === 0 ? null : { role: 'assistant', content };
  }
  const calls = before?.role === 'assistant' ? uses(before) : [];
  const results = new Map<string, ToolResultBlock>();
  for (const b of blocks) if (b.type === 'tool_result' && !results.has(b.tool_use_id)) results.set(b.tool_use_id, b);
  const rest = blocks.filter((b) => b.type !== 'tool_result' && b.type !== 'tool_use');
  const content = [...calls.map((c) => results.get(c.id) ?? lost(c)), ...rest];
  return content.length === 0 ? null : { role: 'user', content };
}

const uses = (m: NormalizedMessage): ToolUseBlock[] => m.content.filter((b): b is ToolUseBlock => b.type === 'tool_use');
const lost = (call: ToolUseBlock): ToolResultBlock => ({ type: 'tool_result', tool_use_id: call.id, content: INTERRUPTED, is_error: true });
const isEmpty = (b: Block): boolean => b.type === 'text' && b.text.trim() === '';
function blocksOf(m: Message): readonly Block[] {
  switch (m.type) {
    case 'attachment': return [{ type: 'text', text: `<note source="${m.attachment.source ?? m.attachment.kind}">\n${m.attachment.text}\n</note>` }];
    case 'user': case 'assistant': return typeof m.message.content === 'string' ? [{ type: 'text', text: m.message.content }] : m.message.content;
    default: return [];
  }
}
