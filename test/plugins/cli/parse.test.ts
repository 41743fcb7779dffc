import assert from 'node:assert/strict';
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { TappetError } from 'tappet/kernel';
import type { Scope } from 'tappet/kernel';
import type { ArgumentParser, Invocation, Subcommand } from 'tappet/schemas';
import parse from '../../../plugins/cli/parse/index.ts';
import { GROUPS, LATER } from '../../../plugins/cli/parse/flags.ts';
import { looksLikeRule, splitRules } from '../../../plugins/cli/parse/values.ts';
import { runCli } from '../../support/cli.ts';

const MODES = ['default', 'plan', 'acceptEdits', 'dontAsk', 'bypassPermissions'];
const UUID = '0B9F2D1C-1111-4222-8333-444455556666';
const command = (more: Partial<Subcommand> & { name: string }): Subcommand => ({ summary: `about ${more.name}`, needs: 'nothing', verbs: [], run: async () => 0, ...more });
const COMMANDS = [
  command({ name: 'sessions', verbs: [{ usage: 'list', summary: 'all' }, { usage: 'show ID [PART]', summary: 'one' }, { usage: 'keep NAME...', summary: 'some' }], options: [{ flags: '--limit <n>', description: 'so many' }, { flags: '--sort <by>', description: 'order', choices: ['time', 'name'] }] }),
  command({ name: 'doctor' }), command({ name: 'explain', usage: 'KEY' }),
];

let made: ArgumentParser | undefined;
void parse.apply({ services: { provide: (_: string, s: ArgumentParser) => { made = s; } }, registries: { permissionModes: { all: () => MODES.map((name) => ({ name })) }, tools: { all: () => ['Read', 'Write', 'Glob', 'Grep', 'Bash'].map((name) => ({ name })) } } } as unknown as Scope<never>);
const parser = made!;
const surroundings = { cwd: tmpdir(), subcommands: COMMANDS, stdinIsTTY: true, stdoutIsTTY: true, env: {} };
async function read(argv: readonly string[], o: Partial<typeof surroundings> = {}): Promise<Invocation> {
  const parsed = await parser.parse(argv, { ...surroundings, ...o });
  assert.ok(!('help' in parsed), 'help was not asked for');
  return parsed;
}
async function refused(argv: readonly string[], message: RegExp, advice?: RegExp, o: Partial<typeof surroundings> = {}): Promise<void> {
  await assert.rejects(read(argv, o), (e) => {
    assert.ok(e instanceof TappetError, `${argv.join(' ')}: ${String(e)}`);
    assert.equal(e.code, 'E_USAGE');
    assert.match(e.message, message);
    if (advice !== undefined) assert.match(String(e.facts.do), advice);
    return true;
  }, argv.join(' '));
}

test('a bare command line is a session in the terminal, with nothing said', async () => {
  assert.deepEqual(await read([]), {
    cwd: tmpdir(), command: null, prompt: null, print: false, outputFormat: 'text', inputFormat: 'text', includePartialMessages: false, replayUserMessages: false, model: null, fallbackModel: null, mode: null,
    allowBypass: false, permissionPromptTool: null, allowedTools: [], disallowedTools: [], tools: null, addDirs: [], systemPrompt: null, appendSystemPrompt: null, effort: null, thinking: null, continue: false, resume: null,
    forkSession: false, sessionId: null, persist: true, maxTurns: null, maxBudgetUsd: null, timeoutMs: null, setup: null, requireTrust: false, verbose: false, debug: false, color: true, json: false,
  });
});

test('a prompt may stand behind -p, alone, or behind --', async () => {
  for (const argv of [['-p', 'do it'], ['--print', 'do it'], ['--print=do it'], ['do it', '-p'], ['-p', '--verbose', 'do it'], ['--print', '--', 'do it'], ['-pc', 'do it']]) {
    const i = await read(argv);
    assert.equal(i.prompt, 'do it', argv.join(' '));
    assert.equal(i.print, true, argv.join(' '));
  }
  assert.equal((await read(['do it'])).print, false);
  assert.equal((await read(['--', '--weird'])).prompt, '--weird');
  assert.equal((await read(['-p', '-5'])).prompt, '-5');
});
test('without a prompt, or with a dash for it, -p leaves it to stdin', async () => {
  for (const argv of [['-p'], ['-p', '-'], ['-']]) {
    const i = await read(argv);
    assert.equal(i.prompt, null);
    assert.equal(i.print, true);
  }
});
test('what has no terminal on both ends is headless', async () => {
  assert.equal((await read([], { stdinIsTTY: false })).print, true);
  assert.equal((await read(['x'], { stdoutIsTTY: false })).print, true);
});
test('a second prompt, or an empty one, is refused', async () => {
  await refused(['-p', 'fix', 'the', 'bug'], /one prompt, and here are 3/, /quotes/);
  await refused(['-p', ''], /empty/);
});

test('what SDK hosts always pass is understood in both spellings', async () => {
  const oneWord = await read(['--output-format', 'stream-json', '--verbose', '--input-format', 'stream-json', '--model=claude-x', '--permission-mode=plan', '--allow-dangerously-skip-permissions', '--permission-prompt-tool=stdio', '--allowedTools=Bash(git *, x),Read', '--disallowedTools=Write', '--tools=', '--setting-sources=', '--resume=abc', '--fork-session', '--max-turns=3', '--max-budget-usd=1.5', '--thinking=adaptive', '--effort=max', '--include-partial-messages', '--no-session-persistence', '--add-dir=/', '--add-dir=/tmp', '--mcp-config', '{"mcpServers":{}}', '--settings', '{"a":1}', '--strict-mcp-config', '--await-initialize', '--betas=a,b', '--agents={}', '--replay-user-messages', ''], { stdinIsTTY: false, stdoutIsTTY: false });
  const twoWords = await read(['--output-format', 'stream-json', '--verbose', '--input-format', 'stream-json', '--model', 'claude-x', '--permission-mode', 'plan', '--allow-dangerously-skip-permissions', '--permission-prompt-tool', 'stdio', '--allowedTools', 'Bash(git *, x),Read', '--disallowedTools', 'Write', '--tools', '', '--setting-sources', '', '--resume', 'abc', '--fork-session', '--max-turns', '3', '--max-budget-usd', '1.5', '--thinking', 'adaptive', '--effort', 'max', '--include-partial-messages', '--no-session-persistence', '--add-dir', '/', '--add-dir', '/tmp', '--mcp-config', '{}', '--replay-user-messages', ''], { stdinIsTTY: false, stdoutIsTTY: false });
  assert.deepEqual(twoWords, oneWord);
  assert.deepEqual(oneWord, {
    ...(await read([])), print: true, outputFormat: 'stream-json', inputFormat: 'stream-json', verbose: true, model: 'claude-x', mode: 'plan', allowBypass: true, permissionPromptTool: 'stdio',
    allowedTools: ['Bash(git *, x)', 'Read'], disallowedTools: ['Write'], tools: [], resume: 'abc', forkSession: true, maxTurns: 3, maxBudgetUsd: 1.5, thinking: 'adaptive', effort: 'max',
    includePartialMessages: true, replayUserMessages: true, persist: false, addDirs: ['/', '/tmp'],
  });
});
test('every flag without effect is either let through or refused with its reason', async () => {
  for (const { flags, then, why } of LATER) {
    const [name, value] = flags.split(' ') as [string, string?];
    const argv = value === undefined ? [name] : [`${name}=x`];
    if (then === 'ignored') assert.deepEqual(await read(['-p', 'hi', ...argv]), await read(['-p', 'hi']), name);
    else await refused(['-p', 'hi', ...argv], new RegExp(`${name} cannot be honoured: ${why.replace(/[().]/g, '\\$&')}`));
  }
});
test('the tools that there are: all, none, some', async () => {
  assert.equal((await read(['--tools', 'default'])).tools, null);
  assert.deepEqual((await read(['--tools', ''])).tools, []);
  assert.deepEqual((await read(['--tools', 'Read, Write'])).tools, ['Read', 'Write']);
});
test('lists of rules go on in further words, but do not swallow a prompt', async () => {
  const i = await read(['-p', '--allowedTools', 'Bash(git log *)', 'Read,Edit', 'mcp__x__y', 'summarise this', '--disallowed-tools', 'Write']);
  assert.deepEqual(i.allowedTools, ['Bash(git log *)', 'Read', 'Edit', 'mcp__x__y']);
  assert.deepEqual(i.disallowedTools, ['Write']);
  assert.equal(i.prompt, 'summarise this');
  assert.deepEqual((await read(['--allowed-tools', 'Read', '--allowedTools', 'Edit'])).allowedTools, ['Read', 'Edit']);
});
test('rules are split outside of brackets only, and nothing of them is lost', () => {
  assert.deepEqual(splitRules('Bash(a, b) Read,,Edit(x y)'), ['Bash(a, b)', 'Read', 'Edit(x y)']);
  const rule = fc.tuple(fc.stringMatching(/^[A-Z][a-z]{0,8}$/), fc.option(fc.stringMatching(/^[a-z*., :/-]{1,12}$/))).map(([tool, spec]) => (spec === null ? tool : `${tool}(${spec})`));
  fc.assert(fc.property(fc.array(rule, { maxLength: 6 }), fc.constantFrom(',', ' ', ', '), (rules, glue) => {
    assert.deepEqual(splitRules(rules.join(glue)), rules);
    for (const r of rules) assert.ok(looksLikeRule(r));
  }));
});

test('times need a unit', async () => {
  for (const [text, ms] of [['10m', 600_000], ['10s', 10_000], ['1h', 3_600_000], ['500ms', 500], ['1.5s', 1500]] as const) assert.equal((await read(['--timeout', text])).timeoutMs, ms);
  await refused(['--timeout', '10'], /bare number could be seconds or minutes/, /10s or 10m/);
  await refused(['--timeout', 'soon'], /"soon" is no time/, /500ms, 10s/);
  await refused(['--timeout', '0s'], /no time at all/);
  await refused(['--timeout', '9999h'], /too long/);
});
test('numbers are checked', async () => {
  await refused(['--max-turns', '0'], /no whole number from 1 on/);
  await refused(['--max-turns', '2.5'], /no whole number/);
  await refused(['--max-budget-usd', '0'], /no amount above 0/);
  await refused(['--max-budget-usd', 'a lot'], /no amount/);
  assert.equal((await read(['--max-thinking-tokens', '4096'])).thinking, 4096);
  assert.equal((await read(['--max-thinking-tokens', '0'])).thinking, false);
  assert.equal((await read(['--thinking', 'disabled'])).thinking, false);
});
test('a value outside of a choice names the nearest and all', async () => {
  await refused(['--permission-mode', 'acceptEdit'], /--permission-mode: there is no "acceptEdit"/, /did you mean acceptEdits\? choose one of: default, plan, acceptEdits/);
  await refused(['-p', '--output-format', 'xml'], /--output-format: there is no "xml"/, /text, json, stream-json/);
  await refused(['--effort', 'hihg'], /there is no "hihg"/, /did you mean high/);
  await refused(['--session-id', '17'], /"17" is no UUID/);
  await refused(['--add-dir', '/no/such/folder'], /there is no folder \/no\/such\/folder/);
});
test('a mistyped flag gets the nearest one; one without its value says what it needs', async () => {
  await refused(['--modle', 'x'], /unknown flag --modle/, /did you mean --model\?/);
  await refused(['--alowedTools=Read'], /unknown flag --alowedTools/, /--allowedTools/);
  await refused(['-x'], /unknown flag -x/);
  await refused(['--model'], /--model needs a value/);
  await refused(['--model', '--verbose'], /--model needs a value, and --verbose is a flag/, /--model=--verbose/);
  assert.equal((await read(['--append-system-prompt', '-- be brief'])).appendSystemPrompt, '-- be brief');
});
test('flags that contradict each other are refused with the reason', async () => {
  const both: readonly (readonly [string[], RegExp])[] = [
    [['-c', '-r', 'x'], /which session/], [['--session-id', UUID, '-c'], /keeps its id/], [['--dangerously-skip-permissions', '--permission-mode', 'plan'], /both say the mode/],
    [['--thinking', 'adaptive', '--max-thinking-tokens', '9'], /how much the model thinks/], [['--init', '--maintenance'], /one way/], [['--system-prompt', 'x', '--system-prompt-file', 'y'], /one system prompt/],
    [['--append-system-prompt', 'x', '--append-system-prompt-file', 'y'], /cannot be together/], [['--model', 'a', '--fallback-model', 'a'], /of one name/], [['-p', '--json', '--output-format', 'text'], /both say how/],
    [['--permission-prompts', 'none', '--permission-prompt-tool', 'stdio'], /somebody is asked or nobody/], [['--fork-session'], /none was named/], [['-p', '--input-format', 'stream-json'], /needs --output-format stream-json/],
    [['-p', '--include-partial-messages'], /needs --output-format/], [['-p', '--output-format', 'stream-json', '--replay-user-messages'], /needs --input-format/],
    [['--input-format', 'stream-json', '--output-format', 'stream-json', 'a prompt'], /come on stdin/], [['--output-format', 'json'], /without a terminal/], [['-p', '-r'], /needs the id/],
  ];
  for (const [argv, why] of both) await refused(argv, why);
});
test('what only seems to contradict goes through', async () => {
  assert.equal((await read(['--session-id', UUID, '-c', '--fork-session'])).sessionId, UUID.toLowerCase());
  assert.equal((await read(['--dangerously-skip-permissions', '--permission-mode', 'bypassPermissions'])).mode, 'bypassPermissions');
  const dangerous = await read(['--dangerously-skip-permissions']);
  assert.deepEqual([dangerous.mode, dangerous.allowBypass], ['bypassPermissions', true]);
  assert.deepEqual([(await read(['-r'])).resume, (await read(['-r', 'abc'])).resume, (await read(['--resume=abc', 'go on'])).prompt], ['', 'abc', 'go on']);
  const json = await read(['-p', '--json', 'x']);
  assert.deepEqual([json.outputFormat, json.json], ['json', true]);
  assert.equal((await read(['--no-color'])).color, false);
  assert.deepEqual([(await read(['--init'])).setup, (await read(['--maintenance'])).setup], ['init', 'maintenance']);
});
test('prompts of files are read; an empty system prompt is one', async (t) => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'tappet-parse-')));
  t.after(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'system.md'), 'be kind\n');
  const i = await read(['--system-prompt-file', 'system.md', '--append-system-prompt', ''], { cwd: folder });
  assert.deepEqual([i.systemPrompt, i.appendSystemPrompt], ['be kind\n', '']);
  await refused(['--append-system-prompt-file', 'none.md'], /--append-system-prompt-file: cannot read .*none\.md/, undefined, { cwd: folder });
});

test('a mistyped command is no prompt, unless it stands behind -p or --', async () => {
  await refused(['sesions', 'list'], /there is no command "sesions"/, /did you mean "sessions"\? As a prompt: tappet -- sesions/);
  await refused(['doctr'], /there is no command "doctr"/);
  assert.equal((await read(['-p', 'doctr'])).prompt, 'doctr');
  assert.equal((await read(['--', 'doctr'])).prompt, 'doctr');
  assert.equal((await read(['hello'])).prompt, 'hello');
  assert.equal((await read(['--', 'help'])).prompt, 'help');
});
test('help has every flag and every command, in columns', async () => {
  for (const argv of [['--help'], ['-h'], ['help'], ['-p', 'x', '--help']]) {
    const parsed = await parser.parse(argv, surroundings) as { help: string };
    for (const { flags } of GROUPS.flatMap((g) => g.flags)) assert.ok(parsed.help.includes(flags.replace(/^--\w+, (?=--)/, '')), flags);
    for (const c of COMMANDS) assert.match(parsed.help, new RegExp(`^  ${c.name} +about ${c.name}$`, 'm'));
    assert.ok(parsed.help.split('\n').every((l) => l.length <= 110));
  }
  assert.match((await parser.parse(['help', 'sessions'], surroundings) as { help: string }).help, /tappet sessions VERB/);
  await refused(['help', 'sesions'], /no command "sesions"/, /"sessions"/);
});

test('the page on the command line names every flag, and every reason', async () => {
  const page = await readFile(new URL('../../../docs/cli.md', import.meta.url), 'utf8');
  for (const { flags } of [...GROUPS.flatMap((g) => g.flags), ...LATER]) for (const name of flags.match(/--?[A-Za-z][\w-]*/g) ?? []) assert.ok(page.includes(`\`${name}`), name);
  for (const { why } of LATER) assert.ok(page.replaceAll('`', '').includes(why), why);
});

test('a command gets its verb, arguments and options', async () => {
  const [sessions, doctor, explain] = COMMANDS as [Subcommand, Subcommand, Subcommand];
  assert.deepEqual(await parser.parseCommand(sessions, ['list', '--limit', '5', '--json', '--cwd', '/', '--debug']), { verb: 'list', args: [], options: { limit: '5' }, json: true });
  assert.deepEqual(await parser.parseCommand(sessions, ['show', 'a', '--no-color']), { verb: 'show', args: ['a'], options: { color: false }, json: false });
  assert.deepEqual(await parser.parseCommand(sessions, ['keep', 'a', 'b', 'c']), { verb: 'keep', args: ['a', 'b', 'c'], options: {}, json: false });
  assert.deepEqual(await parser.parseCommand(doctor, []), { verb: null, args: [], options: {}, json: false });
  assert.deepEqual(await parser.parseCommand(explain, ['Bash(git push)']), { verb: null, args: ['Bash(git push)'], options: {}, json: false });
  assert.deepEqual(await parser.parseCommand(explain, ['--', '--json']), { verb: null, args: ['--json'], options: {}, json: false });
});
test('wrong words of a command are refused with what would be right', async () => {
  const [sessions, doctor, explain] = COMMANDS as [Subcommand, Subcommand, Subcommand];
  const wrong = (c: Subcommand, argv: string[], message: RegExp, advice: RegExp) => assert.rejects(parser.parseCommand(c, argv), (e) => e instanceof TappetError && e.code === 'E_USAGE' && message.test(e.message) && advice.test(String(e.facts.do)), `${c.name} ${argv.join(' ')}`);
  await wrong(sessions, ['lst'], /tappet sessions has no verb "lst"/, /did you mean "list"\? choose one of: list, show, keep/);
  await wrong(sessions, ['--json'], /needs a verb/, /list, show, keep/);
  await wrong(sessions, ['show'], /tappet sessions show needs ID/, /tappet sessions show ID \[PART\]/);
  await wrong(sessions, ['show', 'a', 'b', 'c'], /what to do with "c"/, /quotes/);
  await wrong(sessions, ['keep'], /needs NAME/, /NAME/);
  await wrong(sessions, ['list', '--limt', '5'], /unknown flag --limt/, /--limit/);
  await wrong(sessions, ['list', '--sort', 'size'], /--sort: there is no "size"/, /time, name/);
  await wrong(doctor, ['now'], /what to do with "now"/, /take it out/);
  await wrong(explain, [], /needs KEY/, /tappet explain KEY/);
});
test('a command without its verb, or with --help, explains itself', async () => {
  for (const argv of [[], ['--help'], ['show', '-h']]) {
    const { help } = await parser.parseCommand(COMMANDS[0]!, argv) as { help: string };
    assert.match(help, /Verbs:\n {2}list +all\n {2}show ID \[PART\] +one\n/);
    assert.match(help, /--sort <by> +order: time, name/);
    assert.match(help, /--json/);
  }
});

test('from the outside: help lists what ships, a wrong flag ends with 2', async (t) => {
  const help = await runCli(t, ['--help']);
  assert.equal(help.code, 0);
  assert.match(help.out, /^ {2}doctor +\S/m);
  assert.equal(help.err, '');
  const wrong = await runCli(t, ['-p', 'x', '--permission-mode', 'acceptedits']);
  assert.equal(wrong.code, 2);
  assert.equal(wrong.out, '');
  assert.match(wrong.err, /E_USAGE {2}--permission-mode: there is no "acceptedits"\n {2}do {6}did you mean acceptEdits\?/);
});
test('a tool that is nearly there is a slip, which would forbid nothing; one that is nowhere near may come later', async () => {
  await refused(['-p', 'x', '--disallowed-tools', 'Read,Bsh(rm *)'], /--disallowed-tools: there is no tool "Bsh"/, /did you mean Bash\?/);
  await refused(['-p', 'x', '--allowed-tools', 'Raed'], /no tool "Raed"/, /Read/);
  await refused(['-p', 'x', '--tools', 'read'], /no tool "read"/, /Read/);
  const known = ['Edit(src/**)', 'Task', 'LS', 'WebFetch', 'WebSearch', 'MultiEdit', 'NotebookEdit', 'NotebookRead', 'TodoWrite', 'BashOutput', 'KillShell', 'ExitPlanMode', 'mcp__a__b', 'mcp__*', 'Read'];
  assert.deepEqual((await read(['-p', 'x', '--disallowed-tools', known.join(',')])).disallowedTools, known);
  assert.equal((await read(['-p', 'x', '--tools', 'default'])).tools, null);
});
