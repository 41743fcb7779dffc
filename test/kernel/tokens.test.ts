/** The estimate of tokens: of the right size for all kinds of text, and corrected by what the server counts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createTokenEstimate, estimateTokens } from '../../kernel/tokens.ts';
import { NO_USAGE } from '../../schemas/message.ts';
import type { NormalizedMessage } from '../../schemas/index.ts';

// Roughly what tokenizers of today make of such texts; the estimate need not be better than that.
const near = (n: number, expected: number, share: number): void => assert.ok(Math.abs(n - expected) <= expected * share, `${n} is not within ${share * 100} % of ${expected}`);
const message = (text: string): NormalizedMessage => ({ role: 'user', content: [{ type: 'text', text }] });

test('prose, digits, marks and ideographs are weighed by their kind', () => {
  near(estimateTokens('The quick brown fox jumps over the lazy dog.'), 10, 0.2);
  near(estimateTokens('1234567890'), 4, 0.01);
  near(estimateTokens('{"a":[1,2],"b":{}}'), 12, 0.35);
  near(estimateTokens('漢字仮名交じり文'), 7, 0.2);
  assert.equal(estimateTokens(''), 0);
});
test('a longer text never has fewer tokens', () => {
  fc.assert(fc.property(fc.string(), fc.string(), (a, b) => assert.ok(estimateTokens(`${a} ${b}`) >= estimateTokens(a) - 1e-9)));
});
test('what the server counted corrects the next estimate, within bounds', () => {
  const e = createTokenEstimate();
  const list = [message('word '.repeat(1000))];
  const first = e.request([], [], list);
  e.correct({ ...NO_USAGE, input_tokens: first * 2 });
  near(e.request([], [], list), first * 2, 0.01);
  e.correct({ ...NO_USAGE, cache_read_input_tokens: first * 100 });
  near(e.request([], [], list), first * 3, 0.01);
  e.correct(NO_USAGE);
  near(e.request([], [], list), first * 3, 0.01);
});
test('each message is looked at once', () => {
  const e = createTokenEstimate();
  let looks = 0;
  const watched: NormalizedMessage = { role: 'user', content: [{ type: 'text', get text() { looks++; return 'hello'; } }] };
  e.request([], [], [watched]);
  e.request([], [], [watched, message('x')]);
  assert.equal(looks, 1);
});
