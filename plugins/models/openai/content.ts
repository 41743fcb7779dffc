/** What both wires say alike: names and ids as the vendor takes them, texts and files of blocks. */
import { createHash } from 'node:crypto';
import type { Block, DocumentBlock, ImageBlock, TextBlock, ToolResultBlock, ToolSpec } from 'tappet/schemas';

/** How messages are written for servers that refuse something. */
export interface Manner {
  /** False: they are said in words. */
  readonly images: boolean;
  readonly documents: boolean;
  /** Ids of exactly nine letters and digits. */
  readonly shortIds: boolean;
  /** The vendor's reasoning goes back to it. */
  readonly reasoning: boolean;
}
export const mannerKey = (m: Manner): string => `${m.images} ${m.documents} ${m.shortIds} ${m.reasoning}`;

/** A request without its messages: `head` opens the list of them, `first` is one that stands before all, `tail` closes. */
export interface Frame { readonly head: string; readonly first: string; readonly tail: string; /** What could be left out, by name. */ readonly fields: ReadonlySet<string> }

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Longest name of a function, longest id of a call, in characters. */
const MAX = 64;
export function wireName(name: string): string {
  const plain = name.replace(/[^\w-]/g, '_') || 'unnamed';
  return plain.length <= MAX ? plain : `${plain.slice(0, MAX - 9)}_${digest(name).slice(0, 8)}`;
}
export function wireId(id: string, manner: Manner): string {
  if (manner.shortIds) return /^[A-Za-z0-9]{9}$/.test(id) ? id : digest(id).slice(0, 9);
  return id.length <= MAX && /^[!-~]+$/.test(id) ? id : `call_${digest(id).slice(0, 24)}`;
}

/** Said where a message holds nothing that can be sent. */
export const NOTHING = '[an empty message]';

/** Schemas of functions must be objects with properties, and simple at their root. */
export function parametersOf(spec: ToolSpec): Readonly<Record<string, unknown>> {
  const { anyOf: _a, oneOf: _o, allOf: _l, not: _n, enum: _e, ...root } = spec.input_schema;
  return { ...root, type: 'object', properties: root.properties ?? {} };
}

/** Which of our names a name on the wire stands for. */
export const originalName = (tools: readonly ToolSpec[], name: string): string => (tools.some((t) => t.name === name) ? name : tools.find((t) => wireName(t.name) === name)?.name ?? name);

export interface FileOf { readonly kind: 'image' | 'file'; readonly url: string; readonly inline: boolean; readonly name: string }
/** An image or document as an address (`data:` where the bytes are here); a text where it is one; words where it is neither or not wanted. */
export function fileOf(block: ImageBlock | DocumentBlock, manner: Manner): FileOf | string {
  const { type, media_type: media, data, url } = block.source as { type?: unknown; media_type?: unknown; data?: unknown; url?: unknown };
  const name = block.type === 'document' ? block.title ?? 'document' : 'image';
  if (type === 'text' && typeof data === 'string') return block.type === 'document' && block.title !== undefined ? `${block.title}\n\n${data}` : data;
  if (!(block.type === 'image' ? manner.images : manner.documents)) return inWords(block);
  const kind = block.type === 'image' ? 'image' : 'file';
  if (type === 'base64' && typeof data === 'string') return { kind, url: `data:${String(media ?? 'application/octet-stream')};base64,${data}`, inline: true, name };
  if (type === 'url' && typeof url === 'string') return { kind, url, inline: false, name };
  return inWords(block);
}
function inWords(block: ImageBlock | DocumentBlock): string {
  const media = typeof block.source.media_type === 'string' ? `, ${block.source.media_type}` : '';
  return block.type === 'image' ? `[an image${media}, which this model is not shown]` : `[the document ${block.title ?? 'without a title'}${media}, which this model is not shown]`;
}

/** The words of a result; `files` go beside it where a wire takes them. */
export function resultOf(block: ToolResultBlock, manner: Manner): { readonly text: string; readonly files: readonly FileOf[] } {
  const parts: readonly (TextBlock | ImageBlock | DocumentBlock)[] = typeof block.content === 'string' ? [{ type: 'text', text: block.content }] : block.content;
  const words: string[] = [];
  const files: FileOf[] = [];
  for (const part of parts) {
    if (part.type === 'text') words.push(part.text);
    else {
      const file = fileOf(part, manner);
      if (typeof file === 'string') words.push(file);
      else files.push(file);
    }
  }
  const text = words.join('\n');
  return { text: block.is_error === true && !/^\W{0,3}error\b/i.test(text) ? `Error: ${text}` : text, files };
}

/** Blocks that a vendor of another name signed or made are not for this one. */
export const isOwn = (block: Block & { readonly provider?: string | undefined }, provider: string): boolean => block.provider === provider;
