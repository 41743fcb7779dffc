/** The lattice: a total order, folds that do not depend on order, and what a mode may lift. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { makeOrigin } from '../../kernel/config/origin.ts';
import { foldOpinions, judgeByMode, modeMayLift, rank, strictest, voidAllows } from '../../kernel/verdict.ts';
import { LAYERS } from '../../schemas/origin.ts';
import type { Opinion } from '../../schemas/index.ts';

const saying = fc.oneof(
  fc.constant({ behavior: 'allow' as const }), fc.constant({ behavior: 'passthrough' as const }), fc.constant({ behavior: 'defer' as const }),
  fc.constant({ behavior: 'deny' as const, message: 'no' }), fc.constantFrom('rule' as const, 'mode' as const, 'person' as const).map((until) => ({ behavior: 'ask' as const, until })),
);
const opinion: fc.Arbitrary<Opinion> = fc.tuple(saying, fc.constantFrom(...LAYERS)).map(([s, layer]) => ({ ...s, reason: { kind: 'other' as const, why: 'x' }, origin: makeOrigin(layer, 'f') }));

test('the order is passthrough < ask until a rule < allow < ask until a mode < ask until a person < defer < deny', () => {
  const order = [{ behavior: 'passthrough' }, { behavior: 'ask', until: 'rule' }, { behavior: 'allow' }, { behavior: 'ask', until: 'mode' }, { behavior: 'ask', until: 'person' }, { behavior: 'defer' }, { behavior: 'deny', message: '' }] as const;
  assert.deepEqual(order.map(rank), [0, 1, 2, 3, 4, 5, 6]);
});
test('strictest is associative, idempotent and, in behaviour, commutative', () => {
  fc.assert(fc.property(opinion, opinion, opinion, (a, b, c) => {
    assert.equal(strictest(a, a), a);
    assert.equal(strictest(strictest(a, b), c), strictest(a, strictest(b, c)));
    assert.equal(rank(strictest(a, b)), rank(strictest(b, a)));
  }));
});
test('the folded behaviour does not depend on the order of opinions, and all are kept', () => {
  fc.assert(fc.property(fc.array(opinion, { minLength: 1, maxLength: 8 }).chain((list) => fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length, maxLength: list.length }))), ([list, shuffled]) => {
    const a = foldOpinions(list)!;
    const b = foldOpinions(shuffled)!;
    assert.equal(rank(a.opinion), rank(b.opinion));
    assert.equal(a.opinions.length, list.length);
    assert.equal(a.floor === null ? -1 : rank(a.floor), b.floor === null ? -1 : rank(b.floor));
  }));
});
test('one deny makes the verdict a deny, whatever else is said', () => {
  fc.assert(fc.property(fc.array(opinion), fc.nat(), (list, at) => {
    const deny: Opinion = { behavior: 'deny', message: 'no', reason: { kind: 'other', why: 'x' }, origin: makeOrigin('user', 'f') };
    assert.equal(foldOpinions([...list.slice(0, at % (list.length + 1)), deny, ...list.slice(at % (list.length + 1))])!.opinion.behavior, 'deny');
  }));
});
test('adding an ask or a deny never weakens a verdict, and adding an allow never changes an ask until mode, a person or a deny', () => {
  fc.assert(fc.property(fc.array(opinion, { minLength: 1 }), opinion, (list, more) => {
    const before = rank(foldOpinions(list)!.opinion);
    const after = rank(foldOpinions([...list, more])!.opinion);
    assert.ok(after >= before);
    if (more.behavior === 'allow' && before >= 3) assert.equal(after, before);
  }));
});
test('no mode lowers a deny, an ask until a person, or what policy said', () => {
  fc.assert(fc.property(fc.array(opinion, { minLength: 1 }), opinion, (list, mode) => {
    const verdict = foldOpinions(list)!;
    const after = judgeByMode(verdict, mode);
    if (rank(verdict.opinion) >= 4) assert.ok(rank(after) >= rank(verdict.opinion), 'a strict verdict was lowered');
    if (verdict.floor !== null) assert.ok(rank(after) >= rank(verdict.floor), 'the floor was undercut');
    if (after.behavior === 'allow' && verdict.opinion.behavior !== 'allow') assert.ok(modeMayLift(verdict));
    if (mode.behavior === 'deny') assert.equal(after.behavior, 'deny');
  }));
});
test('a rewrite voids what was allowed for other words, never an ask or a deny', () => {
  fc.assert(fc.property(fc.array(opinion), (list) => {
    const left = voidAllows(list);
    assert.deepEqual(left, list.filter((o) => o.behavior !== 'allow'));
  }));
});
