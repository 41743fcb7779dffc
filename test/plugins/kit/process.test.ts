import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { endOrphans, JOB_MARK, jobMark, runProcess } from 'tappet/kit';
import type { RunRequest, RunResult } from 'tappet/kit';
import { eventually, isAlive } from '../../support/processes.ts';

const PATH = process.env.PATH!;
const run = (script: string, more: Partial<RunRequest> = {}): Promise<RunResult> => runProcess({
  spawn: (r) => spawn(r.command, [...r.args], { cwd: r.cwd, env: { ...r.env }, stdio: [r.stdin ?? 'ignore', 'pipe', 'pipe'], detached: true }),
  command: 'bash', args: ['--norc', '-c', script], cwd: tmpdir(), env: { PATH }, output: { head: 10_000, tail: 1_000, line: 1_000 }, ...more,
});
const text = (result: RunResult): string => result.both.excerpt(10_000);
const numbers = (result: RunResult): number[] => (text(result).match(/\d+/g) ?? []).map(Number);
const linux = { skip: process.platform !== 'linux' };

test('tells output and exit code apart', async () => {
  const result = await run('echo out; echo err >&2; exit 3');
  assert.deepEqual([result.stdout.excerpt(100), result.stderr.excerpt(100), result.exitCode, result.signal, result.ended], ['out\n', 'err\n', 3, null, 'exit']);
});

test('a child that is ended by a signal says which', async () => {
  const result = await run('kill -9 $$');
  assert.deepEqual([result.exitCode, result.signal], [null, 'SIGKILL']);
});

test('rejects where the program is not there', async () => {
  await assert.rejects(run('', { command: 'no-such-program' }), { code: 'ENOENT' });
});

test('the child reads what it is given, and otherwise the end at once', async () => {
  assert.equal(text(await run('cat', { input: 'given' })), 'given');
  assert.equal(text(await run('cat; echo end')), 'end\n');
  assert.equal((await run('exec 0<&-; exit 0', { input: 'x'.repeat(1_000_000) })).exitCode, 0);
});

test('a child has no terminal to ask at', async () => {
  assert.match(text(await run('cat /dev/tty')), /No such device|not configured|cannot open/i);
});

test('at the limit of time nothing of its group is left (F7-01)', async () => {
  const result = await run("echo $$; sh -c 'sleep 400 & echo $!; sleep 400 & echo $!; wait'", { timeoutMs: 300 });
  assert.equal(result.ended, 'timeout');
  const pids = numbers(result);
  assert.equal(pids.length, 3);
  assert.deepEqual(pids.filter(isAlive), []);
  assert.deepEqual(result.left, []);
});

test('who does not heed TERM gets KILL after the grace time', async () => {
  const result = await run("trap '' TERM; echo $$; while :; do sleep 100; done", { timeoutMs: 200, graceMs: 100 });
  assert.equal(result.ended, 'timeout');
  assert.deepEqual(numbers(result).filter(isAlive), []);
});

test('an abort ends it like the limit does; an abort before the start starts nothing', async () => {
  const stop = new AbortController();
  const result = await run('echo $$; sleep 400', { signal: stop.signal, output: { head: 100, tail: 100, line: 100, onText: () => stop.abort() } });
  assert.equal(result.ended, 'abort');
  assert.deepEqual(numbers(result).filter(isAlive), []);
  const none = await run('echo never', { signal: stop.signal, spawn: () => assert.fail('it was started') });
  assert.equal(none.ended, 'abort');
});

test('returns when the shell ends though a background child holds the pipe, and ends that child (F7-02)', async () => {
  const result = await run('sleep 300 & echo $!; echo hi');
  assert.equal(result.ended, 'exit');
  assert.equal(result.exitCode, 0);
  assert.match(text(result), /hi\n$/);
  assert.deepEqual(numbers(result).filter(isAlive), []);
});

test('what left the group is found by its mark: nothing survives the job, however it was started', linux, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'tappet-tree-'));
  t.after(() => rm(folder, { recursive: true }));
  const started = `
    sleep 401 & echo $! >> pids
    (sleep 402 & echo $! >> pids)
    setsid sh -c 'echo $$ >> pids; exec sleep 403' &
    setsid sh -c 'setsid sh -c "echo \\$\\$ >> pids; exec sleep 404" & exit' &
    nohup sh -c 'echo $$ >> pids; exec sleep 405' >/dev/null 2>&1 &
    setsid bash -c 'trap "" TERM HUP INT; echo $$ >> pids; while :; do sleep 1; done' >/dev/null 2>&1 &
    setsid nohup sh -c 'cd /; echo $$ >> "$0/pids"; exec sleep 406' "$PWD" >/dev/null 2>&1 &
    until [ "$(wc -l < pids)" = 7 ]; do sleep 0.01; done`;
  for (const [end, limit] of [['wait', 1_500], ['exit 0', undefined]] as const) {
    await rm(join(folder, 'pids'), { force: true });
    const result = await run(`touch pids; ${started}; ${end}`, { cwd: folder, timeoutMs: limit, graceMs: 200 });
    assert.equal(result.ended, limit === undefined ? 'exit' : 'timeout');
    const pids = (await readFile(join(folder, 'pids'), 'utf8')).trim().split('\n').map(Number);
    assert.equal(pids.length, 7);
    assert.deepEqual(pids.filter(isAlive), []);
    assert.deepEqual(result.left, []);
  }
});

test('a process that nobody can know any more cannot keep the call from returning', linux, async (t) => {
  const result = await run("env -i PATH=\"$PATH\" setsid sh -c 'echo $$; exec sleep 300' & sleep 0.2; echo hi");
  const [stranger] = numbers(result);
  t.after(() => { process.kill(stranger!, 'SIGKILL'); });
  assert.equal(result.exitCode, 0);
  assert.match(text(result), /hi\n$/);
});

test('output that is still in the pipe at the end is not lost', async () => {
  const result = await run("head -c 60000 /dev/zero | tr '\\0' x", { output: { head: 100_000, tail: 10, line: 100_000 } });
  assert.equal(result.stdout.chars, 60_000);
});

test('memory stays bounded, and the file keeps its limit (F7-06)', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'tappet-flood-'));
  t.after(() => rm(folder, { recursive: true }));
  const before = process.memoryUsage.rss();
  let most = 0;
  const result = await run('yes | head -c 50M', {
    output: { head: 10_000, tail: 1_000, line: 1_000, spill: async () => join(folder, 'all'), spillBytes: 20_000_000, onText: () => { most = Math.max(most, process.memoryUsage.rss() - before); } },
  });
  assert.equal(result.both.chars, 50 * 1024 * 1024);
  assert.equal(result.spill?.bytes, 20_000_000);
  assert.equal(result.spill?.lacks, 'it was cut at 20000000 bytes');
  assert.ok(most < 150 * 1024 * 1024, `${most} bytes more`);
});

test('what a killed owner left running is ended at the next start; a living owner is let alone', linux, async (t) => {
  const owner = spawn(process.execPath, ['--conditions=tappet-src', '--import', 'tsx', '--input-type=module', '-e', `
    import { spawn } from 'node:child_process';
    import { runProcess } from 'tappet/kit';
    void runProcess({
      spawn: (r) => spawn(r.command, [...r.args], { cwd: r.cwd, env: { ...r.env }, stdio: ['ignore', 'pipe', 'pipe'], detached: true }),
      command: 'bash', args: ['-c', 'echo $$; setsid sleep 400 >/dev/null & echo $!; sleep 400'], cwd: '/', env: { PATH: process.env.PATH },
      output: { head: 100, tail: 100, line: 100, onText: (_, text) => process.stdout.write(text) },
    });`], { stdio: ['ignore', 'pipe', 'inherit'], cwd: new URL('../../..', import.meta.url).pathname });
  let said = '';
  owner.stdout.on('data', (chunk: Buffer) => { said += String(chunk); });
  assert.ok(await eventually(() => said.split('\n').length === 3), said);
  const pids = said.trim().split('\n').map(Number);
  t.after(() => { for (const pid of pids) if (isAlive(pid)) process.kill(pid, 'SIGKILL'); });
  const isMarked = (pid: number): boolean => readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`${JOB_MARK}=${owner.pid}.`);
  assert.ok(await eventually(() => pids.every(isMarked)));

  await endOrphans(100);
  assert.deepEqual(pids.map(isAlive), [true, true]);
  owner.kill('SIGKILL');
  assert.ok(await eventually(() => !isAlive(owner.pid!)));
  assert.ok((await endOrphans(500)) >= 2);
  assert.ok(await eventually(() => !pids.some(isAlive)));
});

test('a mark names its owner and is never the same twice', () => {
  assert.ok(jobMark().startsWith(`${process.pid}.`));
  assert.notEqual(jobMark(), jobMark());
});
