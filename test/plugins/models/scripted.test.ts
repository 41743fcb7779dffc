import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { printError } from 'tappet/kernel';
import type { Block, NormalizedMessage } from 'tappet/kernel';
import fallback from '../../../plugins/models/fallback.ts';
import replay from '../../../plugins/models/replay/index.ts';
import scripted from '../../../plugins/models/scripted/index.ts';
import { conversation, inOrder, peerTools } from '../../contracts/model-provider.ts';
import { assistant, request, result, speak, standUp, tool, user } from './provider-bench.ts';

const root = await mkdtemp(join(tmpdir(), 'tappet-scripted-'));
after(() => rm(root, { recursive: true, force: true }));

const inline = async (steps: unknown) => (await standUp(scripted, { root, options: { script: { steps } } })).get('scripted');
const ask = async (steps: unknown, messages: NormalizedMessage[] = [user('hi')], more = {}) => {
  const provider = await inline(steps);
  return speak(provider, request(provider, 'script', messages, more));
};
let files = 0;
const fromFile = async (text: string | Buffer) => {
  const file = `s${++files}.yaml`;
  await writeFile(join(root, file), text);
  const provider = (await standUp(scripted, { root })).get('scripted');
  return { file, said: await speak(provider, request(provider, file, [user('hi')])) };
};

test('says, thinks and calls in the order of a real message', async () => {
  const { content, stop, events } = await ask([{ think: 'hm', say: ['One.', 'Two.'], call: { Read: { file_path: 'a' }, Glob: { pattern: '*' } } }]);
  assert.deepEqual(content, [
    { type: 'thinking', thinking: 'hm', signature: 'scripted', provider: 'scripted' },
    { type: 'text', text: 'One.' }, { type: 'text', text: 'Two.' },
    { type: 'tool_use', id: 'toolu_script_1', name: 'Read', input: { file_path: 'a' } },
    { type: 'tool_use', id: 'toolu_script_2', name: 'Glob', input: { pattern: '*' } },
  ]);
  assert.equal(stop, 'tool_use');
  assert.equal(events[0]!.type, 'message_start');
  assert.equal(events.at(-1)!.type, 'message_stop');
});

test('a text comes in small pieces', async () => {
  const { events } = await ask([{ say: 'A sentence that is longer than one piece of a stream.' }]);
  const deltas = events.filter((e) => e.type === 'content_block_delta');
  assert.ok(deltas.length > 2);
});

test('the next step follows from the conversation, so another process goes on at the right place', async () => {
  const steps = [{ call: { Read: {} } }, { call: { Grep: {} } }, { say: 'done' }];
  const talk = [user('hi'), assistant({ type: 'tool_use', id: 'x', name: 'Read', input: {} }), user(result('x', 'text'))];
  assert.deepEqual((await ask(steps, talk)).content, [{ type: 'tool_use', id: 'toolu_script_2', name: 'Grep', input: {} }]);
  assert.equal((await ask(steps, [...talk, assistant('a'), user('b')])).text, 'done');
});

test('a call of its own tells the place even after a compaction', async () => {
  const steps = [{ say: 'one' }, { say: 'two' }, { call: { Read: {} } }, { say: 'four' }];
  const kept = [user('summary'), assistant({ type: 'tool_use', id: 'toolu_script_1', name: 'Read', input: {} }), user(result('toolu_script_1', 'x'))];
  assert.equal((await ask(steps, kept)).text, 'four');
});

test('a fault comes once; asked again in the same session, the next step answers', async () => {
  const provider = await inline([{ fault: { kind: 'overloaded', status: 529, retryAfterMs: 20 } }, { fault: 'connection' }, { say: 'at last' }]);
  const r = request(provider, 'script', [user('hi')]);
  const first = await speak(provider, r);
  assert.deepEqual(first.fault, { kind: 'overloaded', status: 529, retryAfterMs: 20, message: 'the script says: overloaded', transient: true, provider: 'scripted', model: 'script' });
  assert.deepEqual(first.events, []);
  assert.equal((await speak(provider, r)).fault?.kind, 'connection');
  assert.equal((await speak(provider, r)).text, 'at last');
  assert.equal((await speak(provider, r)).text, 'at last', 'asked once more, it stays');
  assert.equal((await speak(provider, { ...r, sessionId: 's2' })).fault?.kind, 'overloaded', 'another session has its own');
  assert.equal((await speak(provider, request(provider, 'script', [user('hi'), assistant('at last'), user('more')]))).error?.code, 'E_SCRIPT_END');
});

test('a cut breaks the stream in the middle of the last block, and what was finished before counts when it is kept', async () => {
  const steps = [{ say: ['whole', 'this one never ends'], cut: true }, { say: 'again' }, { say: 'last' }];
  const cut = await ask(steps);
  assert.equal(cut.fault?.kind, 'broken_stream');
  assert.equal(cut.fault?.transient, true);
  assert.deepEqual(cut.content, [{ type: 'text', text: 'whole' }]);
  assert.equal(cut.events.at(-1)!.type, 'content_block_delta');
  assert.equal((await ask(steps, [user('hi'), assistant('whole'), user('go on')])).text, 'again');
  assert.equal((await ask(steps, [user('hi'), assistant('whole', 'again'), user('go on')])).text, 'last', 'the rest of the message is the next step');
  assert.equal((await ask(steps, [user('hi'), assistant('again'), user('go on')])).text, 'last', 'nothing was kept');
});

test('what stands beside a fault is said before it', async () => {
  const { content, fault } = await ask([{ say: 'so far', fault: { kind: 'rate_limit', message: 'slow down' } }]);
  assert.deepEqual(content, [{ type: 'text', text: 'so far' }]);
  assert.equal(fault?.message, 'slow down');
});

test('input that is no JSON comes as such', async () => {
  const { content, events, stop } = await ask([{ call: { Read: {} }, badJson: '{"file_path": "a' }]);
  assert.deepEqual(content, [{ type: 'tool_use', id: 'toolu_script_1', name: 'Read', input: {}, inputError: { why: 'it is no JSON', raw: '{"file_path": "a' } }]);
  assert.equal(events.flatMap((e) => (e.type === 'content_block_delta' && e.delta.type === 'input_json_delta' ? [e.delta.partial_json] : [])).join(''), '{"file_path": "a');
  assert.equal(stop, 'tool_use');
});

test('stop reason and usage are as written; the rest of the usage is an estimate', async () => {
  const { events } = await ask([{ say: 'x', stop: 'max_tokens', usage: { output_tokens: 77, cache_read_input_tokens: 5 } }]);
  const end = events.find((e) => e.type === 'message_delta')!;
  assert.ok(end.type === 'message_delta' && end.stop_reason === 'max_tokens' && end.usage.output_tokens === 77 && end.usage.cache_read_input_tokens === 5 && end.usage.input_tokens > 0);
});

test('an expectation that is not met says what came instead, and where the step stands', async () => {
  const { file, said } = await fromFile('steps:\n  - expect: { lastUser: bye }\n    say: x\n');
  assert.equal(said.error?.code, 'E_SCRIPT_EXPECT');
  const printed = printError(said.error!);
  assert.match(printed, /step 1 expected the last user message to have "bye"/);
  assert.match(printed, /it came: "hi"/);
  assert.ok(printed.includes(`${join(root, file)}:2:5`));
});

const talk = [user('look'), assistant({ type: 'tool_use', id: 'a', name: 'Read', input: {} }, { type: 'tool_use', id: 'b', name: 'Read', input: {} }), user(result('a', 'alpha'), result('b', 'beta', true))];
const expectations: readonly [string, unknown, boolean][] = [
  ['text in the last user message', { lastUser: 'oo' }, true],
  ['a pattern', { lastUser: '/^LOOK$/i' }, true],
  ['all of several', { lastUser: ['look', 'nope'] }, false],
  ['the system prompt', { system: 'careful' }, true],
  ['the system prompt without the text', { system: 'careless' }, false],
  ['offered tools', { tools: ['Read'] }, true],
  ['a tool that is missing', { tools: ['Read', 'Bash'] }, false],
  ['a tool that must be missing', { noTools: ['Bash'] }, true],
  ['a tool that must be missing and is there', { noTools: ['Read'] }, false],
  ['any result', { results: 'beta' }, true],
  ['any result that is no error', { results: { text: 'beta', error: false } }, false],
  ['all results in order', { results: ['alpha', { text: '/^b/', error: true }] }, true],
  ['results in another order', { results: ['beta', 'alpha'] }, false],
  ['fewer results', { results: ['alpha'] }, false],
];
for (const [name, expect, met] of expectations) {
  test(`expects ${name}: ${met ? 'met' : 'not met'}`, async () => {
    const said = await ask([{ say: 'never' }, { expect, say: 'ok' }], talk, { tools: [tool('Read')], system: [{ text: 'Be careful.', cacheScope: null }] });
    assert.equal(said.error?.code ?? 'met', met ? 'met' : 'E_SCRIPT_EXPECT');
  });
}

test('waits for an abort in the middle of the last block, and ends at once', async () => {
  const provider = await inline([{ say: 'a long sentence to be interrupted', delayUntil: 'abort' }]);
  const abort = new AbortController();
  const events: string[] = [];
  await assert.rejects(async () => {
    for await (const event of provider.stream(request(provider, 'script', [user('hi')]), abort.signal)) {
      events.push(event.type);
      if (event.type === 'content_block_delta') setImmediate(() => abort.abort());
    }
  }, (e: { facts: { fault: { kind: string } } }) => e.facts.fault.kind === 'aborted');
  assert.ok(!events.includes('content_block_stop'));
});

test('waits for a file, so that an earlier call of the same message can release it', async () => {
  const provider = await inline([{ call: [{ Write: {} }, { Read: {} }], delayUntil: { file: 'released' } }]);
  const seen: string[] = [];
  for await (const event of provider.stream(request(provider, 'script', [user('hi')]), new AbortController().signal)) {
    if (event.type === 'content_block_stop') seen.push((event.block as { name: string }).name);
    if (event.type === 'content_block_stop' && seen.length === 1) await writeFile(join(root, 'released'), '');
  }
  assert.deepEqual(seen, ['Write', 'Read']);
});

test('it is never the model of somebody who named none, unless a script is set', async () => {
  assert.match((await (await standUp(scripted, { root })).get('scripted').available())!, /no script is given/);
  assert.equal(await (await inline([{ say: 'x' }])).available(), null);
});

test('an aborted signal says nothing at all', async () => {
  const provider = await inline([{ say: 'x' }]);
  const said = await speak(provider, request(provider, 'script', [user('hi')]), AbortSignal.abort());
  assert.deepEqual([said.events.length, said.fault?.kind], [0, 'aborted']);
});

test('a file with byte order mark and CRLF is read, texts stay as written, and a changed file is read again', async () => {
  const { file, said } = await fromFile('\ufeffsteps:\r\n  - say: 1.10\r\n');
  assert.equal(said.text, '1.10');
  const provider = (await standUp(scripted, { root, options: { script: file } })).get('scripted');
  assert.equal((await speak(provider, request(provider, 'script', [user('hi')]))).text, '1.10');
  await writeFile(join(root, file), 'steps:\n  - say: changed now\n');
  assert.equal((await speak(provider, request(provider, 'script', [user('hi')]))).text, 'changed now');
  assert.deepEqual(provider.models().map((m) => m.id), ['script']);
});

const broken: readonly [why: string, text: string | Buffer, code: string, place: string, words: RegExp][] = [
  ['an unknown key', 'steps:\n  - sya: hi\n', 'E_SCRIPT_KEY', ':2:5', /did you mean "say"/],
  ['an unknown key of a fault', 'steps:\n  - fault: { kind: overloaded, retry: 3 }\n', 'E_SCRIPT_KEY', ':2:32', /unknown key "retry"/],
  ['an unknown kind of fault', 'steps:\n  - fault: { kind: overloadd }\n', 'E_SCRIPT_VALUE', ':2:20', /did you mean "overloaded"/],
  ['a wrong type', 'steps:\n  - say: [ { a: 1 } ]\n', 'E_SCRIPT_VALUE', ':2:12', /must be a text, and is a map/],
  ['a yes in place of true', 'steps:\n  - { say: a, cut: yes }\n', 'E_SCRIPT_VALUE', ':2:20', /must be true or false, and is the string yes/],
  ['a negative number', 'steps:\n  - { say: a, usage: { output_tokens: -1 } }\n', 'E_SCRIPT_VALUE', ':2:39', /whole number/],
  ['a list in place of the map', '- say: a\n', 'E_SCRIPT_VALUE', ':1:1', /must be a map, and is a list/],
  ['no steps', 'name: x\n', 'E_SCRIPT_KEY', ':1:1', /unknown key "name"/],
  ['an empty list of steps', 'steps: []\n', 'E_SCRIPT_VALUE', ':1:8', /has no step/],
  ['a step that does nothing', 'steps:\n  - expect: { lastUser: a }\n', 'E_SCRIPT_VALUE', ':2:5', /does nothing/],
  ['a tool name that is none', 'steps:\n  - call: { "a b": {} }\n', 'E_SCRIPT_VALUE', ':2:13', /no name of a tool/],
  ['an input that is no map', 'steps:\n  - call: { Read: a.txt }\n', 'E_SCRIPT_VALUE', ':2:19', /must be a map of the tool's input/],
  ['bad JSON that is good', 'steps:\n  - { call: { Read: {} }, badJson: "{}" }\n', 'E_SCRIPT_VALUE', ':2:36', /is JSON/],
  ['bad JSON without a call', 'steps:\n  - { say: a, badJson: "{" }\n', 'E_SCRIPT_VALUE', ':2:24', /no call/],
  ['a pattern that is none', 'steps:\n  - { expect: { lastUser: "/(/" }, say: a }\n', 'E_SCRIPT_VALUE', ':2:27', /no regular expression/],
  ['a cut beside a fault', 'steps:\n  - { say: a, cut: true, fault: overloaded }\n', 'E_SCRIPT_VALUE', ':2:20', /keep one/],
  ['a duplicate key', 'steps:\n  - say: a\n    say: b\n', 'E_SCRIPT_SYNTAX', ':3:5', /stands twice/],
  ['a tab as indent', 'steps:\n\t- say: a\n', 'E_SCRIPT_SYNTAX', ':2:1', /tab/],
  ['an empty file', '', 'E_SCRIPT_SYNTAX', ':1:1', /is empty/],
  ['a file of comments', '# nothing\n', 'E_SCRIPT_SYNTAX', ':1:1', /is empty/],
  ['a second document', 'steps:\n  - say: a\n---\nsteps: []\n', 'E_SCRIPT_SYNTAX', ':3:1', /second document/],
  ['an unknown tag', 'steps:\n  - say: !include x\n', 'E_SCRIPT_SYNTAX', ':2:10', /begins with "!"/],
  ['an alias bomb', `a: &a [x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nsteps: [*c]\n`, 'E_SCRIPT_SYNTAX', ':2:8', /aliases/],
  ['an alias of nothing', 'steps:\n  - say: *gone\n', 'E_SCRIPT_SYNTAX', ':2:10', /gone/],
  ['a merge key', 'steps:\n  - call: { Read: { <<: { a: 1 } } }\n', 'E_SCRIPT_SYNTAX', ':2:21', /merge keys/],
  ['__proto__', 'steps:\n  - call: { Read: { __proto__: { polluted: true } } }\n', 'E_SCRIPT_SYNTAX', ':2:21', /__proto__/],
  ['a key that is a map', 'steps:\n  - say: {{ x }}\n', 'E_SCRIPT_SYNTAX', ':2:11', /quotes/],
  ['depth without end', `steps: ${'['.repeat(200)}${']'.repeat(200)}\n`, 'E_SCRIPT_SYNTAX', ':1:', /nested/],
  ['bytes that are no text', Buffer.from([0x73, 0xff, 0xfe, 0x00]), 'E_SCRIPT_READ', '', /not UTF-8/],
];
for (const [why, text, code, place, words] of broken) {
  test(`refuses ${why}, with its place and what to do`, async () => {
    const { file, said } = await fromFile(text);
    assert.equal(said.error?.code, code);
    const printed = printError(said.error!);
    assert.ok(printed.includes(`${join(root, file)}${place}`), printed);
    assert.match(printed, words);
    assert.match(printed, /^ {2}do {6}\S/m);
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
  });
}

test('refuses a folder, a missing file and one that may not be read', async () => {
  await mkdir(join(root, 'folder.yaml'));
  await writeFile(join(root, 'secret.yaml'), 'steps: []');
  await chmod(join(root, 'secret.yaml'), 0);
  const provider = (await standUp(scripted, { root })).get('scripted');
  const why = async (file: string) => (await speak(provider, request(provider, file, [user('hi')]))).error?.message;
  assert.match((await why('folder.yaml'))!, /it is a folder/);
  assert.match((await why('missing.yaml'))!, /there is no such file/);
  if (process.getuid?.() !== 0) assert.match((await why('secret.yaml'))!, /permission denied/);
});

test('the example of its page plays to its end', async () => {
  const page = await readFile(new URL('../../../docs/plugins/models-scripted.md', import.meta.url), 'utf8');
  await writeFile(join(root, 'page.yaml'), /```yaml\n([\s\S]*?)```/.exec(page)![1]!);
  const provider = (await standUp(scripted, { root })).get('scripted');
  const tools = ['Read', 'Write'].map(tool);
  const talk: NormalizedMessage[] = [user('fix the typo')];
  const kinds: string[] = [];
  for (const results of ['teh title', 'teh title', 'Updated README.md', null]) {
    const said = await speak(provider, request(provider, 'page.yaml', talk, { tools }));
    kinds.push(said.fault?.kind ?? said.error?.code ?? said.stop!);
    if (said.fault === null) talk.push({ role: 'assistant', content: said.content }, user(...said.content.flatMap((b, i) => (b.type === 'tool_use' ? [result(b.id, i === 0 || results === 'teh title' ? results ?? '' : 'The title')] : []))));
  }
  assert.deepEqual(kinds, ['tool_use', 'overloaded', 'tool_use', 'end_turn']);
});

test('a script in the options is checked like a file, with a path of keys', async () => {
  const { error } = await ask([{ say: 'a' }, { say: 'a', cal: {} }]);
  assert.equal(error?.code, 'E_SCRIPT_KEY');
  assert.equal(error?.where, 'script.steps[1].cal');
});

test('property: whatever the steps are, playing them all through one conversation says each answer once, in order', async () => {
  const step = fc.oneof(
    fc.record({ say: fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 2 }) }),
    fc.record({ call: fc.constant({ Read: {} }), say: fc.constantFrom('x', 'y') }),
    fc.record({ fault: fc.constant('overloaded') }),
    fc.record({ say: fc.array(fc.constantFrom('p', 'q'), { minLength: 1, maxLength: 2 }), cut: fc.constant(true) }),
  );
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), fc.boolean(), async (steps, keepCut) => {
    const provider = await inline(steps);
    const messages: NormalizedMessage[] = [user('hi')];
    const played: unknown[] = [];
    for (let i = 0; i < steps.length; i++) {
      const said = await speak(provider, request(provider, 'script', messages));
      played.push(said.fault?.kind ?? said.content.map((b) => (b.type === 'text' ? b.text : (b as { name: string }).name)));
      const kept: readonly Block[] = said.fault === null || keepCut ? said.content : [];
      if (kept.length > 0) messages.push({ role: 'assistant', content: kept }, user('go on'));
    }
    const wanted = steps.map((s) => ('fault' in s ? 'overloaded' : 'cut' in s ? 'broken_stream' : 'call' in s ? [s.say, 'Read'] : s.say));
    assert.deepEqual(played, wanted);
    assert.equal((await speak(provider, request(provider, 'script', messages))).error?.code, 'E_SCRIPT_END');
  }), { numRuns: 60 });
});

test('property: whatever a conversation holds, those that have no vendor encode it alike, leave it as it is, and stream in order', async () => {
  const script = (await standUp(scripted, { root, options: { script: { steps: Array.from({ length: 20 }, () => ({ think: 'hm', say: 'Grüße, 世界 👩‍👩‍👧', call: [{ Read: { a: 'é\n"' } }, { Bash: {} }], badJson: '{"a' })) } } })).get('scripted');
  const list = (await standUp(fallback, { others: [script], options: { stay: 1, patienceMs: 0 } })).get('fallback');
  const others = [script, list, (await standUp(replay, { root, options: { ignore: [] } })).get('replay')];
  await fc.assert(fc.asyncProperty(conversation(peerTools), async (messages) => {
    for (const provider of others) for (const m of messages) {
      const before = structuredClone(m);
      assert.deepEqual(provider.encode(structuredClone(m)), provider.encode(m));
      assert.deepEqual(m, before);
    }
    for (const [provider, model] of [[script, 'script'], [list, 'scripted/script']] as const) {
      const said = await speak(provider, request(provider, model, messages));
      assert.equal(said.error, null);
      inOrder(said.events);
    }
  }), { numRuns: 40 });
});
