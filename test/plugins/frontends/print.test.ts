import assert from 'node:assert/strict';
import { test } from 'node:test';
import { definePlugin, type faultError, isTappetError } from 'tappet/kernel';
import type { Open, Session, SessionEvent, TurnEnd } from 'tappet/kernel';
import { frontendIn, testIo, untilAborted } from './bench.ts';
import { invocation } from './invocation.ts';

test('takes headless text and JSON, and leaves lines, terminals and commands to others', async (t) => {
  const { frontend } = await frontendIn(t, 'print');
  const matches = (more: Parameters<typeof invocation>[0]) => frontend.matches(invocation(more));
  assert.equal(matches({}), true);
  assert.equal(matches({ outputFormat: 'json' }), true);
  assert.equal(matches({ outputFormat: 'stream-json' }), false);
  assert.equal(matches({ inputFormat: 'stream-json' }), false);
  assert.equal(matches({ print: false }), false);
  assert.equal(matches({ command: ['config'] }), false);
});

test('prints the answer with one final newline and nothing else', async (t) => {
  const { call } = await frontendIn(t, 'print', { steps: [{ say: 'four' }, { say: 'five\n' }] });
  for (const expected of ['four\n', 'five\n']) {
    const io = testIo();
    assert.equal(await call({ prompt: 'two and two?' }, io), 0);
    assert.equal(io.stdout, expected);
    assert.equal(io.stderr, '');
    assert.equal(io.listeners, 0);
  }
});

test('does not touch an open pipe when a prompt was given', async (t) => {
  const { call } = await frontendIn(t, 'print', { steps: [{ say: 'yes' }] });
  const io = testIo();
  Object.defineProperty(io, 'stdin', { get() { throw new Error('stdin was touched'); } });
  assert.equal(await call({ prompt: 'are you there?' }, io), 0);
  assert.equal(io.stdout, 'yes\n');
});

test('reads the prompt from a pipe when there is none, and when it is a dash', async (t) => {
  const { call, project } = await frontendIn(t, 'print');
  for (const prompt of [null, '-']) {
    const io = testIo();
    io.input.end(Buffer.from('\ufeffsum up:\nä ß\n'));
    assert.equal(await call({ prompt }, io), 0);
    const text = JSON.stringify(project.model.requests.at(-1)?.messages.map((m) => m.message));
    assert.match(text, /"sum up:\\nä ß"/);
  }
});

test('says what is missing where there is no prompt at all', async (t) => {
  const { call } = await frontendIn(t, 'print');
  const isUsage = (why: RegExp) => (e: unknown): boolean => isTappetError(e) && e.code === 'E_FRONTEND' && e.exit === 2 && why.test(e.message);
  await assert.rejects(call({}, testIo({ isTTY: true })), isUsage(/no prompt, and nothing is piped in/));
  const empty = testIo();
  empty.input.end(' \n');
  await assert.rejects(call({}, empty), isUsage(/what was piped in is empty/));
  await assert.rejects(call({ prompt: '  ' }, testIo()), isUsage(/the prompt is empty/));
});

test('refuses to resume without an id, since nobody can choose', async (t) => {
  const { call } = await frontendIn(t, 'print');
  await assert.rejects(call({ prompt: 'go on', resume: '' }, testIo()), (e: unknown) => isTappetError(e) && e.code === 'E_USAGE' && /needs the id/.test(e.message));
});

test('passes what the flags say to the session', async (t) => {
  const { call, project } = await frontendIn(t, 'print', { steps: [{ call: [{ name: 'Read', input: { file_path: 'a.txt' } }] }, { say: 'read' }], files: { 'a.txt': 'alpha' } });
  const io = testIo();
  assert.equal(await call({ prompt: 'read it', systemPrompt: 'You are terse.', tools: ['Read'], maxTurns: 1 }, io), 1);
  const [request] = project.model.requests;
  assert.deepEqual(request?.tools.map((x) => x.name), ['Read']);
  assert.match(JSON.stringify(request?.system), /You are terse\./);
  assert.match(io.stderr, /E_PRINT_ENDED {2}The turn was ended after 1 model requests/);
  assert.match(io.stderr, /do {6}raise --max-turns/);
  assert.equal(io.stdout, '');
});

test('says which calls were denied and which rule would have allowed them, and still answers', async (t) => {
  const { call } = await frontendIn(t, 'print', { steps: [{ call: [{ name: 'Write', input: { file_path: '/nowhere/w.txt', content: 'x' } }] }, { say: 'I may not.' }] });
  const io = testIo();
  assert.equal(await call({ prompt: 'write' }, io), 0);
  assert.equal(io.stdout, 'I may not.\n');
  assert.match(io.stderr, /^denied {2}Write: .*nobody can be asked here/m);
  assert.match(io.stderr, /^ {2}allow {3}Edit\(\/\/nowhere\/w\.txt\) .*--allowedTools/m);
});

test('keeps an API failure off stdout and ends with a code of its own', async (t) => {
  const kinds: [Parameters<typeof faultError>[0]['kind'], number][] = [['rate_limit', 1], ['connection', 4], ['auth', 1], ['refusal', 1]];
  for (const [kind, code] of kinds) {
    const { call } = await frontendIn(t, 'print', { steps: [{ fault: { kind, message: `it says ${kind}` } }] });
    const io = testIo();
    assert.equal(await call({ prompt: 'x' }, io), code, kind);
    assert.equal(io.stdout, '');
    assert.match(io.stderr, /^E_MODEL {2}test\/model: it says /m);
    assert.match(io.stderr, /^ {2}do {6}/m);
  }
});

test('ends with 2 where the model is unknown, and with 4 where none can be used', async (t) => {
  const { call } = await frontendIn(t, 'print');
  const unknown = testIo();
  assert.equal(await call({ prompt: 'x', model: 'nowhere/model' }, unknown), 2);
  assert.match(unknown.stderr, /^E_MODEL_UNKNOWN/m);

  const { frontend, project } = await frontendIn(t, 'print', { steps: [{ say: 'never' }] });
  const kernel = await project.boot();
  kernel.registries.modelProviders.get('test')!.available = async () => 'no key';
  const none = testIo();
  assert.equal(await frontend.run(kernel.open, invocation({ cwd: project.dir, prompt: 'x', model: null }), none), 4);
  assert.match(none.stderr, /^E_MODEL_UNAVAILABLE/m);
});

test('gives exactly one JSON object, with the cause on stderr too', async (t) => {
  const { call } = await frontendIn(t, 'print', { steps: [{ call: [{ name: 'Write', input: { file_path: '/nowhere/w.txt', content: 'x' } }] }, { say: 'No.' }, { fault: { kind: 'rate_limit', message: 'slow down', status: 429 } }] });
  const good = testIo();
  assert.equal(await call({ prompt: 'write', outputFormat: 'json' }, good), 0);
  const answer = JSON.parse(good.stdout) as Record<string, unknown>;
  assert.equal(good.stdout.trimEnd().split('\n').length, 1);
  assert.deepEqual([answer['type'], answer['subtype'], answer['is_error'], answer['result'], answer['num_turns'], answer['stop_reason']], ['result', 'success', false, 'No.', 2, 'end_turn']);
  assert.deepEqual(answer['usage'], { input_tokens: 20, output_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 });
  assert.ok(Math.abs((answer['total_cost_usd'] as number) - (20 * 1 + 10 * 10) / 1e6) < 1e-12);
  const [denial] = answer['permission_denials'] as Record<string, unknown>[];
  assert.deepEqual([denial?.['tool_name'], denial?.['tool_use_id'], denial?.['tool_input'], denial?.['would_allow']], ['Write', 'call_1', { file_path: '/nowhere/w.txt', content: 'x' }, 'Edit(//nowhere/w.txt)']);
  for (const key of ['duration_ms', 'duration_api_ms']) assert.equal(typeof answer[key], 'number');
  for (const key of ['session_id', 'uuid']) assert.match(String(answer[key]), /^[0-9a-f-]{36}$/);

  const bad = testIo();
  assert.equal(await call({ prompt: 'again', outputFormat: 'json' }, bad), 1);
  const failure = JSON.parse(bad.stdout) as Record<string, unknown>;
  assert.deepEqual([failure['is_error'], failure['api_error_status']], [true, 429]);
  assert.match(String(failure['result']), /slow down/);
  assert.match(bad.stderr, /slow down/);
});

test('goes on with a session, and says in JSON too that there is none', async (t) => {
  const { call, project } = await frontendIn(t, 'print', { steps: [{ say: 'noted' }, { say: 'blue' }, { say: 'forked' }] });
  const first = testIo();
  await call({ prompt: 'remember blue', outputFormat: 'json' }, first);
  const { session_id: id } = JSON.parse(first.stdout) as { session_id: string };
  const second = testIo();
  await call({ prompt: 'which?', continue: true, outputFormat: 'json' }, second);
  assert.equal((JSON.parse(second.stdout) as { session_id: string }).session_id, id);
  assert.match(JSON.stringify(project.model.requests[1]?.messages.map((m) => m.message)), /remember blue/);
  const fork = testIo();
  await call({ prompt: 'and?', resume: id, forkSession: true, outputFormat: 'json' }, fork);
  assert.notEqual((JSON.parse(fork.stdout) as { session_id: string }).session_id, id);

  const unknown = testIo();
  await assert.rejects(call({ prompt: 'x', resume: '00000000-0000-4000-8000-000000000000', outputFormat: 'json' }, unknown), (e: unknown) => isTappetError(e) && e.code === 'E_SESSION_UNKNOWN');
  const said = JSON.parse(unknown.stdout) as Record<string, unknown>;
  assert.deepEqual([said['subtype'], said['is_error'], said['num_turns']], ['error_during_execution', true, 0]);
  assert.equal(unknown.listeners, 0);
});

test('leaves no session where none is to be kept', async (t) => {
  const { call, project } = await frontendIn(t, 'print', { steps: [{ say: 'x' }] });
  await call({ prompt: 'x', persist: false }, testIo());
  const kernel = await project.boot();
  assert.deepEqual(await kernel.services.get('stores.sessions')!.list({ root: null }), []);
});

test('ends the turn where the process is told to stop: 130, 143, and not a word on stdout', async (t) => {
  for (const [signal, code] of [['SIGINT', 130], ['SIGTERM', 143]] as const) {
    const io = testIo();
    const { call } = await frontendIn(t, 'print', { steps: [{ wait: (abort) => { io.tell(signal); return untilAborted(abort); } }] });
    assert.equal(await call({ prompt: 'x' }, io), code);
    assert.equal(io.stdout, '');
    assert.match(io.stderr, /interrupted/);
  }
});

test('ends with 5 when the time is over', async (t) => {
  const { call } = await frontendIn(t, 'print', { steps: [{ wait: untilAborted }] });
  const io = testIo();
  assert.equal(await call({ prompt: 'x', timeoutMs: 5 }, io), 5);
  assert.match(io.stderr, /The time for this prompt is over[\s\S]*raise --timeout/);
});

test('ends with 3 where a hook blocks the prompt', async (t) => {
  const gate = definePlugin({ name: 'test/gate', api: 1, apply: ({ hooks }) => { hooks.UserPromptSubmit.tap('gate', () => ({ block: 'not on a Friday' })); } });
  const { call, project } = await frontendIn(t, 'print', { plugins: [gate] });
  const io = testIo();
  assert.equal(await call({ prompt: 'deploy' }, io), 3);
  assert.equal(io.stdout, '');
  assert.match(io.stderr, /not on a Friday/);
  assert.equal(project.model.requests.length, 0);
});

test('prints an answer that was cut off, and says that it was', async (t) => {
  const { call } = await frontendIn(t, 'print', { steps: [{ say: 'The first half', stop: 'max_tokens' }] });
  const io = testIo();
  assert.equal(await call({ prompt: 'x' }, io), 1);
  assert.equal(io.stdout, 'The first half\n');
  assert.match(io.stderr, /cut off at the token limit/);
});

test('shows notices on stderr', async () => {
  const end: TurnEnd = { turnId: '00000000-0000-4000-8000-000000000001', reason: 'answered', text: 'ok', isError: false, stopReason: 'end_turn', errors: [], usage: { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }, costUSD: 0, numTurns: 1, durationMs: 1, durationApiMs: 1, denials: [] };
  const stamp = { sessionId: 's', agentId: null, turnId: null, timestamp: '' };
  const events: SessionEvent[] = [
    { ...stamp, seq: 0, type: 'notice', level: 'info', code: 'E_X', text: 'another model answers' },
    { ...stamp, seq: 1, type: 'notice', level: 'warning', code: 'E_X', text: 'a hook wants too much' },
    { ...stamp, seq: 2, type: 'message', message: { type: 'system', format: 'api_retry', level: 'warning', content: 'trying again in 2 s', uuid: end.turnId, timestamp: '' } },
    { ...stamp, seq: 3, type: 'turn.ended', end },
  ];
  const session = { id: end.turnId, submit: () => ({ id: end.turnId, turn: Promise.resolve(end) }), close: async () => {}, async *events() { yield* events; } } as unknown as Session;
  const open: Open = async () => session;
  const { default: plugin } = await import('../../../plugins/frontends/print.ts');
  let run!: (open: Open, i: ReturnType<typeof invocation>, io: ReturnType<typeof testIo>) => Promise<number>;
  plugin.apply({ registries: { frontends: { add: (f: { run: typeof run }) => { run = f.run; } } } } as never);
  const io = testIo();
  assert.equal(await run(open, invocation({ prompt: 'x' }), io), 0);
  assert.equal(io.stdout, 'ok\n');
  assert.equal(io.stderr, 'note: another model answers\nwarning: a hook wants too much\nnote: trying again in 2 s\n');
});

test('no answer drives a terminal: a program gets the very bytes', async (t) => {
  const step = { say: 'a\u001b[2Jb\u001b]52;c;aGk=\u0007c\u009bd' };
  const { call } = await frontendIn(t, 'print', { steps: [step, step, step] });
  const piped = testIo();
  await call({ prompt: 'go' }, piped);
  assert.equal(piped.stdout, 'a\u001b[2Jb\u001b]52;c;aGk=\u0007c\u009bd\n');
  const terminal = Object.assign(testIo(), { isTTY: true });
  await call({ prompt: 'go' }, terminal);
  assert.doesNotMatch(terminal.stdout, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  assert.match(terminal.stdout, /^ab.*c/);
  const json = testIo();
  await call({ prompt: 'go', outputFormat: 'json' }, json);
  assert.doesNotMatch(json.stdout, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  assert.equal((JSON.parse(json.stdout) as { result: string }).result, 'a\u001b[2Jb\u001b]52;c;aGk=\u0007c\u009bd');
});
