import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { printError } from 'tappet/kernel';
import type { ModelProvider, ModelRequest, NormalizedMessage } from 'tappet/kernel';
import replay from '../../../plugins/models/replay/index.ts';
import { redactor } from '../../../plugins/models/replay/secrets.ts';
import scripted from '../../../plugins/models/scripted/index.ts';
import { assistant, request, result, speak, standUp, tool, user } from './provider-bench.ts';

const base = await mkdtemp(join(tmpdir(), 'tappet-replay-'));
after(() => rm(base, { recursive: true, force: true }));
const IGNORE = ['^- System: .*$', '^- Git branch: .*$'];
let folders = 0;
async function place() { const root = join(base, `p${++folders}`); await mkdir(root); return root; }

const live = async (root: string, steps: unknown[]): Promise<ModelProvider> => (await standUp(scripted, { root, options: { script: { steps } } })).get('scripted');
async function recording(root: string, steps: unknown[], o: { env?: Record<string, string>; home?: string } = {}) {
  const provider = (await standUp(replay, { root, ...o, others: [await live(root, steps)], options: { record: { file: 'recordings/a.jsonl', provider: 'scripted', model: 'script' }, ignore: IGNORE } })).get('replay');
  return { provider, file: join(root, 'recordings/a.jsonl'), say: (messages: NormalizedMessage[], more: Partial<ModelRequest> = {}) => speak(provider, request(provider, 'record', messages, more)) };
}
async function playing(root: string, o: { home?: string } = {}) {
  const provider = (await standUp(replay, { root, ...o, options: { ignore: IGNORE } })).get('replay');
  return { provider, say: (messages: NormalizedMessage[], more: Partial<ModelRequest> = {}, file = 'recordings/a.jsonl') => speak(provider, request(provider, file, messages, more)) };
}
const read = { type: 'tool_use' as const, id: 'toolu_script_1', name: 'Read', input: { file_path: 'a' } };

test('plays back what was recorded: blocks, usage, stop reasons, faults', async () => {
  const root = await place();
  const rec = await recording(root, [{ think: 'hm', say: 'I look.', call: { Read: { file_path: 'a' } }, usage: { output_tokens: 9 } }, { fault: { kind: 'overloaded', status: 529 } }, { say: ['whole', 'broken off here somewhere'], cut: true }, { say: 'done' }]);
  const first = [user('hi')];
  const second = [user('hi'), assistant(read), user(result('toolu_script_1', 'alpha'))];
  const said = [await rec.say(first), await rec.say(second), await rec.say(second), await rec.say(second)];
  const again = await playing(root);
  for (const [i, messages] of [first, second, second, second].entries()) {
    const played = await again.say(messages);
    assert.deepEqual(played.content, said[i]!.content);
    assert.deepEqual([played.stop, played.fault?.kind, played.fault?.status], [said[i]!.stop, said[i]!.fault?.kind, said[i]!.fault?.status]);
    assert.deepEqual(played.events, said[i]!.events, 'also the pieces, since the recorded model cut them the same way');
  }
  assert.deepEqual((await again.say(second)).text, 'done', 'asked once more, the last answer stays');
});

test('a recording plays in another folder, on another day, in another session', async () => {
  const root = await place();
  const rec = await recording(root, [{ call: { Read: { file_path: `${root}/a.txt` } } }], { home: '/home/jo' });
  const system = (folder: string, day: string, os: string) => [{ text: `# Environment\n- Working folder: ${folder}\n- System: ${os}\n- Today: ${day}\n`, cacheScope: null }];
  const say = (folder: string, day: string, id: string, home: string) => [user(`look into ${folder}/src and ${home}/x, at ${day}T10:00:00Z, session ${id}`)];
  await rec.say(say(root, '2026-11-30', '11111111-2222-4333-8444-555555555555', '/home/jo'), { system: system(root, '2026-11-30', 'linux 6') });
  const other = await place();
  await mkdir(join(other, 'recordings'));
  await writeFile(join(other, 'recordings/a.jsonl'), await readFile(rec.file));
  const played = await (await playing(other, { home: '/users/al' })).say(say(other, '2027-01-02', '99999999-2222-4333-8444-555555555555', '/users/al'), { system: system(other, '2027-01-02', 'darwin 30') });
  assert.deepEqual(played.content, [{ ...read, input: { file_path: `${other}/a.txt` } }]);
  assert.ok(!(await readFile(rec.file, 'utf8')).includes(root), 'the file names no folder of this machine');
});

test('a folder whose name only begins alike stays as it is', async () => {
  const root = await place();
  const rec = await recording(root, [{ say: `see ${root}.bak and ${root}-old, not ${root}.` }]);
  await rec.say([user('hi')]);
  assert.ok((await readFile(rec.file, 'utf8')).includes(`see ${root}.bak and ${root}-old, not {{root}}.`));
});

test('a request that differs is refused with the first difference', async () => {
  const root = await place();
  const rec = await recording(root, [{ call: { Read: { file_path: 'a' } } }, { say: 'done' }]);
  await rec.say([user('count the files')], { tools: [tool('Read')] });
  await rec.say([user('count the files'), assistant(read), user(result('toolu_script_1', 'three files'))], { tools: [tool('Read')] });
  const again = await playing(root);
  const why = async (messages: NormalizedMessage[], more: Partial<ModelRequest>) => printError((await again.say(messages, more)).error!);
  const words = await why([user('count the files'), assistant(read), user(result('toolu_script_1', 'four files'))], { tools: [tool('Read')] });
  assert.match(words, /E_REPLAY_DIFFERENT.*messages\[2\]\.content\[0\]\.content/);
  assert.match(words, /recorded: "three files"; now: "four files"/);
  assert.match(words, /recordings\/a\.jsonl:\d+:1/);
  assert.match(await why([user('count the files')], { tools: [tool('Read'), tool('Bash')] }), /tools\[1\].*\n.*\n.*recorded: nothing; now: \{"name":"Bash"/);
  assert.match(await why([user('count the files'), assistant('no'), user('what?')], { tools: [tool('Read')] }), /messages\[1\]\.content\[0\]\.type/);
  assert.match(await why([user('hello')], { tools: [tool('Read')] }), /messages\[0\]\.content\[0\]\.text/);
});

test('secrets do not reach the file: keys by their looks, fields by their names, values of variables', async () => {
  const root = await place();
  const rec = await recording(root, [{ say: `your key is sk-ant-api03-${'a'.repeat(40)}`, call: { Bash: { command: 'curl -H "Authorization: Bearer abcdefghijklmnop1234"' } } }], { env: { MY_TOKEN: 'hunter2hunter2', PATH: '/usr/bin:/bin' } });
  await rec.say([user('my token is hunter2hunter2 and AKIAIOSFODNN7EXAMPLE')], { system: [{ text: 'password: correct-horse', cacheScope: null }] });
  const text = await readFile(rec.file, 'utf8');
  for (const secret of ['sk-ant', 'abcdefghijklmnop1234', 'hunter2', 'AKIA', 'correct-horse']) assert.ok(!text.includes(secret), secret);
  const played = await (await playing(root)).say([user('my token is {{secret}} and AKIAIOSFODNN7EXAMPLE')], { system: [{ text: 'password: another-horse', cacheScope: null }] });
  assert.match(played.text, /^your key is \{\{secret\}\}$/);
});

const keys = [
  `sk-proj-${'x'.repeat(30)}`, `AIza${'b'.repeat(35)}`, `ya29.${'c'.repeat(30)}`, 'ASIAIOSFODNN7EXAMPLE', `ghp_${'d'.repeat(36)}`, `github_pat_${'e'.repeat(30)}`, `glpat-${'f'.repeat(20)}`, 'xoxb-1234567890-abc',
  `hooks.slack.com/services/T0/B0/${'x'.repeat(24)}`, `npm_${'g'.repeat(36)}`, `pypi-${'h'.repeat(60)}`, `hf_${'i'.repeat(34)}`, `gsk_${'j'.repeat(52)}`, `xai-${'k'.repeat(60)}`, `sk_live_${'l'.repeat(24)}`,
  `whsec_${'m'.repeat(32)}`, `SG.${'n'.repeat(22)}.${'o'.repeat(43)}`, `dop_v1_${'a'.repeat(64)}`, `eyJ${'p'.repeat(20)}.eyJ${'q'.repeat(20)}.${'r'.repeat(43)}`, '-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----',
];
test('what looks like a key is taken out of any text; ordinary words stay', () => {
  const redact = redactor({});
  fc.assert(fc.property(fc.constantFrom(...keys), fc.constantFrom('', 'see ', 'KEY=', '("'), fc.constantFrom('', ' now', '")', '\nnext'), (key, before, behind) => {
    const clean = redact(before + key + behind);
    assert.ok(!clean.includes(key) && clean.includes('{{secret}}'), clean);
    assert.ok(clean.startsWith(before) && clean.endsWith(behind));
  }));
  for (const plain of ['the task-list of a risk-averse team', 'keyboard: qwerty', 'a tokenizer', 'https://example.com/a:b@c', 'monkey = banana', 'commit 0123456789abcdef0123456789abcdef01234567']) assert.equal(redact(plain), plain);
  assert.equal(redact('postgres://me:s3cret@db/x'), 'postgres://me:{{secret}}@db/x');
});

test('a file that is there is never written over, and the model is not asked in vain', async () => {
  const root = await place();
  await mkdir(join(root, 'recordings'));
  await writeFile(join(root, 'recordings/a.jsonl'), 'mine');
  const rec = await recording(root, [{ say: 'x' }]);
  const said = await rec.say([user('hi')]);
  assert.deepEqual([said.error?.code, said.events.length], ['E_REPLAY_EXISTS', 0]);
  assert.equal(await readFile(rec.file, 'utf8'), 'mine');
});

test('a provider that is not there, or may not be used, is named', async () => {
  const root = await place();
  const provider = (await standUp(replay, { root, options: { record: { file: 'x', provider: 'gone', model: 'y' }, ignore: [] } })).get('replay');
  assert.match((await provider.available())!, /no provider is named "gone"/);
  assert.equal((await speak(provider, request(provider, 'record', [user('hi')]))).error?.code, 'E_MODEL_UNKNOWN');
});

test('interrupted exchanges, and those that failed for the key, are not kept', async () => {
  const root = await place();
  const rec = await recording(root, [{ fault: 'auth' }, { say: 'answer' }]);
  assert.equal((await rec.say([user('hi')])).fault?.kind, 'auth');
  assert.equal((await rec.say([user('hi')])).text, 'answer');
  const abort = new AbortController();
  const rec2 = await recording(await place(), [{ say: 'a long text that goes on and on' }]);
  await assert.rejects(async () => { for await (const _ of rec2.provider.stream(request(rec2.provider, 'record', [user('hi')]), abort.signal)) abort.abort(); });
  await assert.rejects(readFile(rec2.file), { code: 'ENOENT' });
  assert.equal((await (await playing(root)).say([user('hi')])).text, 'answer');
});

test('a message that was sent before is not written twice', async () => {
  const root = await place();
  const rec = await recording(root, [{ say: 'one' }, { say: 'two' }]);
  const long = `a rather long prompt ${'x'.repeat(500)}`;
  await rec.say([user(long)], { tools: [tool('Read')] });
  await rec.say([user(long), assistant('one'), user('go on')], { tools: [tool('Read')] });
  const text = await readFile(rec.file, 'utf8');
  assert.equal(text.split(long).length - 1, 1);
  assert.equal(text.split('"input_schema"').length - 1, 1);
  assert.equal((await (await playing(root)).say([user(long), assistant('one'), user('go on')], { tools: [tool('Read')] })).text, 'two');
});

test('two conversations may be recorded side by side', async () => {
  const root = await place();
  const rec = await recording(root, [{ say: 'an answer' }]);
  await Promise.all([rec.say([user('a')], { sessionId: 'a' }), rec.say([user('b')], { sessionId: 'b' })]);
  const again = await playing(root);
  assert.equal((await again.say([user('a')])).text + (await again.say([user('b')])).text, 'an answeran answer');
});

const HEAD = '{"recording":1,"provider":"a","model":"b"}';
const REQUEST = '{"request":1,"system":[],"tools":[],"toolChoice":"auto","messages":[]}';
const STOP = '{"event":{"type":"message_stop"}}';
const broken: readonly [string, string, string, RegExp][] = [
  ['an empty file', '', ':1:1', /the file is empty/],
  ['a file of something else', '{"a":1}\n', ':1:1', /begins with/],
  ['a file that only has a head', `${HEAD}\n`, ':1:1', /no exchange/],
  ['a torn last line', `${HEAD}\n${REQUEST}\n{"event":{"ty`, ':3:', /cut while it was written/],
  ['a torn last exchange', `${HEAD}\n${REQUEST}\n${STOP}\n`, ':2:1', /has no end/],
  ['a broken line in the middle', `${HEAD}\n${REQUEST}\n{"event":}\n{"end":true}\n`, ':3:', /no JSON/],
  ['a list for a line', `${HEAD}\n[]\n`, ':2:1', /no object/],
  ['an answer without its end', `${HEAD}\n${REQUEST}\n{"end":true}\n`, ':3:1', /no message_stop/],
  ['a request that was taken out', `${HEAD}\n${REQUEST.replace('1', '2')}\n`, ':2:1', /exchange 1, and it says 2/],
  ['an event before its request', `${HEAD}\n${STOP}\n`, ':2:1', /no request/],
  ['an unknown event', `${HEAD}\n${REQUEST}\n{"event":{"type":"messge_stop"}}\n`, ':3:1', /not known/],
  ['an unknown line', `${HEAD}\n${REQUEST}\n{"evnt":1}\n`, ':3:1', /neither/],
  ['a request without messages', `${HEAD}\n{"request":1,"system":[],"tools":[],"toolChoice":"auto"}\n`, ':2:1', /"messages" must be a list/],
  ['a request without tools', `${HEAD}\n{"request":1,"system":[],"messages":[]}\n`, ':2:1', /"tools" is missing/],
  ['a reference to nothing', `${HEAD}\n{"request":1,"like":7,"keeps":1,"messages":[]}\n`, ':2:1', /refers to exchange 7/],
  ['more messages kept than there are', `${HEAD}\n${REQUEST}\n${STOP}\n{"end":true}\n{"request":2,"like":1,"keeps":3,"messages":[]}\n`, ':5:1', /keeps 3 messages/],
  ['a fault without its kind', `${HEAD}\n${REQUEST}\n{"fault":{"message":"x"}}\n`, ':3:1', /a fault needs/],
];
for (const [why, text, where, words] of broken) {
  test(`refuses ${why}, with its place`, async () => {
    const root = await place();
    await writeFile(join(root, 'r.jsonl'), text);
    const said = await (await playing(root)).say([user('hi')], {}, 'r.jsonl');
    assert.equal(said.error?.code, 'E_REPLAY_SYNTAX');
    assert.ok(printError(said.error!).includes(`${join(root, 'r.jsonl')}${where}`), printError(said.error!));
    assert.match(said.error!.message, words);
  });
}

test('refuses a folder, a missing file, and bytes that are no text', async () => {
  const root = await place();
  await writeFile(join(root, 'bytes'), Buffer.from([0xff, 0xfe, 0x00]));
  const again = await playing(root);
  assert.match((await again.say([user('hi')], {}, '.')).error!.message, /it is a folder/);
  assert.match((await again.say([user('hi')], {}, 'gone')).error!.message, /no such file/);
  assert.match((await again.say([user('hi')], {}, 'bytes')).error!.message, /not UTF-8/);
});

test('a file with CRLF plays', async () => {
  const root = await place();
  const rec = await recording(root, [{ say: 'x' }]);
  await rec.say([user('hi')]);
  await writeFile(rec.file, (await readFile(rec.file, 'utf8')).replaceAll('\n', '\r\n'));
  assert.equal((await (await playing(root)).say([user('hi')])).text, 'x');
});

test('a pattern to ignore that is none is refused when the plugin starts', async () => {
  await assert.rejects(standUp(replay, { options: { ignore: ['('] } }), { code: 'E_PLUGIN_OPTIONS' });
});

test('property: cutting a recording at any byte never plays a wrong answer', async () => {
  const root = await place();
  const rec = await recording(root, [{ say: 'first answer' }, { say: 'second answer' }]);
  const second = [user('hi'), assistant('first answer'), user('more')];
  await rec.say([user('hi')]);
  await rec.say(second);
  const whole = await readFile(rec.file);
  await fc.assert(fc.asyncProperty(fc.nat(whole.length - 1), async (at) => {
    await writeFile(join(root, 'cut.jsonl'), whole.subarray(0, at));
    const said = await (await playing(root)).say(second, {}, 'cut.jsonl');
    if (said.error === null) assert.equal(said.text, 'second answer'); else assert.match(said.error.code, /^E_REPLAY_(SYNTAX|DIFFERENT)$/);
  }), { numRuns: 60 });
});
