import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { FaultKind, ModelFault, SystemMessage } from 'tappet/schemas';
import type { Step } from '../../support/model.ts';
import { ask, BASIC, project } from '../../support/project.ts';

const fault = (kind: FaultKind, more: Partial<ModelFault> = {}): Step => ({ fault: { kind, message: `${kind} at the test model.`, transient: true, ...more } });
/** What people were told while waiting is read from the session's own lines. */
async function set(t: TestContext, steps: readonly Step[], options = '{ firstMs: 1 }') {
  const p = project(t, { only: [...BASIC, 'recoveries/transport'], steps, files: { '~/.config/tappet/config.yaml': `plugins: { recoveries/transport: { with: ${options} } }\n` } });
  const session = await p.open();
  const retries: SystemMessage[] = [];
  const waits: (() => void)[] = [];
  void (async () => {
    for await (const e of session.events({ from: 'start' })) if (e.type === 'message' && e.message.type === 'system' && e.message.format === 'api_retry') { retries.push(e.message); waits.shift()?.(); }
  })();
  return { p, session, retries, waiting: new Promise<void>((resolve) => { waits.push(resolve); }) };
}
const waits = (retries: readonly SystemMessage[]): number[] => retries.map((r) => Number(r.data?.['retry_delay_ms']));

for (const [kind, most] of [['overloaded', 10], ['rate_limit', 10], ['server_error', 10], ['connection', 3], ['broken_stream', 3], ['timeout_first_byte', 1], ['timeout_between_bytes', 1], ['empty_answer', 1]] as const) {
  test(`${kind} is asked about ${most} times more at most, then it is the end`, async (t) => {
    const { p, session, retries } = await set(t, Array.from({ length: 20 }, () => fault(kind)), '{ firstMs: 1, totalMs: 10000 }');
    const end = await ask(session, 'go');
    assert.deepEqual([end.reason, end.fault?.kind, p.model.requests.length], ['model_error', kind, most + 1]);
    assert.deepEqual(retries.map((r) => [r.data?.['attempt'], r.data?.['max_retries'], r.data?.['error']]), Array.from({ length: most }, (_, i) => [i + 1, most, kind]));
  });
}
for (const kind of ['auth', 'quota', 'invalid_request', 'context_too_long', 'refusal', 'not_found'] as const) {
  test(`${kind} would not get better by waiting`, async (t) => {
    const { p, session } = await set(t, [fault(kind), { say: 'never' }]);
    assert.equal((await ask(session, 'go')).isError, true);
    assert.equal(p.model.requests.length, 1);
  });
}
test('what the provider calls lasting is not asked again, whatever its kind', async (t) => {
  const { p, session } = await set(t, [fault('connection', { transient: false }), { say: 'never' }]);
  assert.equal((await ask(session, 'go')).fault?.kind, 'connection');
  assert.equal(p.model.requests.length, 1);
});
test('each wait is twice the one before, and a quarter more at most', async (t) => {
  const { session, retries } = await set(t, [...Array.from({ length: 5 }, () => fault('overloaded')), { say: 'at last' }], '{ firstMs: 4 }');
  assert.equal((await ask(session, 'go')).text, 'at last');
  waits(retries).forEach((ms, i) => assert.ok(ms >= 4 * 2 ** i && ms <= Math.round(5 * 2 ** i), `${ms} as wait ${i + 1}`));
});
test('the wait is the one that the server asks for; it is told, and an interrupt ends it at once', async (t) => {
  const { session, retries, waiting } = await set(t, [fault('rate_limit', { retryAfterMs: 7000, status: 429 }), { say: 'never' }]);
  const { turn } = session.submit('go');
  await waiting;
  await session.interrupt({ reason: 'person' });
  assert.equal((await turn).reason, 'interrupted');
  assert.ok(waits(retries)[0]! >= 7000 && waits(retries)[0]! <= 8750);
  assert.match(retries[0]!.content, /^rate_limit at the test model; asking again in [78](\.\d)? s \(1 of 10\)$/);
  assert.equal(retries[0]!.data?.['error_status'], 429);
});
test('a server that asks for more than the longest wait ends the turn at once', async (t) => {
  const { session, retries } = await set(t, [fault('rate_limit', { retryAfterMs: 61_000 }), { say: 'never' }]);
  assert.equal((await ask(session, 'go')).fault?.retryAfterMs, 61_000);
  assert.deepEqual(retries, []);
});
test('all waits of a turn together have an end', async (t) => {
  const { p, session } = await set(t, Array.from({ length: 20 }, () => fault('overloaded', { retryAfterMs: 10 })), '{ totalMs: 30 }');
  assert.equal((await ask(session, 'go')).isError, true);
  assert.equal(p.model.requests.length, 3, 'the first, and two after 10 to 12 ms each');
});
test('each request has its own count, and a request that is made again is one of the turn\'s limit', async (t) => {
  const bad = [fault('timeout_first_byte')];
  const { p, session } = await set(t, [...bad, { call: [{ name: 'Read', input: { file_path: 'none' } }] }, ...bad, { call: [{ name: 'Read', input: { file_path: 'none' } }] }, ...bad, { say: 'done' }]);
  const end = await ask(session, 'go');
  assert.deepEqual([end.text, end.numTurns, p.model.requests.length], ['done', 3, 6]);
});
test('no retries where none are wanted', async (t) => {
  const { p, session } = await set(t, [fault('overloaded'), { say: 'never' }], '{ retries: 0 }');
  assert.equal((await ask(session, 'go')).isError, true);
  assert.equal(p.model.requests.length, 1);
});
