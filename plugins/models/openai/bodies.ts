/** Requests as bytes: each message is written once, and anew only where a server refuses something in it. */
import { wireJson } from 'tappet/kit';
import type { EncodedMessage, ModelInfo, ModelRequest, NormalizedMessage, ToolSpec } from 'tappet/schemas';
import { chatFrame, chatMessagesOf } from './chat-request.ts';
import { mannerKey } from './content.ts';
import type { Manner } from './content.ts';
import type { Relief } from './relief.ts';
import { itemsOf, responsesFrame } from './responses-request.ts';
import type { Server } from './server.ts';
import { leastEffort } from './table.ts';

export interface Body { readonly parts: readonly Uint8Array[]; /** What it holds that a server may refuse: its fields, and `files` where a message has some. */ sent(): ReadonlySet<string> }
export interface Bodies {
  encode(message: NormalizedMessage): Uint8Array;
  make(request: ModelRequest, info: ModelInfo, without: ReadonlySet<Relief>): Body;
  /** The server does not know the reasoning of these any more. */
  forget(messages: readonly EncodedMessage[]): void;
  /** The least effort of a model, as its server says. */
  learnLeast(model: string, effort: string): void;
}

const COMMA = Buffer.from(',');
/** Some servers refuse a conversation that the model itself ends, as one that broke off does. */
const GO_ON = Buffer.from('{"role":"user","content":"The answer broke off here. Go on."}');

export function bodiesFor(server: Server): Bodies {
  const { name, wire } = server;
  const home: Manner = { images: true, documents: server.vendor || name === 'openai', shortIds: false, reasoning: wire === 'responses' };
  const atHome = mannerKey(home);
  const least = new Map<string, string>();
  const stale = new WeakSet<NormalizedMessage>();
  /** What `encode` made here; bytes of before a change of the configuration may be of the other wire. */
  const own = new WeakSet<Uint8Array>();
  const rewritten = new WeakMap<NormalizedMessage, Map<string, Uint8Array>>();
  const toolsMade = new WeakMap<readonly ToolSpec[], string>();

  const write = (message: NormalizedMessage, manner: Manner): Uint8Array =>
    Buffer.from((wire === 'responses' ? itemsOf(message, name, manner) : chatMessagesOf(message, name, manner)).map((i) => wireJson(i)).join(','));
  /** `key` is that of the manner. */
  const bytesOf = ({ message, bytes }: EncodedMessage, manner: Manner, key: string): Uint8Array => {
    const usable = own.has(bytes);
    if (usable && key === atHome && !stale.has(message)) return bytes;
    const files = hasFiles(message) ? manner : home;
    const mine: Manner = { ...manner, images: files.images, documents: files.documents, reasoning: manner.reasoning && !stale.has(message) };
    const how = mannerKey(mine);
    if (usable && how === atHome) return bytes;
    const known = rewritten.get(message) ?? new Map<string, Uint8Array>();
    rewritten.set(message, known);
    const made = known.get(how) ?? write(message, mine);
    known.set(how, made);
    return made;
  };
  const mannerOf = (info: ModelInfo, without: ReadonlySet<Relief>): Manner => ({
    images: !without.has('files') && (info.can?.includes('images') ?? true),
    documents: !without.has('files') && (info.can?.includes('documents') ?? home.documents),
    shortIds: without.has('long_ids'),
    reasoning: wire === 'responses' || (without.has('reasoning_back') && !without.has('reasoning_kept')),
  });

  return {
    encode(message) {
      const bytes = write(message, home);
      own.add(bytes);
      return bytes;
    },
    make(request, info, without) {
      const tools = (make: (tools: readonly ToolSpec[]) => string): string => {
        const made = toolsMade.get(request.tools) ?? make(request.tools);
        toolsMade.set(request.tools, made);
        return made;
      };
      const o = { request, server, model: server.azure?.deployment ?? info.id, info, without, tools, least: least.get(info.id) ?? (server.vendor ? leastEffort(info.id) : 'none') };
      const frame = wire === 'responses' ? responsesFrame(o) : chatFrame(o);
      const manner = mannerOf(info, without);
      const key = mannerKey(manner);
      const messages = [Buffer.from(frame.first), ...request.messages.map((m) => bytesOf(m, manner, key))].filter((p) => p.length > 0);
      if (wire === 'chat' && request.messages.at(-1)?.message.role === 'assistant') messages.push(GO_ON);
      return {
        parts: [Buffer.from(frame.head), ...messages.flatMap((p, i) => (i === 0 ? [p] : [COMMA, p])), Buffer.from(frame.tail)],
        sent: () => ((manner.images || manner.documents) && request.messages.some(({ message }) => hasFiles(message)) ? new Set([...frame.fields, 'files']) : frame.fields),
      };
    },
    forget(messages) { for (const { message } of messages) stale.add(message); },
    learnLeast: (model, effort) => void least.set(model, effort),
  };
}

const hasFiles = (message: NormalizedMessage): boolean => message.content.some((b) => b.type === 'image' || b.type === 'document' || (b.type === 'tool_result' && typeof b.content !== 'string' && b.content.some((c) => c.type !== 'text')));
