/** The process's streams and signals: output is whole, a reader that left ends it quietly, the second signal ends it at once. */
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { processIo, SIGNAL_EXIT } from '../../kernel/process-io.ts';

function processOf(more: { env?: Record<string, string>; isTTY?: boolean } = {}) {
  const stdout = Object.assign(new PassThrough(), { isTTY: more.isTTY ?? false, columns: undefined as number | undefined });
  const stderr = new PassThrough();
  const left: number[] = [];
  const p = Object.assign(new EventEmitter(), { env: more.env ?? {}, stdin: new PassThrough(), stdout, stderr });
  const io = processIo(p as unknown as NodeJS.Process, (code) => { left.push(code); });
  return { p, io, stdout, stderr, left };
}
const errored = (code: string): Error => Object.assign(new Error(code), { code });

test('the first signal is heard by who listens, the second one of any kind leaves with its number', () => {
  const { p, io, left } = processOf();
  const heard: string[] = [];
  io.onInterrupt((s) => heard.push(s));
  p.emit('SIGINT');
  assert.deepEqual([heard, left], [['SIGINT'], []]);
  p.emit('SIGTERM');
  assert.deepEqual([heard, left], [['SIGINT'], [SIGNAL_EXIT.SIGTERM]]);
});
test('where nobody listens a signal leaves at once, also when all have stopped listening', () => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    const { p, io, left } = processOf();
    io.onInterrupt(() => {})();
    p.emit(signal);
    assert.deepEqual(left, [SIGNAL_EXIT[signal]]);
  }
});
test('a reader of stdout that went away, or a terminal that did, ends the process quietly; another error is said, and is no success', () => {
  for (const code of ['EPIPE', 'ERR_STREAM_DESTROYED', 'EIO']) {
    const { stdout, left } = processOf();
    stdout.emit('error', errored(code));
    assert.deepEqual(left, [0], code);
  }
  const { stdout, stderr, left } = processOf();
  stdout.emit('error', errored('ENOSPC'));
  assert.match(String(stderr.read()), /ENOSPC/);
  assert.deepEqual([left.length, left[0] === 0], [1, false]);
  stderr.emit('error', errored('ENOSPC')); // nobody is left to be told
});
test('a write that throws at once, and one whose error comes only after the end, are said too', async () => {
  const thrown = processOf();
  thrown.stdout.write = () => { throw errored('ENOSPC'); };
  thrown.io.out('x');
  assert.deepEqual(thrown.left, [2]);
  const late = processOf();
  Object.defineProperty(late.stdout, 'errored', { value: errored('ENOSPC') });
  await late.io.flush();
  assert.deepEqual(late.left, [2]);
});
test('on stderr our colours stay and nothing else drives the terminal; stdout is not touched', () => {
  const { io, stdout, stderr } = processOf();
  io.err('\x1b[31mred\x1b[0m \x1b]0;title\x07 a\u202eb\tc\n');
  assert.equal(String(stderr.read()), '\x1b[31mred\x1b[0m \ufffd]0;title\ufffd a\ufffdb\tc\n');
  io.out('\x07 as it is');
  assert.equal(String(stdout.read()), '\x07 as it is');
});
test('flush waits until both streams have been read', async () => {
  const { io, stdout, stderr } = processOf();
  io.out('x'.repeat(200_000));
  io.err('y'.repeat(200_000));
  let isDone = false;
  const flushed = io.flush().then(() => { isDone = true; });
  await new Promise((r) => setImmediate(r));
  assert.equal(isDone, false);
  stdout.resume();
  stderr.resume();
  await flushed;
});
test('colour follows NO_COLOR first, then FORCE_COLOR, then the terminal', () => {
  const color = (env: Record<string, string>, isTTY: boolean): boolean => processOf({ env, isTTY }).io.color;
  assert.deepEqual([color({}, true), color({}, false), color({ TERM: 'dumb' }, true), color({ FORCE_COLOR: '1' }, false), color({ NO_COLOR: '1', FORCE_COLOR: '1' }, true), color({ NO_COLOR: '' }, true), color({ FORCE_COLOR: '0' }, true)], [true, false, false, true, false, true, true]);
});
test('the environment is taken once: what changes it later does not reach Tappet', () => {
  const { p, io } = processOf({ env: { A: '1' } });
  p.env['A'] = '2';
  assert.equal(io.env['A'], '1');
  assert.equal(io.columns, 80);
});
