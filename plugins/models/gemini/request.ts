/** Messages and requests as Gemini wants them: contents of parts, results with the names of their functions. */
import { wireJson } from 'tappet/kit';
import type { DocumentBlock, ImageBlock, ModelInfo, ModelRequest, NormalizedMessage, ToolResultBlock, ToolSpec } from 'tappet/schemas';
import { geminiParameters } from './schema.ts';
import { isThirdOrLater, leastThinking } from './table.ts';

type Json = Readonly<Record<string, unknown>>;
export const PROVIDER = 'gemini';

/** What one message needs to know of its surroundings. */
export interface Around {
  /** Names of the calls that a message's results belong to. */
  readonly names: ReadonlyMap<string, string>;
  /** A call without a signature is refused: it was made by another vendor's model, or its signature means nothing any more. */
  readonly mustSign: boolean;
  readonly signatures: boolean;
}
export const ALONE: Around = { names: new Map(), mustSign: false, signatures: true };

/** The vendor's own word for "this call has no signature, and that is right". */
const UNSIGNED = 'skip_thought_signature_validator';

export function contentsOf(message: NormalizedMessage, around: Around): readonly Json[] {
  return message.role === 'user' ? userContents(message, around) : modelContents(message, around);
}

/** Results stand alone and first; what they cannot carry, and what the user says, follows. */
function userContents({ content }: NormalizedMessage, { names }: Around): readonly Json[] {
  const results: Json[] = [];
  const parts: Json[] = [];
  for (const block of content) {
    if (block.type === 'tool_result') {
      const { text, files } = resultOf(block);
      const name = functionName(names.get(block.tool_use_id) ?? 'unknown_function');
      results.push({ functionResponse: { id: block.tool_use_id, name, response: block.is_error === true ? { error: text } : { output: text } } });
      if (files.length > 0) parts.push({ text: `[of the result of ${name}, call ${block.tool_use_id}:]` }, ...files);
    } else if (block.type === 'text') {
      if (block.text !== '') parts.push({ text: block.text });
    } else if (block.type === 'image' || block.type === 'document') parts.push(filePart(block));
  }
  if (results.length + parts.length === 0) parts.push({ text: '[an empty message]' });
  return [results, parts].flatMap((p) => (p.length === 0 ? [] : [{ role: 'user', parts: p }]));
}

/** Letters, digits and a few signs; what else a model made up is refused when it goes back. */
const functionName = (name: string): string => name.replace(/[^\w.:-]/g, '_').replace(/^(?![A-Za-z_])/, '_').slice(0, 128);

function resultOf(block: ToolResultBlock): { readonly text: string; readonly files: readonly Json[] } {
  if (typeof block.content === 'string') return { text: block.content, files: [] };
  const parts = block.content.map((c) => (c.type === 'text' ? { text: c.text } : filePart(c)));
  const words = parts.flatMap((p) => ('text' in p ? [String(p.text)] : []));
  return { text: words.join('\n'), files: parts.filter((p) => !('text' in p)) };
}
function filePart(block: ImageBlock | DocumentBlock): Json {
  const { type, media_type: media, data, url } = block.source as { type?: unknown; media_type?: unknown; data?: unknown; url?: unknown };
  const usual = block.type === 'image' ? 'image/png' : 'application/pdf';
  const title = block.type === 'document' ? block.title : undefined;
  if (type === 'text' && typeof data === 'string') return { text: title === undefined ? data : `${title}\n\n${data}` };
  if (type === 'base64' && typeof data === 'string') return { inlineData: { mimeType: typeof media === 'string' ? media : usual, data } };
  if (type === 'url' && typeof url === 'string') return { fileData: { mimeType: typeof media === 'string' ? media : usual, fileUri: url } };
  return { text: `[${block.type === 'image' ? 'an image' : `the document ${title ?? 'without a title'}`}, which this model is not shown]` };
}

function modelContents({ content }: NormalizedMessage, { mustSign, signatures }: Around): readonly Json[] {
  const parts: Record<string, unknown>[] = [];
  let calls = 0;
  for (const block of content) {
    if (block.type === 'text') {
      if (block.text !== '') parts.push({ text: block.text });
    } else if (block.type === 'thinking') {
      if (block.provider === PROVIDER && block.signature !== undefined && signatures) parts.push({ text: block.thinking, thought: true, thoughtSignature: block.signature });
    } else if (block.type === 'tool_use') {
      const own = signatures && block.signature !== undefined && /^[\w+/=-]+$/.test(block.signature) ? block.signature : undefined;
      // Of calls that were made together only the first is signed.
      const signature = own ?? (mustSign && calls === 0 ? UNSIGNED : undefined);
      parts.push({ functionCall: { id: block.id, name: functionName(block.name), args: block.input }, ...(signature === undefined ? {} : { thoughtSignature: signature }) });
      calls++;
    } else if (block.type === 'vendor' && block.provider === PROVIDER) {
      const { thoughtSignature, ...part } = block.block;
      const signed = signatures && thoughtSignature !== undefined ? { thoughtSignature } : {};
      const last = parts.at(-1);
      // One that is alone belongs to the text before it.
      if (Object.keys(part).length > 0 && (part.text !== '' || 'thoughtSignature' in signed)) parts.push({ ...part, ...signed });
      else if (typeof last?.text === 'string') Object.assign(last, signed);
    }
  }
  return parts.length === 0 ? [] : [{ role: 'model', parts }];
}

export const toolsJson = (tools: readonly ToolSpec[]): string => wireJson([{
  functionDeclarations: tools.map((t) => {
    const parameters = geminiParameters(t.input_schema);
    return { name: t.name, description: t.description, ...(parameters === null ? {} : { parameters }) };
  }),
}]);

/** The request without its contents, which come last. @param measured the model may be told how much to think */
export function frameOf(request: ModelRequest, info: ModelInfo, body: Json, tools: string, measured: boolean): string {
  const system = request.system.filter((b) => b.text !== '').map((b) => ({ text: b.text }));
  const config = {
    ...(request.maxOutputTokens === undefined ? {} : { maxOutputTokens: request.maxOutputTokens }),
    ...(info.can?.includes('thinking') === false ? {} : thinkingOf(request, info.id, measured)),
  };
  const choice = request.toolChoice;
  const offered = request.tools.length > 0;
  const calling = !offered || choice === undefined || choice === 'auto' ? null
    : typeof choice === 'object' ? { mode: 'ANY', allowedFunctionNames: [choice.name] } : { mode: choice === 'any' ? 'ANY' : 'NONE' };
  const { generationConfig, ...more } = body as { generationConfig?: Json };
  const fields: Json = {
    ...(system.length === 0 ? {} : { systemInstruction: { parts: system } }),
    ...(calling === null ? {} : { toolConfig: { functionCallingConfig: calling } }),
    ...(Object.keys(config).length === 0 && generationConfig === undefined ? {} : { generationConfig: { ...config, ...generationConfig } }),
    ...more,
  };
  const json = wireJson(fields).slice(0, -1);
  return `${json}${offered ? `${json === '{' ? '' : ','}"tools":${tools}` : ''}${json === '{' && !offered ? '' : ','}"contents":[`;
}

/** Levels for the third generation and later, tokens before it. */
function thinkingOf(request: ModelRequest, model: string, measured: boolean): { readonly thinkingConfig?: Json } {
  const { thinking, effort } = request;
  if (thinking === undefined && effort === undefined) return {};
  const shown = thinking === undefined || thinking === false ? {} : { includeThoughts: true };
  const config = measured ? { ...shown, ...amountOf(request, model) } : shown;
  return Object.keys(config).length === 0 ? {} : { thinkingConfig: config };
}

function amountOf({ thinking, effort }: ModelRequest, model: string): Json {
  if (thinking === false) return leastThinking(model);
  const budget = typeof thinking === 'object' ? thinking.budgetTokens : undefined;
  if (isThirdOrLater(model)) {
    if (effort === 'none' || effort === 'minimal') return leastThinking(model);
    const level = effort !== undefined ? (effort === 'max' || (effort === 'xhigh' && !/^gemini-[4-9]/.test(model)) ? 'high' : effort) : budget === undefined ? undefined : budget <= 4_096 ? 'low' : budget <= 16_384 ? 'medium' : 'high';
    return level === undefined ? {} : { thinkingLevel: level };
  }
  const tokens = budget ?? (effort === undefined ? -1 : BUDGETS[effort]);
  return tokens === undefined ? {} : { thinkingBudget: tokens };
}
const BUDGETS: Readonly<Record<string, number>> = { none: 128, minimal: 512, low: 2_048, medium: 8_192, high: 24_576, xhigh: 24_576, max: 24_576 };
