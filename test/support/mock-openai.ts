/** OpenAI's two wires on loopback, as strict as the vendor: what the API would refuse is refused here. */
import { PEER_ERROR } from '../contracts/model-provider.ts';
import type { PeerRefusal, PeerStep } from '../contracts/model-provider.ts';
import { frame, mockServer } from './mock-server.ts';
import type { MockServer, Reply, Seen } from './mock-server.ts';

/** `asked`: the requests for answers. */
export interface OpenaiMock extends MockServer { asked(): readonly Seen[] }
export interface OpenaiRules {
  /** Requests without this key are refused. */
  readonly key?: string;
  /** Fields of other servers that this one takes as well. */
  readonly allow?: readonly string[];
  readonly noReasoning?: boolean;
}

export async function mockOpenai(script: readonly Reply[] | ((seen: Seen, n: number) => Reply), rules: OpenaiRules = {}): Promise<OpenaiMock> {
  let n = 0;
  const server = await mockServer((seen) => {
    if (rules.key !== undefined && seen.headers.authorization !== `Bearer ${rules.key}` && seen.headers['api-key'] !== rules.key) {
      return refuse(401, 'Incorrect API key provided. You can find your API key at https://platform.openai.com/account/api-keys.', { code: 'invalid_api_key' });
    }
    if (seen.method === 'GET' && seen.path.endsWith('/models')) return { json: { object: 'list', data: [{ id: 'local-model', object: 'model', max_model_len: 16_000 }, { id: 'other' }] } };
    const problem = seen.path.endsWith('/responses') ? checkResponses(seen.body, rules, RESPONSE_FIELDS) : seen.path.endsWith('/chat/completions') ? checkChat(seen.body, rules)
      : seen.path.endsWith('/responses/input_tokens') ? checkResponses(seen.body, rules, COUNT_FIELDS) : { status: 404, message: `Invalid URL (POST ${seen.path})` };
    if (problem !== null) return refuse(problem.status ?? 400, problem.message, problem);
    if (seen.path.endsWith('/input_tokens')) return { json: { object: 'response.input_tokens', input_tokens: 1234 } };
    return typeof script === 'function' ? script(seen, n++) : script[Math.min(n++, script.length - 1)] ?? refuse(500, 'the script is empty');
  });
  return { ...server, asked: () => server.seen.filter((s) => /\/(?:responses|chat\/completions)$/.test(s.path)) };
}

interface Problem { readonly status?: number; readonly message: string; readonly param?: string; readonly code?: string }
export const refuse = (status: number, message: string, more: { readonly param?: string | undefined; readonly code?: string | undefined; readonly type?: string; readonly headers?: Readonly<Record<string, string>> } = {}): Reply =>
  ({ status, headers: { 'x-request-id': 'req_mock', ...more.headers }, json: { error: { message, type: more.type ?? 'invalid_request_error', param: more.param ?? null, code: more.code ?? null } } });

const RESPONSE_FIELDS = ['model', 'input', 'instructions', 'stream', 'store', 'prompt_cache_key', 'max_output_tokens', 'reasoning', 'include', 'tool_choice', 'tools', 'parallel_tool_calls', 'metadata', 'temperature', 'top_p', 'text', 'truncation', 'service_tier'];
const COUNT_FIELDS = ['model', 'input', 'instructions', 'reasoning', 'tool_choice', 'tools', 'parallel_tool_calls', 'text', 'truncation', 'conversation', 'previous_response_id'];
const CHAT_FIELDS = ['model', 'messages', 'stream', 'stream_options', 'max_completion_tokens', 'max_tokens', 'reasoning_effort', 'prompt_cache_key', 'tools', 'tool_choice', 'parallel_tool_calls', 'temperature', 'top_p', 'stop', 'service_tier', 'store', 'metadata'];
const unknownIn = (o: object, known: readonly string[], where = ''): Problem | null => {
  const key = Object.keys(o).find((k) => !known.includes(k));
  return key === undefined ? null : { message: `Unknown parameter: '${where}${key}'.`, param: `${where}${key}`, code: 'unknown_parameter' };
};
const missing = (param: string): Problem => ({ message: `Missing required parameter: '${param}'.`, param, code: 'missing_required_parameter' });
const invalid = (param: string, message: string): Problem => ({ message, param, code: 'invalid_value' });
const first = (problems: Iterable<Problem | null>): Problem | null => {
  for (const p of problems) if (p !== null) return p;
  return null;
};

function* toolProblems(tools: any[], of: (t: any) => any): Generator<Problem | null> {
  const names = new Set<string>();
  for (const [i, tool] of tools.entries()) {
    if (tool.type !== 'function') yield invalid(`tools[${i}].type`, `Invalid value: '${tool.type}'.`);
    const fn = of(tool);
    if (fn === undefined || typeof fn.name !== 'string') yield missing(`tools[${i}].name`);
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(fn.name)) yield invalid(`tools[${i}].name`, `Invalid 'tools[${i}].name': string does not match pattern or is longer than 64.`);
    if (names.has(fn.name)) yield invalid(`tools[${i}].name`, `Tool names must be unique: ${fn.name}`);
    names.add(fn.name);
    const p = fn.parameters;
    if (p?.type !== 'object' || p.properties === undefined) yield invalid(`tools[${i}].parameters`, `Invalid schema for function '${fn.name}': In context=(), object schema missing properties.`);
    if (['anyOf', 'oneOf', 'allOf', 'not', 'enum'].some((k) => k in p)) yield invalid(`tools[${i}].parameters`, `Invalid schema for function '${fn.name}': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.`);
  }
}

function checkResponses(b: any, rules: OpenaiRules, fields: readonly string[]): Problem | null {
  return first((function* (): Generator<Problem | null> {
    yield unknownIn(b, [...fields, ...rules.allow ?? []]);
    if (typeof b.model !== 'string' || b.model === '') yield missing('model');
    if (!Array.isArray(b.input) || b.input.length === 0) yield missing('input');
    if (b.max_output_tokens !== undefined && !(b.max_output_tokens >= 16)) yield invalid('max_output_tokens', "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16.");
    if (b.include !== undefined && rules.noReasoning === true) yield { message: 'Encrypted content is not supported with this model.', param: 'include', code: 'unsupported_value' };
    if (b.reasoning !== undefined) {
      yield unknownIn(b.reasoning, ['effort', 'summary', 'context', 'mode'], 'reasoning.');
      if (rules.noReasoning === true) yield { message: "Unsupported parameter: 'reasoning.effort' is not supported with this model.", param: 'reasoning.effort', code: 'unsupported_parameter' };
      if (b.reasoning.effort !== undefined && !['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'].includes(b.reasoning.effort)) yield { message: `Invalid value: '${b.reasoning.effort}' for reasoning.effort.`, param: 'reasoning.effort', code: 'unsupported_value' };
    }
    yield* toolProblems(b.tools ?? [], (t) => t);
    for (const [i, t] of (b.tools ?? []).entries()) yield unknownIn(t, ['type', 'name', 'description', 'parameters', 'strict'], `tools[${i}].`);
    if (b.tool_choice !== undefined && typeof b.tool_choice === 'string' && !['none', 'auto', 'required'].includes(b.tool_choice)) yield invalid('tool_choice', 'Invalid tool_choice');
    if (typeof b.tool_choice === 'object' && !(b.tools ?? []).some((t: any) => t.name === b.tool_choice.name)) yield invalid('tool_choice', `Tool choice '${b.tool_choice.name}' not found in 'tools' parameter.`);
    const calls = new Map<string, boolean>();
    for (const [i, item] of (b.input as any[]).entries()) {
      const at = `input[${i}]`;
      const next = b.input[i + 1];
      switch (item.type ?? 'message') {
        case 'message': {
          yield unknownIn(item, ['type', 'role', 'content', 'phase', 'id', 'status'], `${at}.`);
          if (!['user', 'assistant', 'system', 'developer'].includes(item.role)) yield invalid(`${at}.role`, `Invalid value: '${item.role}'.`);
          if (typeof item.content !== 'string' && (!Array.isArray(item.content) || item.content.length === 0)) yield missing(`${at}.content`);
          const parts = item.role === 'assistant' ? { output_text: ['type', 'text', 'annotations'], refusal: ['type', 'refusal'] } : { input_text: ['type', 'text'], input_image: ['type', 'image_url', 'detail', 'file_id'], input_file: ['type', 'filename', 'file_data', 'file_url', 'file_id', 'detail'] };
          for (const [k, part] of (Array.isArray(item.content) ? item.content : []).entries()) {
            const known = (parts as Record<string, string[]>)[part.type];
            if (known === undefined) yield invalid(`${at}.content[${k}]`, `Invalid value: '${part.type}'. Supported values are: ${Object.keys(parts).join(', ')}.`);
            else yield unknownIn(part, known, `${at}.content[${k}].`);
          }
          break;
        }
        case 'function_call':
          yield unknownIn(item, ['type', 'call_id', 'name', 'arguments', 'id', 'status'], `${at}.`);
          for (const k of ['call_id', 'name', 'arguments']) if (typeof item[k] !== 'string') yield missing(`${at}.${k}`);
          if (item.call_id.length > 64) yield invalid(`${at}.call_id`, `Invalid '${at}.call_id': string too long. Expected a string with maximum length 64.`);
          if (!/^[a-zA-Z0-9_-]{1,64}$/.test(item.name)) yield invalid(`${at}.name`, `Invalid '${at}.name'.`);
          if (calls.has(item.call_id)) yield invalid(`${at}.call_id`, `Duplicate call_id ${item.call_id}.`);
          calls.set(item.call_id, false);
          break;
        case 'function_call_output':
          yield unknownIn(item, ['type', 'call_id', 'output', 'id', 'status'], `${at}.`);
          if (!calls.has(item.call_id)) yield invalid('input', `No tool call found for function call output with call_id ${item.call_id}.`);
          if (calls.get(item.call_id) === true) yield invalid('input', `Duplicate output for ${item.call_id}.`);
          if (typeof item.output !== 'string' && !Array.isArray(item.output)) yield missing(`${at}.output`);
          calls.set(item.call_id, true);
          break;
        case 'reasoning':
          yield unknownIn(item, ['type', 'id', 'summary', 'encrypted_content', 'content', 'status'], `${at}.`);
          if (!Array.isArray(item.summary)) yield missing(`${at}.summary`);
          if (b.store === false && typeof item.encrypted_content !== 'string') yield { status: 404, message: `Item with id '${item.id}' not found. Items are not persisted when \`store\` is set to false.`, param: 'input' };
          if (next === undefined || !(next.type === 'function_call' || next.type === 'reasoning' || (next.type === 'message' && next.role === 'assistant'))) yield invalid('input', `Item '${item.id}' of type 'reasoning' was provided without its required following item.`);
          break;
        default: if (!/_call$/.test(item.type)) yield invalid(`${at}.type`, `Invalid value: '${item.type}'.`);
      }
    }
    for (const [id, answered] of calls) if (!answered) yield invalid('input', `No tool output found for function call ${id}.`);
  })());
}

function checkChat(b: any, rules: OpenaiRules): Problem | null {
  return first((function* (): Generator<Problem | null> {
    const allow = rules.allow ?? [];
    yield unknownIn(b, [...CHAT_FIELDS, ...allow]);
    if (typeof b.model !== 'string') yield missing('model');
    if (!Array.isArray(b.messages) || b.messages.length === 0) yield missing('messages');
    if (b.stream_options !== undefined && b.stream !== true) yield invalid('stream_options', "The 'stream_options' parameter is only allowed when 'stream' is enabled.");
    yield* toolProblems(b.tools ?? [], (t) => t.function);
    if (b.tool_choice !== undefined && b.tools === undefined) yield invalid('tool_choice', "'tool_choice' is only allowed when 'tools' are specified.");
    let open = new Set<string>();
    for (const [i, m] of (b.messages as any[]).entries()) {
      const at = `messages[${i}]`;
      if (m.role !== 'tool' && open.size > 0) yield invalid(at, `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open].join(', ')}`);
      switch (m.role) {
        case 'system':
        case 'developer':
        case 'user': {
          yield unknownIn(m, ['role', 'content', 'name'], `${at}.`);
          if (typeof m.content !== 'string' && !Array.isArray(m.content)) yield missing(`${at}.content`);
          for (const [k, part] of (Array.isArray(m.content) ? m.content : []).entries()) {
            const known = ({ text: ['type', 'text'], image_url: ['type', 'image_url'], file: ['type', 'file'] } as Record<string, string[]>)[part.type];
            if (known === undefined) yield invalid(`${at}.content[${k}]`, `Invalid value: '${part.type}'.`);
            else yield unknownIn(part, known, `${at}.content[${k}].`);
          }
          break;
        }
        case 'assistant':
          yield unknownIn(m, ['role', 'content', 'tool_calls', 'name', 'refusal', ...allow], `${at}.`);
          if ((m.content === null || m.content === undefined || m.content === '') && m.tool_calls === undefined) yield invalid(`${at}.content`, `Invalid value for 'content': expected a string, got null.`);
          if (m.tool_calls !== undefined && m.tool_calls.length === 0) yield invalid(`${at}.tool_calls`, "[] is too short - 'messages.tool_calls'");
          for (const [k, c] of (m.tool_calls ?? []).entries()) {
            yield unknownIn(c, ['id', 'type', 'function', ...allow], `${at}.tool_calls[${k}].`);
            if (typeof c.id !== 'string' || c.id === '' || c.id.length > 64) yield invalid(`${at}.tool_calls[${k}].id`, 'Invalid tool call id.');
            if (c.type !== 'function') yield invalid(`${at}.tool_calls[${k}].type`, 'Invalid type.');
            if (open.has(c.id)) yield invalid(`${at}.tool_calls[${k}].id`, `Duplicate tool call id ${c.id}.`);
            try { JSON.parse(c.function.arguments); } catch { yield invalid(`${at}.tool_calls[${k}].function.arguments`, 'The arguments are not valid JSON.'); }
            open.add(c.id);
          }
          break;
        case 'tool':
          yield unknownIn(m, ['role', 'content', 'tool_call_id'], `${at}.`);
          if (typeof m.content !== 'string') yield invalid(`${at}.content`, `Invalid value for 'content': expected a string.`);
          if (!open.delete(m.tool_call_id)) yield invalid(`${at}.role`, "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.");
          break;
        default: yield invalid(`${at}.role`, `Invalid value: '${m.role}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.`);
      }
    }
    if (open.size > 0) yield invalid('messages', `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. (${[...open].join(', ')})`);
    open = new Set();
  })());
}

// ---- answers ---------------------------------------------------------------------------------------------------------------

export interface Call { readonly id?: string | null; readonly name: string; /** As it stands on the wire. */ readonly args: unknown }
export interface ResponsesAnswer {
  readonly id?: string;
  readonly reasoning?: readonly { readonly id: string; readonly summary?: readonly string[]; readonly encrypted?: string }[];
  readonly text?: readonly string[];
  readonly phase?: string;
  readonly refusal?: string;
  readonly calls?: readonly Call[];
  readonly incomplete?: 'max_output_tokens' | 'content_filter';
  readonly usage?: object | null;
}
const RESPONSES_USAGE = { input_tokens: 100, input_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 }, output_tokens: 20, output_tokens_details: { reasoning_tokens: 5 }, total_tokens: 120 };

/** The events of a whole answer, in the vendor's order. */
export function responsesFrames(a: ResponsesAnswer): string[] {
  const events: string[] = [];
  let number = 0;
  const say = (type: string, more: object): void => { events.push(frame({ type, sequence_number: number++, ...more }, type)); };
  const response = (status: string, output: readonly object[], more: object = {}): object => ({ id: a.id ?? 'resp_1', object: 'response', created_at: 1_700_000_000, status, model: 'gpt-mock', output, ...more });
  const output: object[] = [];
  say('response.created', { response: response('in_progress', []) });
  say('response.in_progress', { response: response('in_progress', []) });
  const item = (start: object, whole: object, between: (output_index: number) => void): void => {
    const output_index = output.length;
    say('response.output_item.added', { output_index, item: start });
    between(output_index);
    say('response.output_item.done', { output_index, item: whole });
    output.push(whole);
  };
  for (const r of a.reasoning ?? []) {
    const base = { id: r.id, type: 'reasoning' };
    item({ ...base, summary: [] }, { ...base, summary: (r.summary ?? []).map((text) => ({ type: 'summary_text', text })), ...(r.encrypted === undefined ? {} : { encrypted_content: r.encrypted }) }, (output_index) => {
      (r.summary ?? []).forEach((text, summary_index) => {
        say('response.reasoning_summary_part.added', { item_id: r.id, output_index, summary_index, part: { type: 'summary_text', text: '' } });
        for (const delta of text.match(/.{1,7}/gsu) ?? []) say('response.reasoning_summary_text.delta', { item_id: r.id, output_index, summary_index, delta });
        say('response.reasoning_summary_text.done', { item_id: r.id, output_index, summary_index, text });
      });
    });
  }
  if (a.text !== undefined || a.refusal !== undefined) {
    const base = { id: 'msg_1', type: 'message', role: 'assistant', ...(a.phase === undefined ? {} : { phase: a.phase }) };
    const text = (a.text ?? []).join('');
    const part = a.refusal === undefined ? { type: 'output_text', text, annotations: [] } : { type: 'refusal', refusal: a.refusal };
    item({ ...base, status: 'in_progress', content: [] }, { ...base, status: 'completed', content: [part] }, (output_index) => {
      const at = { item_id: 'msg_1', output_index, content_index: 0 };
      say('response.content_part.added', { ...at, part: { type: 'output_text', text: '', annotations: [] } });
      for (const delta of a.text ?? []) say('response.output_text.delta', { ...at, delta });
      if (a.refusal === undefined) say('response.output_text.done', { ...at, text });
      else say('response.refusal.delta', { ...at, delta: a.refusal });
      say('response.content_part.done', { ...at, part });
    });
  }
  (a.calls ?? []).forEach((c, i) => {
    const args = typeof c.args === 'string' ? c.args : JSON.stringify(c.args);
    const base = { id: `fc_${i}`, type: 'function_call', ...(c.id === undefined ? {} : { call_id: c.id }), name: c.name };
    item({ ...base, status: 'in_progress', arguments: '' }, { ...base, status: a.incomplete === undefined ? 'completed' : 'incomplete', arguments: args }, (output_index) => {
      for (const delta of args.match(/.{1,5}/gsu) ?? []) say('response.function_call_arguments.delta', { item_id: `fc_${i}`, output_index, delta });
      say('response.function_call_arguments.done', { item_id: `fc_${i}`, output_index, arguments: args });
    });
  });
  const usage = a.usage === undefined ? RESPONSES_USAGE : a.usage;
  if (a.incomplete === undefined) say('response.completed', { response: response('completed', output, { usage }) });
  else say('response.incomplete', { response: response('incomplete', output, { usage, incomplete_details: { reason: a.incomplete } }) });
  return events;
}

export interface ChatAnswer {
  readonly id?: string;
  readonly reasoning?: readonly string[];
  readonly reasoningField?: 'reasoning' | 'reasoning_content';
  readonly text?: readonly string[];
  readonly calls?: readonly Call[];
  readonly finish?: string | null;
  readonly usage?: object | null;
  /** Left out: sent. */
  readonly done?: boolean;
}
export const CHAT_USAGE = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120, prompt_tokens_details: { cached_tokens: 60 } };
export const chatChunk = (delta: object, finish_reason: string | null = null, more: object = {}): string =>
  frame({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'mock', choices: [{ index: 0, delta, finish_reason }], ...more });

/** The chunks of a whole answer, as the vendor cuts them. */
export function chatFrames(a: ChatAnswer): string[] {
  const events = [chatChunk({ role: 'assistant', content: a.calls === undefined ? '' : null })];
  for (const r of a.reasoning ?? []) events.push(chatChunk({ [a.reasoningField ?? 'reasoning_content']: r }));
  for (const content of a.text ?? []) events.push(chatChunk({ content }));
  (a.calls ?? []).forEach((c, index) => {
    events.push(chatChunk({ tool_calls: [{ index, ...(c.id === undefined ? {} : { id: c.id }), type: 'function', function: { name: c.name, arguments: '' } }] }));
    const args = typeof c.args === 'string' ? c.args.match(/.{1,5}/gsu) ?? [] : [c.args];
    for (const piece of args) events.push(chatChunk({ tool_calls: [{ index, function: { arguments: piece } }] }));
  });
  const finish = a.finish === undefined ? (a.calls === undefined ? 'stop' : 'tool_calls') : a.finish;
  if (finish !== null) events.push(chatChunk({}, finish));
  const usage = a.usage === undefined ? CHAT_USAGE : a.usage;
  if (usage !== null) events.push(frame({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'mock', choices: [], usage }));
  if (a.done !== false) events.push(frame('[DONE]'));
  return events;
}

// ---- the steps of the contract suite ---------------------------------------------------------------------------------------

const REFUSALS: Record<PeerRefusal, Parameters<typeof refuse>> = {
  rate_limit: [429, 'Rate limit reached for gpt-mock on requests per min (RPM): Limit 3, Used 3, Requested 1.', { code: 'rate_limit_exceeded', type: 'requests' }],
  overloaded: [503, 'That model is currently overloaded with other requests.', { type: 'server_error' }],
  context_too_long: [400, "This model's maximum context length is 128000 tokens. However, your messages resulted in 130172 tokens. Please reduce the length of the messages.", { code: 'context_length_exceeded', param: 'messages' }],
  invalid_request: [400, "Invalid 'input[0].content[0].image_url': the image is broken.", { code: 'invalid_image', param: 'input[0].content[0].image_url' }],
  auth: [401, 'Incorrect API key provided: key-of-the-test. You can find your API key at https://platform.openai.com/account/api-keys.', { code: 'invalid_api_key' }],
  quota: [429, 'You exceeded your current quota, please check your plan and billing details.', { code: 'insufficient_quota', type: 'insufficient_quota' }],
  not_found: [404, 'The model `no-such-model` does not exist or you do not have access to it.', { code: 'model_not_found' }],
  server_error: [500, 'The server had an error processing your request. Sorry about that!', { type: 'server_error' }],
};
export function peerReply(step: PeerStep, wire: 'responses' | 'chat'): Reply {
  if (step.mute === true) return { mute: true };
  const retry = step.retryAfter === undefined ? {} : { 'retry-after': step.retryAfter };
  if (step.refuse !== undefined) {
    const [status, message, more] = REFUSALS[step.refuse];
    return refuse(status, message, { ...more, headers: retry });
  }
  const all = step.blocks ?? [];
  const thoughts = all.flatMap((b) => ('thinking' in b ? [b.thinking] : []));
  const texts = all.flatMap((b) => ('text' in b ? [b.text] : []));
  const calls = all.flatMap((b, i) => ('call' in b ? [{ id: `call_${step.stop ?? 'x'}_${i}`, name: b.call, args: typeof b.input === 'string' ? b.input : JSON.stringify(b.input) }] : []));
  const words = texts.flatMap((t) => t.match(/.{1,6}/gsu) ?? []);
  const length = step.stop === 'length';
  let frames = wire === 'responses'
    ? responsesFrames({ reasoning: thoughts.map((t, i) => ({ id: `rs_${i}`, summary: [t] })), ...(words.length === 0 ? {} : { text: words }), calls, ...(length ? { incomplete: 'max_output_tokens' as const } : {}) })
    : chatFrames({ reasoning: thoughts, text: words, ...(calls.length === 0 ? {} : { calls }), ...(length ? { finish: 'length' } : {}) });
  if (step.odd === true) frames = withOdd(frames, wire);
  const broken = step.ending === 'unfinished' || step.ending === 'silent' || step.ending === 'error';
  // What says that the answer is complete: one event here, three there.
  if (broken) frames = frames.slice(0, wire === 'responses' ? -1 : -3);
  if (step.ending === 'error') frames.push(wire === 'responses' ? frame({ type: 'error', code: 'server_error', message: PEER_ERROR, param: null, sequence_number: 99 }, 'error') : frame({ error: { message: PEER_ERROR, type: 'server_error', code: null } }));
  if (step.ending === 'cut') frames = frames.slice(0, -3);
  return { frames, pieces: step.pieces, ending: step.ending === 'cut' || step.ending === 'silent' ? step.ending : 'whole', ...(wire === 'responses' ? { ping: frame({ type: 'keepalive' }, 'keepalive') } : {}) };
}
function withOdd(frames: readonly string[], wire: 'responses' | 'chat'): string[] {
  const at = frames.findLastIndex((f) => f.includes(wire === 'responses' ? 'response.output_text.delta' : '"content":"'));
  const odd = wire === 'responses' ? frame({ type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: 0, delta: 42 }, 'response.output_text.delta') : chatChunk({ content: 42 });
  return [...frames.slice(0, at + 1), odd, ...frames.slice(at + 1)];
}
