import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultOf } from 'tappet/kernel';
import { faultOfAnswer } from '../../../../plugins/models/anthropic/faults.ts';
import type { Fault } from '../../../../plugins/models/anthropic/faults.ts';
import { hear, requestTo } from '../../../contracts/model-provider.ts';
import { bench, provide, SECRET } from './bench.ts';

const NOW = Date.parse('2026-10-20T12:00:00Z');
const said = (status: number, type: string, message: string, headers: Record<string, string> = {}, more: Record<string, unknown> = {}): Fault =>
  faultOfAnswer(status, headers, JSON.stringify({ type: 'error', error: { type, message, ...more }, request_id: 'req_1' }), NOW);

for (const [kind, transient, status, type, message, more] of [
  ['rate_limit', true, 429, 'rate_limit_error', 'Number of request tokens has exceeded your per-minute rate limit', {}],
  ['overloaded', true, 529, 'overloaded_error', 'Overloaded', {}],
  ['overloaded', true, 503, '', 'upstream connect error', {}],
  ['context_too_long', false, 400, 'invalid_request_error', 'prompt is too long: 208310 tokens > 200000 maximum', { tokens: { sent: 208_310, limit: 200_000 } }],
  ['context_too_long', false, 413, 'request_too_large', 'Request exceeds the maximum size', {}],
  ['invalid_request', false, 400, 'invalid_request_error', 'messages.3.content.0.text.text: Input should be a valid string', { field: 'messages.3.content.0.text.text' }],
  ['invalid_request', false, 422, '', 'no', {}],
  ['auth', false, 401, 'authentication_error', 'invalid x-api-key', {}],
  ['auth', false, 403, 'permission_error', 'Your API key does not have permission to use the specified resource.', {}],
  ['quota', false, 400, 'invalid_request_error', 'Your credit balance is too low to access the Anthropic API.', {}],
  ['quota', false, 402, 'billing_error', 'There is an issue with your payment', {}],
  ['quota', false, 400, 'invalid_request_error', 'You have reached your specified API usage limits. You will regain access on 2026-11-01 at 00:00 UTC.', { resetAt: '2026-11-01T00:00:00.000Z' }],
  ['not_found', false, 404, 'not_found_error', 'model: claude-nope', {}],
  ['server_error', true, 500, 'api_error', 'Internal server error', {}],
  ['server_error', true, 504, 'timeout_error', 'Request timed out', {}],
] as const) {
  test(`${status} "${message.slice(0, 40)}" is ${kind}`, () => {
    const fault = said(status, type, message);
    assert.deepEqual({ ...fault }, { kind, transient, status, message, requestId: 'req_1', ...more });
  });
}

test('a monthly cap in the form of a rate limit is no rate limit', () => {
  assert.deepEqual([said(429, 'rate_limit_error', 'capped', {}, { details: { error_code: 'enforced_spend_limit_reached' } }).kind], ['quota']);
});

test("the server's wait counts in each of its forms; junk does not", () => {
  const wait = (headers: Record<string, string>): unknown => { const { retryAfterMs, resetAt } = said(429, 'rate_limit_error', 'm', headers); return [retryAfterMs, resetAt]; };
  assert.deepEqual(wait({ 'retry-after': '7' }), [7000, '2026-10-20T12:00:07.000Z']);
  assert.deepEqual(wait({ 'retry-after-ms': '250', 'retry-after': '9' }), [250, '2026-10-20T12:00:00.250Z']);
  assert.deepEqual(wait({ 'retry-after': 'Tue, 20 Oct 2026 12:01:00 GMT' }), [60_000, '2026-10-20T12:01:00.000Z']);
  assert.deepEqual(wait({ 'retry-after': '99999' }), [99_999_000, '2026-10-21T15:46:39.000Z']);
  for (const junk of ['-5', 'abc', '', 'Tue, 20 Oct 2020 12:01:00 GMT']) assert.deepEqual(wait({ 'retry-after': junk }), [undefined, undefined], junk);
});

test('without a wait, the time counts at which the limit that is used up is filled again', () => {
  const headers = { 'anthropic-ratelimit-requests-remaining': '10', 'anthropic-ratelimit-requests-reset': '2026-10-20T12:00:01Z', 'anthropic-ratelimit-input-tokens-remaining': '0', 'anthropic-ratelimit-input-tokens-reset': '2026-10-20T12:00:30Z' };
  assert.equal(said(429, 'rate_limit_error', 'm', headers).retryAfterMs, 30_000);
  assert.equal(said(429, 'rate_limit_error', 'm', { 'anthropic-ratelimit-unified-status': 'rejected', 'anthropic-ratelimit-unified-reset': String(NOW / 1000 + 3600) }).retryAfterMs, 3_600_000);
  assert.equal(said(429, 'rate_limit_error', 'm', { 'anthropic-ratelimit-requests-remaining': '5', 'anthropic-ratelimit-requests-reset': '2026-10-20T12:00:01Z' }).retryAfterMs, undefined);
});

test("the server's own word on trying again counts", () => {
  assert.equal(said(500, 'api_error', 'm', { 'x-should-retry': 'false' }).transient, false);
  assert.equal(said(400, 'invalid_request_error', 'm', { 'x-should-retry': 'true' }).transient, true);
});

test('an answer that is no JSON is told in plain words', () => {
  const fault = faultOfAnswer(502, {}, '<html><style>x{}</style><h1>Bad\n Gateway</h1></html>', NOW);
  assert.deepEqual([fault.kind, fault.message], ['server_error', 'Bad Gateway']);
  assert.equal(faultOfAnswer(500, {}, '').message, 'the server did not say why');
});

test('a redirect is never followed, and says what to correct', () => {
  const fault = faultOfAnswer(301, { location: 'https://elsewhere.test/v1/messages?key=x' }, '');
  assert.equal(fault.kind, 'connection');
  assert.match(fault.message, /elsewhere\.test.*baseUrl/);
  assert.doesNotMatch(fault.message, /key=x/);
});

test('no error holds a secret, even where the server repeats it', async (t) => {
  const { provider } = await bench(t, [{ status: 401, body: { type: 'error', error: { type: 'authentication_error', message: `bad key ${SECRET} and red-team-token` } } }], { settings: { headers: { 'x-team-token': 'red-team-token' } } });
  const { error, fault } = await hear(provider, requestTo(provider, 'sonnet', [{ role: 'user', content: [{ type: 'text', text: 'x' }] }]));
  assert.equal(fault?.message, 'bad key [key] and [key]');
  assert.equal(fault.requestId, 'req_mock_1');
  assert.doesNotMatch(JSON.stringify([error, (error as Error).stack]), new RegExp(SECRET));
});

test('what stands at the address is asked, not the vendor, also from the environment; without a key nothing is sent', async (t) => {
  const { mock } = await bench(t);
  const request = (p: Awaited<ReturnType<typeof provide>>): Parameters<typeof hear>[1] => requestTo(p, 'sonnet', [{ role: 'user', content: [{ type: 'text', text: 'x' }] }]);
  const fromEnv = await provide(undefined, { env: { ANTHROPIC_API_KEY: SECRET, ANTHROPIC_BASE_URL: mock.url } });
  assert.equal((await hear(fromEnv, request(fromEnv))).error, undefined);
  const keyless = await provide(mock.url, { env: {} });
  const { error } = await hear(keyless, request(keyless));
  assert.equal(faultOf(error)?.kind, 'auth');
  assert.match((error as Error).message, /ANTHROPIC_API_KEY/);
  assert.equal(mock.requests.length, 1);
});
