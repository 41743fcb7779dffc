/** Gemini's streaming API on loopback, as strict as the vendor: what the API would refuse is refused here. */
import { PEER_ERROR } from '../contracts/model-provider.ts';
import type { PeerRefusal, PeerStep } from '../contracts/model-provider.ts';
import { frame, mockServer } from './mock-server.ts';
import type { MockServer, Reply, Seen } from './mock-server.ts';

export interface GeminiMock extends MockServer { /** The requests for answers. */ asked(): readonly Seen[] }
export interface GeminiRules { /** Requests without this key are refused. */ readonly key?: string }

export async function mockGemini(script: readonly Reply[] | ((seen: Seen, n: number) => Reply), rules: GeminiRules = {}): Promise<GeminiMock> {
  let n = 0;
  const server = await mockServer((seen) => {
    const [, model, what] = /^\/v1beta\/models\/([^/:]+):(\w+)$/.exec(seen.path) ?? [];
    if (rules.key !== undefined && seen.headers['x-goog-api-key'] !== rules.key) return refuse(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID', domain: 'googleapis.com' }]);
    if (what === 'countTokens') {
      const inner = seen.body.generateContentRequest as Record<string, any>;
      if (inner?.model !== `models/${model}`) return refuse(400, 'INVALID_ARGUMENT', 'the model is missing');
      const { model: _, ...rest } = inner;
      const problem = check(rest, model!);
      return problem === null ? { json: { totalTokens: 4321 } } : refuse(400, 'INVALID_ARGUMENT', problem);
    }
    if (what !== 'streamGenerateContent' || seen.query.get('alt') !== 'sse') return refuse(404, 'NOT_FOUND', `there is nothing at ${seen.path}`);
    const problem = check(seen.body, model!);
    if (problem !== null) return refuse(400, 'INVALID_ARGUMENT', problem);
    return typeof script === 'function' ? script(seen, n++) : script[Math.min(n++, script.length - 1)] ?? refuse(500, 'INTERNAL', 'the script is empty');
  });
  return { ...server, asked: () => server.seen.filter((s) => s.path.endsWith(':streamGenerateContent')) };
}

export const refuse = (code: number, status: string, message: string, details: readonly object[] = [], headers: Readonly<Record<string, string>> = {}): Reply =>
  ({ status: code, headers, json: { error: { code, message, status, ...(details.length === 0 ? {} : { details }) } } });

// ---- the law ---------------------------------------------------------------------------------------------------------------

const unknownIn = (o: object, known: readonly string[], where: string): string | null => {
  const key = Object.keys(o).find((k) => !known.includes(k));
  return key === undefined ? null : `Invalid JSON payload received. Unknown name "${key}" at '${where}': Cannot find field.`;
};
const first = (problems: Iterable<string | null>): string | null => {
  for (const p of problems) if (p !== null) return p;
  return null;
};
const NAME = /^[A-Za-z_][\w.:-]{0,127}$/;
const SCHEMA = ['type', 'format', 'title', 'description', 'nullable', 'enum', 'items', 'minItems', 'maxItems', 'properties', 'required', 'minProperties', 'maxProperties', 'minLength', 'maxLength', 'pattern', 'minimum', 'maximum', 'anyOf', 'propertyOrdering', 'example', 'default'];
const TYPES = ['STRING', 'NUMBER', 'INTEGER', 'BOOLEAN', 'ARRAY', 'OBJECT'];

export function* schemaProblems(s: any, where: string): Generator<string | null> {
  yield unknownIn(s, SCHEMA, where);
  if (s.anyOf !== undefined) {
    if (Object.keys(s).length > 1) yield `${where}: when using any_of, it must be the only field set.`;
    if (!Array.isArray(s.anyOf) || s.anyOf.length === 0) yield `${where}.any_of: must not be empty`;
    for (const [i, a] of s.anyOf.entries()) yield* schemaProblems(a, `${where}.any_of[${i}]`);
    return;
  }
  if (!TYPES.includes(s.type)) yield `${where}.type: must be specified`;
  if (s.enum !== undefined) {
    if (s.type !== 'STRING') yield `${where}.enum: only allowed for STRING type`;
    for (const [i, e] of s.enum.entries()) if (typeof e !== 'string' || e === '') yield `Invalid value at '${where}.enum[${i}]' (TYPE_STRING), ${JSON.stringify(e)}`;
  }
  if (s.format !== undefined && !(({ STRING: ['enum', 'date-time'], NUMBER: ['float', 'double'], INTEGER: ['int32', 'int64'] } as Record<string, string[]>)[s.type] ?? []).includes(s.format)) yield `${where}.format: only 'enum' and 'date-time' are supported for STRING type`;
  if (s.type === 'ARRAY') {
    if (s.items === undefined) yield `${where}.items: missing field.`;
    else yield* schemaProblems(s.items, `${where}.items`);
  } else if (s.items !== undefined) yield `${where}.items: only allowed for ARRAY type`;
  for (const r of s.required ?? []) if (s.properties?.[r] === undefined) yield `${where}.required[${r}]: property is not defined`;
  for (const [k, p] of Object.entries(s.properties ?? {})) yield* schemaProblems(p, `${where}.properties[${k}]`);
}

const DATA = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse', 'executableCode', 'codeExecutionResult'];

function check(b: any, model: string): string | null {
  return first((function* (): Generator<string | null> {
    yield unknownIn(b, ['contents', 'systemInstruction', 'tools', 'toolConfig', 'generationConfig', 'safetySettings', 'cachedContent'], 'root');
    if (!Array.isArray(b.contents) || b.contents.length === 0) yield '* GenerateContentRequest.contents: contents is not specified';
    if (b.systemInstruction !== undefined && (b.systemInstruction.parts ?? []).length === 0) yield '* GenerateContentRequest.system_instruction.parts: must not be empty';
    yield unknownIn(b.generationConfig ?? {}, ['maxOutputTokens', 'thinkingConfig', 'temperature', 'topP', 'topK', 'stopSequences', 'candidateCount', 'seed'], 'generation_config');
    const thinking = b.generationConfig?.thinkingConfig ?? {};
    yield unknownIn(thinking, ['includeThoughts', 'thinkingBudget', 'thinkingLevel'], 'generation_config.thinking_config');
    const third = /^gemini-[3-9]/.test(model);
    if (third && thinking.thinkingBudget !== undefined) yield 'Thinking budget is not supported for this model.';
    if (!third && thinking.thinkingLevel !== undefined) yield 'Thinking level is not supported for this model.';
    if (thinking.thinkingLevel !== undefined && !['minimal', 'low', 'medium', 'high', 'xhigh'].includes(thinking.thinkingLevel)) yield `Invalid value at 'generation_config.thinking_config.thinking_level', "${thinking.thinkingLevel}"`;
    const names = new Set<string>();
    for (const [i, t] of (b.tools ?? []).entries()) {
      yield unknownIn(t, ['functionDeclarations'], `tools[${i}]`);
      for (const [k, f] of t.functionDeclarations.entries()) {
        const at = `tools[${i}].function_declarations[${k}]`;
        yield unknownIn(f, ['name', 'description', 'parameters'], at);
        if (!NAME.test(f.name ?? '')) yield `* GenerateContentRequest.${at}.name: Invalid function name.`;
        if (names.has(f.name)) yield `* GenerateContentRequest.${at}.name: Duplicate function declaration found: ${f.name}`;
        names.add(f.name);
        if (f.parameters !== undefined) {
          if (f.parameters.type !== 'OBJECT' || Object.keys(f.parameters.properties ?? {}).length === 0) yield `* GenerateContentRequest.${at}.parameters.properties: should be non-empty for OBJECT type`;
          yield* schemaProblems(f.parameters, `${at}.parameters`);
        }
      }
    }
    const calling = b.toolConfig?.functionCallingConfig;
    if (calling !== undefined && !['AUTO', 'ANY', 'NONE'].includes(calling.mode)) yield 'Invalid function calling mode';
    for (const name of calling?.allowedFunctionNames ?? []) if (!names.has(name)) yield `allowed_function_names: ${name} is not declared`;
    if (b.contents.at(-1).role === 'model' && !/^gemini-(?:2\.|3-|3\.1-)/.test(model)) yield 'Requests ending with a model turn are not supported.';
    // A turn begins with what the user says himself.
    const turn = b.contents.findLastIndex((c: any) => c.role === 'user' && c.parts?.some((p: any) => p.functionResponse === undefined));
    let open: { id: string | undefined; name: string }[] = [];
    for (const [i, c] of (b.contents as any[]).entries()) {
      const at = `contents[${i}]`;
      yield unknownIn(c, ['role', 'parts'], at);
      if (c.role !== 'user' && c.role !== 'model') yield `Please use a valid role: user, model.`;
      if (!Array.isArray(c.parts) || c.parts.length === 0) yield `* GenerateContentRequest.${at}.parts: contents.parts must not be empty.`;
      const responses = c.parts.filter((p: any) => p.functionResponse !== undefined);
      if (open.length > 0 && responses.length !== open.length) yield 'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.';
      if (open.length === 0 && responses.length > 0) yield 'Please ensure that function response turn comes immediately after a function call turn.';
      if (responses.length > 0 && responses.length < c.parts.length) yield 'Function responses must stand alone.';
      for (const [k, { functionResponse: r }] of responses.entries()) {
        yield unknownIn(r, ['id', 'name', 'response'], `${at}.parts[${k}].function_response`);
        if (typeof r.name !== 'string' || r.name === '') yield `* GenerateContentRequest.${at}.parts[${k}].function_response.name: Name cannot be empty.`;
        if (typeof r.response !== 'object' || Array.isArray(r.response)) yield `Invalid value at '${at}.parts[${k}].function_response.response' (type.googleapis.com/google.protobuf.Struct)`;
        const call = open.find((o) => o.id === r.id);
        if (call === undefined || call.name !== r.name) yield `no call ${r.id} of ${r.name} waits for a response`;
      }
      open = [];
      let signed = false;
      for (const [k, p] of c.parts.entries()) {
        const place = `${at}.parts[${k}]`;
        yield unknownIn(p, [...DATA, 'thought', 'thoughtSignature'], place);
        if (DATA.filter((d) => p[d] !== undefined).length !== 1) yield `* GenerateContentRequest.${place}.data: required oneof field 'data' must have one initialized field`;
        if (p.thoughtSignature !== undefined && !/^[\w+/=-]+$/.test(p.thoughtSignature)) yield `Invalid value at '${place}.thought_signature' (TYPE_BYTES)`;
        if (p.thoughtSignature === STALE) yield 'Thought signature is not valid.';
        if (typeof p.text === 'string' && p.text === '' && p.thoughtSignature === undefined) yield `* GenerateContentRequest.${place}: must have a text parameter.`;
        if (p.functionCall === undefined) continue;
        if (c.role !== 'model') yield `${place}: function calls are the model's`;
        yield unknownIn(p.functionCall, ['id', 'name', 'args'], `${place}.function_call`);
        if (!NAME.test(p.functionCall.name ?? '')) yield `* GenerateContentRequest.${place}.function_call.name: Invalid function name.`;
        if (typeof p.functionCall.args !== 'object') yield `Invalid value at '${place}.function_call.args'`;
        if (p.functionCall.id !== undefined && open.some((o) => o.id === p.functionCall.id)) yield `Duplicate function call id ${p.functionCall.id}`;
        signed ||= p.thoughtSignature !== undefined;
        if (third && i > turn && !signed) yield `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly. Additional data, function call \`default_api:${p.functionCall.name}\`, position ${k + 1}.`;
        open.push({ id: p.functionCall.id, name: p.functionCall.name });
      }
    }
    if (open.length > 0) yield 'Please ensure that every function call is answered.';
  })());
}
/** A signature that the vendor does not know any more. */
export const STALE = 'c3RhbGU=';

// ---- answers ---------------------------------------------------------------------------------------------------------------

const USAGE = { promptTokenCount: 100, cachedContentTokenCount: 60, candidatesTokenCount: 20, thoughtsTokenCount: 5, totalTokenCount: 125 };
export const chunk = (parts: readonly object[], more: { readonly finish?: string; readonly candidate?: object; readonly usage?: object | null } = {}): string => frame({
  candidates: [{ ...(parts.length === 0 ? {} : { content: { role: 'model', parts } }), ...(more.finish === undefined ? {} : { finishReason: more.finish }), index: 0, ...more.candidate }],
  ...(more.usage === null ? {} : { usageMetadata: more.usage ?? USAGE }), modelVersion: 'gemini-mock', responseId: 'r1',
});
/** Each list of parts is one chunk; the last says how it ended. */
export const answer = (...chunks: readonly (readonly object[])[]): readonly string[] => [...chunks.map((parts) => chunk(parts)), chunk([], { finish: 'STOP' })];

// ---- the steps of the contract suite ---------------------------------------------------------------------------------------

const REFUSALS: Record<PeerRefusal, readonly [number, string, string, (readonly object[])?]> = {
  rate_limit: [429, 'RESOURCE_EXHAUSTED', 'Resource has been exhausted (e.g. check quota).'],
  overloaded: [503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'],
  context_too_long: [400, 'INVALID_ARGUMENT', 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).'],
  invalid_request: [400, 'INVALID_ARGUMENT', 'Invalid value at contents.', [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field: 'contents[0].parts[0]', description: 'broken' }] }]],
  auth: [400, 'INVALID_ARGUMENT', 'API key not valid: key-of-the-test. Please pass a valid API key.', [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }]],
  quota: [429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota, please check your plan and billing details.', [{ '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [{ quotaMetric: 'generativelanguage.googleapis.com/generate_content_free_tier_requests', quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier', quotaValue: '50' }] }]],
  not_found: [404, 'NOT_FOUND', 'models/no-such-model is not found for API version v1beta, or is not supported for generateContent.'],
  server_error: [500, 'INTERNAL', 'An internal error has occurred. Please retry or report.'],
};
export function peerReply(step: PeerStep): Reply {
  if (step.mute === true) return { mute: true };
  if (step.refuse !== undefined) {
    const [code, status, message, details] = REFUSALS[step.refuse];
    return refuse(code, status, message, details, step.retryAfter === undefined ? {} : { 'retry-after': step.retryAfter });
  }
  const words = (text: string): readonly string[] => text.match(/.{1,6}/gsu) ?? [];
  const chunks: (readonly object[])[] = (step.blocks ?? []).flatMap((b, i): (readonly object[])[] => {
    if ('text' in b) return words(b.text).map((text) => [{ text }]);
    if ('thinking' in b) return words(b.thinking).map((text) => [{ text, thought: true }]);
    return [[{ functionCall: { id: `call_${i}`, name: b.call, args: b.input }, thoughtSignature: `c2lnbmVk${i}` }]];
  });
  if (step.odd === true) chunks.splice(chunks.findLastIndex(([p]) => p !== undefined && 'text' in p) + 1, 0, [{ text: 42 }]);
  const frames = chunks.map((parts) => chunk(parts));
  if (step.ending === 'error') frames.push(frame({ error: { code: 503, message: PEER_ERROR, status: 'UNAVAILABLE' } }));
  else if (step.ending === undefined || step.ending === 'whole' || step.ending === 'cut') frames.push(chunk([], { finish: step.stop === 'length' ? 'MAX_TOKENS' : 'STOP' }));
  return { frames, pieces: step.pieces, ending: step.ending === 'cut' || step.ending === 'silent' ? step.ending : 'whole' };
}
