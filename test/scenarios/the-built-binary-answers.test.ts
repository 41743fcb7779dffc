/** The binary as it is shipped: through a model's API, streaming, with a tool call; and offline, without a key. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startMockAnthropic } from '../support/mock-anthropic.ts';

const binary = join(dirname(fileURLToPath(import.meta.url)), '../../dist/tappet.cjs');

function place(t: TestContext) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'tappet-binary-')));
  t.after(() => rmSync(base, { recursive: true, force: true, maxRetries: 3 }));
  const [dir, home] = [join(base, 'project'), join(base, 'home')];
  for (const d of [dir, home]) mkdirSync(d);
  writeFileSync(join(dir, 'notes.txt'), 'the word is swordfish\n');
  const run = (args: readonly string[], env: Record<string, string> = {}, input?: string): Promise<{ code: number | null; out: string; err: string }> => new Promise((resolve) => {
    const child = spawn(process.execPath, [binary, ...(args[0] === '--version' ? [] : ['--set', 'providers.local.options.servers=false']), ...args], // no look at servers on this machine
      { cwd: dir, env: { PATH: process.env['PATH'] ?? '', HOME: home, ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
    let [out, err] = ['', ''];
    child.stdout.on('data', (d: Buffer) => { out += d.toString(); });
    child.stderr.on('data', (d: Buffer) => { err += d.toString(); });
    child.stdin.on('error', () => {}); // it may be gone before it has read all
    child.stdin.end(input ?? '');
    child.on('close', (code) => resolve({ code, out, err }));
  });
  return { dir, home, run };
}

test('the build is there: npm run prepare', () => assert.ok(existsSync(binary)));

test('it answers through a model, streaming, with a tool call', async (t) => {
  const mock = await startMockAnthropic([{ blocks: [{ text: 'Let me look.' }, { call: 'Read', input: { file_path: 'notes.txt' } }] }, { blocks: [{ text: 'It is swordfish.' }] }]);
  t.after(() => mock.close());
  const p = place(t);
  const r = await p.run(['-p', 'what is the word?'], { ANTHROPIC_BASE_URL: mock.url, ANTHROPIC_API_KEY: 'sk-test-secret' });
  assert.deepEqual([r.code, r.out, r.err], [0, 'It is swordfish.\n', '']);
  assert.deepEqual(mock.requests.map((q) => q.refused), [null, null]);
  assert.match(mock.requests[1]!.text, /the word is swordfish/);
});
test('the same as stream-json, driven as an SDK drives it', async (t) => {
  const mock = await startMockAnthropic([{ blocks: [{ call: 'Read', input: { file_path: 'notes.txt' } }] }, { blocks: [{ text: 'swordfish' }] }]);
  t.after(() => mock.close());
  const p = place(t);
  const lines = [{ type: 'control_request', request_id: 'r1', request: { subtype: 'initialize' } }, { type: 'user', session_id: '', parent_tool_use_id: null, message: { role: 'user', content: 'the word?' } }];
  const r = await p.run(['--output-format', 'stream-json', '--verbose', '--input-format', 'stream-json'], { ANTHROPIC_BASE_URL: mock.url, ANTHROPIC_API_KEY: 'x' }, `${lines.map((l) => JSON.stringify(l)).join('\n')}\n`);
  const said = r.out.trim().split('\n').map((l) => JSON.parse(l) as { type: string; subtype?: string; result?: string });
  assert.equal(r.code, 0, r.err);
  assert.ok(said.some((l) => l.type === 'control_response'));
  assert.deepEqual(said.filter((l) => l.type === 'assistant' || l.type === 'user').map((l) => l.type), ['assistant', 'user', 'assistant']);
  assert.equal(said.at(-1)?.result, 'swordfish');
});
test('without a key it answers offline, through the real tools, and says what it is', async (t) => {
  const p = place(t);
  const r = await p.run(['-p', 'read notes.txt']);
  assert.equal(r.code, 0, r.err);
  assert.match(r.out, /offline/);
  assert.match(r.out, /the word is swordfish/);
});
test('a second run starts from the code cache, and a cache folder that is a file is no error', async (t) => {
  const p = place(t);
  const first = await p.run(['--version']);
  assert.ok(existsSync(join(p.home, '.cache/tappet/code')));
  assert.deepEqual(await p.run(['--version']), first);
  rmSync(join(p.home, '.cache'), { recursive: true });
  writeFileSync(join(p.home, '.cache'), 'not a folder');
  assert.deepEqual(await p.run(['--version']), first);
});
test('a cache that others may write to is not used', async (t) => {
  const { chmodSync, readdirSync } = await import('node:fs');
  const p = place(t);
  await p.run(['--version']);
  const [version] = readdirSync(join(p.home, '.cache/tappet/code'));
  const folder = join(p.home, '.cache/tappet/code', version!);
  for (const f of readdirSync(folder)) writeFileSync(join(folder, f), 'poison');
  chmodSync(folder, 0o777);
  assert.equal((await p.run(['--version'])).code, 0);
});
test('a failing model is named on stderr, with its own exit code and nothing on stdout', async (t) => {
  const mock = await startMockAnthropic([{ refuse: 'overloaded' }]);
  t.after(() => mock.close());
  const p = place(t);
  const soon = ['--set', 'plugins.recoveries/transport.with={ firstMs: 1, retries: 2 }'];
  const r = await p.run([...soon, '-p', 'hi'], { ANTHROPIC_BASE_URL: mock.url, ANTHROPIC_API_KEY: 'sk-test-secret' });
  assert.deepEqual([r.code, r.out], [1, '']);
  assert.match(r.err, /^note: .*; asking again in 0 s \(1 of 2\)\nnote: .*\(2 of 2\)\n.*Overloaded/i);
  assert.doesNotMatch(r.err, /sk-test-secret|\n\s+at /);
  const away = await p.run([...soon, '-p', 'hi'], { ANTHROPIC_BASE_URL: 'http://127.0.0.1:9', ANTHROPIC_API_KEY: 'x' });
  assert.equal(away.code, 4);
});

const plugin = (p: { dir: string }, body: string): string[] => {
  writeFileSync(join(p.dir, 'plugin.ts'), `import { definePlugin } from 'tappet/kernel';\nexport default definePlugin({ name: 'acme/x', api: 1, apply({ hooks }) { ${body} } });\n`);
  return ['--plugin-dir', join(p.dir, 'plugin.ts'), '-p', 'read notes.txt'];
};
test('a plugin may import later, in every start, and what it prints goes beside the answer', async (t) => {
  const p = place(t);
  writeFileSync(join(p.dir, 'own.ts'), 'export const word: string = "mine";\n');
  const args = plugin(p, "hooks.SessionStart.tap({ name: 'acme/x' }, async () => { const os = await import('node:os'); const { word } = await import('./own.ts'); console.log(word, typeof os.hostname); });");
  for (let start = 1; start <= 3; start++) { // the second and third have compiled code
    const r = await p.run(args);
    assert.deepEqual([r.code, r.err], [0, 'mine function\n'], `start ${start}`);
    assert.match(r.out, /swordfish/);
    assert.doesNotMatch(r.out, /mine/);
  }
});
test('what nobody catches is an error with its place, and no stack trace', async (t) => {
  const p = place(t);
  for (const body of ["Promise.reject(new Error('floating'));", "setTimeout(() => { throw new Error('floating'); }, 1);"]) {
    const r = await p.run(plugin(p, body));
    assert.equal(r.code, 1);
    assert.match(r.err, /^E_INTERNAL {2}.*floating\n {2}cause {3}nobody caught it; at .*plugin\.ts/);
    assert.doesNotMatch(r.err, /\n\s+at /);
  }
});
test('an answer that cannot be written is said, however short or long it is', { skip: process.platform !== 'linux' }, async (t) => {
  const p = place(t);
  for (const args of [['--version'], ['--help'], ['config', 'schema'], ['-p', 'read notes.txt'], ['-p', 'read notes.txt', '--json']]) {
    const child = spawn('sh', ['-c', 'exec "$0" "$@" >/dev/full', process.execPath, binary, ...args], { cwd: p.dir, env: { PATH: process.env['PATH'] ?? '', HOME: p.home }, stdio: ['ignore', 'ignore', 'pipe'] });
    let err = '';
    child.stderr.on('data', (d: Buffer) => { err += d.toString(); });
    const code = await new Promise((resolve) => child.on('close', resolve));
    assert.equal(code, 2, args.join(' '));
    assert.match(err, /^E_FRONTEND {2}the answer cannot be written: ENOSPC/, args.join(' '));
    assert.doesNotMatch(err, /\n\s+at /);
  }
});
test('where nothing can be written no half file stays: neither of a lock nor of a cache', { skip: process.platform !== 'linux' }, async (t) => {
  const { readdirSync } = await import('node:fs');
  const p = place(t);
  mkdirSync(join(p.home, '.config/tappet'), { recursive: true });
  writeFileSync(join(p.home, '.config/tappet/config.yaml'), 'mode: plan\n');
  const child = spawn('sh', ['-c', "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\"", process.execPath, binary, 'config', 'set', 'mode', 'default', '--user'], { cwd: p.dir, env: { PATH: process.env['PATH'] ?? '', HOME: p.home }, stdio: ['ignore', 'ignore', 'pipe'] });
  let err = '';
  child.stderr.on('data', (d: Buffer) => { err += d.toString(); });
  assert.equal(await new Promise((resolve) => child.on('close', resolve)), 2);
  assert.match(err, /^E_CONFIG_WRITE/);
  const files = readdirSync(p.home, { recursive: true, withFileTypes: true }).filter((f) => f.isFile()).map((f) => f.name);
  assert.deepEqual(files, ['config.yaml']);
});
test('started in a folder that is gone it says so', { skip: process.platform !== 'linux' }, async (t) => {
  const p = place(t);
  const child = spawn('sh', ['-c', 'mkdir gone && cd gone && rmdir ../gone && exec "$0" "$@"', process.execPath, binary, 'doctor'], { cwd: p.dir, env: { PATH: process.env['PATH'] ?? '', HOME: p.home }, stdio: ['ignore', 'ignore', 'pipe'] });
  let err = '';
  child.stderr.on('data', (d: Buffer) => { err += d.toString(); });
  assert.equal(await new Promise((resolve) => child.on('close', resolve)), 2);
  assert.match(err, /^E_USAGE {2}the folder that this was started in is gone\n/m);
});
