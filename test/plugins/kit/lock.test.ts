import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { takeLock } from 'tappet/kit';
import type { Lock, LockOwner } from 'tappet/kit';
import { bundle } from '../../support/bundle.ts';

const place = (t: TestContext): { folder: string; file: string } => {
  const folder = mkdtempSync(join(tmpdir(), 'tappet-lock-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return { folder, file: join(folder, 'x.lock') };
};
const taken = async (file: string): Promise<Lock> => {
  const answer = await takeLock(file);
  assert.ok('lock' in answer, `busy: ${JSON.stringify(answer)}`);
  return answer.lock;
};
const busy = async (file: string) => {
  const answer = await takeLock(file);
  assert.ok('owner' in answer, 'it was given away');
  return answer;
};
/** The record that a lock of ours would have, changed. */
const record = async (file: string, change: Partial<LockOwner>): Promise<void> => {
  const lock = await taken(file);
  const owner = JSON.parse(readFileSync(file, 'utf8')) as LockOwner;
  lock.release();
  writeFileSync(file, JSON.stringify({ ...owner, ...change }));
};
const deadPid = async (): Promise<number> => {
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'exit');
  return child.pid!;
};

test('the second gets the name of the first; after the release it is free, and nothing stays behind', async (t) => {
  const { folder, file } = place(t);
  const lock = await taken(file);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal((await busy(file)).owner?.pid, process.pid);
  lock.release();
  (await taken(file)).release();
  assert.deepEqual(readdirSync(folder), []);
});

test('a dead owner is broken at once', async (t) => {
  const { folder, file } = place(t);
  await record(file, { pid: await deadPid() });
  (await taken(file)).release();
  assert.deepEqual(readdirSync(folder), []);
});

test('a number that belongs to another process by now does not keep the lock', { skip: process.platform !== 'linux' }, async (t) => {
  const { file } = place(t);
  await record(file, { pid: process.ppid, start: '1' });
  (await taken(file)).release();
});

test('an owner from before the last start of the machine is dead', async (t) => {
  const { file } = place(t);
  await record(file, { boot: 'another boot' });
  (await taken(file)).release();
});

test('who lives where nobody can look is never broken, only told to be silent after a minute', async (t) => {
  const { file } = place(t);
  for (const change of [{ host: 'elsewhere' }, { namespace: 'pid:[1]' }]) {
    await record(file, { ...change, pid: await deadPid() });
    assert.equal((await busy(file)).isSilent, false);
    utimesSync(file, new Date(Date.now() - 61_000), new Date(Date.now() - 61_000));
    assert.equal((await busy(file)).isSilent, true);
    unlinkSync(file);
  }
});

test('a record that cannot be read counts as alive, unless it is older than the machine is up', async (t) => {
  const { file } = place(t);
  for (const content of ['', '{"pid":', '{"pid":1}', JSON.stringify({ pid: 1, boot: '', host: '', namespace: '', nonce: '../x' })]) {
    writeFileSync(file, content);
    assert.equal((await busy(file)).owner, null);
    utimesSync(file, 1_000, 1_000);
    (await taken(file)).release();
  }
});

test('whoever died while breaking a lock is broken too', async (t) => {
  const { file } = place(t);
  await record(file, { pid: await deadPid() });
  const victim = JSON.parse(readFileSync(file, 'utf8')) as LockOwner;
  writeFileSync(`${file}.${victim.nonce}`, JSON.stringify({ ...victim, pid: await deadPid(), nonce: 'breaker' }));
  (await taken(file)).release();
});

test('while somebody is breaking a dead owner\'s lock nobody else takes it away', async (t) => {
  const { file } = place(t);
  await record(file, { pid: await deadPid() });
  const victim = readFileSync(file, 'utf8');
  const breaker = await taken(`${file}.${(JSON.parse(victim) as LockOwner).nonce}`);
  assert.equal((await busy(file)).owner?.pid, process.pid);
  assert.equal(readFileSync(file, 'utf8'), victim);
  breaker.release();
  (await taken(file)).release();
});

test('the fence tells when the lock was taken away, and a release then touches nothing', async (t) => {
  const { file } = place(t);
  const first = await taken(file);
  assert.equal(first.isHeld(), true);
  unlinkSync(file);
  assert.equal(first.isHeld(), false);
  const second = await taken(file);
  assert.equal(first.isHeld(), false);
  first.release();
  assert.equal(second.isHeld(), true);
  second.release();
  assert.equal(second.isHeld(), false);
  second.release();
});

test('a folder that is not there is an error, not a busy lock', async (t) => {
  const { folder } = place(t);
  await assert.rejects(takeLock(join(folder, 'no', 'x.lock')), { code: 'ENOENT' });
});

test('a stopped owner keeps its lock, a killed one does not', async (t) => {
  const { folder, file } = place(t);
  const script = await bundle("import { takeLock } from './plugins/kit/lock.ts'; await takeLock(process.argv[2]!); console.log('held'); setInterval(() => {}, 1e6);", folder);
  const child = spawn(process.execPath, [script, file], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  child.kill('SIGSTOP');
  assert.equal((await busy(file)).owner?.pid, child.pid);
  child.kill('SIGKILL');
  await once(child, 'exit');
  (await taken(file)).release();
});

test('many processes, some of them killed: never two inside at once, and nobody waits for the dead', async (t) => {
  const { folder, file } = place(t);
  const journal = join(folder, 'journal');
  mkdirSync(join(folder, 'done'));
  const script = await bundle(`
    import { appendFileSync, writeFileSync } from 'node:fs';
    import { takeLock } from './plugins/kit/lock.ts';
    const [, , file, journal, name, entries] = process.argv as unknown as string[];
    for (let n = 0; n < Number(entries);) {
      const answer = await takeLock(file!);
      if (!('lock' in answer)) { await new Promise((resolve) => setTimeout(resolve, 1)); continue; }
      for (const step of ['in', 'still', 'out']) {
        appendFileSync(journal!, name + ' ' + n + ' ' + step + '\\n');
        await new Promise((resolve) => setImmediate(resolve));
      }
      answer.lock.release();
      n++;
    }
    writeFileSync(journal!.replace('journal', 'done/') + name, '');
  `, folder);
  appendFileSync(journal, '');
  const start = (name: string): ChildProcess => {
    const child = spawn(process.execPath, [script, file, journal, name, '40'], { stdio: ['ignore', 'ignore', 'inherit'] });
    t.after(() => child.kill('SIGKILL'));
    return child;
  };
  const lines = (): string[] => readFileSync(journal, 'utf8').trim().split('\n');
  const children = ['a', 'b', 'c', 'd'].map(start);
  const killed = new Set<string>();
  const ends = children.map((child) => once(child, 'exit'));
  for (let kill = 0; kill < 6; kill++) {
    // Whoever wrote last is inside, or was a moment ago.
    const seen = lines().length;
    while (lines().length < seen + 20 && !['a', 'b', 'c', 'd'].every((n) => existsSync(join(folder, 'done', n)) || killed.has(n))) await new Promise((resolve) => setTimeout(resolve, 1));
    const victim = lines().at(-1)!.split(' ')[0]!;
    const at = victim.codePointAt(0)! - 97;
    if (children[at]?.exitCode === null && children[at].kill('SIGKILL')) killed.add(victim);
    const next = start(String.fromCodePoint(97 + children.length));
    children.push(next);
    ends.push(once(next, 'exit'));
  }
  await Promise.all(ends);
  let inside: string | null = null;
  const entered = new Map<string, number>();
  for (const line of lines()) {
    const [name, n, step] = line.split(' ') as [string, string, string];
    const entry = `${name} ${n}`;
    if (step === 'in') {
      assert.ok(inside === null || killed.has(inside.split(' ')[0]!), `${entry} came in while ${inside} was inside`);
      inside = entry;
      entered.set(name, (entered.get(name) ?? 0) + 1);
    } else assert.equal(inside, entry, `${entry} was inside together with ${inside}`);
    if (step === 'out') inside = null;
  }
  assert.ok(killed.size >= 3, `only ${killed.size} were killed`);
  children.forEach((_, i) => { const name = String.fromCodePoint(97 + i); if (!killed.has(name)) assert.equal(entered.get(name), 40, name); });
});
