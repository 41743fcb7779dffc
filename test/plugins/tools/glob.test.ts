import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { AppState } from 'tappet/schemas';
import glob from '../../../plugins/tools/glob.ts';
import { toolSuite } from '../../contracts/tool.ts';
import { testProject } from '../../support/tool-context.ts';
import { toolOf } from '../../support/tool-of.ts';

const { tool } = await toolOf(glob);

toolSuite({
  tool,
  wrongInputs: [null, {}, { pattern: '' }, { pattern: 5 }],
  samples: [
    { name: 'files at any depth', prepare: (p) => p.file('src/a.ts', ''), input: { pattern: '**/*.ts' }, contains: 'src/a.ts' },
    { name: 'very many files', prepare: (p) => Promise.all(Array.from({ length: 150 }, (_, i) => p.file(`f${i}`, ''))), input: { pattern: '*' }, contains: 'the newest 100 of 150 files' },
    { name: 'nothing', input: { pattern: '*.none' }, contains: 'No files.' },
    { name: 'a pattern that is none', input: { pattern: '**/../x' }, fails: true, contains: 'is no pattern' },
  ],
});

test('names files newest first, relative to the working folder', async (t) => {
  const p = await testProject(t);
  for (const [i, name] of ['old.ts', 'src/new.ts', 'src/.hidden.ts', 'middle.ts'].entries()) await fs.utimes(await p.file(name, ''), 0, [100, 400, 300, 200][i]!);
  const { text, data } = await p.run(tool, { pattern: '**/*.ts' });
  assert.equal(text, 'src/new.ts\nsrc/.hidden.ts\nmiddle.ts\nold.ts');
  const { filenames, numFiles, truncated, totalMatches, timedOut } = data as Record<string, unknown>;
  assert.deepEqual({ filenames, numFiles, truncated, totalMatches, timedOut }, { filenames: text.split('\n'), numFiles: 4, truncated: false, totalMatches: 4, timedOut: false });
});

test('one star stays in one folder', async (t) => {
  const p = await testProject(t);
  await p.file('a.ts', '');
  await p.file('src/b.ts', '');
  assert.equal((await p.run(tool, { pattern: '*.ts' })).text, 'a.ts');
  assert.equal((await p.run(tool, { pattern: '*.ts', path: 'src' })).text, 'src/b.ts');
  assert.equal((await p.run(tool, { pattern: 'src/{a,b}.ts' })).text, 'src/b.ts');
  assert.equal((await p.run(tool, { pattern: 'src/b.ts' })).text, 'src/b.ts', 'a pattern without wildcards');
});

test('leaves out what ignore files name, unless it is asked for itself', async (t) => {
  const p = await testProject(t);
  await p.file('.gitignore', 'dist\n');
  await p.file('.git/HEAD', '');
  await p.file('dist/a.js', '');
  await p.file('a.js', '');
  assert.equal((await p.run(tool, { pattern: '**/*.js' })).text, 'a.js');
  assert.equal((await p.run(tool, { pattern: '**/*.js', path: 'dist' })).text, 'dist/a.js');
  assert.equal((await p.run(tool, { pattern: '**/HEAD' })).text, 'No files.');
});

test('a pattern that leads out is about where it leads', async (t) => {
  const p = await testProject(t);
  await fs.writeFile(join(p.home, 'x.txt'), '');
  const climbing = await p.run(tool, { pattern: '../home/*.txt' });
  assert.deepEqual(climbing.subjects, [{ kind: 'path', access: 'read', path: p.home, real: p.home }]);
  assert.equal(climbing.text, join(p.home, 'x.txt'));
  const whole = await p.run(tool, { pattern: `${p.home}/**` });
  assert.deepEqual(whole.subjects, climbing.subjects);
  assert.deepEqual((await p.run(tool, { pattern: '~/*' })).subjects, climbing.subjects);
  assert.deepEqual((await p.run(tool, { pattern: '*', path: '..' })).subjects, [{ kind: 'path', access: 'read', path: join(p.folder, '..'), real: join(p.folder, '..') }]);
});

test('does not follow links: they are named, what is behind a linked folder is not', async (t) => {
  const p = await testProject(t);
  await fs.writeFile(join(p.home, 'secret'), '');
  await fs.symlink(p.home, join(p.folder, 'out'));
  await p.file('AGENTS.md', '');
  await fs.symlink('AGENTS.md', join(p.folder, 'CLAUDE.md'));
  await fs.symlink('nowhere', join(p.folder, 'dangling'));
  assert.deepEqual((await p.run(tool, { pattern: '**' })).text.split('\n').sort(), ['AGENTS.md', 'CLAUDE.md', 'dangling']);
});

test('does not tell of files that a rule refuses or asks about', async (t) => {
  const p = await testProject(t);
  await p.file('.env', '');
  await p.file('a', '');
  const origin = { layer: 'project' as const, file: join(p.folder, 'agent.config.yaml'), line: 1, column: 1 };
  const state = p.context.getAppState();
  const getAppState = (): AppState => ({ ...state, toolPermissionContext: { ...state.toolPermissionContext, rules: [{ toolName: 'Read', ruleContent: '**/.env', behavior: 'deny', source: 'projectSettings', origin }] } });
  const { text, data } = await p.run(tool, { pattern: '*' }, { getAppState });
  assert.deepEqual([text, (data as { totalMatches: number }).totalMatches], ['a', 1]);
});

test('a pattern that could be tried for ever is an answer', async (t) => {
  const p = await testProject(t);
  await p.file('a'.repeat(250), '');
  const result = await p.run(tool, { pattern: `${'*a'.repeat(30)}b` });
  assert.ok(result.isError);
  assert.match(result.text, /takes too long; use fewer stars/);
});

test('a folder that is none is told', async (t) => {
  const p = await testProject(t);
  await p.file('a', '');
  for (const [input, words] of [[{ pattern: '*', path: 'none' }, /there is no folder .*none\. The working folder is/], [{ pattern: '*', path: 'a' }, /is no folder/], [{ pattern: '!a' }, /no leading `!`/], [{ pattern: '*', path: 'x\0' }, /can't be reached/]] as const) {
    const result = await p.run(tool, input);
    assert.ok(result.isError);
    assert.match(result.text, words);
  }
});

test('ends with what it has found when its time is over', async (t) => {
  const hasty = (await toolOf(glob, { timeoutMs: 1 })).tool;
  const p = await testProject(t);
  for (const name of ['a/x', 'b/x', 'c/x']) await p.file(name, '');
  const late = { ...fs, readdir: async (...args: unknown[]) => { const until = performance.now() + 2; while (performance.now() < until); return (fs.readdir as (...a: unknown[]) => unknown)(...args); } };
  const { text, data } = await p.run(hasty, { pattern: '**/x' }, { fs: late as never });
  assert.match(text, /stopped after 0\.001 s: there may be more/);
  assert.equal((data as { truncated: boolean }).truncated, true);
});
