import assert from 'node:assert/strict';
import { once } from 'node:events';
import { open, realpath } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import type { ExecutionTarget } from 'tappet/schemas';
import host from '../../../plugins/targets/host.ts';
import { testProject } from '../../support/tool-context.ts';

const targets: ExecutionTarget[] = [];
await host.apply({ registries: { executionTargets: { add: (t: ExecutionTarget) => targets.push(t) } } } as never);
const target = targets[0]!;
const posix = { skip: process.platform === 'win32' };
const sh = (command: string, more: object = {}) => target.spawn({ command: '/bin/sh', args: ['-c', command], cwd: '/', env: { PATH: '/usr/bin:/bin' }, ...more });

test('is this machine: there, and a shield from nothing', async () => {
  assert.equal(target.name, 'host');
  assert.equal(await target.available(), null);
  assert.equal(target.covers('filesystem'), false);
  assert.equal(await target.fs.realpath('/'), await realpath('/'));
});

test('runs in the folder and with the environment that it is given, and no more', posix, async (t) => {
  const { folder } = await testProject(t);
  const child = sh('pwd; env | grep -v -e ^PWD= -e ^_= -e ^SHLVL= -e ^OLDPWD= | sort; echo bad >&2', { cwd: folder, env: { PATH: '/usr/bin:/bin', A: 'b c' } });
  assert.equal(await text(child.stdout!), `${folder}\nA=b c\nPATH=/usr/bin:/bin\n`);
  assert.equal(await text(child.stderr!), 'bad\n');
});

test('gives nothing to read where nothing is asked for, and a pipe where it is', posix, async () => {
  assert.equal(await text(sh('cat').stdout!), '');
  const fed = sh('cat', { stdin: 'pipe' });
  fed.stdin!.end('words');
  assert.equal(await text(fed.stdout!), 'words');
});

test('words of a command are words, not shell', posix, async () => {
  const child = target.spawn({ command: 'printf', args: ['%s|', 'a b', '$HOME', ';ls'], cwd: '/', env: { PATH: '/usr/bin:/bin' } });
  assert.equal(await text(child.stdout!), 'a b|$HOME|;ls|');
});

test('starts a group of its own, which can be ended as a whole', posix, async () => {
  const child = sh('echo $$; sleep 60 & wait');
  const [first] = await once(child.stdout!, 'data') as [Buffer];
  assert.equal(Number(first.toString()), child.pid);
  process.kill(-child.pid!, 'SIGKILL'); // throws where there is no such group
  const [, signal] = await once(child, 'exit') as [number, string];
  assert.equal(signal, 'SIGKILL');
});

test('hands on no open file', { skip: process.platform !== 'linux' }, async () => {
  const handle = await open(import.meta.filename);
  try {
    assert.deepEqual((await text(sh('for f in /proc/$$/fd/*; do readlink $f; done').stdout!)).split('\n').filter((l) => l.includes('host.test')), []);
  } finally {
    await handle.close();
  }
});

test('a command that is not there is an error event, not a throw', posix, async () => {
  const child = target.spawn({ command: '/none/such', args: [], cwd: '/', env: {} });
  const [error] = await once(child, 'error') as [NodeJS.ErrnoException];
  assert.equal(error.code, 'ENOENT');
});
