import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FAULT_KINDS } from 'tappet/schemas';
import { faultFor, refusalOf } from '../../../../plugins/models/gemini/faults.ts';

const NOW = Date.parse('2026-11-30T12:00:00Z');
const fault = (code: number, status: string, message: string, details: object[] = [], headers: Record<string, string> = {}) => faultFor(refusalOf(code, headers, JSON.stringify({ error: { code, status, message, details } })), NOW);
const type = (name: string) => `type.googleapis.com/google.rpc.${name}`;

test('a rate limit waits as long as RetryInfo says, else as the sentence or the header says', () => {
  const retry = { '@type': type('RetryInfo'), retryDelay: '34.07s' };
  const f = fault(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded for metric: x, limit: 15', [{ '@type': type('QuotaFailure'), violations: [{ quotaId: 'GenerateRequestsPerMinutePerProjectPerModel', quotaValue: '15' }] }, retry]);
  assert.deepEqual([f.kind, f.transient, f.retryAfterMs, f.resetAt], ['rate_limit', true, 34_070, '2026-11-30T12:00:34.070Z']);
  assert.equal(fault(429, 'RESOURCE_EXHAUSTED', 'Please retry in 12.5s.').retryAfterMs, 12_500);
  assert.equal(fault(429, 'RESOURCE_EXHAUSTED', 'Slow down.', [], { 'retry-after': '7' }).retryAfterMs, 7000);
});

test('what no wait mends is a quota: used up for the day, none at all, no money', () => {
  for (const [message, details] of [
    ['Quota exceeded', [{ '@type': type('QuotaFailure'), violations: [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier', quotaValue: '50' }] }]], ['Quota exceeded for metric: x, limit: 0, model: gemini-x', []],
    ['Your prepayment credits are depleted.', []], ['You exceeded your monthly spending cap.', []],
  ] as const) assert.deepEqual([fault(429, 'RESOURCE_EXHAUSTED', message, [...details]).kind, fault(429, 'RESOURCE_EXHAUSTED', message, [...details]).transient], ['quota', false], message);
  assert.equal(fault(429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota, please check your plan and billing details.').kind, 'rate_limit', 'this sentence comes with every limit');
});

test('a request that is too long is told with its numbers', () => {
  const f = fault(400, 'INVALID_ARGUMENT', 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).');
  assert.deepEqual([f.kind, f.tokens], ['context_too_long', { sent: 1_200_000, limit: 1_048_576 }]);
  assert.deepEqual(fault(400, 'INVALID_ARGUMENT', 'The input token count exceeds the maximum number of tokens allowed 32768.').kind, 'context_too_long');
  assert.equal(fault(400, 'INVALID_ARGUMENT', 'Request payload size exceeds the limit: 20971520 bytes.').kind, 'context_too_long');
});

test('an invalid request names its field', () => {
  assert.equal(fault(400, 'INVALID_ARGUMENT', 'bad', [{ '@type': type('BadRequest'), fieldViolations: [{ field: 'contents[0].parts[0]', description: 'x' }] }]).field, 'contents[0].parts[0]');
  assert.equal(fault(400, 'INVALID_ARGUMENT', `Invalid JSON payload received. Unknown name "x" at 'tools[0].function_declarations[1]': Cannot find field.`).field, 'tools[0].function_declarations[1]');
  assert.equal(fault(400, 'INVALID_ARGUMENT', '* GenerateContentRequest.contents[1].parts: contents.parts must not be empty.').field, 'contents[1].parts');
});

test('each refusal has its name', () => {
  for (const [code, status, message, kind, transient] of [
    [400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', 'auth', false], [403, 'PERMISSION_DENIED', 'no', 'auth', false], [401, 'UNAUTHENTICATED', 'no', 'auth', false], [404, 'NOT_FOUND', 'models/x is not found', 'not_found', false],
    [503, 'UNAVAILABLE', 'The model is overloaded.', 'overloaded', true], [500, 'INTERNAL', 'x', 'server_error', true], [504, 'DEADLINE_EXCEEDED', 'x', 'server_error', true], [400, 'FAILED_PRECONDITION', 'User location is not supported for the API use.', 'invalid_request', false],
  ] as const) assert.deepEqual([fault(code, status, message).kind, fault(code, status, message).transient], [kind, transient], message);
});

test('whatever a server says becomes a fault with a name and words', () => {
  fc.assert(fc.property(fc.integer({ min: 300, max: 599 }), fc.oneof(fc.json(), fc.string(), fc.json().map((j) => `{"error":${j}}`), fc.json().map((j) => `[{"error":{"code":429,"details":[${j}]}}]`)), (status, body) => {
    const f = faultFor(refusalOf(status, {}, body));
    assert.ok((FAULT_KINDS as readonly string[]).includes(f.kind));
    assert.notEqual(f.message, '');
  }));
});
