import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Block, ModelRequest, NormalizedMessage, ToolUseBlock } from 'tappet/kernel';
import offline from '../../../plugins/models/offline/index.ts';
import { conversation, inOrder, peerTools } from '../../contracts/model-provider.ts';
import { growTree, samples } from './offline-grammar.ts';
import { assistant, request, result, speak, standUp, tool, user } from './provider-bench.ts';

const provider = (await standUp(offline)).get('offline');
const ALL = ['Read', 'Write', 'Glob', 'Grep', 'Bash'];
type Answer = string | { error: string };
/** Plays a prompt to its end; `answers` stands for the tools. */
async function play(prompt: string | NormalizedMessage[], answers: (call: ToolUseBlock) => Answer, o: { tools?: readonly string[]; more?: Partial<ModelRequest> } = {}) {
  const messages = typeof prompt === 'string' ? [user(prompt)] : [...prompt];
  const calls: ToolUseBlock[] = [];
  for (let round = 0; round < 60; round++) {
    const said = await speak(provider, request(provider, 'rules', messages, { tools: (o.tools ?? ALL).map(tool), ...o.more }));
    assert.equal(said.error, null);
    inOrder(said.events);
    const uses = said.content.filter((b): b is ToolUseBlock => b.type === 'tool_use');
    assert.equal(said.stop, uses.length > 0 ? 'tool_use' : 'end_turn');
    messages.push({ role: 'assistant', content: said.content });
    if (uses.length === 0) return { text: said.text, calls, messages, rounds: round + 1 };
    calls.push(...uses);
    messages.push(user(...uses.map((use): Block => { const a = answers(use); return typeof a === 'string' ? result(use.id, a) : result(use.id, a.error, true); })));
  }
  throw new Error(`no end: ${calls.map((c) => c.name).join(' ')}`);
}
const brief = (calls: readonly ToolUseBlock[]) => calls.map((c) => [c.name, c.input]);
const numbered = (lines: readonly string[], first = 1) => lines.map((l, i) => `${String(first + i).padStart(5)}\t${l}`).join('\n');
const never = (): Answer => { throw new Error('no call was expected'); };

test('says what it is in its first answer, and only there', async () => {
  const first = await play('list the ts files in src', () => 'src/b.ts\nsrc/a.ts');
  assert.equal(first.text, "This is Tappet's offline stand-in: fixed rules, no language model.\n\nThere are 2 files matching *.ts in src and the folders below it:\n- src/a.ts\n- src/b.ts");
  assert.deepEqual(brief(first.calls), [['Glob', { pattern: '**/*.ts', path: 'src' }]]);
  const second = await play([...first.messages, user('how many *.md files are there?')], () => 'No files.');
  assert.equal(second.text, 'There is no file matching *.md in this folder and the folders below it.');
});

test('what it does not understand it says, with what it can do, and calls nothing', async () => {
  const { text, rounds } = await play('prove that P is not NP', never);
  assert.match(text, /^This is Tappet's offline stand-in[\s\S]*I did not understand "prove that P is not NP"\. What I can do, for example:\n- list/);
  assert.equal(rounds, 1);
});

test('an empty prompt, and one without words, are answered', async () => {
  for (const prompt of ['', ' \n ', '???', '```\n```']) assert.match((await play([user({ type: 'text', text: prompt })], never)).text, /offline stand-in/);
  assert.match((await play([user({ type: 'image', source: {} })], never)).text, /no question that I could see/);
});

test('never calls a tool that is not offered, and says which is missing', async () => {
  assert.match((await play('list files', never, { tools: ['Read'] })).text, /needs the tool Glob, which is not offered here/);
  assert.match((await play('run `ls`', never, { tools: [] })).text, /needs the tool Bash/);
  const lines = await play('how many lines does a.txt have?', () => numbered(['x', 'y']), { tools: ['Read'] });
  assert.match(lines.text, /a\.txt has 2 lines/);
  const size = await play('what is the largest file?', (c) => (c.name === 'Grep' ? 'a.ts:3\nb.ts:9\n[12 matching lines in 2 files]' : 'b.ts\na.ts'), { tools: ['Glob', 'Grep'] });
  assert.match(size.text, /longest file .* is b\.ts, with 9 lines\..*bytes need the tool Bash, which is not offered/);
});

test('a count comes from the whole, not from the part that is named', async () => {
  const { text, calls } = await play('how many files are there?', () => `${Array.from({ length: 100 }, (_, i) => `f${i}`).join('\n')}\n[the newest 100 of 2345 files; a narrower pattern shows others]`);
  assert.match(text, /There are 2345 files/);
  assert.equal(calls.length, 1);
});

test('where one call does not name all files, narrower ones do', async () => {
  const names = ['alpha', 'beta', 'cat', 'mouse', 'Zebra', '7up', '_x', '.dot', 'Äpfel', 'a', 'b'].flatMap((n) => Array.from({ length: 15 }, (_, i) => `${n}${i === 0 ? '' : i}.txt`));
  const answer = ({ input }: ToolUseBlock): Answer => {
    const glob = /^\*\*\/(.*)$/.exec(String(input['pattern']))![1]!;
    const regex = new RegExp(`^${glob.replace(/[.]/g, (c, at: number) => (glob.slice(0, at).lastIndexOf('[') > glob.slice(0, at).lastIndexOf(']') ? c : '\\.')).replace(/\*/g, '.*')}$`);
    const found = names.filter((n) => regex.test(n));
    return found.length === 0 ? 'No files.' : [...found.slice(0, 20), ...(found.length > 20 ? [`[the newest 20 of ${found.length} files; a narrower pattern shows others]`] : [])].join('\n');
  };
  const { text } = await play('list all txt files', answer);
  assert.deepEqual(text.split('\n').filter((l) => l.startsWith('- ')).map((l) => l.slice(2)).sort(), [...names].sort());
});

test('where not all can be named, it says so', async () => {
  const { text } = await play('list all files', (c) => (c.input['pattern'] === '**/*' ? 'a\nb\n[the newest 2 of 90000 files; a narrower pattern shows others]' : never()));
  assert.match(text, /90000 files[\s\S]*The newest 2 are named here/);
  assert.match((await play('how many files are there?', () => 'a\n[stopped after 20 s: there may be more; search a smaller folder]')).text, /There is at least 1 file/);
  assert.match((await play('which is the oldest file?', () => 'a\nb\n[the newest 2 of 300 files; a narrower pattern shows others]')).text, /the oldest cannot be told/);
});

test('matches are counted over all pages of a search', async () => {
  const { text, calls } = await play('how many times does "x" occur in src?', ({ input }) => (input['offset'] === undefined ? 'src/a.ts:1:x\nsrc/a.ts:1:x\n[there is more: offset 2 goes on]' : 'src/b.ts:7:x'));
  assert.match(text, /"x" occurs 3 times in src \(in 2 files\)\.\n- src\/a\.ts: 2\n- src\/b\.ts: 1/);
  assert.deepEqual(brief(calls), [['Grep', { pattern: 'x', output_mode: 'content', head_limit: 0, '-o': true, path: 'src' }], ['Grep', { pattern: 'x', output_mode: 'content', head_limit: 0, '-o': true, path: 'src', offset: 2 }]]);
  assert.match((await play('how many times does "x" occur?', () => 'a:1:x\n[stopped after 20 s: there may be more; search a smaller folder]')).text, /occurs at least 1 time/);
});

test('text that is looked for is text, unless it is called a pattern', async () => {
  const pattern = async (prompt: string) => (await play(prompt, () => 'No matches.')).calls[0]!.input['pattern'];
  assert.equal(await pattern('search for "a.b(c)[0] $x ^y {z} |+?*\\\\"'), 'a\\.b\\(c\\)\\[0\\] \\$x \\^y \\{z\\} \\|\\+\\?\\*\\\\\\\\');
  assert.equal(await pattern('search for the regex "a+b"'), 'a+b');
  assert.equal(await pattern('grep for /fo+\\d/ in src'), 'fo+\\d');
});

test('a file is read page after page, and shown without its line numbers', async () => {
  const { text, calls } = await play('how many words are in big.txt?', ({ input }) => (input['offset'] === undefined ? `${numbered(['one two', 'three'])}\n[PARTIAL view: lines 1-2 of 3. Read on with offset 3, or search with Grep. The file does not count as read]` : `${numbered(['four'], 3)}\n[PARTIAL view: lines 3-3 of 3. The file does not count as read]`));
  assert.match(text, /big\.txt has 4 words/);
  assert.deepEqual(calls.map((c) => c.input['offset']), [undefined, 3]);
  const part = await play('read big.txt', () => `${numbered(['a', '   2\tnot a number'])}\n[PARTIAL view: lines 1-2 of 900. Read on with offset 3]`);
  assert.match(part.text, /big\.txt, lines 1-2 of 900: There is more: ask for lines 3-502 of big\.txt\.\n\n```\na\n {3}2\tnot a number\n```/);
});

test('text with back-ticks stays in its block', async () => {
  assert.match((await play('read a.md', () => numbered(['````js', 'x', '````']))).text, /\n`````\n````js\nx\n````\n`````$/);
});

test('a name that leads nowhere is looked for, and one that leads to several places asks back', async () => {
  const missing = { error: 'there is no /p/a.ts. The working folder is /p' };
  const found = await play('read a.ts', (c) => (c.name === 'Glob' ? 'src/a.ts' : c.input['file_path'] === 'src/a.ts' ? numbered(['here']) : missing));
  assert.match(found.text, /src\/a\.ts \(1 line\):\n\n```\nhere/);
  assert.match((await play('read a.ts', (c) => (c.name === 'Glob' ? 'lib/a.ts\nsrc/a.ts' : missing))).text, /There is no a\.ts here, but there are lib\/a\.ts, src\/a\.ts\. Say which\./);
  assert.match((await play('read a.ts', (c) => (c.name === 'Glob' ? 'No files.' : missing))).text, /Reading a\.ts did not succeed\. Read said: there is no \/p\/a\.ts/);
  const readme = await play('show me the readme', (c) => (c.name === 'Glob' ? 'README.md\ndocs/readme.txt' : c.input['file_path'] === 'README.md' ? numbered(['# Hi']) : missing));
  assert.match(readme.text, /README\.md \(1 line\)/);
  assert.equal(readme.calls[1]!.input['pattern'], '**/[rR][eE][aA][dD][mM][eE]{,.*}');
});

test('a refusal is reported with its reason, and nothing else is tried', async () => {
  const { text, calls } = await play('run `rm -rf build`', () => ({ error: 'Refused: nobody is asked in this mode. Do not try the same in another way.' }));
  assert.match(text, /The command was not run\. Refused: nobody is asked in this mode\./);
  assert.equal(calls.length, 1);
  assert.match((await play('create a.txt with "x"', () => ({ error: 'Refused: plan mode.' }))).text, /Writing a\.txt did not succeed\. Write said: Refused: plan mode\./);
  assert.match((await play('list files', () => ({ error: 'Interrupted before a result was recorded.' }))).text, /did not succeed\. Glob said: Interrupted/);
});

test('what changes something is not done on top of a step that failed or was not understood', async () => {
  const failed = await play('run `make` and then run `./deploy`', () => ({ error: 'Exit code 2\nno rule' }));
  assert.deepEqual(failed.calls.map((c) => c.input['command']), ['make']);
  assert.match(failed.text, /The command failed \(exit code 2\): `make`[\s\S]*Not done, because a step before it was not: run `\.\/deploy`/);
  const strange = await play('back up everything and then run `./drop`', never);
  assert.match(strange.text, /I did not understand "back up everything"[\s\S]*Not done/);
  const harmless = await play('juggle a bit and then list the md files', () => 'a.md');
  assert.match(harmless.text, /I did not understand "juggle a bit"[\s\S]*There is 1 file matching \*\.md/);
});

test('an existing file is read before it is replaced', async () => {
  let seen = false;
  const { text, calls } = await play('write "new" to a.txt', (c) => { if (c.name === 'Read') { seen = true; return numbered(['old']); } return seen ? 'Updated a.txt (1 line).' : { error: '/p/a.txt exists and has not been read yet. Read it first, then write' }; });
  assert.deepEqual(calls.map((c) => c.name), ['Write', 'Read', 'Write']);
  assert.match(text, /Replaced a\.txt\. Write said: Updated a\.txt/);
});

test('text is added and replaced by Edit where it is offered, else by writing the file anew', async () => {
  const answers = (c: ToolUseBlock): Answer => (c.name === 'Read' ? numbered(['one', 'two', 'one']) : 'done');
  const edit = await play('add the line "end" to a.txt', answers, { tools: ['Read', 'Edit', 'Write'] });
  assert.deepEqual(brief(edit.calls)[1], ['Edit', { file_path: 'a.txt', old_string: 'two\none', new_string: 'two\none\nend' }]);
  const write = await play('add the line "end" to a.txt', answers, { tools: ['Read', 'Write'] });
  assert.deepEqual(brief(write.calls)[1], ['Write', { file_path: 'a.txt', content: 'one\ntwo\none\nend\n' }]);
  const replaced = await play('replace "one" with "1" in a.txt', answers, { tools: ['Read', 'Edit'] });
  assert.deepEqual(brief(replaced.calls)[1], ['Edit', { file_path: 'a.txt', old_string: 'one', new_string: '1', replace_all: true }]);
  assert.match(replaced.text, /Replaced "one" by "1" in a\.txt, 2 times\./);
  assert.match((await play('replace "three" with "3" in a.txt', answers)).text, /"three" does not stand in a\.txt: nothing was replaced/);
});

test('a file that cannot be shown whole, or whose line ends would be lost, is not written anew', async () => {
  const whole = (notice: string) => play('add "x" to a.txt', (c) => (c.name === 'Read' ? `${numbered(['a'])}\n[${notice}]` : never()), { tools: ['Read', 'Write'] });
  assert.match((await whole('lines end in CRLF')).text, /CRLF; they would be lost/);
  assert.match((await whole('PARTIAL view: lines 1-1 of 1, 1 line cut. The file does not count as read')).text, /cannot be shown whole/);
});

test('it and them are the files that were spoken of, also in the prompt before', async () => {
  const first = await play('read a.txt', () => numbered(['x']));
  const next = await play([...first.messages, user('how many lines does it have?')], () => 'a.txt:1\n[1 matching line in 1 file]');
  assert.deepEqual(brief(next.calls), [['Grep', { pattern: '^', path: 'a.txt', output_mode: 'count', head_limit: 0 }]]);
  assert.match((await play('read it', never)).text, /No file was spoken of before/);
  const both = await play('which files mention "x" and then read them', (c) => (c.name === 'Grep' ? 'a\nb' : numbered([String(c.input['file_path'])])));
  assert.deepEqual(both.calls.slice(1).map((c) => c.input['file_path']), ['a', 'b']);
});

test('a project is told in its own words', async () => {
  const files: Record<string, string> = {
    'README.md': '# Lamp\n\n[![build](x)](y)\n\nKeeps **light**.\nAlways.\n\n## More', 'package.json': '{"name":"lamp","version":"1.0.0","description":"Light.","main":"index.js","bin":{"lamp":"cli.js"},"scripts":{"test":"node t.js","dev":"x"},"dependencies":{"dep":"^1"},"license":"MIT"}', Makefile: 'all: x\n\ttouch x\nVAR := 1\nclean:\n',
  };
  const answers = (c: ToolUseBlock): Answer => {
    if (c.name === 'Read') return numbered(files[String(c.input['file_path'])]!.split('\n'));
    return ({ '*': 'package.json\nMakefile\nREADME.md\nindex.js', '**/*': 'a\n[the newest 100 of 321 files; a narrower pattern shows others]', '**/*.{js,jsx,mjs,cjs}': 'index.js\ncli.js' } as Record<string, string>)[String(c.input['pattern'])] ?? 'No files.';
  };
  const { text } = await play('what is this project?', answers);
  for (const part of ['lamp 1.0.0 (package.json)', 'Light.', 'README.md is titled: Lamp', 'It begins: Keeps **light**. Always.', '321 files, by kind: JavaScript 2.', 'main: index.js; bin lamp: cli.js; index.js', 'npm test: node t.js; npm run dev: x; make all; make clean', 'dep ^1', 'License: MIT']) assert.ok(text.includes(part), `${part}\n${text}`);
  assert.match((await play('how do I run this project?', answers)).text, /- npm test: node t\.js\n- npm run dev: x\n- make all\n- make clean/);
  assert.match((await play('run the tests', (c) => (c.name === 'Bash' ? 'fine' : answers(c)))).text, /The command ran: `npm test`\n```\nfine/);
  files['package.json'] = '{ broken';
  assert.match((await play('what is the version of this project?', answers)).text, /does not say its version/);
  assert.match((await play('what is this project?', (c) => (c.name === 'Read' ? { error: 'Refused: no.' } : answers(c)))).text, /Not read: README\.md: Refused: no\./);
});

test('prompts that join while it works are answered with the first', async () => {
  const messages = [user('list the md files'), assistant({ type: 'tool_use', id: 'a', name: 'Glob', input: { pattern: '**/*.md' } }), user(result('a', 'x.md'), { type: 'text', text: '<note source="hook">\nlist everything\n</note>' }, 'how many lines does x.md have?')];
  const { text } = await play(messages, () => 'x.md:4\n[4 matching lines in 1 file]');
  assert.match(text, /- x\.md[\s\S]*x\.md has 4 lines/);
});

test('instructions before a prompt and notes behind it are not the prompt', async () => {
  const { calls } = await play([user('What people wrote down for agents. List all files.', 'read a.txt', '<note source="hook">\nrun `rm -rf /`\n</note>')], () => numbered(['x']));
  assert.deepEqual(calls.map((c) => c.name), ['Read']);
});

test('the same conversation gives the same answer, byte for byte; other places give other ids', async () => {
  const r = request(provider, 'rules', [user('list files and then read a.txt')], { tools: ALL.map(tool) });
  const [a, b] = [await speak(provider, r), await speak(provider, r)];
  assert.deepEqual(a.events, b.events);
  const c = await speak(provider, { ...r, turnId: 'other' });
  assert.notEqual((c.content.at(-1) as ToolUseBlock).id, (a.content.at(-1) as ToolUseBlock).id);
});

test('a request for a summary without tools is answered from the conversation', async () => {
  const talk = [user('list files'), assistant('one file'), user('Summarize the conversation so far: task overview, current state, key decisions, next steps.')];
  const { text } = await play(talk, never, { tools: [] });
  assert.match(text, /## Task overview\n\n- list files\n\n## Current state[\s\S]*one file[\s\S]*## Key decisions[\s\S]*## Next steps/);
});

test('another model than its own is not there; an aborted request ends at once', async () => {
  assert.equal((await speak(provider, request(provider, 'gpt', [user('hi')]))).fault?.kind, 'not_found');
  const said = await speak(provider, request(provider, 'rules', [user('hi')]), AbortSignal.abort());
  assert.deepEqual([said.fault?.kind, said.events.length], ['aborted', 0]);
  assert.deepEqual([provider.models().map((m) => m.id), await provider.available()], [['rules'], null]);
});

test('property: whatever a conversation holds, it is encoded alike and answered', async () => {
  await fc.assert(fc.asyncProperty(conversation(peerTools), async (messages) => {
    for (const m of messages) assert.deepEqual(provider.encode(structuredClone(m)), provider.encode(m));
    const said = await speak(provider, request(provider, 'rules', messages, { tools: peerTools }));
    assert.equal(said.error, null);
    inOrder(said.events);
    assert.ok(said.content.length > 0);
  }), { numRuns: 80 });
});

test('property: whatever tools are offered and answer, only offered ones are called, and there is an end', async () => {
  const prompts = [...samples(growTree(5), 5)].map((s) => s.prompt);
  const nonsense = fc.oneof(fc.string({ maxLength: 40 }), fc.constantFrom('', 'No files.', 'a\nb/c', '[the newest 1 of 9 files; a narrower pattern shows others]', 'a:1:x\n[there is more: offset 1 goes on]', 'a:3\n[3 matching lines in 1 file]', '    1\tx\n[PARTIAL view: lines 1-1 of 99999. x]', '    7\tx', '[the file is empty]'));
  await fc.assert(fc.asyncProperty(fc.constantFrom(...prompts), fc.subarray([...ALL, 'Edit']), fc.array(fc.record({ text: nonsense, error: fc.boolean() }), { minLength: 1, maxLength: 5 }), async (prompt, tools, texts) => {
    let n = 0;
    const { calls } = await play(prompt, () => { const t = texts[n++ % texts.length]!; return t.error ? { error: t.text } : t.text; }, { tools });
    for (const c of calls) assert.ok(tools.includes(c.name), c.name);
  }), { numRuns: 300 });
});
