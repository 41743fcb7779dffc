import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import fc from 'fast-check';
import login from '../../../plugins/cli/login/index.ts';
import { readHidden } from '../../../plugins/cli/login/hidden.ts';
import { collect } from '../../contracts/collect.ts';
import type { Io, KernelView, SubcommandContext } from 'tappet/schemas';
import { cliPlace } from '../../support/cli.ts';

const KEY = 'sk-test-4f9a1c77e0b2d3-secret';
const PLUGINS = ['keys/store', 'models/anthropic', 'models/openai', 'models/fallback', 'models/offline', 'cli/parse', 'cli/login', 'cli/logout', 'cli/models'];
const FILE = '~/.local/state/tappet/keys.json';
const at = (t: TestContext, files: Readonly<Record<string, string>> = {}) => cliPlace(t, { plugins: PLUGINS, layer: 'mode: default', files });

// ---- the command -----------------------------------------------------------------------------------------------------------

test('a key that is piped in is stored, and where is said', async (t) => {
  const p = await at(t);
  const { code, out, err } = await p.run(['login', 'anthropic', '--key-stdin'], { stdin: `${KEY}\n` });
  assert.deepEqual([code, err], [0, '']);
  assert.ok(out.startsWith(`the key of anthropic is stored: ${p.at(FILE)}`), out);
  assert.match(out, /`tappet models test anthropic\/\S+` tries it/);
  assert.equal(JSON.parse(await p.read(FILE)).keys.anthropic.key, KEY);
  if (process.platform !== 'win32') assert.equal(statSync(p.at(FILE)).mode & 0o777, 0o600);
  assert.deepEqual(await p.json(['login', 'openai', '--key-stdin'], { stdin: `\ufeff${KEY}\r\n` }).then((r) => r.provider), 'openai');
  assert.equal(JSON.parse(await p.read(FILE)).keys.openai.key, KEY);
});

test('what counts before the stored key is told', async (t) => {
  const p = await at(t, { '~/.config/tappet/config.yaml': 'providers: { openai: { keyHelper: "exit 1" } }\n' });
  assert.match((await p.run(['login', 'anthropic', '--key-stdin'], { stdin: KEY, env: { ANTHROPIC_API_KEY: 'x' } })).err, /^note: the variable ANTHROPIC_API_KEY counts before it$/m);
  assert.match((await p.run(['login', 'openai', '--key-stdin'], { stdin: KEY })).err, /^note: the output of keyHelper counts before it$/m);
  assert.equal((await p.json(['login', 'anthropic', '--key-stdin'], { stdin: KEY, env: { ANTHROPIC_API_KEY: 'x' } })).countsBefore, 'the variable ANTHROPIC_API_KEY');
});

test('no command ever prints a key, whatever goes wrong', async (t) => {
  const p = await at(t);
  const runs = [
    await p.run(['login', 'anthropic', KEY, '--debug']), await p.run(['login', KEY, '--debug']), await p.run(['login', `${KEY.slice(0, 26)}`, '--key-stdin', '--debug'], { stdin: KEY }),
    await p.run(['login', 'anthropic', '--key-stdin', '--debug'], { stdin: `${KEY}\n${KEY}` }), await p.run(['login', 'anthropic', '--key-stdin', '--debug'], { stdin: KEY }),
    await p.run(['login', 'anthropic', '--key-stdin', '--json', '--debug'], { stdin: KEY }), await p.run(['models', 'list', '--json', '--debug']), await p.run(['models', 'list', '--all', '--debug']),
  ];
  await p.file(FILE, `{"version":1,"keys":{"anthropic":{"key":"${KEY}"}`);
  runs.push(await p.run(['login', 'anthropic', '--key-stdin', '--debug'], { stdin: KEY }), await p.run(['logout', 'anthropic', '--debug']), await p.run(['models', 'list', '--debug']), await p.run(['models', 'test', 'anthropic/sonnet', '--debug']));
  assert.deepEqual(runs.map((r) => r.code), [2, 2, 2, 2, 0, 0, 0, 0, 2, 2, 0, 4]);
  for (const r of runs) for (const part of [KEY, KEY.slice(0, 26), KEY.slice(8)]) assert.ok(!`${r.out}${r.err}`.includes(part), `${r.out}${r.err}`);
});

test('a key as an argument, an unknown provider, a list of models and no input are refused', async (t) => {
  const p = await at(t);
  const fails = async (argv: readonly string[], what: RegExp, o: Parameters<typeof p.run>[1] = {}): Promise<void> => {
    const { code, out, err } = await p.run(argv, o);
    assert.deepEqual([code, out], [2, ''], err);
    assert.match(err, what);
  };
  await fails(['login'], /needs a PROVIDER[\s\S]*anthropic, openai\n/);
  await fails(['login', 'anthropic', KEY], /a key is no argument[\s\S]*tappet login anthropic;/);
  await fails(['login', 'antropic', '--key-stdin'], /did you mean "anthropic"/, { stdin: KEY });
  await fails(['login', 'fallback', '--key-stdin'], /no provider is named "fallback"/, { stdin: KEY });
  await fails(['login', 'anthropic', '--key-stdin'], /nothing is piped in/, { stdin: ' \n' });
  await fails(['login', 'anthropic', '--key-stdin'], /more than 65536 bytes/, { stdin: 'k'.repeat(70_000) });
  await fails(['login', 'anthropic', '--key-stdin'], /E_KEYS_VALUE.*anthropic.*blanks/, { stdin: 'two words' });
  await fails(['login', 'anthropic', '--key-stdin'], /a terminal would show it/, { stdin: KEY, tty: true });
  await fails(['login', 'anthropic'], /stdin is no terminal[\s\S]*--key-stdin/, { stdin: KEY });
  await fails(['login', 'anthropic'], /cannot hide what is typed/, { stdin: `${KEY}\n`, tty: true });
  await assert.rejects(p.read(FILE), /ENOENT/);
});

test('without a plugin that keeps keys it says so', async (t) => {
  const p = await cliPlace(t, { plugins: ['models/anthropic', 'cli/parse', 'cli/login'], layer: 'mode: default' });
  assert.match((await p.run(['login', 'anthropic', '--key-stdin'], { stdin: KEY })).err, /switch keys\/store on again/);
});

test('a key that is typed is stored; an interrupt or an empty line stores nothing', async () => {
  const { subcommands: [command] } = await collect(login);
  const run = async (typed: string) => {
    const tty = terminal();
    const saved: string[] = [];
    const keys = { save: async (provider: string, key: string) => { saved.push(`${provider} ${key}`); return 'a safe place'; } };
    const kernel = { registry: () => ({ all: () => [{ name: 'anthropic', models: () => [] }] }), service: () => keys, config: { settings: { providers: {} } } } as unknown as KernelView;
    tty.type(typed);
    const code = await command!.run({ verb: null, args: ['anthropic'], options: {}, json: false, io: tty.io, kernel } as unknown as SubcommandContext).catch((e: Error) => e.message);
    assert.ok(!tty.shown().includes(KEY));
    assert.equal(tty.raw(), false);
    return { code, saved, shown: tty.shown() };
  };
  const typed = await run(`${KEY}\r`);
  assert.deepEqual([typed.code, typed.saved], [0, [`anthropic ${KEY}`]]);
  assert.match(typed.shown, /^Key of anthropic .*: \nthe key of anthropic is stored: a safe place\n$/);
  const stopped = await run(`${KEY}\u0003`);
  assert.deepEqual([stopped.code, stopped.saved], [130, []]);
  assert.deepEqual(await run('\u0004').then((r) => [r.code, r.saved]), [1, []]);
  assert.deepEqual(await run('  \r').then((r) => [r.code, r.saved]), ['nothing was typed', []]);
});

// ---- the reader ------------------------------------------------------------------------------------------------------------

/** A terminal that only says what was done to it. */
function terminal(o: { rawBefore?: boolean; failRaw?: boolean } = {}) {
  const stream = new PassThrough();
  let shown = '';
  let raw = o.rawBefore ?? false;
  const changes: boolean[] = [];
  let signal: ((which: 'SIGINT' | 'SIGTERM' | 'SIGHUP') => void) | undefined;
  const stdin = Object.assign(stream, {
    isTTY: true,
    setRawMode(mode: boolean) { if (o.failRaw === true) throw new Error('EIO'); raw = mode; changes.push(mode); return stream; },
  });
  Object.defineProperty(stdin, 'isRaw', { get: () => raw });
  const listening = (): number => ['data', 'end', 'close', 'error'].reduce((n, e) => n + stream.listenerCount(e), 0);
  const before = listening();
  return {
    io: { env: {}, stdin: stdin as unknown as Io['stdin'], err: (text: string) => { shown += text; }, out: (text: string) => { shown += text; }, onInterrupt: (fn: typeof signal) => { signal = fn; return () => { signal = undefined; }; } } as unknown as Io,
    type: (text: string | Buffer) => { stream.write(text); },
    stream, shown: () => shown, raw: () => raw, changes,
    send: (which: 'SIGTERM' | 'SIGHUP') => signal!(which),
    /** Nobody listens any more, the stream rests, the mode is as before. */
    isRestored: () => listening() === before && signal === undefined && stream.isPaused() && raw === (o.rawBefore ?? false),
  };
}

test('the line is read in raw mode and not shown', async () => {
  const tty = terminal();
  const read = readHidden(tty.io, 'Key: ');
  assert.equal(tty.raw(), true);
  tty.type('sec');
  tty.type('ret\r');
  assert.deepEqual(await read, { text: 'secret' });
  assert.equal(tty.shown(), 'Key: \n');
  assert.deepEqual(tty.changes, [true, false]);
  assert.ok(tty.isRestored());
});

test('what is deleted is gone, and keys that move do nothing', async () => {
  for (const [typed, text] of [
    ['abx\u007fc\r', 'abc'], ['abx\bc\n', 'abc'], ['\u007f\u007fa\r', 'a'], ['wrong\u0015right\r', 'right'], ['a\u001b[D\u001b[3~b\u001bOHc\r', 'abc'], ['\u001b[200~pasted\u001b[201~\r', 'pasted'],
    ['a\tb\u0000c\r', 'abc'], ['a\u001b\r', 'a'], ['a\u0004b\r', 'ab'], ['one\rtwo\r', 'one'], ['sch\u00f6n\u007f\u007fn\r', 'schn'], ['👍x\u007f\u007f\r', ''],
  ] as const) {
    const tty = terminal();
    const read = readHidden(tty.io, '');
    tty.type(typed);
    assert.deepEqual(await read, { text }, JSON.stringify(typed));
    assert.ok(tty.isRestored());
  }
});

test('any text comes out as it was typed, in whatever pieces it arrives', async () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'Z', '9', '-', '_', 'ö', '€', '👍', ' '), maxLength: 60 });
  await fc.assert(fc.asyncProperty(letters, fc.integer({ min: 1, max: 7 }), async (text, size) => {
    const tty = terminal();
    const read = readHidden(tty.io, '');
    const bytes = Buffer.from(`${text}\r`);
    for (let i = 0; i < bytes.length; i += size) tty.type(bytes.subarray(i, i + size));
    assert.deepEqual(await read, { text });
    assert.equal(tty.shown(), '\n');
  }));
});

test('the terminal is as it was after an interrupt, an end, an error, a signal', async () => {
  const ways: readonly [string, (tty: ReturnType<typeof terminal>) => void, unknown][] = [
    ['ctrl-c', (tty) => tty.type('half\u0003'), 'SIGINT'], ['ctrl-d', (tty) => tty.type('\u0004'), null], ['end', (tty) => tty.stream.end(), null], ['close', (tty) => tty.stream.destroy(), null],
    ['error', (tty) => tty.stream.emit('error', new Error('EIO')), null], ['SIGTERM', (tty) => tty.send('SIGTERM'), 'SIGTERM'], ['SIGHUP', (tty) => tty.send('SIGHUP'), 'SIGHUP'],
  ];
  for (const [name, way, ended] of ways) {
    const tty = terminal();
    const read = readHidden(tty.io, 'Key: ');
    way(tty);
    assert.deepEqual(await read, { ended }, name);
    assert.ok(tty.isRestored(), name);
    assert.deepEqual(tty.changes, [true, false], name);
  }
});

test('a terminal that was raw before stays raw, one that refuses is an error, one that cannot is none', async () => {
  const raw = terminal({ rawBefore: true });
  raw.type('x\r');
  assert.deepEqual(await readHidden(raw.io, ''), { text: 'x' });
  assert.equal(raw.raw(), true);

  const broken = terminal({ failRaw: true });
  await assert.rejects(readHidden(broken.io, 'Key: '), /EIO/);
  assert.ok(!broken.shown().includes('Key'), 'nobody is asked to type what would be shown');
  assert.ok(broken.isRestored());

  assert.equal(await readHidden({ ...terminal().io, stdin: new PassThrough() as unknown as Io['stdin'] }, 'Key: '), null);
});
