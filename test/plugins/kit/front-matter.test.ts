import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { frontMatter } from 'tappet/kit';
import type { FrontMatter } from 'tappet/kit';

const whole = async (text: string): Promise<FrontMatter> => {
  const read = await frontMatter(text);
  assert.ok(!('problem' in read), JSON.stringify(read));
  return read;
};

test('the head is data, what follows is the body', async () => {
  const { data, body, bodyLine, lineOf } = await whole('---\nname: reviewer\ntools:\n  - Read\n  - Grep\n---\n\nYou review.\n---\nnot a head\n');
  assert.deepEqual(data, { name: 'reviewer', tools: ['Read', 'Grep'] });
  assert.equal(body, '\nYou review.\n---\nnot a head\n');
  assert.equal(bodyLine, 7);
  assert.deepEqual([lineOf(['name']), lineOf(['tools', 1]), lineOf(['none'])], [2, 5, null]);
});

test('a byte order mark and CRLF make no difference', async () => {
  const { data, body } = await whole('\ufeff---\r\nname: x\r\n---\r\nbody\r\nmore');
  assert.deepEqual([data, body], [{ name: 'x' }, 'body\nmore']);
});

test('without a head everything is body, and an empty head is no error', async () => {
  assert.deepEqual([(await whole('just text\n')).data, (await whole('just text\n')).body], [{}, 'just text\n']);
  assert.deepEqual((await whole('---\n---\nbody')).data, {});
  assert.deepEqual((await whole('---\n# nothing yet\n---\nbody')).data, {});
  assert.equal((await whole('')).body, '');
});

test('a head that is broken is a problem with its place, never an empty head', async () => {
  const cases: [string, RegExp, number][] = [
    ['---\nname: x\ntools: [read\n---\nbody', /flow|Flow|\]/, 3],
    ['\n\n---\nname: x\n---\n', /blank line stands before the opening ---/, 3],
    ['---\nname: x\nbody', /not closed/, 1],
    ['---\nname: x\nname: y\n---\n', /unique/i, 3],
    ['---\n- a\n- b\n---\n', /key: value/, 2],
    ['---js\nx\n---\n', /language/, 1],
    ['---\n__proto__: { a: 1 }\n---\n', /__proto__/, 2],
    ['---\na: &x [1]\nb: *x\n---\n', /aliases/, 3],
    [`---\na: ${'x'.repeat(70_000)}\n---\n`, /characters/, 2],
  ];
  for (const [text, why, line] of cases) {
    const read = await frontMatter(text);
    assert.ok('problem' in read, text.slice(0, 40));
    assert.match(read.problem, why);
    assert.equal(read.line, line, read.problem);
  }
});

test('any body comes back as it is', async () => {
  await fc.assert(fc.asyncProperty(fc.string().filter((s) => !s.includes('\r')), async (body) => {
    assert.equal((await whole(`---\na: 1\n---\n${body}`)).body, body);
  }));
});
