import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fitsStars, meansTool, toolNameOf } from 'tappet/kit';

test('a star stands for any run of characters, also for none, and everything else for itself', () => {
  for (const [pattern, text] of [['', ''], ['*', ''], ['a*', 'a'], ['*b', 'aab'], ['a*b*c', 'a-b-bc'], ['a.c', 'a.c'], ['**', 'x'], ['*a*a', 'baaa']] as const) assert.ok(fitsStars(pattern, text), `${pattern} ${text}`);
  for (const [pattern, text] of [['', 'a'], ['a', ''], ['a*', 'ba'], ['*b', 'bc'], ['a.c', 'abc'], ['a*b', 'ab\n']] as const) assert.ok(!fitsStars(pattern, text), `${pattern} ${text}`);
});
test('a star pattern agrees with the regular expression that it stands for', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 8 });
  const text = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 10 });
  fc.assert(fc.property(word, text, (pattern, t) => assert.equal(fitsStars(pattern, t), new RegExp(`^${pattern.replaceAll('*', '.*')}$`, 's').test(t))));
});
test('a pattern that would break a regular expression ends at once', () => {
  assert.equal(fitsStars(`${'*a'.repeat(2000)}b`, 'a'.repeat(4000)), false);
});
test('a name that never changed is its own', () => {
  for (const name of ['Bash', 'constructor', '__proto__']) assert.equal(toolNameOf(name), name);
  assert.equal(toolNameOf('Task'), 'Agent');
});
test('a rule under an old name means the tool under either name', () => {
  for (const tool of ['Agent', 'Task']) assert.ok(meansTool({ toolName: 'Task', behavior: 'allow' }, tool));
});
test('a server named without its tools means no server whose name only begins the same', () => {
  assert.ok(meansTool({ toolName: 'mcp__a', behavior: 'allow' }, 'mcp__a__x'));
  assert.ok(!meansTool({ toolName: 'mcp__a', behavior: 'allow' }, 'mcp__ab__x'));
  assert.ok(!meansTool({ toolName: 'mcp__a__get', behavior: 'allow' }, 'mcp__a__get__more'));
});
