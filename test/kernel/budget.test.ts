/** Money and tokens of a tree of agents: no order of requests and answers spends what is not there. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { costOf, createBudget } from '../../kernel/budget.ts';
import type { Reservation } from '../../kernel/budget.ts';
import { NO_USAGE } from '../../schemas/message.ts';

const tokens = (output: number) => ({ ...NO_USAGE, output_tokens: output });
type Move = { readonly kind: 'ask'; readonly cents: number } | { readonly kind: 'settle'; readonly which: number; readonly part: number; readonly more: number };
/** Whole cents as numbers, so that nothing but the budget rounds. */
function play(limit: number, moves: readonly Move[]) {
  const budget = createBudget();
  const open: { reservation: Reservation; cents: number }[] = [];
  let spent = 0;
  let beyond = 0;
  for (const m of moves) {
    if (m.kind === 'ask') {
      const inFlight = open.reduce((n, x) => n + x.cents, 0);
      const got = budget.reserve({ costUsd: limit }, m.cents);
      assert.equal('exceeded' in got, spent + inFlight + m.cents > limit);
      if (!('exceeded' in got)) open.push({ reservation: got, cents: m.cents });
    } else if (open.length > 0) {
      const [{ reservation, cents }] = open.splice(m.which % open.length, 1) as [(typeof open)[number]];
      const cost = Math.floor(cents * m.part) + m.more;
      beyond += Math.max(0, cost - cents);
      spent += cost;
      reservation.settle(tokens(1), cost);
      reservation.settle(tokens(1), cost); // a second time counts for nothing
    }
    assert.equal(budget.spentUSD, spent);
  }
  return { budget, spent, beyond, open };
}
const moves = (more: fc.Arbitrary<number>): fc.Arbitrary<Move[]> => fc.array(fc.oneof(fc.record({ kind: fc.constant('ask' as const), cents: fc.nat(50) }), fc.record({ kind: fc.constant('settle' as const), which: fc.nat(20), part: fc.constantFrom(0, 0.5, 1), more })), { maxLength: 60 });

test('where no request costs more than was estimated, children side by side never spend more than the limit', () => {
  fc.assert(fc.property(fc.nat(200), moves(fc.constant(0)), (limit, list) => { assert.ok(play(limit, list).spent <= limit); }));
});
test('what is spent beyond the limit is never more than what requests in flight cost beyond their estimates', () => {
  fc.assert(fc.property(fc.nat(200), moves(fc.nat(30)), (limit, list) => { const { spent, beyond } = play(limit, list); assert.ok(spent <= limit + beyond); }));
});
test('when all are settled nothing stays reserved', () => {
  fc.assert(fc.property(moves(fc.constant(0)), (list) => {
    const { budget, spent, open } = play(10_000, list);
    for (const x of open) x.reservation.settle(tokens(0), 0);
    assert.ok(!('exceeded' in budget.reserve({ costUsd: spent + 7 }, 7)));
    assert.ok('exceeded' in budget.reserve({ costUsd: spent + 7 }, 1));
  }));
});
test('a limit of generated tokens stops the next request, and says which limit it was', () => {
  const budget = createBudget();
  const first = budget.reserve({ outputTokens: 10 }, 0);
  assert.ok(!('exceeded' in first));
  first.settle(tokens(10), 0);
  const second = budget.reserve({ outputTokens: 10 }, 0);
  assert.match('exceeded' in second ? second.exceeded : '', /10 generated tokens/);
  assert.equal(budget.outputTokens, 10);
});
test('without prices a request costs nothing; cached tokens cost what a new one costs where no other price is known', () => {
  assert.equal(costOf(undefined, tokens(1000)), 0);
  const info = { id: 'm', contextWindow: 1, maxOutputTokens: 1, prices: { input: 2, output: 4 } };
  assert.equal(costOf(info, { input_tokens: 1e6, output_tokens: 1e6, cache_read_input_tokens: 1e6, cache_creation_input_tokens: 1e6 }), 2 + 4 + 2 + 2);
});
