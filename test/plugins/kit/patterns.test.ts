import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compilePattern, escapePattern, patternProblem } from 'tappet/kit';

const fits = (pattern: string, path: string, broad = false) => compilePattern(pattern, { broad })(path);

test('refuses what would turn a rule inside out or means nothing', () => {
  for (const wrong of ['', '  ', '!src/**', 'a\0b', 'a/../b', '..', 'x'.repeat(5000), '*a*a*a*a*b', '**/a/'.repeat(11)]) {
    assert.ok(patternProblem(wrong) !== null, wrong);
    assert.throws(() => compilePattern(wrong), /no path pattern/);
  }
  assert.equal(patternProblem('src/..a/b'), null);
});

test('a bare name counts at any depth, a path from the anchor only', () => {
  assert.ok(fits('.env', '.env'));
  assert.ok(fits('.env', 'a/b/.env'));
  assert.ok(!fits('.env', 'a/.env.local'));
  assert.ok(fits('*.pem', 'a/.hidden.pem'));
  assert.ok(fits('a/b', 'a/b'));
  assert.ok(!fits('a/b', 'x/a/b'));
  assert.ok(!fits('./.env', 'a/.env'));
  assert.ok(!fits('/.env', 'a/.env'));
  assert.ok(fits('./.env', '.env'));
});

test('dotfiles are files', () => {
  assert.ok(fits('config/**', 'config/.env'));
  assert.ok(fits('**/*', 'a/.git/config'));
  assert.ok(fits('config/*', 'config/.env'));
});

test('a folder means what is in it, and one star stays in one folder', () => {
  assert.ok(fits('secrets', 'a/secrets/deep/x'));
  assert.ok(fits('secrets/', 'secrets/x'));
  assert.ok(fits('a/b', 'a/b/c'));
  assert.ok(fits('src/**', 'src'));
  assert.ok(fits('src/**', 'src/a/b'));
  assert.ok(fits('src/*', 'src/a'));
  assert.ok(!fits('src/*', 'src/a/b'));
  assert.ok(fits('src/*', 'src/a/b', true), 'a refusal reaches further');
  for (const all of ['**', '*', '.', './', '/']) assert.ok(fits(all, 'a/b') && fits(all, ''), all);
});

test('one folder with all below it counts at any depth where it refuses', () => {
  assert.ok(!fits('src/**', 'lib/src/a'));
  assert.ok(fits('src/**', 'lib/src/a', true));
  assert.ok(!fits('./src/**', 'lib/src/a', true));
  assert.ok(!fits('a/src/**', 'lib/a/src/b', true));
});

test('round brackets, bars and quotes are letters of names; square brackets and braces choose', () => {
  assert.ok(fits('app/(auth)/**', 'app/(auth)/page.tsx'));
  assert.ok(!fits('app/(auth)/**', 'app/auth/page.tsx'));
  assert.ok(fits('./@(a|b)', '@(a|b)'));
  assert.ok(!fits('./@(a|b)', 'a'));
  assert.ok(fits('./a"b/**', 'a"b/c'));
  assert.ok(fits('*.{ts,tsx}', 'a/b.tsx'));
  assert.ok(fits('app/[id]/**', 'app/[id]/page.tsx'), 'a name with brackets is meant too');
});

test('an escaped path means itself and what is below, and no other', () => {
  const name = fc.string({ unit: fc.constantFrom(...'ab.*?[]{}()|!+@\\"\'$^,-# ~&%éx0:;=<>`'), minLength: 1, maxLength: 6 }).filter((s) => s !== '.' && s !== '..' && !s.includes('\\\\'));
  const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
  fc.assert(fc.property(path, path, (own, other) => {
    const exact = compilePattern(`./${escapePattern(own)}`);
    assert.ok(exact(own));
    assert.ok(compilePattern(`./${escapePattern(own)}/**`)(`${own}/a b/c`));
    if (other !== own && !other.startsWith(`${own}/`)) assert.ok(!exact(other));
  }), { numRuns: 500 });
});
