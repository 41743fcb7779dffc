/** A child's question climbs: whatever its parents' modes and guards do, it settles, and nobody gives what he does not have. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { freeze } from '../../kernel/chain.ts';
import { makeOrigin } from '../../kernel/config/origin.ts';
import type { Conversation } from '../../kernel/conversation.ts';
import type { JudgedCall, Layer, Message, PermissionMode, Said } from '../../schemas/index.ts';
import { ask, BASIC, project } from '../support/project.ts';
import { watchedTools } from '../support/tools.ts';

const never = new AbortController().signal;
const call = { tool: 'Change', toolUseId: 't', turnId: 'u', agentId: 'child', input: {}, subjects: [], isReadOnly: false, cwd: '/', roots: [], home: '/', mode: 'x', rules: [], matches: () => 'no' } as unknown as JudgedCall;
type Voice = Said | 'throws' | 'hangs';
const speak = (v: Voice): Said | Promise<Said> => { if (v === 'throws') throw new Error('it fell over'); return v === 'hangs' ? new Promise<Said>(() => {}) : v; };
function parent(mode: Voice, guards: readonly (Said | 'throws')[], snapshot: readonly Message[] = []) {
  const judge: PermissionMode['judge'] = () => speak(mode);
  const conversation = { agentId: null, ancestors: [], mode: () => ({ name: 'm', title: 'M', judge }), rules: () => [], kernel: { registries: { guards: { all: () => guards.map((g, i) => ({ name: `g${i}`, judge: () => speak(g) })) } } } };
  return freeze(conversation as unknown as Conversation, snapshot);
}
const origin = (layer: Layer) => makeOrigin(layer, '/somewhere');
const said: fc.Arbitrary<Said> = fc.oneof(
  fc.constant<Said>({ behavior: 'allow' }), fc.constant<Said>({ behavior: 'passthrough' }), fc.constant<Said>({ behavior: 'deny', message: 'no' }),
  fc.record({ behavior: fc.constant('ask' as const), until: fc.constantFrom('rule' as const, 'mode' as const, 'person' as const), origin: fc.constantFrom(origin('policy'), origin('user'), origin('built-in')) }) as fc.Arbitrary<Said>,
);
const guards = fc.array(fc.oneof(said, fc.constant('throws' as const)), { maxLength: 5 });

test('whatever modes and guards say, or fail to say, an adjudicator settles and never rejects', async () => {
  await fc.assert(fc.asyncProperty(fc.oneof(said, fc.constant('throws' as const), fc.constant('hangs' as const)), guards, async (mode, list) => {
    const abort = new AbortController();
    const answer = parent(mode, list).adjudicate(call, { signal: abort.signal });
    if (mode === 'hangs') abort.abort();
    const { behavior } = await answer;
    assert.ok(['allow', 'deny', 'escalate'].includes(behavior));
    if (mode === 'hangs' || mode === 'throws' || list.includes('throws')) assert.notEqual(behavior, 'allow');
  }), { numRuns: 200 });
});
test('an adjudicator allows nothing that one of its guards denies, that is for a person, or that policy asks', async () => {
  await fc.assert(fc.asyncProperty(said, guards, async (mode, list) => {
    const binds = list.some((g) => g === 'throws' || g.behavior === 'deny' || (g.behavior === 'ask' && (g.until === 'person' || g.origin?.layer === 'policy')));
    const answer = await parent(mode, list).adjudicate(call, { signal: never });
    if (binds) assert.notEqual(answer.behavior, 'allow');
    if (mode.behavior === 'deny' || list.some((g) => g !== 'throws' && g.behavior === 'deny')) assert.equal(answer.behavior, 'deny');
  }));
});
test('one more guard never makes an adjudicator give more', async () => {
  const rank = { allow: 0, escalate: 1, deny: 2 } as Record<string, number>;
  await fc.assert(fc.asyncProperty(said, fc.array(said, { maxLength: 4 }), said.filter((s) => s.behavior !== 'allow'), async (mode, list, one) => {
    const before = (await parent(mode, list).adjudicate(call, { signal: never })).behavior;
    const after = (await parent(mode, [...list, one]).adjudicate(call, { signal: never })).behavior;
    assert.ok(rank[after]! >= rank[before]!, `${before} became ${after}`);
  }));
});
test('an adjudicator is the parent as it was at the fork: its messages, its mode, its rules', async () => {
  let mode: PermissionMode = { name: 'first', title: 'F', judge: (judged, _, c) => ({ behavior: 'deny', message: `${judged.mode} ${judged.rules.length} ${c.transcript().length}` }) };
  const rules: unknown[] = [];
  const frozen = freeze({ agentId: null, ancestors: [], mode: () => mode, rules: () => [...rules], kernel: { registries: { guards: { all: () => [] } } } } as unknown as Conversation, [{} as Message]);
  mode = { name: 'second', title: 'S', judge: () => ({ behavior: 'allow' }) };
  rules.push({});
  const answer = await frozen.adjudicate(call, { signal: never });
  assert.equal('message' in answer ? answer.message : '', 'first 0 1');
});

test('children of children ask near to far; a deny on the way binds, and the root\'s person is asked last', async (t) => {
  const tools = watchedTools();
  const change = (path: string) => ({ call: [{ name: 'Change', input: { path } }] });
  const p = project(t, { only: BASIC, plugins: [tools.plugin], steps: [change('a.txt'), { say: 'x' }, change('b.txt'), { say: 'y' }] });
  const root = await p.open({ host: { asks: ['permission'] } });
  const asked: (string | null)[] = [];
  void (async () => { for await (const e of root.events({ from: 'start', tree: true })) if (e.type === 'ask') { asked.push(e.agentId); root.answer(e.requestId as never, { behavior: 'allow' }); } })();
  const child = await root.fork({});
  const grandchild = await child.fork({});
  await ask(grandchild, 'one');
  assert.deepEqual([asked, tools.calls.length], [[grandchild.id], 1]);
  const planning = await root.fork({});
  await planning.set({ mode: 'plan' });
  const below = await planning.fork({});
  await below.set({ mode: 'default' });
  await ask(below, 'two');
  assert.deepEqual([asked.length, tools.calls.length], [1, 1], 'a parent that plans answers no with nobody asked');
});
