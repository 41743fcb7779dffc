/** What Anthropic's Messages API refuses, in its words: the law that the strict mock keeps. */
import { createHash } from 'node:crypto';

type Json = Record<string, unknown>;
export interface Broken { readonly status: number; readonly type: string; readonly message: string }

/** The mock signs the thoughts that it hands out, so that it knows them again, byte for byte. */
export const signatureOf = (thinking: string): string => createHash('sha256').update(`thought:${thinking}`).digest('base64');

const TOP = ['model', 'messages', 'max_tokens', 'system', 'tools', 'tool_choice', 'thinking', 'output_config', 'metadata', 'stream', 'stop_sequences', 'temperature', 'top_p', 'top_k', 'service_tier', 'cache_control'];
const COUNTED = ['model', 'messages', 'system', 'tools', 'tool_choice', 'thinking', 'output_config', 'cache_control'];
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const BINDING_BETA = 'thinking-binding-controls-2026-08-01';
const FIELDS: Record<string, readonly string[]> = {
  text: ['text', 'citations'], image: ['source'], document: ['source', 'title', 'context', 'citations'], thinking: ['thinking', 'signature'], redacted_thinking: ['data'],
  tool_use: ['id', 'name', 'input', 'caller'], tool_result: ['tool_use_id', 'content', 'is_error'], server_tool_use: ['id', 'name', 'input', 'caller'], web_search_tool_result: ['tool_use_id', 'content', 'caller'],
};
const ROLES: Record<string, readonly string[]> = {
  user: ['text', 'image', 'document', 'tool_result'],
  assistant: ['text', 'thinking', 'redacted_thinking', 'tool_use', 'server_tool_use', 'web_search_tool_result'],
};
/** Models that think as they see fit and take no budget; of these, those that cannot do otherwise; those that bind their thoughts to what stands before them. */
const ADAPTIVE_ONLY = /^claude-(?:opus-(?:4-[78]|5)|sonnet-5|haiku-5|fable|mythos)/;
const ALWAYS = /^claude-(?:opus-5-5|fable|mythos)/;
/** It thinks between its calls at least. */
const BETWEEN_TOOLS = /^claude-sonnet-5-5/;
const MANUAL_ONLY = /^claude-(?:3|opus-4-(?:[015]|2025)|sonnet-4-(?:[05]|2025)|haiku-4)/;
const NO_FORCE = /^claude-(?:opus-5-5|sonnet-5-5|fable-5-1|mythos-5-1)/;

class Breach extends Error {}
const breach = (message: string): never => { throw new Breach(message); };
const isObject = (v: unknown): v is Json => typeof v === 'object' && v !== null && !Array.isArray(v);

export function brokenLaw(raw: string, headers: Readonly<Record<string, string | string[] | undefined>>, o: { readonly counting?: boolean } = {}): Broken | null {
  if (headers['x-api-key'] === undefined && !String(headers.authorization ?? '').startsWith('Bearer ')) return { status: 401, type: 'authentication_error', message: 'x-api-key header is required' };
  try {
    if (headers['anthropic-version'] === undefined) breach('anthropic-version: header is required');
    if (!String(headers['content-type']).startsWith('application/json')) breach('content-type: must be application/json');
    if (/\\ud[89a-f][0-9a-f]{2}/i.test(raw.replace(/\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}/gi, '').replace(/\\\\/g, ''))) breach('The request body is not valid JSON: no low surrogate in string');
    let body: unknown;
    try { body = JSON.parse(raw); } catch (e) { breach(`The request body is not valid JSON: ${(e as Error).message}`); }
    if (!isObject(body)) return { status: 400, type: 'invalid_request_error', message: 'Input should be a valid dictionary' };
    checkBody(body, String(headers['anthropic-beta'] ?? ''), o.counting === true);
    return null;
  } catch (e) {
    if (!(e instanceof Breach)) throw e;
    return { status: 400, type: 'invalid_request_error', message: e.message };
  }
}

function checkBody(body: Json, betas: string, counting: boolean): void {
  for (const key of Object.keys(body)) if (!(counting ? COUNTED : TOP).includes(key)) breach(`${key}: Extra inputs are not permitted`);
  if (typeof body.model !== 'string' || body.model === '') breach('model: Field required');
  if (!counting && !(Number.isInteger(body.max_tokens) && (body.max_tokens as number) > 0)) breach('max_tokens: Field required');
  checkSystem(body.system);
  checkTools(body.tools, body.tool_choice);
  checkThinking(body, betas);
  const { messages } = body;
  if (!Array.isArray(messages) || messages.length === 0) return breach('messages: at least one message is required');
  messages.forEach((m, i) => checkMessage(m, `messages.${i}`));
  const list = messages as { role: string; content: string | Json[] }[];
  if (list[0]!.role !== 'user') breach('messages: first message must use the "user" role');
  checkPairs(list);
  checkOrder(list, body);
  const marks = countMarks(body);
  if (marks > 4) breach(`A maximum of 4 blocks with cache_control may be provided. Found ${marks}.`);
}

function checkSystem(system: unknown): void {
  if (system === undefined || (typeof system === 'string' && system.trim() !== '')) return;
  if (!Array.isArray(system)) return breach('system: Input should be a valid list');
  system.forEach((b, i) => {
    if (!isObject(b) || b.type !== 'text' || typeof b.text !== 'string') breach(`system.${i}: Input should be a text block`);
    if ((b as { text: string }).text.trim() === '') breach(`system: text content blocks must contain non-whitespace text`);
    checkMark(b as Json, `system.${i}`);
  });
}

function checkTools(tools: unknown, choice: unknown): void {
  const names = new Set<unknown>();
  if (tools !== undefined && !Array.isArray(tools)) breach('tools: Input should be a valid list');
  ((tools ?? []) as unknown[]).forEach((t, i) => {
    if (!isObject(t)) return breach(`tools.${i}: Input should be a valid dictionary`);
    for (const key of Object.keys(t)) if (!['name', 'description', 'input_schema', 'cache_control', 'type', 'strict'].includes(key)) breach(`tools.${i}.custom.${key}: Extra inputs are not permitted`);
    if (typeof t.name !== 'string' || !TOOL_NAME.test(t.name)) breach(`tools.${i}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`);
    if (!isObject(t.input_schema) || t.input_schema.type !== 'object') breach(`tools.${i}.custom.input_schema.type: Input should be 'object'`);
    if (names.has(t.name)) breach('tools: Tool names must be unique.');
    names.add(t.name);
    checkMark(t, `tools.${i}`);
  });
  if (choice === undefined) return;
  if (!isObject(choice) || !['auto', 'any', 'tool', 'none'].includes(String(choice.type))) return breach('tool_choice: Input tag is not one of the expected tags');
  if (names.size === 0) breach('tool_choice: may only be specified while providing tools');
  if (choice.type === 'tool' && !names.has(choice.name)) breach(`Tool '${String(choice.name)}' not found in provided tools`);
}

function checkThinking(body: Json, betas: string): void {
  const { thinking, output_config: output, tool_choice: choice } = body;
  const model = String(body.model);
  const forced = isObject(choice) && (choice.type === 'any' || choice.type === 'tool');
  if (output !== undefined && (!isObject(output) || !['low', 'medium', 'high', 'xhigh', 'max'].includes(String(output.effort)))) breach('output_config.effort: Input should be low, medium, high, xhigh or max');
  if (output !== undefined && MANUAL_ONLY.test(model) && !model.startsWith('claude-opus-4-5')) breach('This model does not support the effort parameter.');
  if (forced && NO_FORCE.test(model)) breach('tool_choice: forced tool use is not supported on this model');
  if (thinking === undefined) return;
  if (!isObject(thinking)) return breach('thinking: Input should be a valid dictionary');
  const type = String(thinking.type);
  for (const key of Object.keys(thinking)) if (!['type', 'budget_tokens', 'display', 'block_binding'].includes(key)) breach(`thinking.${key}: Extra inputs are not permitted`);
  if (thinking.block_binding !== undefined && !betas.includes(BINDING_BETA)) breach('thinking.block_binding: Extra inputs are not permitted');
  if (thinking.display !== undefined && !['summarized', 'omitted'].includes(String(thinking.display))) breach("thinking.display: Input should be 'summarized' or 'omitted'");
  if (type === 'enabled') {
    if (ADAPTIVE_ONLY.test(model)) breach('"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.');
    if (!(Number(thinking.budget_tokens) >= 1024)) breach('thinking.enabled.budget_tokens: Input should be greater than or equal to 1024');
    if (body.max_tokens !== undefined && Number(thinking.budget_tokens) >= Number(body.max_tokens)) breach('`max_tokens` must be greater than `thinking.budget_tokens`.');
  } else if (type === 'adaptive') {
    if (MANUAL_ONLY.test(model)) breach('adaptive thinking is not supported on this model');
  } else if (type === 'disabled' || type === 'between_tools') {
    if (ALWAYS.test(model)) breach(`"thinking.type.${type}" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`);
    if (type === 'disabled' && BETWEEN_TOOLS.test(model)) breach('"thinking.type.disabled" is not supported for this model. Use "thinking.type.between_tools" instead.');
    if (type === 'between_tools' && !BETWEEN_TOOLS.test(model)) breach("thinking: Input tag 'between_tools' is not supported for this model");
    if (Object.keys(thinking).length > 1) breach(`thinking.${type}: Extra inputs are not permitted`);
    if (isObject(output) && ['xhigh', 'max'].includes(String(output.effort)) && /^claude-(?:opus|sonnet|haiku)-5/.test(model)) breach(`"thinking.type.${type}" is not supported at effort ${String(output.effort)}`);
  } else breach(`thinking: Input tag '${type}' found using 'type' does not match any of the expected tags`);
  if (forced && type === 'enabled') breach('Thinking may not be enabled when tool_choice forces tool use.');
}

function checkMessage(m: unknown, at: string): void {
  if (!isObject(m)) return breach(`${at}: Input should be a valid dictionary`);
  for (const key of Object.keys(m)) if (key !== 'role' && key !== 'content') breach(`${at}.${key}: Extra inputs are not permitted`);
  if (m.role !== 'user' && m.role !== 'assistant') breach(`${at}.role: Input should be 'user' or 'assistant'`);
  if (typeof m.content === 'string') return m.content.trim() === '' ? breach(`${at}: user messages must have non-empty content`) : undefined;
  if (!Array.isArray(m.content) || m.content.length === 0) return breach(`${at}: all messages must have non-empty content except for the optional final assistant message`);
  m.content.forEach((b, i) => checkBlock(b, String(m.role), `${at}.content.${i}`));
  if (m.role === 'assistant' && ['thinking', 'redacted_thinking'].includes(String((m.content as Json[]).at(-1)?.type))) breach(`${at}: The final block in an assistant message cannot be \`thinking\`.`);
}

function checkBlock(b: unknown, role: string, at: string): void {
  if (!isObject(b)) return breach(`${at}: Input should be a valid dictionary`);
  const type = String(b.type);
  if (FIELDS[type] === undefined || !ROLES[role]!.includes(type)) return breach(`${at}: Input tag '${type}' found using 'type' does not match any of the expected tags for role ${role}`);
  for (const key of Object.keys(b)) if (key !== 'type' && key !== 'cache_control' && !FIELDS[type].includes(key)) breach(`${at}.${type}.${key}: Extra inputs are not permitted`);
  checkMark(b, at);
  if (type === 'text') {
    if (typeof b.text !== 'string') breach(`${at}.text.text: Input should be a valid string`);
    if ((b.text as string).trim() === '') breach('messages: text content blocks must contain non-whitespace text');
  }
  if ((type === 'image' || type === 'document') && !isObject(b.source)) breach(`${at}.${type}.source: Field required`);
  if (type === 'thinking') {
    if (b.cache_control !== undefined) breach(`${at}.thinking.cache_control: Extra inputs are not permitted`);
    if (typeof b.signature !== 'string') breach(`${at}.thinking.signature: Field required`);
    if (b.signature !== signatureOf(String(b.thinking))) breach(`${at}: Invalid \`signature\` in \`thinking\` block`);
  }
  if (type === 'redacted_thinking' && typeof b.data !== 'string') breach(`${at}.redacted_thinking.data: Field required`);
  if (type === 'tool_use') {
    if (typeof b.id !== 'string' || !/^[a-zA-Z0-9_-]+$/.test(b.id)) breach(`${at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`);
    if (typeof b.name !== 'string' || !/^[a-zA-Z0-9_-]{1,200}$/.test(b.name)) breach(`${at}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`);
    if (!isObject(b.input)) breach(`${at}.tool_use.input: Input should be a valid dictionary`);
  }
  if (type === 'tool_result') checkResult(b, at);
}

function checkResult(b: Json, at: string): void {
  if (typeof b.tool_use_id !== 'string' || !/^[a-zA-Z0-9_-]+$/.test(b.tool_use_id)) breach(`${at}.tool_result.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'`);
  if (b.is_error !== undefined && typeof b.is_error !== 'boolean') breach(`${at}.tool_result.is_error: Input should be a valid boolean`);
  const { content } = b;
  if (content !== undefined && typeof content !== 'string' && !Array.isArray(content)) breach(`${at}.tool_result.content: Input should be a valid list`);
  const parts = Array.isArray(content) ? content as Json[] : [];
  parts.forEach((p, i) => {
    if (!['text', 'image', 'document'].includes(String(p.type))) breach(`${at}.tool_result.content.${i}: Input tag '${String(p.type)}' does not match any of the expected tags`);
    checkBlock(p, 'user', `${at}.tool_result.content.${i}`);
    if (b.is_error === true && p.type !== 'text') breach(`${at}.tool_result: all content must be type "text" if "is_error" is true`);
  });
  if (b.is_error === true && (content === undefined || content === '' || (Array.isArray(content) && content.length === 0))) breach(`${at}.tool_result: content cannot be empty if \`is_error\` is true`);
}

function checkMark(b: Json, at: string): void {
  const mark = b.cache_control;
  if (mark === undefined || mark === null) return;
  if (!isObject(mark) || mark.type !== 'ephemeral' || (mark.ttl !== undefined && mark.ttl !== '5m' && mark.ttl !== '1h')) return breach(`${at}.cache_control: Input should be a cache control`);
  for (const key of Object.keys(mark)) if (key !== 'type' && key !== 'ttl') breach(`${at}.cache_control.${key}: Extra inputs are not permitted`);
}
const countMarks = (v: unknown): number => (Array.isArray(v) ? v.reduce((n: number, x) => n + countMarks(x), 0) : isObject(v) ? (isObject(v.cache_control) ? 1 : 0) + Object.entries(v).reduce((n, [k, x]) => n + (k === 'cache_control' || k === 'input' || k === 'input_schema' ? 0 : countMarks(x)), 0) : 0);

function checkPairs(messages: readonly { role: string; content: string | Json[] }[]): void {
  const all = new Set<unknown>();
  let open: unknown[] = [];
  messages.forEach((m, i) => {
    const blocks = typeof m.content === 'string' ? [{ type: 'text' } as Json] : m.content;
    const answered = blocks.filter((b) => b.type === 'tool_result').map((b) => b.tool_use_id);
    const missing = open.filter((id) => !answered.includes(id));
    if (missing.length > 0) breach(`messages.${i}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`);
    const stray = answered.find((id) => !open.includes(id));
    if (stray !== undefined) breach(`messages.${i}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${String(stray)}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`);
    if (new Set(answered).size < answered.length) breach(`messages.${i}: each tool_use must have a single result`);
    if (open.length > 0 && blocks.slice(0, answered.length).some((b) => b.type !== 'tool_result')) breach(`messages.${i}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: the results must come first`);
    open = m.role === 'assistant' ? blocks.filter((b) => b.type === 'tool_use').map((b) => b.id) : [];
    for (const id of open) { if (all.has(id)) breach('messages: `tool_use` ids must be unique'); all.add(id); }
    const next = messages[i + 1];
    if (open.length > 0 && next !== undefined && next.role === 'assistant') breach(`messages.${i + 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(', ')}`);
  });
  if (open.length > 0) breach(`messages.${messages.length}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(', ')}`);
}

/** With a budget, the message whose calls are being answered must begin with its thoughts; a newer model's answer cannot be begun for it. */
function checkOrder(messages: readonly { role: string; content: string | Json[] }[], body: Json): void {
  const last = messages.at(-1)!;
  const enabled = isObject(body.thinking) && body.thinking.type === 'enabled';
  const before = messages.at(-2);
  if (enabled && Array.isArray(last.content) && last.content.some((b) => b.type === 'tool_result') && before !== undefined && Array.isArray(before.content)) {
    const first = String(before.content[0]?.type);
    if (first !== 'thinking' && first !== 'redacted_thinking') breach(`messages.${messages.length - 2}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block`);
  }
  if (last.role === 'assistant' && (typeof last.content === 'string' || last.content.at(-1)?.type === 'text') && ADAPTIVE_ONLY.test(String(body.model))) breach('This model does not support assistant message prefill. The conversation must end with a user message.');
}
