import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { MatchPlace, Tool, ToolUseContext } from 'tappet/schemas';
import plugin from '../../../plugins/tools/bash/index.ts';
import { answerOf } from '../../../plugins/tools/bash/exit-codes.ts';
import type { BashData } from '../../../plugins/tools/bash/run.ts';
import { collect } from '../../contracts/collect.ts';
import { toolSuite } from '../../contracts/tool.ts';
import { isAlive } from '../../support/processes.ts';
import { testProject } from '../../support/tool-context.ts';
import type { TestProject, TestRun } from '../../support/tool-context.ts';

interface Bench extends TestProject { readonly tool: Tool<any, BashData>; sh(command: string, more?: Readonly<Record<string, unknown>>, over?: Partial<ToolUseContext>): Promise<TestRun<BashData>> }
const bench = async (t: TestContext, options: Readonly<Record<string, unknown>> = {}, env: Readonly<Record<string, string | undefined>> = { PATH: process.env.PATH }): Promise<Bench> => {
  const project = await testProject(t);
  const { tools: [tool] } = await collect(plugin, { options, env: { HOME: project.home, ...env } });
  return { ...project, tool: tool!, sh: (command, more = {}, over = {}) => project.run(tool!, { command, ...more }, over) };
};
/** Runs commands as a session would: each in the context that the one before left. */
const session = (b: Bench, over: Partial<ToolUseContext> = {}) => {
  let context: ToolUseContext = { ...b.context, ...over };
  return async (command: string): Promise<{ text: string; cwd: string }> => {
    const result = await b.tool.call({ command }, context, async () => ({ behavior: 'allow' }), null as never);
    context = result.contextModifier?.(context) ?? context;
    return { text: String(b.tool.render(result.data, { command })), cwd: context.cwd };
  };
};
const numbers = (text: string): number[] => (text.match(/\d+/g) ?? []).map(Number);

toolSuite({
  tool: (await collect(plugin, { env: { PATH: process.env.PATH } })).tools[0]!,
  samples: [
    { name: 'a command', input: { command: 'echo hello', description: 'Says hello' }, contains: 'hello' },
    { name: 'a command that fails', input: { command: 'ls /no/such/file' }, fails: true, contains: 'Exit code 2' },
    { name: 'a command that moves', input: { command: 'mkdir sub && cd sub && pwd' }, contains: /project\/sub$/ },
    { name: 'a command that says too much', input: { command: 'yes | head -n 100000' }, contains: 'characters left out' },
  ],
  wrongInputs: [null, 'ls', [], {}, { command: '' }, { command: 7 }, { command: 'ls', timeout: -1 }],
});

// ---- results ---------------------------------------------------------------------------------------------------------------

test('gives output, errors and both in one', async (t) => {
  const { sh } = await bench(t);
  const both = await sh('echo out; echo err >&2');
  assert.equal(both.isError, false);
  assert.deepEqual([both.data.stdout, both.data.stderr, both.data.exitCode, both.data.interrupted], ['out\n', 'err\n', 0, false]);
  assert.deepEqual(both.text.split('\n').sort(), ['err', 'out']);
  const one = await sh('echo out');
  assert.equal(one.text, 'out');
  assert.ok(!('output' in one.data));
  assert.equal((await sh('true')).text, '(no output)');
});

test('a failing command is an error result with its code and output', async (t) => {
  const { sh } = await bench(t);
  const failed = await sh('echo why; exit 3');
  assert.deepEqual([failed.isError, failed.data.exitCode, failed.text], [true, 3, 'Exit code 3\nwhy']);
  const killed = await sh('kill -9 $$');
  assert.deepEqual([killed.isError, killed.data.exitCode], [true, 137]);
  assert.match((await sh('no-such-program-here')).text, /^Exit code 127\n.*not found/);
  assert.match((await sh('echo "unfinished')).text, /^Exit code [12]\n.*unexpected EOF/);
});

test('a code of 1 that is an answer is no error', async (t) => {
  const { sh } = await bench(t);
  const none = await sh('grep needle /dev/null');
  assert.deepEqual([none.isError, none.data.exitCode, none.text], [false, 1, '(no output)\n(exit code 1: no line matches)']);
  assert.equal((await sh('ls /no/such/folder; false')).isError, true);
});

test('where it cannot be told whose code it was, 1 is a failure', () => {
  for (const yes of ['grep x f', 'cat f | grep "a|b"', "rg 'x;y' .", 'LC_ALL=C grep x f', 'diff a b', 'test -f x', '[ -f x ]', 'git diff --exit-code', 'git grep x', 'true; grep x f', 'false || grep x f']) assert.notEqual(answerOf(yes, 1), null, yes);
  for (const no of ['npm test', 'npm test && grep x f', 'grep x f && npm test', 'grep x f; npm test', 'grep x f | sh', 'set -o pipefail; npm test | grep x', 'set -e; npm test; grep x f', 'grepx', 'git commit', '(grep x f)', 'npm test & grep x', 'echo `grep x f`', '']) assert.equal(answerOf(no, 1), null, no);
  assert.equal(answerOf('grep x f', 2), null);
  assert.equal(answerOf('grep x f', null), null);
});

test('output is told while it comes, each stream by its name', async (t) => {
  const { sh, emitted } = await bench(t);
  await sh('echo one; echo two >&2');
  assert.deepEqual([...emitted].sort((a, b) => (a as { text: string }).text.localeCompare((b as { text: string }).text)), [
    { type: 'tool.output.delta', stream: 'stdout', text: 'one\n' }, { type: 'tool.output.delta', stream: 'stderr', text: 'two\n' },
  ]);
});

test('a flood is not told whole to watchers, but counted', async (t) => {
  const { sh, emitted } = await bench(t);
  await sh('yes | head -c 20M');
  const texts = emitted.map((e) => (e as { text: string }).text);
  const shown = texts.filter((x) => !x.includes('not shown live')).join('').length;
  const missed = texts.flatMap((x) => [...x.matchAll(/(\d+) characters not shown live/g)]).reduce((sum, m) => sum + Number(m[1]), 0);
  assert.equal(shown + missed, 20 * 1024 * 1024);
  assert.ok(shown < 5 * 1024 * 1024, `${shown} characters`);
});

test('up to the limit a result is whole; a longer one has both ends and the file with everything', async (t) => {
  const { sh } = await bench(t, { inlineChars: 2_000, excerptChars: 400 });
  const whole = await sh("printf 'x%.0s' {1..1999}; echo");
  assert.equal(whole.text, 'x'.repeat(1_999));
  assert.equal(whole.data.persistedOutputPath, undefined);
  const long = await sh('for i in {1..1000}; do echo "line $i"; done');
  assert.match(long.text, /^line 1\nline 2\n.*characters left out.*line 999\nline 1000\nThe whole output \(\d+ bytes\) is in \//s);
  assert.ok(long.text.length < 700);
  const file = long.data.persistedOutputPath!;
  assert.equal(readFileSync(file, 'utf8'), Array.from({ length: 1_000 }, (_, i) => `line ${i + 1}\n`).join(''));
  assert.equal(statSync(file).size, long.data.persistedOutputSize);
});

test('of a failure that says much, both ends are shown', async (t) => {
  const { sh } = await bench(t, { excerptChars: 400 });
  const failed = await sh('for i in {1..1000}; do echo "line $i"; done; exit 1');
  assert.match(failed.text, /^Exit code 1\nline 1\n.*characters left out.*line 1000$/s);
});

// ---- what the field reports say --------------------------------------------------------------------------------------------

test('at its limit a command and all that it started are ended (F7-01)', async (t) => {
  const { sh } = await bench(t);
  const result = await sh("sh -c 'sleep 400 & echo $!; echo $$; sleep 400'", { timeout: 1_000 });
  assert.equal(result.isError, true);
  assert.match(result.text, /^Timed out after 1000 ms; the command and all that it had started were ended\./);
  assert.deepEqual([result.data.timedOutAfterMs, result.data.exitCode, result.data.interrupted], [1_000, null, false]);
  const pids = numbers(result.data.stdout);
  assert.equal(pids.length, 2);
  assert.deepEqual(pids.filter(isAlive), []);
});

test('returns when the shell ends, and ends what it left in the background (F7-02)', async (t) => {
  const { sh } = await bench(t);
  const result = await sh('sleep 300 & echo hi; echo $! >&2');
  assert.equal(result.data.stdout, 'hi\n');
  assert.equal(result.isError, false);
  assert.deepEqual(numbers(result.data.stderr).filter(isAlive), []);
});

test('no editor opens: git says what is missing, or takes what there is (F7-03)', async (t) => {
  const { sh, folder } = await bench(t);
  const git = 'git -c user.name=T -c user.email=t@example.invalid -c core.editor="sleep 900" -c sequence.editor="sleep 900"';
  await sh(`git init -q -b main . && echo a > f && git add f && ${git} commit -qm one`);
  const commit = await sh(`echo b > f; git add f; ${git} commit`);
  assert.equal(commit.isError, true);
  assert.match(commit.text, /empty commit message/);
  const rebase = await sh(`set -x; ${git} commit -qm two; git checkout -qb side HEAD~1; echo c > f; ${git} commit -qam three; ${git} rebase main; echo d > f; git add f; ${git} rebase --continue`);
  assert.equal(rebase.isError, false, rebase.text);
  assert.match((await sh('git log --format=%s')).text, /^three\ntwo\none$/);
  assert.ok(existsSync(join(folder, 'f')));
});

test('questions find the end of input: passwords and credentials fail fast (F7-05)', async (t) => {
  const { sh } = await bench(t);
  assert.equal((await sh('read -s p; echo got')).text, 'got');
  const server = createServer((_, response) => response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="x"' }).end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const clone = await sh(`git clone http://127.0.0.1:${(server.address() as AddressInfo).port}/x`, { timeout: 30_000 });
  assert.equal(clone.data.timedOutAfterMs, undefined);
  assert.match(clone.text, /terminal prompts disabled|could not read Username/);
});

test('fifty megabytes of output cost bounded memory and a bounded result (F7-06)', async (t) => {
  const { sh } = await bench(t);
  const before = process.memoryUsage.rss();
  const result = await sh('yes | head -c 50M');
  assert.ok(process.memoryUsage.rss() - before < 200 * 1024 * 1024);
  assert.ok(result.text.length < 12_000);
  assert.equal(result.data.persistedOutputSize, 50 * 1024 * 1024);
});

test('one huge line is cut with its count, and the file has all of it (F7-07)', async (t) => {
  const { sh } = await bench(t);
  const result = await sh('node -e "console.log(\'x\'.repeat(5e6))"');
  assert.match(result.text, /^x{10000}… \[4990000 more characters in this line\]\nThe whole output \(5000001 bytes\) is in /);
  assert.equal(readFileSync(result.data.persistedOutputPath!, 'utf8'), `${'x'.repeat(5e6)}\n`);
});

test('a working folder that was deleted is told, and the next command runs in the project (F7-10)', async (t) => {
  const b = await bench(t);
  const run = session(b);
  assert.equal((await run('mkdir t; cd t')).cwd, join(b.folder, 't'));
  assert.equal((await run('rm -rf ../t')).cwd, join(b.folder, 't'));
  const after = await run('echo ok');
  assert.equal(after.text, `ok\nNote: the working folder ${b.folder}/t is gone; this ran in ${b.folder}, and the next command will.`);
  assert.equal(after.cwd, b.folder);
  assert.equal((await run('pwd')).text, b.folder);
});

test('where not even the project is left nothing runs', async (t) => {
  const { sh } = await bench(t);
  const result = await sh('echo ok', {}, { cwd: '/no/such/folder', root: '/no/such' });
  assert.equal(result.isError, true);
  assert.match(result.text, /neither .* nothing was run/);
});

test('keys of providers are not in the environment nor on the command line, unless the configuration names them (F7-11)', async (t) => {
  const keys = { ANTHROPIC_API_KEY: 'sk-secret-1', OPENAI_API_KEY: 'sk-secret-2', ANTHROPIC_AUTH_TOKEN: 'sk-secret-3', MY_SECRET_THING: 'sk-secret-4', GITHUB_TOKEN: 'sk-secret-5' };
  const { sh, context } = await bench(t, {}, { PATH: process.env.PATH, ...keys });
  assert.doesNotMatch((await sh('env; ps -eo args')).text, /sk-secret/);
  const named = await sh('echo $OPENAI_API_KEY', {}, { options: { ...context.options, env: { OPENAI_API_KEY: 'sk-secret-2' } } });
  assert.equal(named.text, 'sk-secret-2');
  assert.doesNotMatch((await sh('ps -eo args', {}, { options: { ...context.options, env: { OPENAI_API_KEY: 'sk-secret-2' } } })).text, /sk-secret/);
});

test('characters cut by a chunk are joined, bytes of another code page are shown as escapes (F7-13)', async (t) => {
  const { sh } = await bench(t);
  assert.equal((await sh("printf 'plain '; sleep 0.05; printf '\\xe2\\x82'; sleep 0.05; printf '\\xac caf\\xe9'")).text, 'plain € caf\\xe9');
});

test('a limit above the cap is lowered and told, and at the cap the run is ended (F7-14)', async (t) => {
  const { sh } = await bench(t, { maxTimeoutMs: 300 });
  const result = await sh('echo $$; exec sleep 400', { timeout: 7_200_000 });
  assert.match(result.text, /^Timed out after 300 ms;.*Note: the timeout of 7200000 ms was lowered to 300 ms, the most that is allowed\.$/s);
  assert.deepEqual(numbers(result.data.stdout).filter(isAlive), []);
});

// ---- the working folder ----------------------------------------------------------------------------------------------------

test('cd carries over inside the folders that may be worked in, variables do not', async (t) => {
  const b = await bench(t);
  const more = join(b.home, 'more');
  mkdirSync(more);
  const run = session(b, { roots: [b.folder, more] });
  assert.equal((await run("mkdir -p \"a b/it's\" && cd \"a b/it's\" && X=1")).cwd, join(b.folder, 'a b', "it's"));
  assert.equal((await run('pwd; echo "[$X]"')).text, `${join(b.folder, 'a b', "it's")}\n[]`);
  assert.equal((await run(`cd ${more}; false`)).cwd, more);
  assert.equal((await run('(cd /)')).cwd, more);
  assert.equal((await run('pushd .. >/dev/null; popd >/dev/null')).cwd, more);
});

test('outside of them it is set back, with a note; links do not lead around that', async (t) => {
  const b = await bench(t);
  const run = session(b);
  const away = await run('cd /; pwd');
  assert.equal(away.cwd, b.folder);
  assert.equal(away.text, `/\nNote: the working folder was reset to ${b.folder}: / is outside of the folders that may be worked in.`);
  const link = await run(`ln -s ${b.home} link; cd link`);
  assert.equal(link.cwd, b.folder);
  assert.match(link.text, /outside/);
});

test('in a subagent cd counts for one command, and that is told', async (t) => {
  const b = await bench(t);
  const run = session(b, { agentId: 'a1' });
  const moved = await run('mkdir t; cd t; pwd');
  assert.equal(moved.cwd, b.folder);
  assert.match(moved.text, /in a subagent cd counts for one command only/);
});

test('a command that was ended does not move the session', async (t) => {
  const b = await bench(t, { timeoutMs: 300 });
  const run = session(b);
  assert.equal((await run('mkdir t; cd t; sleep 400')).cwd, b.folder);
});

test('commands that may move mean the same as those that do not', async (t) => {
  const { sh, folder } = await bench(t);
  const scripts = ['echo "$#[$*]$0"', 'echo a\\\n b', "printf '%s\\n' 'it'\"'\"'s' \"$((1+2))\" `echo x`", 'cat <<E\n$HOME $(echo y)\nE', 'set -u; echo "${X-unset}"', 'f() { return 4; }; f', 'exit 5', 'set -e; false; echo never',
    "trap 'echo bye' EXIT; exit 6", '# only a comment', 'echo x # comment', 'if true; then echo yes; fi; ! true', 'echo "$-" | tr -d c', 'exec echo replaced', '$(', 'shopt -s extglob\necho a'];
  for (const script of scripts) {
    const [alone, wrapped] = [await sh(`: xx\n${script}`), await sh(`: cd\n${script}`)];
    // Bash names itself a little differently where text cannot be parsed.
    const told = (r: TestRun<BashData>): string => r.text.replace(/bash: (-c: |eval: )?/g, '').replace(/line \d+/g, 'line').replace(/^Exit code [12]\n(?=.*(syntax error|unexpected EOF))/s, '');
    assert.equal(told(wrapped), told(alone), script);
    assert.equal(wrapped.isError, alone.isError, script);
  }
  assert.deepEqual(readdirSync(join(folder, '../outputs')), []);
});

test('a command cannot lead the report of its folder elsewhere', async (t) => {
  const { sh, folder } = await bench(t);
  await sh('TAPPET_COMMAND=x; TAPPET_REPORT=stolen; file=stolen; set -- stolen; cd /');
  assert.deepEqual(readdirSync(folder), []);
});

// ---- the shell that is judged is the shell that runs -----------------------------------------------------------------------

test('nothing in the environment changes what a command line means', async (t) => {
  const b = await bench(t);
  await b.file('evil.sh', 'echo evil; git() { echo evil; }\n');
  await b.file('sub/x', '');
  const bad = {
    BASH_ENV: join(b.folder, 'evil.sh'), ENV: join(b.folder, 'evil.sh'), 'BASH_FUNC_git%%': '() { echo evil; }', SHELLOPTS: 'noexec', BASHOPTS: 'extglob:nullglob', PS4: '$(echo evil >&2)', CDPATH: join(b.folder, 'sub'),
    GLOBIGNORE: '*', POSIXLY_CORRECT: '1', PATH: `.:${process.env.PATH}:`,
  };
  for (const [env, extra] of [[bad, {}], [{}, bad]] as const) {
    const { sh, context, file } = await bench(t, {}, { PATH: process.env.PATH, ...env });
    await (await import('node:fs/promises')).chmod(await file('git', '#!/bin/sh\necho evil\n'), 0o755);
    const result = await sh('type git; git --version; echo "$-"; shopt extglob; echo *', {}, { options: { ...context.options, env: extra } });
    assert.doesNotMatch(result.text, /evil/);
    assert.match(result.text, /^git is \/.*\ngit version .*\nh\w+\nextglob\s+off\ngit$/, result.text);
  }
});

test('start-up files are not read', async (t) => {
  const { sh, file, home } = await bench(t);
  await file('../home/.bashrc', 'echo evil');
  await file('../home/.bash_profile', 'echo evil');
  assert.equal((await sh('echo $HOME')).text, home);
});

test('the subjects are the text and that nothing is known of it', async (t) => {
  const { tool } = await bench(t);
  const subjects = await tool.subjects({ command: 'cd x && rm -rf y' }, null as never);
  assert.deepEqual(subjects.map((s) => s.kind), ['command', 'opaque']);
  const place = { behavior: 'deny' } as MatchPlace;
  // What may be hidden in a line is met by every rule that refuses or asks, and by none that allows.
  for (const spec of ['rm *', 'rm:*', 'git push', 'cd x']) assert.deepEqual(subjects.map((s) => tool.matches(s, spec, place)), ['maybe', 'maybe'], spec);
  assert.deepEqual(subjects.map((s) => tool.matches(s, 'cd x && rm -rf y', place)), ['yes', 'maybe']);
  assert.deepEqual(tool.fromSpec('git push'), { command: 'git push' });
});

test('the rule that is offered is for these words alone', async (t) => {
  const { tool } = await bench(t);
  const place = { behavior: 'allow' } as MatchPlace;
  assert.deepEqual(tool.suggest({ command: 'npm test' }, [], place), [{ type: 'addRules', rules: [{ toolName: 'Bash', ruleContent: 'npm test' }], behavior: 'allow', destination: 'localSettings' }]);
  for (const wide of ['*', 'rm *', 'ls *.ts']) assert.deepEqual(tool.suggest({ command: wide }, [], place), []);
  assert.deepEqual([tool.isReadOnly({ command: 'ls' }), tool.isConcurrencySafe({ command: 'ls' })], [false, false]);
});

// ---- refusals --------------------------------------------------------------------------------------------------------------

test('an abort ends it and is told', async (t) => {
  const b = await bench(t);
  const stop = new AbortController();
  const result = await b.sh('echo $$; sleep 400', {}, { abortController: stop, signal: stop.signal, emit: () => stop.abort() });
  assert.deepEqual([result.isError, result.data.interrupted], [true, true]);
  assert.match(result.text, /^Interrupted; /);
  assert.deepEqual(numbers(result.data.stdout).filter(isAlive), []);
});

test('what cannot be run is refused with what to do', async (t) => {
  const { sh, folder } = await bench(t);
  const background = await sh('echo ran > proof', { run_in_background: true });
  assert.deepEqual([background.isError, background.data.exitCode], [true, null]);
  assert.match(background.text, /^Note: background tasks do not exist yet/);
  assert.equal((await sh('echo \0')).isError, true);
  assert.equal((await sh(`: ${'x'.repeat(3_000_000)}`)).isError, true);
  assert.deepEqual(readdirSync(folder), []);
  const none = await (await bench(t, { bash: '/no/bash' })).sh('true');
  assert.match(none.text, /there is no bash on this system: "\/no\/bash" was not found\. Install bash/);
});
