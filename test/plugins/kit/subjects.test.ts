import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { hiddenByRules, matchPath, pathSpecProblem, pathSubject, ruleBase, specPath, suggestForPaths } from 'tappet/kit';
import type { PathSubject } from 'tappet/kit';
import type { MatchPlace, SourcedRule } from 'tappet/schemas';
import { permissionUpdate } from 'tappet/schemas';
import { testProject } from '../../support/tool-context.ts';

const PLACE: MatchPlace = { cwd: '/w/sub', home: '/home/me', base: '/w', behavior: 'allow' };
const at = (path: string, real: string | null = path, access: 'read' | 'write' = 'read'): PathSubject => ({ kind: 'path', access, path, real });
const allow = (subject: PathSubject, spec: string) => matchPath(subject, spec, PLACE);
const deny = (subject: PathSubject, spec: string) => matchPath(subject, spec, { ...PLACE, behavior: 'deny' });

test('the four anchors: disk, home, the folder of the rule, the working folder', () => {
  assert.equal(allow(at('/etc/passwd'), '//etc/passwd'), 'yes');
  assert.equal(allow(at('/etc/passwd'), '//etc/**'), 'yes');
  assert.equal(allow(at('/w/etc/passwd'), '//etc/**'), 'no');
  assert.equal(allow(at('/home/me/notes/a'), '~/notes/**'), 'yes');
  assert.equal(allow(at('/home/me'), '~'), 'yes');
  assert.equal(allow(at('/w/src/a'), '/src/a'), 'yes');
  assert.equal(allow(at('/src/a'), '/src/a'), 'no');
  assert.equal(allow(at('/w/sub/src/a'), 'src/a'), 'yes');
  assert.equal(allow(at('/w/sub/src/a'), './src/a'), 'yes');
  assert.equal(allow(at('/w/src/a'), 'src/a'), 'no');
  assert.equal(allow(at('/w/other/a'), '../other/**'), 'yes');
  assert.equal(allow(at('/w/subway/a'), '**'), 'no');
});

test('a bare file name counts at any depth under the working folder, not above', () => {
  assert.equal(deny(at('/w/sub/a/b/.env'), '.env'), 'yes');
  assert.equal(deny(at('/w/.env'), '.env'), 'no');
  assert.equal(deny(at('/w/.env'), '/**/.env'), 'yes');
});

test('one folder differs between allow and the rest', () => {
  assert.equal(allow(at('/w/sub/x/src/a'), 'src/**'), 'no');
  for (const behavior of ['deny', 'ask', 'tap'] as const) assert.equal(matchPath(at('/w/sub/x/src/a'), 'src/**', { ...PLACE, behavior }), 'yes');
});

test('a link has two names: an allow needs both, a refusal is met by either', () => {
  const leadsOut = at('/w/sub/out', '/etc/passwd');
  assert.equal(allow(leadsOut, '**'), 'no');
  assert.equal(allow(leadsOut, '//etc/passwd'), 'no');
  assert.equal(allow(leadsOut, '//**'), 'yes');
  assert.equal(deny(leadsOut, '//etc/**'), 'yes');
  assert.equal(deny(leadsOut, 'out'), 'yes');
  assert.equal(deny(leadsOut, '//usr/**'), 'no');
});

test('a real path that is not known is never a yes for an allow, nor a no for a refusal', () => {
  assert.equal(allow(at('/w/sub/a', null), '**'), 'maybe');
  assert.equal(allow(at('/w/sub/a', null), '//etc/**'), 'no');
  assert.equal(deny(at('/w/sub/a', null), '//etc/**'), 'maybe');
  assert.equal(deny(at('/w/sub/a', null), 'a'), 'yes');
});

test('words that can be no path open nothing, and as a refusal let nothing through', () => {
  for (const wrong of ['', '!src/**', 'a/../b', '//../x', 'a\0']) {
    assert.notEqual(pathSpecProblem(wrong), null, wrong);
    assert.equal(allow(at('/w/sub/a'), wrong), 'no', wrong);
    assert.equal(deny(at('/w/sub/a'), wrong), 'maybe', wrong);
  }
  for (const right of ['src/**', '//etc', '~/x', '/x', './x', '../x', '.env', '~']) assert.equal(pathSpecProblem(right), null, right);
});

test('a path that is too long for any file is refused, and never allowed', () => {
  assert.equal(allow(at(`/w/sub/${'a/'.repeat(3000)}`), '**'), 'no');
  assert.equal(deny(at(`/w/sub/${'a/'.repeat(3000)}`), 'b'), 'yes');
});

test('what is not a path is not met, what is not understood perhaps', () => {
  assert.equal(matchPath({ kind: 'domain', host: 'a' }, '**', PLACE), 'no');
  assert.equal(matchPath({ kind: 'opaque', why: '' }, '**', PLACE), 'maybe');
});

test('a refusal always reaches at least as far as an allow with the same words', () => {
  const part = fc.constantFrom('a', 'b', 'src', '.env', '*', '**', '*.ts', 'x.ts', '[ab]');
  const spec = fc.tuple(fc.constantFrom('', './', '/', '//', '~/', '../'), fc.array(part, { minLength: 1, maxLength: 3 })).map(([front, parts]) => front + parts.join('/'));
  const path = fc.tuple(fc.constantFrom('/w/sub', '/w', '/home/me', ''), fc.array(fc.constantFrom('a', 'b', 'src', '.env', 'x.ts'), { minLength: 1, maxLength: 4 })).map(([front, parts]) => `${front}/${parts.join('/')}`);
  fc.assert(fc.property(spec, path, fc.option(path), (words, spelled, real) => {
    const subject = at(spelled, real);
    if (allow(subject, words) === 'yes') assert.equal(deny(subject, words), 'yes');
    if (deny(subject, words) === 'no') assert.equal(allow(subject, words), 'no');
  }), { numRuns: 1000 });
});

test('names both spellings of a link that leads out, before what it leads to exists', async (t) => {
  const { folder, home } = await testProject(t);
  await fs.symlink('../home', join(folder, 'out'));
  await fs.symlink('../home/new', join(folder, 'n'));
  assert.deepEqual(await pathSubject(fs, folder, 'out/a', 'write'), { kind: 'path', access: 'write', path: join(folder, 'out/a'), real: join(home, 'a') });
  assert.deepEqual(await pathSubject(fs, folder, 'n', 'write'), { kind: 'path', access: 'write', path: join(folder, 'n'), real: join(home, 'new') });
  assert.deepEqual(await pathSubject(fs, folder, '~/x', 'read', home), { kind: 'path', access: 'read', path: join(home, 'x'), real: join(home, 'x') });
});

test('a leading slash means the folder of the file that holds the rule', () => {
  const origin = { line: 1, column: 1 };
  assert.equal(ruleBase({ ...origin, layer: 'project', file: '/w/agent.config.yaml' }, '/w/sub'), '/w');
  assert.equal(ruleBase({ ...origin, layer: 'project', file: '/w/.claude/settings.json' }, '/w/sub'), '/w');
  assert.equal(ruleBase({ ...origin, layer: 'user', file: '/home/me/.claude/settings.json' }, '/w/sub'), '/home/me/.claude');
  assert.equal(ruleBase({ ...origin, layer: 'flag', file: '(session)' }, '/w/sub'), '/w/sub');
  assert.equal(ruleBase({ ...origin, layer: 'flag', file: '--allow' }, '/w/sub'), '/w/sub');
});

test('a search may not tell of files that a rule refuses or asks about', () => {
  const rule = (behavior: 'allow' | 'ask' | 'deny', toolName: string, ruleContent?: string): SourcedRule =>
    ({ behavior, toolName, ruleContent, source: 'projectSettings', origin: { layer: 'project', file: '/w/agent.config.yaml', line: 1, column: 1 } });
  const hidden = hiddenByRules([rule('deny', 'Read', '.env'), rule('ask', 'Read', '/notes/**'), rule('allow', 'Read', 'src/**'), rule('deny', 'Edit', 'lib/**'), rule('deny', 'Bash', 'cat *')], ['Read', 'Grep'], { cwd: '/w', home: '/home/me' });
  const isHidden = (path: string, real = path) => hidden(path, real);
  assert.ok(isHidden('/w/a/.env'));
  assert.ok(isHidden('/w/notes/a'));
  assert.ok(isHidden('/w/link', '/w/.env'));
  assert.ok(!isHidden('/w/src/a'));
  assert.ok(!isHidden('/w/lib/a'));
});

test('suggests the narrowest words: the folder for reads outside, the mode for writes inside, the file for writes outside', () => {
  const place: MatchPlace = { ...PLACE, cwd: '/w', base: '/w' };
  const suggest = (subject: PathSubject, what?: 'file' | 'folder') => {
    const updates = suggestForPaths([subject], place, what);
    for (const update of updates) permissionUpdate().parse(update);
    return updates;
  };
  const rules = (toolName: string, ruleContent: string) => [{ type: 'addRules', rules: [{ toolName, ruleContent }], behavior: 'allow', destination: 'session' }];
  assert.deepEqual(suggest(at('/x/y/a.ts')), rules('Read', '//x/y/**'));
  assert.deepEqual(suggest(at('/x/y'), 'folder'), rules('Read', '//x/y/**'));
  assert.deepEqual(suggest(at('/x/[y]/a.ts')), rules('Read', '//x/\\[y\\]/**'));
  assert.deepEqual(suggest(at('/home/me/a')), rules('Read', '//home/me/a'), 'not all of home');
  assert.deepEqual(suggest(at('/w/a')), []);
  assert.deepEqual(suggest(at('/w/a', '/w/a', 'write')), [{ type: 'setMode', mode: 'acceptEdits', destination: 'session' }]);
  assert.deepEqual(suggest(at('/x/a', '/x/a', 'write')), rules('Edit', '//x/a'));
  assert.deepEqual(suggest(at('/w/out', '/etc/x', 'write')), [], 'no one rule means both names');
});

test('a rule that was suggested lets the call through', () => {
  const name = fc.stringMatching(/^[a-z[\](){}*?! .+@|"-]{1,6}$/).filter((n) => n.trim() !== '' && !/^\.+$/.test(n.trim()));
  fc.assert(fc.property(fc.array(name, { minLength: 2, maxLength: 4 }), fc.constantFrom('read' as const, 'write' as const), (parts, access) => {
    const subject = at(`/x/${parts.join('/')}`, undefined, access);
    const [update] = suggestForPaths([subject], PLACE);
    assert.ok(update?.type === 'addRules');
    assert.equal(allow(subject, update.rules[0]!.ruleContent!), 'yes', update.rules[0]!.ruleContent);
  }), { numRuns: 500 });
});

test('a rule names a path that a tool can be given', () => {
  assert.equal(specPath('//etc/passwd'), '/etc/passwd');
  assert.equal(specPath('/src/a'), './src/a');
  assert.equal(specPath('~/a'), '~/a');
  assert.equal(specPath('a'), 'a');
});
