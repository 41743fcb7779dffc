/** Which calls a tap hears of: anchored names, lists, globs, and what a call is about. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compileMatcher, splitList } from '../../kernel/matcher.ts';
import type { JudgedCall, Subject } from '../../schemas/index.ts';

const hits = (matcher: string, name: string, call: Partial<JudgedCall> = {}): boolean => compileMatcher(matcher)(name, call);

test('names are anchored at both ends, and case counts', () => {
  assert.deepEqual([hits('Edit', 'Edit'), hits('Edit', 'MultiEdit'), hits('Edit', 'EditX'), hits('Edit', 'edit')], [true, false, false, false]);
});
test('lists are split before they are compiled, with blanks and empty parts', () => {
  for (const list of ['Edit|Write', 'Edit, Write', ' Edit | Write |', ',Edit,,Write']) assert.deepEqual([hits(list, 'Edit'), hits(list, 'Write'), hits(list, 'Read')], [true, true, false], list);
});
test('nothing, blanks and a star mean everything', () => {
  for (const all of ['', ' ', '*', '|', 'Edit|*']) assert.ok(hits(all, 'Anything'), all);
});
test('globs hit names and paths, hidden ones too', () => {
  assert.deepEqual([hits('mcp__*', 'mcp__a__b'), hits('mcp__*', 'Bash'), hits('config/**', 'config/.env'), hits('*.{ts,js}', 'a.ts'), hits('app/(shop)/page.tsx', 'app/(shop)/page.tsx')], [true, false, true, true, true]);
});
test('words that could never match, or would turn themselves inside out, are refused at once', () => {
  for (const bad of ['Bash(', 'Bash(a', 'Bash)', '!Bash', 'Edit|!mcp__*', 'Bash()']) assert.throws(() => compileMatcher(bad), /matcher/, bad);
  assert.throws(() => compileMatcher(5 as never), /is text/);
});
const command = (text: string): Subject => ({ kind: 'command', argv: [], text });
const call = (said: Record<string, 'yes' | 'no' | 'maybe'>, ...subjects: Subject[]): Partial<JudgedCall> => ({ subjects, matches: (s) => said[(s as { text: string }).text] ?? 'no' });
test('Tool(content) is met by one subject for which the tool says yes or maybe', () => {
  assert.equal(hits('Bash(git push *)', 'Bash', call({ a: 'yes' }, command('a'))), true);
  assert.equal(hits('Bash(git push *)', 'Bash', call({ a: 'maybe' }, command('b'), command('a'))), true);
  assert.equal(hits('Bash(git push *)', 'Bash', call({}, command('a'))), false);
  assert.equal(hits('Bash(git push *)', 'Read', call({ a: 'yes' }, command('a'))), false);
  assert.equal(hits('*(x)', 'Read', call({ a: 'yes' }, command('a'))), true);
});
test('a call that cannot be looked into is heard of: no subjects, no matcher, a matcher that throws', () => {
  assert.ok(hits('Bash(x)', 'Bash', {}));
  assert.ok(hits('Bash(x)', 'Bash', call({})));
  assert.ok(hits('Bash(x)', 'Bash', { subjects: [command('a')], matches: () => { throw new Error('no'); } }));
});
test('content holds bars, commas and brackets', () => {
  assert.deepEqual(splitList('Bash(a|b, (c))|Edit'), ['Bash(a|b, (c))', 'Edit']);
  assert.deepEqual(splitList('a)b|c'), ['a)b', 'c']);
});
test('a list hits what one of its parts hits, whatever the order', () => {
  fc.assert(fc.property(fc.uniqueArray(fc.constantFrom('Edit', 'Write', 'mcp__*', 'Bash', '*X'), { minLength: 1 }), fc.constantFrom('Edit', 'Write', 'mcp__a', 'Bash', 'TheX', 'None'), (parts, name) => {
    const expected = parts.some((p) => hits(p, name));
    assert.equal(hits(parts.join('|'), name), expected);
    assert.equal(hits([...parts].reverse().join(','), name), expected);
  }));
});
