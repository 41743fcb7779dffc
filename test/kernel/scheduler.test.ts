/** The calls of one message: order, overlap, early starts, and one result per call whatever happens. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { CallOutcome } from '../../kernel/call.ts';
import { createScheduler } from '../../kernel/scheduler.ts';
import type { ToolUseBlock, ToolUseContext } from '../../schemas/index.ts';

interface Plan { readonly safe: boolean; readonly early: boolean; readonly steps: number; readonly ends?: 'interrupt'; readonly cd?: string }
const use = (i: number): ToolUseBlock => ({ type: 'tool_use', id: `c${i}`, name: 'T', input: { i } });
const outcome = (u: ToolUseBlock, text: string, more: Partial<CallOutcome> = {}): CallOutcome => ({ use: u, isError: false, after: [], result: { type: 'user', uuid: '00000000-0000-4000-8000-000000000000', timestamp: 't', message: { role: 'user', content: text } }, ...more });
const ticks = async (n: number): Promise<void> => { for (let i = 0; i < n; i++) await Promise.resolve(); };

function harness(plans: readonly Plan[], o: { earlyStart?: boolean; limit?: number; abort?: AbortController } = {}) {
  const delivered: string[] = [];
  const log: string[] = [];
  let running = 0;
  let unsafeRunning = 0;
  let most = 0;
  const overlaps: string[] = [];
  const abort = o.abort ?? new AbortController();
  const cwds: string[] = [];
  const scheduler = createScheduler({
    run: async (u, x) => {
      const plan = plans[Number(u.input['i'])]!;
      log.push(`start ${u.id}`);
      cwds.push(x.cwd);
      running++;
      most = Math.max(most, running);
      if (!plan.safe) unsafeRunning++;
      if (unsafeRunning > 0 && running > 1) overlaps.push(u.id);
      await ticks(plan.steps);
      running--;
      if (!plan.safe) unsafeRunning--;
      log.push(`end ${u.id}`);
      return outcome(u, x.signal.aborted ? 'interrupted' : 'ran', { ...(plan.ends === undefined ? {} : { ends: plan.ends }), ...(plan.cd === undefined ? {} : { contextModifier: (c: ToolUseContext) => ({ ...c, cwd: plan.cd! }), context: { cwd: x.cwd } as ToolUseContext }) });
    },
    skip: (u, why) => outcome(u, `skipped: ${why}`),
    isSafe: async (u) => plans[Number(u.input['i'])]!.safe,
    mayStartEarly: async (u) => plans[Number(u.input['i'])]!.safe && plans[Number(u.input['i'])]!.early,
    earlyStart: o.earlyStart ?? true,
    signal: abort.signal,
    cwd: '/start',
    deliver: async (x) => { delivered.push(x.use.id); },
    applyContext: (modifier, before) => modifier(before),
    ...(o.limit === undefined ? {} : { limit: o.limit }),
  });
  return { scheduler, delivered, log, overlaps, cwds, abort, most: () => most };
}
const plan: fc.Arbitrary<Plan> = fc.record({ safe: fc.boolean(), early: fc.boolean(), steps: fc.nat(6) });

test('every call has exactly one result, in the model\'s order, and nothing overlaps a call that is not safe', async () => {
  await fc.assert(fc.asyncProperty(fc.array(plan, { maxLength: 12 }), fc.boolean(), fc.nat(5), async (plans, earlyStart, gap) => {
    const h = harness(plans, { earlyStart });
    for (const i of plans.keys()) { h.scheduler.offer(use(i)); await ticks(gap); }
    const outcomes = await h.scheduler.finish();
    assert.deepEqual(h.delivered, plans.map((_, i) => `c${i}`));
    assert.deepEqual(outcomes.map((x) => x.use.id), h.delivered);
    assert.deepEqual(h.overlaps, []);
    assert.equal(h.log.filter((l) => l.startsWith('start')).length, plans.length);
  }), { numRuns: 300 });
});
test('an abort at any moment leaves one result per call', async () => {
  await fc.assert(fc.asyncProperty(fc.array(plan, { minLength: 1, maxLength: 10 }), fc.nat(60), fc.boolean(), async (plans, at, cut) => {
    const abort = new AbortController();
    const h = harness(plans, { abort });
    void ticks(at).then(() => abort.abort('test'));
    for (const i of plans.keys()) { h.scheduler.offer(use(i)); await ticks(1); }
    await (cut ? h.scheduler.cut('the message was cut') : h.scheduler.finish());
    assert.deepEqual(h.delivered, plans.map((_, i) => `c${i}`));
    assert.ok(h.log.filter((l) => l.startsWith('start')).length <= plans.length);
    assert.equal(h.log.filter((l) => l.startsWith('start')).length, h.log.filter((l) => l.startsWith('end')).length, 'what began was waited for');
  }), { numRuns: 300 });
});
test('harmless calls run side by side, at most as many as the limit', async () => {
  const plans = Array.from({ length: 8 }, () => ({ safe: true, early: true, steps: 20 }));
  const all = harness(plans);
  plans.forEach((_, i) => all.scheduler.offer(use(i)));
  await all.scheduler.finish();
  assert.equal(all.most(), 8);
  const three = harness(plans, { limit: 3 });
  plans.forEach((_, i) => three.scheduler.offer(use(i)));
  await three.scheduler.finish();
  assert.equal(three.most(), 3);
});
test('a harmless call starts while the message is still streaming, but never overtakes one that changes something', async () => {
  const h = harness([{ safe: true, early: true, steps: 1 }, { safe: false, early: false, steps: 1 }, { safe: true, early: true, steps: 1 }]);
  h.scheduler.offer(use(0)); h.scheduler.offer(use(1)); h.scheduler.offer(use(2));
  await ticks(50);
  assert.deepEqual(h.log, ['start c0', 'end c0']);
  await h.scheduler.finish();
  assert.deepEqual(h.log.filter((l) => l.startsWith('start')), ['start c0', 'start c1', 'start c2']);
});
test('without early start nothing begins before the message is whole', async () => {
  const h = harness([{ safe: true, early: true, steps: 1 }], { earlyStart: false });
  h.scheduler.offer(use(0));
  await ticks(50);
  assert.deepEqual(h.log, []);
  await h.scheduler.finish();
  assert.deepEqual(h.delivered, ['c0']);
});
test('when the message is cut, what ran keeps its result and nothing else begins', async () => {
  const h = harness([{ safe: true, early: true, steps: 1 }, { safe: false, early: false, steps: 1 }]);
  h.scheduler.offer(use(0)); h.scheduler.offer(use(1));
  await ticks(50);
  const outcomes = await h.scheduler.cut('cut off');
  assert.deepEqual(outcomes.map((x) => x.result.message.content), ['ran', 'skipped: cut off']);
});
test('a refusal that ends the turn lets no later call begin', async () => {
  const h = harness([{ safe: false, early: false, steps: 1, ends: 'interrupt' }, { safe: false, early: false, steps: 1 }, { safe: true, early: false, steps: 1 }]);
  [0, 1, 2].forEach((i) => h.scheduler.offer(use(i)));
  const outcomes = await h.scheduler.finish();
  assert.deepEqual(h.log, ['start c0', 'end c0']);
  assert.equal(outcomes.length, 3);
});
test('where a call moves the working folder, later calls start there', async () => {
  const h = harness([{ safe: false, early: false, steps: 1, cd: '/moved' }, { safe: false, early: false, steps: 1 }]);
  [0, 1].forEach((i) => h.scheduler.offer(use(i)));
  await h.scheduler.finish();
  assert.deepEqual(h.cwds, ['/start', '/moved']);
});
