import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FAULT_KINDS } from 'tappet/schemas';
import { duration, faultFor, refusalIn, refusalOf } from '../../../../plugins/models/openai/faults.ts';

const NOW = Date.parse('2026-11-30T12:00:00Z');
const fault = (status: number, error: object | string, headers: Record<string, string> = {}) => faultFor(refusalOf(status, headers, typeof error === 'string' ? error : JSON.stringify({ error })), NOW);

test('a request that is too long is told with its numbers, in the words of many servers', () => {
  for (const [status, error, sent, limit] of [
    [400, { code: 'context_length_exceeded', message: "This model's maximum context length is 128000 tokens. However, your messages resulted in 130172 tokens." }, 130172, 128000],
    [400, { code: 400, message: "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion)." }, 5000, 4096],
    [400, { code: 400, message: 'the request exceeds the available context size. try increasing the context size', type: 'exceed_context_size_error', n_prompt_tokens: 9001, n_ctx: 8192 }, 9001, 8192],
    [400, { message: "This endpoint's maximum context length is 131,072 tokens. However, you requested about 146,000 tokens (of text)." }, 146000, 131072],
    [429, { code: 'rate_limit_exceeded', type: 'tokens', message: 'Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 45000.' }, 45000, 30000],
    [400, { code: 'context_length_exceeded', message: 'Your input exceeds the context window of this model. Please adjust your input and try again.' }, undefined, undefined],
  ] as const) {
    const f = fault(status, error);
    assert.deepEqual([f.kind, f.transient, f.tokens?.sent, f.tokens?.limit], ['context_too_long', false, sent, limit], error.message);
  }
});

test('a rate limit tells how long to wait: by header, by what is used up, by its sentence', () => {
  const limited = { code: 'rate_limit_exceeded', message: 'Rate limit reached. Please try again in 1m2.5s.' };
  assert.equal(fault(429, limited, { 'retry-after': '7' }).retryAfterMs, 7000);
  assert.equal(fault(429, limited, { 'retry-after-ms': '1500', 'retry-after': '2' }).retryAfterMs, 1500);
  assert.deepEqual(fault(429, limited, { 'x-ratelimit-reset-requests': '20ms', 'x-ratelimit-remaining-requests': '9', 'x-ratelimit-reset-tokens': '6m0s', 'x-ratelimit-remaining-tokens': '0' }).resetAt, '2026-11-30T12:06:00.000Z');
  assert.equal(fault(429, limited).retryAfterMs, 62_500);
  assert.equal(fault(429, { message: 'slow' }).retryAfterMs, undefined);
});

test('each refusal has its name', () => {
  for (const [status, error, kind, transient] of [
    [429, { code: 'insufficient_quota', message: 'You exceeded your current quota' }, 'quota', false], [402, { message: 'Insufficient credits' }, 'quota', false], [401, { code: 'invalid_api_key', message: 'no' }, 'auth', false],
    [403, { message: 'Country, region, or territory not supported' }, 'auth', false], [403, { code: 'model_not_found', message: 'no access to model' }, 'not_found', false], [404, { code: 'DeploymentNotFound', message: 'no' }, 'not_found', false],
    [404, {}, 'not_found', false], [503, { message: 'overloaded' }, 'overloaded', true], [529, {}, 'overloaded', true], [500, { message: 'x' }, 'server_error', true], [502, '<html><h1>Bad gateway</h1></html>', 'server_error', true], [504, '', 'server_error', true],
    [400, { code: 'content_filter', message: 'The response was filtered', innererror: { code: 'ResponsibleAIPolicyViolation' } }, 'content_filter', false], [400, { code: 'invalid_prompt', message: 'flagged' }, 'content_filter', false], [408, {}, 'server_error', true],
    [418, 'teapot', 'invalid_request', false], [301, 'moved', 'connection', false],
  ] as const) assert.deepEqual([fault(status, error).kind, fault(status, error).transient], [kind, transient], JSON.stringify([status, error]));
});

test('an invalid request names its field, and every form of an error has its words', () => {
  assert.equal(fault(400, { message: 'no', param: 'tools[0].name' }).field, 'tools[0].name');
  const detail = faultFor(refusalOf(422, {}, JSON.stringify({ detail: [{ loc: ['body', 'messages', 0, 'content'], msg: 'field required' }] })), NOW);
  assert.deepEqual([detail.kind, detail.field, detail.message], ['invalid_request', 'messages.0.content', 'body.messages.0.content: field required']);
  assert.equal(fault(502, '<html><style>b{}</style><h1>Bad gateway</h1></html>').message, 'Bad gateway');
  assert.equal(fault(400, { message: 'no' }, { 'x-request-id': 'req_9' }).requestId, 'req_9');
  assert.equal(faultFor(refusalIn('it broke')).message, 'it broke');
  assert.equal(faultFor(refusalOf(400, {}, '[{"error":{"message":"in a list"}}]')).message, 'in a list');
});

test('whatever a server says becomes a fault with a name and words', () => {
  fc.assert(fc.property(fc.integer({ min: 300, max: 599 }), fc.oneof(fc.json(), fc.string()), (status, body) => {
    const f = faultFor(refusalOf(status, {}, body));
    assert.ok((FAULT_KINDS as readonly string[]).includes(f.kind));
    assert.notEqual(f.message, '');
  }));
});

test('durations are read as the vendor writes them', () => {
  assert.deepEqual(['1s', '20ms', '6m0s', '1h2m3.5s', '', 'soon', '7', undefined].map(duration), [1000, 20, 360_000, 3_723_500, null, null, null, null]);
});
