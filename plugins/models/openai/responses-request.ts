/** A request on the Responses wire: messages as items, everything that stays the same before them. */
import { wireJson } from 'tappet/kit';
import type { ModelInfo, ModelRequest, NormalizedMessage, ToolSpec } from 'tappet/schemas';
import { fileOf, isOwn, NOTHING, parametersOf, resultOf, wireId, wireName } from './content.ts';
import type { FileOf, Frame, Manner } from './content.ts';
import type { Relief } from './relief.ts';
import type { Server } from './server.ts';

type Item = Readonly<Record<string, unknown>>;

/** A vendor block that is no item: the phase of the text behind it. The vendor wants it back. */
export const PHASE = 'message_phase';

export function itemsOf(message: NormalizedMessage, provider: string, manner: Manner): readonly Item[] {
  return message.role === 'user' ? userItems(message, manner) : assistantItems(message, provider, manner);
}

function userItems({ content }: NormalizedMessage, manner: Manner): readonly Item[] {
  const items: Item[] = [];
  let parts: Item[] = [];
  const flush = (): void => {
    if (parts.length > 0) items.push({ type: 'message', role: 'user', content: parts });
    parts = [];
  };
  for (const block of content) {
    if (block.type === 'tool_result') {
      flush();
      const { text, files } = resultOf(block, manner);
      const output = files.length === 0 ? text : [...(text === '' ? [] : [inputText(text)]), ...files.map(filePart)];
      items.push({ type: 'function_call_output', call_id: wireId(block.tool_use_id, manner), output });
    } else if (block.type === 'text') {
      if (block.text !== '') parts.push(inputText(block.text));
    } else if (block.type === 'image' || block.type === 'document') {
      const file = fileOf(block, manner);
      parts.push(typeof file === 'string' ? inputText(file) : filePart(file));
    }
  }
  flush();
  return items.length > 0 ? items : [{ type: 'message', role: 'user', content: [inputText(NOTHING)] }];
}
const inputText = (text: string): Item => ({ type: 'input_text', text });
const filePart = (f: FileOf): Item =>
  f.kind === 'image' ? { type: 'input_image', image_url: f.url, detail: 'auto' } : f.inline ? { type: 'input_file', filename: named(f), file_data: f.url } : { type: 'input_file', file_url: f.url };
const named = (f: FileOf): string => (/\.\w+$/.test(f.name) || !f.url.startsWith('data:application/pdf') ? f.name : `${f.name}.pdf`);

function assistantItems({ content }: NormalizedMessage, provider: string, manner: Manner): readonly Item[] {
  const items: Item[] = [];
  let phase: unknown;
  for (const block of content) {
    if (block.type === 'text') {
      if (block.text !== '') items.push({ type: 'message', role: 'assistant', ...(phase === undefined ? {} : { phase }), content: [{ type: 'output_text', text: block.text }] });
      phase = undefined;
    } else if (block.type === 'tool_use') {
      items.push({ type: 'function_call', call_id: wireId(block.id, manner), name: wireName(block.name), arguments: wireJson(block.input) });
    } else if (block.type === 'vendor' && isOwn(block, provider)) {
      if (block.block.type === PHASE) phase = block.block.phase;
      else if (block.block.type !== 'reasoning' || manner.reasoning) items.push(block.block);
    }
  }
  // Reasoning whose answer was cut away is refused.
  while (items.at(-1)?.type === 'reasoning') items.pop();
  return items;
}

const toolsJson = (tools: readonly ToolSpec[]): string =>
  wireJson(tools.map((t) => ({ type: 'function', name: wireName(t.name), description: t.description, parameters: parametersOf(t), strict: false })));

/** What both wires are made of. */
export interface FrameParts {
  readonly request: ModelRequest;
  readonly server: Server;
  readonly model: string;
  readonly info: ModelInfo;
  readonly without: ReadonlySet<Relief>;
  /** The least effort that the model takes; `undefined`: it takes none. */
  readonly least: string | undefined;
  readonly tools: (make: (tools: readonly ToolSpec[]) => string) => string;
}
/** The request without its items. */
export function responsesFrame(o: FrameParts): Frame {
  const { request, server, info, without } = o;
  const effort = effortOf(o);
  const fields: Record<string, unknown> = { model: o.model };
  const system = request.system.map((b) => b.text).filter((t) => t !== '').join('\n\n');
  if (system !== '') fields.instructions = system;
  if (!without.has('stream')) fields.stream = true;
  if (!without.has('store')) fields.store = false;
  if (!without.has('prompt_cache_key')) fields.prompt_cache_key = request.sessionId.slice(0, 64);
  if (request.maxOutputTokens !== undefined && !without.has('max_tokens')) fields.max_output_tokens = Math.max(16, request.maxOutputTokens);
  const reasoning = {
    ...(effort === undefined || without.has('effort') ? {} : { effort }),
    ...(request.thinking === undefined || request.thinking === false || without.has('summary') ? {} : { summary: 'auto' }),
  };
  if (info.can?.includes('thinking') === true && !without.has('reasoning')) {
    if (Object.keys(reasoning).length > 0) fields.reasoning = reasoning;
    if (!without.has('encrypted')) fields.include = ['reasoning.encrypted_content'];
  } else if ((request.effort !== undefined || request.thinking === false) && 'effort' in reasoning && !without.has('reasoning')) fields.reasoning = { effort: reasoning.effort };
  const choice = request.toolChoice;
  const offered = request.tools.length > 0;
  if (offered && choice !== undefined && choice !== 'auto' && !without.has('tool_choice')) fields.tool_choice = typeof choice === 'object' ? { type: 'function', name: wireName(choice.name) } : choice === 'any' ? 'required' : choice;
  if (!without.has('stream')) Object.assign(fields, server.body);
  const json = wireJson(fields);
  return { head: `${json.slice(0, -1)}${offered ? `,"tools":${o.tools(toolsJson)}` : ''},"input":[`, first: '', tail: ']}', fields: new Set([...Object.keys(fields), ...Object.keys(reasoning).map((k) => `reasoning.${k}`)]) };
}

/** Servers that count in efforts are told a budget as the effort nearest to it, and no thoughts as the least. */
export function effortOf({ request: { effort, thinking }, least }: Pick<FrameParts, 'request' | 'least'>): string | undefined {
  if (thinking === false && least !== undefined) return least;
  if (effort !== undefined || typeof thinking !== 'object') return effort;
  return thinking.budgetTokens <= 4_096 ? 'low' : thinking.budgetTokens <= 16_384 ? 'medium' : 'high';
}
