/** A request on the chat wire, which many servers speak and each a little differently. */
import { wireJson } from 'tappet/kit';
import type { NormalizedMessage, ToolSpec } from 'tappet/schemas';
import { fileOf, isOwn, NOTHING, parametersOf, resultOf, wireId, wireName } from './content.ts';
import type { FileOf, Frame, Manner } from './content.ts';
import { effortOf } from './responses-request.ts';
import type { FrameParts } from './responses-request.ts';

type Json = Readonly<Record<string, unknown>>;

export function chatMessagesOf(message: NormalizedMessage, provider: string, manner: Manner): readonly Json[] {
  return message.role === 'user' ? userMessages(message, manner) : assistantMessages(message, provider, manner);
}

/** Results first: nothing may stand between calls and their results. What a result cannot carry follows as the user's. */
function userMessages({ content }: NormalizedMessage, manner: Manner): readonly Json[] {
  const results: Json[] = [];
  const parts: Json[] = [];
  for (const block of content) {
    if (block.type === 'tool_result') {
      const { text, files } = resultOf(block, manner);
      const id = wireId(block.tool_use_id, manner);
      results.push({ role: 'tool', tool_call_id: id, content: text !== '' || files.length === 0 ? text : '[files, which follow]' });
      if (files.length > 0) parts.push({ type: 'text', text: `[of the result of call ${id}:]` }, ...files.map(filePart));
    } else if (block.type === 'text') {
      if (block.text !== '') parts.push({ type: 'text', text: block.text });
    } else if (block.type === 'image' || block.type === 'document') {
      const file = fileOf(block, manner);
      parts.push(typeof file === 'string' ? { type: 'text', text: file } : filePart(file));
    }
  }
  if (parts.length === 0) return results.length > 0 ? results : [{ role: 'user', content: NOTHING }];
  // Plain text where it is enough: some servers know no parts.
  const plain = parts.every((p) => p.type === 'text');
  return [...results, { role: 'user', content: plain ? parts.map((p) => p.text).join('\n\n') : parts }];
}
const filePart = (f: FileOf): Json =>
  f.kind === 'image' ? { type: 'image_url', image_url: { url: f.url } } : f.inline ? { type: 'file', file: { filename: f.name, file_data: f.url } } : { type: 'text', text: `[the document ${f.name}: ${f.url}]` };

function assistantMessages({ content }: NormalizedMessage, provider: string, manner: Manner): readonly Json[] {
  const texts: string[] = [];
  const calls: Json[] = [];
  const thoughts: string[] = [];
  for (const block of content) {
    if (block.type === 'text' && block.text !== '') texts.push(block.text);
    else if (block.type === 'thinking' && isOwn(block, provider)) thoughts.push(block.thinking);
    else if (block.type === 'tool_use') {
      calls.push({
        id: wireId(block.id, manner), type: 'function', function: { name: wireName(block.name), arguments: wireJson(block.input) },
        ...signed(block.signature),
      });
    }
  }
  if (texts.length === 0 && calls.length === 0) return [];
  return [{
    role: 'assistant', content: texts.length === 0 ? null : texts.join('\n\n'),
    ...(manner.reasoning && thoughts.length > 0 ? { reasoning_content: thoughts.join('\n\n') } : {}),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }];
}

/** Gemini behind this wire signs its calls; a signature that did not come this way means nothing here. */
export const SIGNED = 'extra_content:';
const signed = (signature: string | undefined): Json => (signature?.startsWith(SIGNED) === true ? { extra_content: { google: { thought_signature: signature.slice(SIGNED.length) } } } : {});

const toolsJson = (tools: readonly ToolSpec[]): string =>
  wireJson(tools.map((t) => ({ type: 'function', function: { name: wireName(t.name), description: t.description, parameters: parametersOf(t) } })));

/** The request without its messages; the system prompt is the first of them. */
export function chatFrame(o: FrameParts): Frame {
  const { request, server, without } = o;
  const fields: Record<string, unknown> = { model: o.model, stream: true };
  if (!without.has('stream_options')) fields.stream_options = { include_usage: true };
  if (request.maxOutputTokens !== undefined && !without.has('max_tokens')) fields[server.vendor !== without.has('other_max_tokens') ? 'max_completion_tokens' : 'max_tokens'] = request.maxOutputTokens;
  const effort = effortOf(o);
  if (effort !== undefined && !without.has('effort') && (request.effort !== undefined || request.thinking === false || server.vendor)) fields.reasoning_effort = effort;
  if (server.vendor && !without.has('prompt_cache_key')) fields.prompt_cache_key = request.sessionId.slice(0, 64);
  const choice = request.toolChoice;
  const offered = request.tools.length > 0;
  if (offered && choice !== undefined && choice !== 'auto' && !without.has('tool_choice')) fields.tool_choice = typeof choice === 'object' ? { type: 'function', function: { name: wireName(choice.name) } } : choice === 'any' ? 'required' : choice;
  Object.assign(fields, server.body);
  const system = request.system.map((b) => b.text).filter((t) => t !== '').join('\n\n');
  const json = wireJson(fields);
  return {
    head: `${json.slice(0, -1)}${offered ? `,"tools":${o.tools(toolsJson)}` : ''},"messages":[`,
    first: system === '' ? '' : wireJson({ role: 'system', content: system }), tail: ']}', fields: new Set(Object.keys(fields)),
  };
}
