/** Requests as bytes: each message is written once, and anew only where it must know what stands around it. */
import { wireJson } from 'tappet/kit';
import type { EncodedMessage, ModelInfo, ModelRequest, NormalizedMessage, ToolSpec } from 'tappet/schemas';
import { ALONE, contentsOf, frameOf, toolsJson } from './request.ts';
import type { Around } from './request.ts';
import { isThirdOrLater } from './table.ts';

export interface Bodies {
  encode(message: NormalizedMessage): Uint8Array;
  /** @param measured the model may be told how much to think */
  make(request: ModelRequest, info: ModelInfo, measured: boolean): Uint8Array[];
  /** The vendor does not take the signatures of these any more. */
  forget(messages: readonly EncodedMessage[]): void;
}

const COMMA = Buffer.from(',');
/** Newer models refuse a conversation that the model itself ends, as one that broke off does. */
const GO_ON = Buffer.from('{"role":"user","parts":[{"text":"The answer broke off here. Go on."}]}');

/** @param more fields of the configuration's own, for each body */
export function bodiesWith(more: Readonly<Record<string, unknown>>): Bodies {
  const own = new WeakSet<Uint8Array>();
  const surrounded = new WeakMap<NormalizedMessage, Map<string, Uint8Array>>();
  const toolsMade = new WeakMap<readonly ToolSpec[], string>();
  const stale = new WeakSet<NormalizedMessage>();

  const write = (message: NormalizedMessage, around: Around): Uint8Array => Buffer.from(contentsOf(message, around).map((c) => wireJson(c)).join(','));
  /** As encoded, but for results, which need their functions' names, and calls, which need a signature. */
  const bytesOf = ({ message, bytes }: EncodedMessage, before: EncodedMessage | undefined, third: boolean): Uint8Array => {
    const results = message.content.some((b) => b.type === 'tool_result');
    const mustSign = third && message.content.some((b) => b.type === 'tool_use');
    const signatures = !stale.has(message);
    if (!results && !mustSign && signatures && own.has(bytes)) return bytes;
    const how = `${mustSign} ${signatures}`;
    const known = surrounded.get(message) ?? new Map<string, Uint8Array>();
    surrounded.set(message, known);
    const made = known.get(how) ?? write(message, { names: results ? namesIn(before?.message) : ALONE.names, mustSign, signatures });
    known.set(how, made);
    return made;
  };

  return {
    encode(message) {
      const bytes = write(message, ALONE);
      own.add(bytes);
      return bytes;
    },
    make(request, info, measured) {
      const tools = toolsMade.get(request.tools) ?? toolsJson(request.tools);
      toolsMade.set(request.tools, tools);
      const third = isThirdOrLater(info.id);
      const parts = request.messages.map((m, i) => bytesOf(m, request.messages[i - 1], third)).filter((p) => p.length > 0);
      if (request.messages.at(-1)?.message.role === 'assistant') parts.push(GO_ON);
      return [Buffer.from(frameOf(request, info, more, tools, measured)), ...parts.flatMap((p, i) => (i === 0 ? [p] : [COMMA, p])), Buffer.from(']}')];
    },
    forget(messages) { for (const { message } of messages) stale.add(message); },
  };
}

const namesIn = (message: NormalizedMessage | undefined): ReadonlyMap<string, string> => new Map((message?.content ?? []).flatMap((b) => (b.type === 'tool_use' ? [[b.id, b.name] as const] : [])));
