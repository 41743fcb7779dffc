import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, symlinkSync, truncateSync, unlinkSync, utimesSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { crcHex } from 'tappet/kit';
import type { Line, LineDraft, SessionInfo, SessionStore, UserMessage, Uuid } from 'tappet/schemas';
import plugin from '../../../plugins/stores/sessions/index.ts';
import { sessionStore } from '../../../plugins/stores/sessions/index.ts';
import { bundle } from '../../support/bundle.ts';

interface Place { readonly base: string; readonly state: string; readonly root: string; readonly store: SessionStore; again(): SessionStore }
const place = (t: TestContext, write?: Parameters<typeof sessionStore>[1]): Place => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'tappet-sessions-')));
  const [state, root] = [join(base, 'state'), join(base, 'project')];
  mkdirSync(root);
  const stores: { closeAll(): Promise<void> }[] = [];
  const again = (): SessionStore => {
    const made = sessionStore(state, write);
    stores.push(made);
    return made.store;
  };
  t.after(async () => {
    await Promise.all(stores.map((s) => s.closeAll()));
    rmSync(base, { recursive: true, force: true });
  });
  return { base, state, root, store: again(), again };
};
const id = (): Uuid => randomUUID();
const said = (text: string, more: Partial<UserMessage & { isSidechain: boolean }> = {}): LineDraft & UserMessage => ({
  type: 'user', uuid: id(), parentUuid: null, timestamp: '2026-11-30T10:00:00.000Z', cwd: '/work', isSidechain: false, message: { role: 'user', content: text }, ...more,
});
const texts = (lines: readonly Line[]): string[] => lines.map((line) => (line.type === 'user' ? String(line.message.content) : line.type));
const fileOf = (place: Place, sessionId: string): string => {
  const [project] = readdirSync(join(place.state, 'projects'));
  return join(place.state, 'projects', project!, 'sessions', `${sessionId}.jsonl`);
};
/** A session with the lines given, closed. */
const written = async (p: Place, lines: readonly LineDraft[], sessionId = id()): Promise<{ sessionId: Uuid; file: string }> => {
  const log = await p.store.create({ sessionId, cwd: p.root, root: p.root });
  for (const line of lines) await log.append(line);
  await log.close();
  return { sessionId, file: fileOf(p, sessionId) };
};

test('the plugin provides the service and closes what is open', async (t) => {
  const p = place(t);
  let store: SessionStore | undefined;
  let close: (() => unknown) | undefined;
  void plugin.apply({ services: { provide: (_: string, s: SessionStore) => { store = s; } }, folders: { state: p.state }, own: (c: () => unknown) => { close = c; } } as never);
  const sessionId = id();
  const log = await store!.create({ sessionId, cwd: p.root, root: p.root });
  await log.append(said('hello'));
  await close!();
  await assert.rejects(log.append(said('late')), { code: 'E_SESSION_CLOSED' });
  assert.deepEqual(texts((await p.store.read({ sessionId, root: p.root })).lines), ['hello']);
});

test('a line carries version, session, time and number, and the checksum of what it would be without it', async (t) => {
  const p = place(t);
  const { sessionId, file } = await written(p, [said('é'), { type: 'tag', tag: 'x' }]);
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  const first = JSON.parse(lines[0]!) as Record<string, unknown>;
  assert.deepEqual([first.v, first.sessionId, first.seq, first.timestamp], [1, sessionId, 1, '2026-11-30T10:00:00.000Z']);
  assert.deepEqual(Object.keys(first).slice(-2), ['seq', 'crc']);
  for (const line of lines) assert.equal(crcHex(`${line.slice(0, line.lastIndexOf(',"crc"'))}}`), /"crc":"([0-9a-f]{8})"\}$/.exec(line)?.[1]);
  assert.match(String((JSON.parse(lines[1]!) as Record<string, unknown>).timestamp), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
});

test('any lines come back as they were, through any number of openings', async (t) => {
  const p = place(t);
  await fc.assert(fc.asyncProperty(fc.array(fc.array(fc.record({ text: fc.string({ unit: 'binary' }), output: fc.jsonValue() }), { maxLength: 4 }), { minLength: 1, maxLength: 3 }), async (rounds) => {
    const sessionId = id();
    const drafts: LineDraft[] = [];
    await written(p, [said('first')], sessionId);
    for (const round of rounds) {
      const { log, lines, notices } = await p.store.open({ sessionId, root: p.root });
      assert.equal(lines.length, 1 + drafts.length);
      assert.deepEqual(notices, []);
      for (const { text, output } of round) {
        drafts.push(said(text, { toolUseResult: { toolUseID: 't', toolName: 'Bash', output } }));
        await log.append(drafts.at(-1)!);
      }
      await log.close();
    }
    const { lines, notices } = await p.store.read({ sessionId, root: p.root });
    assert.deepEqual(notices, []);
    assert.deepEqual(lines.slice(1).map((line) => { const { v, sessionId: s, seq, crc, ...content } = line as unknown as Record<string, unknown>; return content; }), JSON.parse(JSON.stringify(drafts)));
  }), { numRuns: 25 });
});

test('lines of two megabytes are written and read', async (t) => {
  const p = place(t);
  const big = 'ü'.repeat(1_000_000);
  const { sessionId } = await written(p, [said('before'), said(big), said('after')]);
  const { lines, notices } = await p.store.read({ sessionId, root: p.root });
  assert.deepEqual(texts(lines), ['before', big, 'after']);
  assert.deepEqual(notices, []);
});

test('a line read from one session can be put into another: it gets that one\'s frame', async (t) => {
  const p = place(t);
  const one = await written(p, [said('x'), said('shared')]);
  const { lines } = await p.store.read({ sessionId: one.sessionId, root: p.root });
  const two = await written(p, [lines[1] as LineDraft]);
  const copy = (await p.store.read({ sessionId: two.sessionId, root: p.root })).lines[0] as unknown as Record<string, unknown>;
  assert.deepEqual([copy.sessionId, copy.seq], [two.sessionId, 1]);
});

test('folders are for the owner alone, and so are files; outputs have a folder of their own', async (t) => {
  const p = place(t);
  const sessionId = id();
  const log = await p.store.create({ sessionId, cwd: p.root, root: p.root });
  await log.append(said('x'));
  const outputs = await log.outputFolder();
  const file = fileOf(p, sessionId);
  assert.equal(outputs, join(file.replace('.jsonl', ''), 'outputs'));
  for (const folder of [outputs, join(file, '..'), join(file, '../..'), join(file, '../../..')]) assert.equal(statSync(folder).mode & 0o777, 0o700, folder);
  for (const one of [file, file.replace('.jsonl', '.lock')]) assert.equal(statSync(one).mode & 0o777, 0o600, one);
  await log.close();
  assert.deepEqual(readdirSync(join(file, '..')).sort(), [sessionId, `${sessionId}.jsonl`]);
});

test('two ways to one folder meet in one place; two folders of one name do not', async (t) => {
  const p = place(t);
  symlinkSync(p.root, join(p.base, 'link'));
  const { sessionId } = await written(p, [said('x')]);
  assert.equal((await p.store.read({ sessionId, root: join(p.base, 'link') })).lines.length, 1);
  mkdirSync(join(p.base, 'other/project'), { recursive: true });
  await assert.rejects(p.store.read({ sessionId, root: join(p.base, 'other/project') }), { code: 'E_SESSION_UNKNOWN' });
});

test('an unknown session is said to be unknown, and no id leads out of the folder', async (t) => {
  const p = place(t);
  const { file } = await written(p, [said('x')]);
  writeFileSync(join(file, '../../outside.jsonl'), '{"type":"tag","tag":"secret"}\n');
  for (const sessionId of [id(), '../outside', '..', '', 'a/b', 'a\0b'] as Uuid[]) {
    await assert.rejects(p.store.open({ sessionId, root: p.root }), { code: 'E_SESSION_UNKNOWN' });
    await assert.rejects(p.store.read({ sessionId, root: p.root }), { code: 'E_SESSION_UNKNOWN' });
  }
  await assert.rejects(p.store.create({ sessionId: '../x' as Uuid, cwd: p.root, root: p.root }), { code: 'E_USAGE' });
});

test('an id that is taken is not written into', async (t) => {
  const p = place(t);
  const { sessionId } = await written(p, [said('x')]);
  await assert.rejects(p.store.create({ sessionId, cwd: p.root, root: p.root }), { code: 'E_SESSION_STORE', message: /already/ });
  assert.equal((await p.store.read({ sessionId, root: p.root })).lines.length, 1);
});

test('a session in which nothing was said leaves nothing to list', async (t) => {
  const p = place(t);
  const { sessionId } = await written(p, []);
  await assert.rejects(p.store.read({ sessionId, root: p.root }), { code: 'E_SESSION_UNKNOWN' });
  assert.equal(await p.store.latest({ root: p.root }), null);
});

test('a second opener is refused and told who has it, also within one process', async (t) => {
  const p = place(t);
  const sessionId = id();
  const log = await p.store.create({ sessionId, cwd: p.root, root: p.root });
  await log.append(said('mine'));
  await assert.rejects(p.again().open({ sessionId, root: p.root }), { code: 'E_SESSION_BUSY', message: new RegExp(`pid ${process.pid}`) });
  assert.deepEqual(texts((await p.store.read({ sessionId, root: p.root })).lines), ['mine']);
  await log.close();
  await (await p.again().open({ sessionId, root: p.root })).log.close();
});

test('who lost the lock writes nothing more', async (t) => {
  const p = place(t);
  const sessionId = id();
  const log = await p.store.create({ sessionId, cwd: p.root, root: p.root });
  await log.append(said('one'));
  unlinkSync(fileOf(p, sessionId).replace('.jsonl', '.lock'));
  const other = await p.again().open({ sessionId, root: p.root });
  await assert.rejects(log.append(said('two')), { code: 'E_SESSION_STORE', message: /lock was taken away/ });
  await other.log.append(said('theirs'));
  await log.close();
  await other.log.append(said('still theirs'));
  assert.deepEqual(texts((await p.store.read({ sessionId, root: p.root })).lines), ['one', 'theirs', 'still theirs']);
});

test('syncs that come together share the disk\'s time, and all lines are there', async (t) => {
  const p = place(t);
  const sessionId = id();
  const log = await p.store.create({ sessionId, cwd: p.root, root: p.root });
  await Promise.all(Array.from({ length: 40 }, async (_, n) => { await log.append(said(String(n))); await log.sync(); }));
  await log.close();
  await log.close();
  await log.sync();
  assert.deepEqual(texts((await p.store.read({ sessionId, root: p.root })).lines), Array.from({ length: 40 }, (_, n) => String(n)));
});

// ---- damage ----------------------------------------------------------------------------------------------------------------

/** Opens for writing, adds one line, and gives what a later reader finds. */
const addAfter = async (p: Place, sessionId: Uuid): Promise<{ found: string[]; notices: readonly string[]; atOpen: readonly string[] }> => {
  const { log, notices: atOpen } = await p.store.open({ sessionId, root: p.root });
  await log.append(said('added'));
  await log.close();
  const { lines, notices } = await p.store.read({ sessionId, root: p.root });
  return { found: texts(lines), notices, atOpen };
};

test('a torn line is told, ended, and costs nothing else (F9-01)', async (t) => {
  const p = place(t);
  const { sessionId, file } = await written(p, [said('one'), said('two')]);
  const size = statSync(file).size;
  appendFileSync(file, '{"t":"x');
  const { found, notices, atOpen } = await addAfter(p, sessionId);
  assert.deepEqual(found, ['one', 'two', 'added']);
  assert.deepEqual(notices, [`7 bytes at byte ${size} skipped: no JSON: cut off, probably by a crash`]);
  assert.deepEqual(atOpen, notices);
});

test('wherever the last line is cut, the others are read and the next one is whole (F9-01, F9-03)', async (t) => {
  const p = place(t);
  const { sessionId, file } = await written(p, [said('one'), said('caf\u00e9 \u{1f600}')]);
  const whole = readFileSync(file);
  const start = whole.indexOf(10) + 1;
  for (let cut = start; cut < whole.length; cut++) {
    writeFileSync(file, whole.subarray(0, cut));
    const { found, notices } = await addAfter(p, sessionId);
    const isWhole = cut === whole.length - 1;
    assert.deepEqual(found, ['one', ...(isWhole ? ['caf\u00e9 \u{1f600}'] : []), 'added'], `cut at ${cut}`);
    assert.equal(notices.length, isWhole || cut === start ? 0 : 1, `cut at ${cut}: ${notices.join()}`);
  }
});

test('zero bytes between lines are told with their place; what follows is read (F9-02)', async (t) => {
  const p = place(t);
  const { sessionId, file } = await written(p, [said('one'), said('two'), said('three')]);
  const [one, ...rest] = readFileSync(file, 'utf8').split(/(?<=\n)/);
  writeFileSync(file, `${one}${'\0'.repeat(300)}${rest.join('')}`);
  const { found, notices } = await addAfter(p, sessionId);
  assert.deepEqual(found, ['one', 'two', 'three', 'added']);
  assert.deepEqual(notices, [`300 bytes at byte ${one!.length} skipped: zero bytes`]);
});

test('a changed byte is noticed, even where the line is still JSON', async (t) => {
  const p = place(t);
  const { sessionId, file } = await written(p, [said('one'), said('two'), said('three')]);
  writeFileSync(file, readFileSync(file, 'utf8').replace('"two"', '"owt"'));
  const { lines, notices } = await p.store.read({ sessionId, root: p.root });
  assert.deepEqual(texts(lines), ['one', 'three']);
  assert.match(notices.join('\n'), /checksum is wrong/);
  assert.match(notices.join('\n'), /lines 2 to 2 are missing/);
});

test('missing and repeated lines are told', async (t) => {
  const p = place(t);
  const { sessionId, file } = await written(p, [said('one'), said('two'), said('three'), said('four')]);
  const lines = readFileSync(file, 'utf8').split(/(?<=\n)/);
  writeFileSync(file, [lines[0], lines[3], lines[3]].join(''));
  const { notices } = await p.store.read({ sessionId, root: p.root });
  assert.match(notices[0]!, /^lines 2 to 3 are missing before byte \d+$/);
  assert.match(notices[1]!, /^line 4 at byte \d+ comes after line 4$/);
});

test('lines of other writers count; what a session cannot use is left alone and told', async (t) => {
  const p = place(t);
  const { sessionId, file } = await written(p, [said('ours')]);
  const foreign = [
    { type: 'user', uuid: id(), parentUuid: null, sessionId, timestamp: 't', cwd: '/', isSidechain: false, message: { role: 'user', content: 'theirs' }, version: '2.1' },
    { type: 'summary', summary: 'x', leafUuid: 'y' },
    { type: 'user', message: { role: 'user', content: 'no uuid' } },
    { type: 'assistant', uuid: id(), message: { content: 'no blocks' } },
    { no: 'type' },
  ].map((line) => `${JSON.stringify(line)}\n`);
  appendFileSync(file, foreign.join(''));
  const before = readFileSync(file, 'utf8');
  const { found, notices } = await addAfter(p, sessionId);
  assert.deepEqual(found, ['ours', 'theirs', 'added']);
  assert.equal(notices.length, 4, notices.join('\n'));
  assert.match(notices.join('\n'), /1 line of the unknown type "summary" left alone/);
  assert.ok(readFileSync(file, 'utf8').startsWith(before));
  assert.equal((JSON.parse(readFileSync(file, 'utf8').trim().split('\n').at(-1)!) as { seq: number }).seq, 2);
});

test('a number without a checksum is not believed', async (t) => {
  const p = place(t);
  const { sessionId, file } = await written(p, [said('one')]);
  appendFileSync(file, `{"type":"tag","tag":"x","seq":${Number.MAX_SAFE_INTEGER}}\n`);
  await addAfter(p, sessionId);
  assert.equal((JSON.parse(readFileSync(file, 'utf8').trim().split('\n').at(-1)!) as { seq: number }).seq, 2);
});

test('no content of a file makes opening it fail', async (t) => {
  const p = place(t);
  const { sessionId, file } = await written(p, [said('x')]);
  const own = readFileSync(file);
  const kinds = ['user', 'assistant', 'system', 'attachment', 'decision', 'turn', 'custom-title', 'new'];
  const junk = fc.oneof(
    fc.uint8Array({ maxLength: 80 }).map((a) => Buffer.from(a)),
    fc.record({ type: fc.constantFrom(...kinds), uuid: fc.jsonValue(), message: fc.oneof(fc.jsonValue(), fc.record({ id: fc.string(), content: fc.jsonValue() })), customTitle: fc.jsonValue(), seq: fc.jsonValue(), crc: fc.jsonValue() }, { requiredKeys: ['type'] }).map((o) => Buffer.from(`${JSON.stringify(o)}\n`)),
  );
  await fc.assert(fc.asyncProperty(fc.array(junk, { maxLength: 8 }), async (parts) => {
    writeFileSync(file, Buffer.concat([own, ...parts]));
    const { found } = await addAfter(p, sessionId);
    assert.equal(found[0], 'x');
    assert.equal(found.at(-1), 'added');
    assert.equal((await p.store.list({ root: p.root })).length, 1);
  }), { numRuns: 60 });
});

test('a file that cannot be read is a true error, not an empty session', async (t) => {
  const p = place(t);
  const { sessionId, file } = await written(p, [said('x')]);
  unlinkSync(file);
  mkdirSync(file);
  await assert.rejects(p.store.read({ sessionId, root: p.root }), { code: 'E_SESSION_STORE' });
});

test('a full disk is told; the half line that it left does not spoil the next', async (t) => {
  let room = Infinity;
  const p = place(t, {
    write: (fd, data, from, bytes) => {
      if (room <= 0) throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
      const n = writeSync(fd, data, from, Math.min(bytes, room));
      room -= n;
      return n;
    },
  });
  const sessionId = id();
  const log = await p.store.create({ sessionId, cwd: p.root, root: p.root });
  await log.append(said('one'));
  for (const left of [0, 1, 40]) {
    room = left;
    await assert.rejects(log.append(said('lost')), { code: 'E_SESSION_STORE', message: /disk is full/ });
    room = Infinity;
    await log.append(said(`after ${left}`));
  }
  await log.close();
  const { lines, notices } = await p.store.read({ sessionId, root: p.root });
  assert.deepEqual(texts(lines), ['one', 'after 0', 'after 1', 'after 40']);
  assert.ok(notices.every((n) => /cut off/.test(n)), notices.join('\n'));
});

test('a place that cannot be written is told at the start', { skip: process.platform === 'win32' }, async (t) => {
  const p = place(t);
  writeFileSync(p.state, 'a file where a folder should be');
  await assert.rejects(p.store.create({ sessionId: id(), cwd: p.root, root: p.root }), { code: 'E_SESSION_STORE' });
});

// ---- lists -----------------------------------------------------------------------------------------------------------------

const summary = (info: SessionInfo | undefined) => [info?.title, info?.firstPrompt, info?.messages];

test('the list is newest first, with title, first prompt and folder', async (t) => {
  const p = place(t);
  const one = await written(p, [said('ignored', { isMeta: true }), said('  first\nquestion '), { type: 'custom-title', customTitle: 'old' }, said('more'), { type: 'custom-title', customTitle: 'My title' }]);
  const two = await written(p, [said([{ type: 'image', source: {} }, { type: 'text', text: 'blocks' }] as never)]);
  const child = await written(p, [said('work of a child', { isSidechain: true })]);
  utimesSync(two.file, 1_700_000_000, 1_700_000_000);
  assert.notEqual(child.sessionId, await p.store.latest({ root: p.root }));
  const list = await p.store.list({ root: p.root });
  assert.deepEqual(list.map((i) => i.sessionId), [one.sessionId, two.sessionId]);
  assert.deepEqual(summary(list[0]), ['My title', 'first question', 3]);
  assert.deepEqual(summary(list[1]), [null, 'blocks', 1]);
  assert.deepEqual([list[0]?.cwd, list[0]?.created, list[1]?.modified], ['/work', '2026-11-30T10:00:00.000Z', 1_700_000_000_000]);
  assert.equal(await p.store.latest({ root: p.root }), one.sessionId);
  assert.equal((await p.store.list({ root: p.root, limit: 1 })).length, 1);
});

test('a list over all projects finds them all, and one of an unknown project is empty', async (t) => {
  const p = place(t);
  await written(p, [said('here')]);
  const other = join(p.base, 'other');
  mkdirSync(other);
  const log = await p.store.create({ sessionId: id(), cwd: other, root: other });
  await log.append(said('there'));
  await log.close();
  assert.deepEqual((await p.store.list({ root: null })).map((i) => i.firstPrompt).sort(), ['here', 'there']);
  assert.deepEqual(await p.store.list({ root: join(p.base, 'unknown') }), []);
  assert.deepEqual(await place(t).store.list({ root: null }), []);
});

test('of a long file the list reads only both ends', async (t) => {
  const p = place(t);
  const { sessionId, file } = await written(p, [said('the prompt'), ...Array.from({ length: 60 }, () => said('x'.repeat(100_000))), { type: 'custom-title', customTitle: 'at the end' }]);
  // A hole of some gigabytes: reading it would take far too long and far too much.
  const end = readFileSync(file).subarray(-200_000);
  truncateSync(file, 3 * 1024 ** 3);
  appendFileSync(file, Buffer.concat([Buffer.from('\n'), end.subarray(end.indexOf(10) + 1)]));
  const [info] = await p.store.list({ root: p.root });
  assert.equal(info?.sessionId, sessionId);
  assert.deepEqual(summary(info), ['at the end', 'the prompt', null]);
});

test('a first prompt behind long lines is still found, within bounds', async (t) => {
  const p = place(t);
  await written(p, [said('x'.repeat(90_000), { isMeta: true }), said('found')]);
  assert.equal((await p.store.list({ root: p.root }))[0]?.firstPrompt, 'found');
});

// ---- processes -------------------------------------------------------------------------------------------------------------

const WRITER = `
  import { sessionStore } from './plugins/stores/sessions/index.ts';
  const [, , state, root, sessionId, from, count, mode] = process.argv as unknown as [string, string, string, string, \`\${string}-\${string}-\${string}-\${string}-\${string}\`, string, string, string];
  const { store } = sessionStore(state);
  try {
    const log = mode === 'create' ? await store.create({ sessionId, cwd: root, root }) : (await store.open({ sessionId, root })).log;
    for (let n = Number(from); n < Number(from) + Number(count); n++) {
      // Every twentieth line is long, so that a kill can fall into the middle of one.
      const text = n + ' ' + 'z'.repeat(n % 20 === 7 ? 400_000 : n % 50);
      await log.append({ type: 'user', uuid: '00000000-0000-4000-8000-' + String(n).padStart(12, '0'), parentUuid: null, timestamp: 't', cwd: root, isSidechain: false, message: { role: 'user', content: text } } as never);
      if (n % 10 === 0) await log.sync();
      process.stdout.write(n + '\\n');
    }
    await log.close();
    process.stdout.write('end\\n');
  } catch (e) {
    process.stdout.write('error ' + (e as { code: string }).code + ' ' + (e as Error).message + '\\n');
  }
`;
interface Writer { readonly child: ChildProcess; readonly acknowledged: number[]; readonly others: string[]; readonly ended: Promise<unknown>; heard(count: number): Promise<void> }
const startWriter = (t: TestContext, script: string, args: readonly string[]): Writer => {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  const acknowledged: number[] = [];
  const others: string[] = [];
  const lines = createInterface(child.stdout!);
  lines.on('line', (line) => { if (/^\d+$/.test(line)) acknowledged.push(Number(line)); else others.push(line); });
  const ended = Promise.all([once(child, 'exit'), once(lines, 'close')]);
  return {
    child, acknowledged, others, ended,
    heard: async (count) => { while (acknowledged.length < count && child.exitCode === null && child.signalCode === null) await Promise.race([once(lines, 'line'), ended]); },
  };
};
const numbersOf = (lines: readonly Line[]): number[] => lines.map((line) => Number((line as unknown as { uuid: string }).uuid.slice(-12)));

test('after 25 kills at any moment every acknowledged line is read back, and nobody was locked out', async (t) => {
  const p = place(t);
  const script = await bundle(WRITER, p.base);
  const sessionId = id();
  const acknowledged: number[] = [];
  for (let round = 0; round < 25; round++) {
    const writer = startWriter(t, script, [p.state, p.root, sessionId, String(round * 10_000), '10000', round === 0 ? 'create' : 'open']);
    await writer.heard(1 + ((round * 37) % 90));
    writer.child.kill('SIGKILL');
    await writer.ended;
    assert.deepEqual(writer.others, []);
    acknowledged.push(...writer.acknowledged);
  }
  const { log, lines, notices } = await p.store.open({ sessionId, root: p.root });
  const found = new Set(numbersOf(lines));
  assert.deepEqual(acknowledged.filter((n) => !found.has(n)), []);
  assert.ok(acknowledged.length > 500, `${acknowledged.length} lines`);
  assert.ok(notices.every((notice) => /cut off/.test(notice)), notices.join('\n'));
  await log.append(said('and on'));
});

test('two processes want one session: the second is refused while the first lives, and loses nothing of it after its death (F9-05)', async (t) => {
  const p = place(t);
  const script = await bundle(WRITER, p.base);
  const sessionId = id();
  const first = startWriter(t, script, [p.state, p.root, sessionId, '0', '5000', 'create']);
  await first.heard(50);
  const refused = startWriter(t, script, [p.state, p.root, sessionId, '5000', '5000', 'open']);
  await refused.ended;
  assert.match(refused.others.join(), new RegExp(`^error E_SESSION_BUSY .*pid ${first.child.pid}`));
  first.child.kill('SIGKILL');
  await first.ended;
  const second = startWriter(t, script, [p.state, p.root, sessionId, '5000', '5000', 'open']);
  await second.ended;
  assert.deepEqual(second.others, ['end']);
  const found = numbersOf((await p.store.read({ sessionId, root: p.root })).lines);
  assert.deepEqual([...first.acknowledged, ...second.acknowledged].filter((n) => !found.includes(n)), []);
  assert.equal(second.acknowledged.length, 5_000);
  assert.deepEqual(found, [...found].sort((a, b) => a - b));
});
