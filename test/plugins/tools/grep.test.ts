import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import type { AppState, SearchAggregator } from 'tappet/schemas';
import grep from '../../../plugins/tools/grep/index.ts';
import { compileSearch } from '../../../plugins/tools/grep/pattern.ts';
import { toolSuite } from '../../contracts/tool.ts';
import { testProject } from '../../support/tool-context.ts';
import { toolOf } from '../../support/tool-of.ts';

const { tool, services } = await toolOf(grep);
const content = { output_mode: 'content' };

toolSuite({
  tool,
  wrongInputs: [null, {}, { pattern: '' }, { pattern: 'a', output_mode: 'lines' }, { pattern: 'a', '-A': -1 }, { pattern: 'a', head_limit: 1.5 }],
  samples: [
    { name: 'names of files', prepare: (p) => p.file('src/a.ts', 'needle'), input: { pattern: 'needle' }, contains: 'src/a.ts' },
    { name: 'more lines than anybody reads', prepare: (p) => p.file('a', `${'needle '.repeat(100)}\n`.repeat(2000)), input: { pattern: 'needle', head_limit: 0, ...content }, contains: /there is more: offset \d+ goes on/ },
    { name: 'a pattern that is none', input: { pattern: '(' }, fails: true, contains: 'Unterminated group' },
    { name: 'nothing', input: { pattern: 'needle' }, contains: 'No matches.' },
  ],
});

async function project(t: Parameters<typeof testProject>[0], files: Readonly<Record<string, string | Uint8Array>>) {
  const p = await testProject(t);
  for (const [name, text] of Object.entries(files)) await p.file(name, text);
  return { ...p, grep: async (pattern: string, input: Record<string, unknown> = {}, over = {}) => p.run(tool, { pattern, ...input }, over) };
}

test('names the files that match, in order of names', async (t) => {
  const p = await project(t, { 'b.ts': 'x needle', 'a/c.ts': 'needle\nneedle', 'd.ts': 'hay', '.hidden/e': 'needle' });
  const result = await p.grep('needle');
  assert.equal(result.text, 'b.ts\n.hidden/e\na/c.ts');
  const { mode, filenames, numFiles, timedOut } = result.data as Record<string, unknown>;
  assert.deepEqual({ mode, filenames, numFiles, timedOut }, { mode: 'files_with_matches', filenames: ['b.ts', '.hidden/e', 'a/c.ts'], numFiles: 3, timedOut: false });
});

test('shows the lines with their numbers, or without', async (t) => {
  const p = await project(t, { a: 'one\nneedle two\r\nthree needle' });
  assert.equal((await p.grep('needle', content)).text, 'a:2:needle two\na:3:three needle');
  assert.equal((await p.grep('needle', { ...content, '-n': false })).text, 'a:needle two\na:three needle');
  assert.equal((await p.grep('NEEDLE \\w+$', { ...content, '-i': true })).text, 'a:2:needle two', 'a line ends before its CR');
  assert.equal((await p.grep('n(e+)dle|t\\w', { ...content, '-o': true })).text, 'a:2:needle\na:2:tw\na:3:th\na:3:needle');
});

test('counts', async (t) => {
  const p = await project(t, { a: 'x\nx x\n', b: 'x', c: 'y' });
  assert.equal((await p.grep('x', { output_mode: 'count' })).text, 'a:2\nb:1\n[3 matching lines in 2 files]');
  assert.equal((await p.grep('x', { output_mode: 'count', head_limit: 1 })).text, 'a:2\n[3 matching lines in 2 files]\n[there is more: offset 1 goes on]', 'the sums are of everything');
});

test('shows what stands around, each line once, with a mark between parts', async (t) => {
  const p = await project(t, { a: '1\nx2\nx3\n4\n5\n6\n7\nx8\n9' });
  assert.equal((await p.grep('x', { ...content, '-C': 1 })).text, 'a-1-1\na:2:x2\na:3:x3\na-4-4\n--\na-7-7\na:8:x8\na-9-9');
  assert.equal((await p.grep('x', { ...content, context: 1, '-A': 0 })).text, 'a-1-1\na:2:x2\na:3:x3\n--\na-7-7\na:8:x8');
  assert.equal((await p.grep('x8', { ...content, '-B': 2 })).text, 'a-6-6\na-7-7\na:8:x8');
  assert.equal((await p.grep('x', { ...content, '-C': 9 })).text.split('\n').length, 9);
});

test('pages: a limit, where to go on, and an offset past the end', async (t) => {
  const p = await project(t, { a: 'x\n'.repeat(300) });
  const first = await p.grep('x', content);
  assert.equal(first.text.split('\n').length, 251);
  assert.match(first.text, /\[there is more: offset 250 goes on\]$/);
  assert.equal((await p.grep('x', { ...content, offset: 250 })).text.split('\n').length, 50);
  assert.equal((await p.grep('x', { ...content, head_limit: 0 })).text.split('\n').length, 300);
  assert.equal((await p.grep('x', { ...content, offset: 300 })).text, '[offset 300 is past the last entry]');
  assert.equal((await p.grep('x', { head_limit: 5 })).text, 'a');
});

test('pages of any size together are the whole', async (t) => {
  const p = await project(t, Object.fromEntries(Array.from({ length: 7 }, (_, i) => [`f${i}`, 'x\n'.repeat(i)])));
  const lines = (text: string) => text.split('\n').filter((l) => !l.startsWith('['));
  const whole = lines((await p.grep('x', { ...content, head_limit: 0 })).text);
  await fc.assert(fc.asyncProperty(fc.integer({ min: 1, max: 9 }), async (size) => {
    const all: string[] = [];
    for (let offset = 0; offset < whole.length; offset += size) all.push(...lines((await p.grep('x', { ...content, head_limit: size, offset })).text));
    assert.deepEqual(all, whole);
  }), { numRuns: 9 });
});

test('searches in one file, by a glob, by a type', async (t) => {
  const p = await project(t, { 'src/a.ts': 'x', 'src/a.test.ts': 'x', 'src/deep/b.tsx': 'x', 'c.py': 'x', Makefile: 'x' });
  const names = async (input: Record<string, unknown>) => (await p.grep('x', input)).text.split('\n');
  assert.deepEqual(await names({ path: 'src/a.ts' }), ['src/a.ts']);
  assert.deepEqual(await names({ glob: '*.{ts,tsx}' }), ['src/a.test.ts', 'src/a.ts', 'src/deep/b.tsx']);
  assert.deepEqual(await names({ glob: '*.ts, !*.test.ts' }), ['src/a.ts']);
  assert.deepEqual(await names({ glob: '!src' }), ['Makefile', 'c.py']);
  assert.deepEqual(await names({ glob: 'src/*.ts', path: 'src' }), ['src/a.test.ts', 'src/a.ts']);
  assert.deepEqual(await names({ type: 'py' }), ['c.py']);
  assert.deepEqual(await names({ type: 'make' }), ['Makefile']);
  assert.match((await p.grep('x', { type: 'toString' })).text, /no file type "toString"; known are .*typescript/);
  assert.match((await p.grep('x', { glob: '**/../x' })).text, /glob .* can't be used/);
  await p.file('a'.repeat(250), 'x');
  assert.match((await p.grep('x', { glob: `${'*a'.repeat(30)}b` })).text, /takes too long/);
});

test('matches across lines only when asked to', async (t) => {
  const p = await project(t, { a: 'begin\nmiddle\nend\nbegin end\n' });
  assert.equal((await p.grep('begin\\s+end', content)).text, 'a:4:begin end');
  assert.equal((await p.grep('begin[^x]*end', content)).text, 'a:4:begin end');
  assert.equal((await p.grep('begin.*?end', { ...content, multiline: true })).text, 'a:1:begin\na:2:middle\na:3:end\na:4:begin end');
  assert.equal((await p.grep('^middle\\nend$', { multiline: true, output_mode: 'count' })).text, 'a:2\n[2 matching lines in 1 file]');
  assert.equal((await p.grep('begin\\nm\\w+', { ...content, multiline: true, '-o': true })).text, 'a:1:begin\nmiddle');
});

test('leaves out binary files, ignored files and version control, but not a path that is given', async (t) => {
  const p = await project(t, { '.gitignore': 'dist\n', 'dist/a': 'needle', '.git/x': 'needle', 'a.bin': 'needle\0', a: 'needle', wide: Buffer.from('\ufeffneedle', 'utf16le') });
  assert.equal((await p.grep('needle')).text, 'a\nwide');
  assert.equal((await p.grep('needle', { path: 'dist' })).text, 'dist/a');
  assert.equal((await p.grep('needle', { path: 'dist/a' })).text, 'dist/a');
  assert.equal((await p.grep('needle', { path: 'a.bin' })).text, 'No matches: the file is binary.');
});

test('does not look through links', async (t) => {
  const p = await project(t, { a: 'hay' });
  await fs.writeFile(join(p.home, 'secret'), 'needle');
  await fs.symlink(join(p.home, 'secret'), join(p.folder, 'link'));
  await fs.symlink(p.home, join(p.folder, 'out'));
  assert.equal((await p.grep('needle')).text, 'No matches.');
  const through = await p.grep('needle', { path: 'link' });
  assert.deepEqual(through.subjects, [{ kind: 'path', access: 'read', path: join(p.folder, 'link'), real: join(p.home, 'secret') }]);
  assert.equal(through.text, 'link');
});

test('tells nothing of files that a rule refuses or asks about: no name, no line, no count', async (t) => {
  const p = await project(t, { '.env': 'KEY=needle', 'sub/.env': 'needle', 'notes/a': 'needle', b: 'needle' });
  const origin = { layer: 'project' as const, file: join(p.folder, 'agent.config.yaml'), line: 1, column: 1 };
  const state = p.context.getAppState();
  const rule = { source: 'projectSettings' as const, origin, toolName: 'Read' };
  const getAppState = (): AppState => ({ ...state, toolPermissionContext: { ...state.toolPermissionContext, rules: [{ ...rule, ruleContent: '.env', behavior: 'deny' }, { ...rule, ruleContent: '/notes/**', behavior: 'ask' }] } });
  assert.equal((await p.grep('needle', {}, { getAppState })).text, 'b');
  assert.equal((await p.grep('needle', { output_mode: 'count' }, { getAppState })).text, 'b:1\n[1 matching line in 1 file]');
  assert.equal((await p.grep('KEY', content, { getAppState })).text, 'No matches.');
});

test('a long line is shown where its match is', async (t) => {
  const p = await project(t, { a: `${'-'.repeat(5000)}needle${'+'.repeat(5000)}` });
  const { text } = await p.grep('needle', content);
  assert.match(text, /^a:1:\[cut\] -{100}needle\+{394} \[cut\]$/);
});

test('a pattern that never comes to an end is given up, and everything else goes on', { timeout: 20_000 }, async (t) => {
  const evil = `${'a'.repeat(50)}!`;
  const p = await project(t, { 'a1': evil, 'a2': 'aaa', 'b': evil, 'c': evil, 'd': 'aaa' });
  const some = await p.grep('^(a+)+$');
  assert.equal(some.text, 'a2\nd\n[the pattern took too long in a1, b, c, and the search ended there]');
  const none = await p.grep('^(a+)+x$');
  assert.ok(none.isError);
  assert.match(none.text, /takes too long, for example in a1\. Make it simpler/);
});

test('a large file is looked through in portions, with the right line numbers', async (t) => {
  const lines = Array.from({ length: 400_000 }, (_, i) => `line ${i + 1}`);
  const p = await project(t, { big: lines.join('\n') });
  assert.equal((await p.grep('^line (1|250000|400000)$', content)).text, 'big:1:line 1\nbig:250000:line 250000\nbig:400000:line 400000');
});

test('stops when its time is over and says so; ends when it is aborted', async (t) => {
  const p = await project(t, { a: 'x', b: 'x' });
  const hasty = (await toolOf(grep, { timeoutMs: 1 })).tool;
  const late = { ...fs, readdir: async (...args: unknown[]) => { const until = performance.now() + 3; while (performance.now() < until); return (fs.readdir as (...a: unknown[]) => unknown)(...args); } };
  const result = await p.run(hasty, { pattern: 'x' }, { fs: late as never });
  assert.match(result.text, /stopped after 0\.001 s/);
  assert.equal((result.data as { timedOut: boolean }).timedOut, true);
  const abortController = new AbortController();
  abortController.abort(new Error('enough'));
  await assert.rejects(p.grep('x', {}, { abortController, signal: abortController.signal }), /enough/);
});

test('files that can not be read are told, and do not end the search', async (t) => {
  const p = await project(t, { a: 'x', b: 'x' });
  const open = async (...args: Parameters<typeof fs.open>) => { if (String(args[0]).endsWith('/a')) throw Object.assign(new Error('EACCES'), { code: 'EACCES' }); return fs.open(...args); };
  assert.equal((await p.grep('x', {}, { fs: { ...fs, open } })).text, 'b\n[could not read 1 of the files or folders]');
});

test('a path that is none is told', async (t) => {
  const p = await project(t, {});
  const result = await p.grep('x', { path: 'none' });
  assert.ok(result.isError);
  assert.match(result.text, /there is no .*none\. The working folder is/);
});

test('reads the spelling of ripgrep', () => {
  const fits = (pattern: string, text: string) => compileSearch(pattern, {}).regex.test(text);
  assert.ok(fits('interface\\{\\}', 'interface{}'));
  assert.ok(fits('(?i)NEEDLE', 'needle'));
  assert.ok(fits('[[:alpha:]_]+[[:digit:]]', 'ab_1'));
  assert.ok(!fits('^[[:upper:]]$', 'a'));
  assert.ok(fits('(?P<name>a)b', 'ab'));
  assert.ok(fits('\\<cat\\>', 'a cat b') && !fits('\\<cat\\>', 'concat'));
  assert.ok(fits('\\Aab\\z', 'ab'));
  assert.ok(fits('\\p{Greek}'.replace('Greek', 'Script=Greek'), 'α'));
  assert.ok(fits('\\x{1F600}', '😀'));
  assert.ok(fits('[]a]+', ']a') && fits('[^]a]', 'b') && !fits('[^]a]', ']'));
  assert.ok(fits('a\\[b', 'a[b') && fits('[\\]]', ']'));
  assert.throws(() => compileSearch('(?x)a', {}), /flag "x" is not known/);
  for (const wrong of ['(', '[', 'a**', '\\p{Nope}']) assert.throws(() => compileSearch(wrong, {}), SyntaxError, wrong);
});

test('to say quickly that nothing matches is never wrong', () => {
  const part = fc.constantFrom('a', 'b', '\\s', '.', '[^a]', '^', '$', '\\b', 'a*', 'b+?', '(a|b)', '\\n', '(?=a)', '(?!b)', '(?<=a)');
  const text = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\n', '\r\n'), maxLength: 12 });
  fc.assert(fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), text, (parts, whole) => {
    const { regex, anywhere } = compileSearch(parts.join(''), {});
    const lines = whole.split('\n');
    if (lines.at(-1) === '') lines.pop();
    const some = lines.some((line) => { regex.lastIndex = 0; return regex.test(line.replace(/\r$/, '')); });
    if (anywhere !== null && some) assert.ok(anywhere.test(whole), `${parts.join('')} in ${JSON.stringify(whole)}`);
  }), { numRuns: 3000 });
});

test('notices that search after search finds nothing in one turn', () => {
  const make = services['searchAggregator'] as () => SearchAggregator;
  const one = make();
  const other = make();
  assert.equal(one.sample('t1', 'a', 0), null);
  assert.equal(one.sample('t1', 'b', 0), null);
  assert.match(one.sample('t1', 'x'.repeat(100), 0)!, /^3 searches in a row found nothing, the last for "a", "b", "x{60}…"/);
  assert.equal(one.sample('t1', 'd', 0), null);
  assert.equal(one.sample('t1', 'e', 3), null);
  assert.equal(one.sample('t1', 'f', 0), null);
  assert.equal(one.sample('t1', 'g', 0), null);
  assert.equal(one.sample('t2', 'h', 0), null, 'another turn begins anew');
  assert.equal(other.sample('t1', 'c', 0), null, 'another session knows nothing of it');
});

test('hands each search to the aggregator of its session, with what it found', async (t) => {
  const p = await project(t, { a: 'x\nx' });
  const sampled: unknown[] = [];
  const searchAggregator: SearchAggregator = { sample: (...args) => { sampled.push(args); return args[2] === 0 ? 'Nothing again.' : null; } };
  assert.equal((await p.grep('x', content, { searchAggregator })).text, 'a:1:x\na:2:x');
  assert.equal((await p.grep('nope', {}, { searchAggregator })).text, 'No matches.\nNothing again.');
  assert.deepEqual(sampled, [['turn-1', 'x', 2], ['turn-1', 'nope', 0]]);
});
