/** What stands around every tap: whatever a tap does wrong counts as the event's safe outcome, is reported, and spoils nothing else. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import fc from 'fast-check';
import { makeOrigin } from '../../kernel/config/origin.ts';
import { createHookTable } from '../../kernel/guard.ts';
import { fold, TABLE } from '../../kernel/hooks.ts';
import type { Firing, LocalTap, TapFunction } from '../../kernel/hooks.ts';
import { contextSaid } from '../../schemas/hooks.ts';
import { LAYERS } from '../../schemas/origin.ts';
import { BODIES, ELICITATION, record, table } from '../support/hook-table.ts';
import type { Tap } from '../support/hook-table.ts';
import { BASE, draft } from '../support/layers.ts';

// ---- safe outcomes ---------------------------------------------------------------------------------------------------------

const never = new Promise<never>(() => {});
const BROKEN: readonly [name: string, fn: TapFunction, code: string][] = [
  ['throws', () => { throw new Error('boom'); }, 'E_HOOK_THROW'], ['rejects', async () => { throw new Error('boom'); }, 'E_HOOK_THROW'], ['throws no error', () => { throw undefined; }, 'E_HOOK_THROW'],
  ['never settles', () => never, 'E_HOOK_TIMEOUT'], ['is a thenable that never settles', () => ({ then() {} }), 'E_HOOK_TIMEOUT'],
  ['says nonsense', () => 'deny', 'E_HOOK_OUTPUT'], ['says nonsense later', async () => ({ behavior: 'perhaps', action: 'perhaps', block: 7, path: 7, retry: 'x', additionalContext: 7 }), 'E_HOOK_OUTPUT'], ['misspells a field beside a right one', () => ({ behavior: 'allow', mesage: 'x' }), 'E_HOOK_OUTPUT'],
];
/** What each event makes of a failure: of anybody's words, and of policy's. */
const SAFE: Readonly<Record<string, { readonly any?: RegExp; readonly policy?: RegExp }>> = {
  PreToolUse: { any: /"behavior":"deny"/, policy: /"behavior":"deny"/ }, PermissionRequest: { any: /"behavior":"deny"/, policy: /"behavior":"deny"/ }, Elicitation: { any: /^\{"action":"decline"\}$/, policy: /"decline"/ }, ElicitationResult: { any: /^\{"action":"decline"\}$/, policy: /^\{"action":"decline"\}$/ },
  PostToolUse: { policy: /"updatedOutput":"The result is withheld/ }, UserPromptSubmit: { policy: /"block":/ },
};
for (const [name, fn, code] of BROKEN) {
  test(`a tap that ${name} counts as the safe outcome of its event, is reported, and the next tap is heard`, async () => {
    for (const event of Object.keys(TABLE)) {
      const { kind, output } = TABLE[event as 'Stop'];
      if (code === 'E_HOOK_OUTPUT' && (output === null || kind !== 'fold' && event === 'WorktreeCreate')) continue;
      for (const layer of ['user', 'policy'] as const) {
        let heard = 0;
        const { fire, reports } = table([event, fn, { layer, timeoutMs: 1 }], [event, () => { heard++; }, { layer, stage: 1 }]);
        const result = fire(event);
        if (event === 'WorktreeCreate') { await assert.rejects(result, { code }); continue; }
        const said = JSON.stringify((await result).said);
        const safe = SAFE[event]?.[layer === 'policy' ? 'policy' : 'any'];
        if (safe === undefined) assert.equal(said, undefined, `${event}, ${layer}`); else assert.match(said, safe, `${event}, ${layer}`);
        assert.deepEqual(reports.map((r) => [r.event, r.tap, r.plugin, r.code, r.origin.layer]), [[event, 't0', 'p0', code, layer]]);
        const ends = safe !== undefined && (kind === 'answer' || /"behavior":"deny"/.test(said));
        assert.equal(heard, ends ? 0 : 1, `${event}, ${layer}: the next tap`);
      }
    }
  });
}
test('a failed creation of a worktree is not tried by the next tap, and is reported once', async () => {
  for (const fn of [() => { throw new Error('no'); }, () => ({ paht: '/x' })]) {
    let asked = 0;
    const { fire, reports } = table(['WorktreeCreate', fn, { layer: 'user' }], ['WorktreeCreate', () => { asked++; return { path: '/w' }; }]);
    await assert.rejects(fire('WorktreeCreate'));
    assert.deepEqual([asked, reports.length], [0, 1]);
  }
});
test('the report says who, on what, where it is written, and how long it may take', async () => {
  const { fire, reports } = table(['PreToolUse', () => never, { layer: 'user', timeoutMs: 2, name: 'slow one' }]);
  const { said } = await fire('PreToolUse');
  assert.equal(reports[0]!.message, 'slow one did not answer PreToolUse in 2 ms');
  assert.equal(said.message, 'slow one did not answer PreToolUse in 2 ms; a broken gate stays shut');
});
test('a tap hears of its own lateness by its signal', async () => {
  let reason: unknown;
  const { fire } = table(['Stop', (_e, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => { reason = signal.reason; reject(signal.reason); })), { timeoutMs: 1 }]);
  await fire('Stop');
  assert.match(String(reason), /timeout/);
});
test('an interrupt ends a tap that waits, even one that came before it; a gate stays shut, and it is no failure to report', async () => {
  for (const before of [true, false]) {
    const abort = new AbortController();
    if (before) abort.abort();
    const { fire, reports } = table(['PreToolUse', () => never, { timeoutMs: 'own' }]);
    const result = fire('PreToolUse', BODIES['PreToolUse'], { signal: abort.signal });
    abort.abort();
    assert.equal((await result).said.behavior, 'deny');
    assert.deepEqual(reports, []);
  }
});
test('a time that is no time is the usual one; a very long one does not fire at once', async (t: TestContext) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const waits: number[] = [];
  const real = globalThis.setTimeout;
  t.mock.method(globalThis, 'setTimeout', ((fn: () => void, ms: number) => { waits.push(ms); return real(fn, ms); }) as never);
  const { fire } = table(...[-1, 0, Number.NaN, Number.POSITIVE_INFINITY, 1e12, '5' as never].map((timeoutMs): Tap => ['Stop', async () => {}, { timeoutMs }]));
  await fire('Stop');
  assert.deepEqual(waits, [60_000, 60_000, 60_000, 2 ** 31 - 1, 2 ** 31 - 1, 60_000]);
});
test('a tap that has not answered is listed as pending until it has', async () => {
  let answer!: (v: unknown) => void;
  const { fire, hooks } = table(['PreToolUse', () => new Promise((r) => { answer = r; }), { name: 'asks', timeoutMs: 'own' }]);
  const result = fire('PreToolUse');
  await new Promise((r) => setImmediate(r));
  assert.deepEqual(hooks.pending(), ['asks on PreToolUse']);
  answer(undefined);
  await result;
  assert.deepEqual(hooks.pending(), []);
});
test('many taps on one firing do not leak listeners', async () => {
  const warnings: string[] = [];
  const listen = (w: Error): void => { warnings.push(w.message); };
  process.on('warning', listen);
  const { fire } = table(...Array.from({ length: 40 }, (): Tap => ['Notification', () => new Promise((r) => setImmediate(r))]));
  await fire('Notification');
  await new Promise((r) => setImmediate(r));
  process.off('warning', listen);
  assert.deepEqual(warnings, []);
});

// ---- order and choice ------------------------------------------------------------------------------------------------------

test('taps run by the band of their layer, then their stage, then the order of the configuration, then their name; stages stay within the band', async () => {
  const tap = fc.record({ layer: fc.constantFrom(...LAYERS), stage: fc.constantFrom(undefined, 0, 1, -1, 99, 1000, -1e9, Number.NaN, 0.7), order: fc.integer({ min: 0, max: 2 }), name: fc.constantFrom('a', 'b') }, { requiredKeys: ['layer', 'order', 'name'] });
  await fc.assert(fc.asyncProperty(fc.array(tap, { maxLength: 8 }), fc.constantFrom('PostToolUse', 'Elicitation'), async (list, event) => {
    const ran: typeof list = [];
    const { fire } = table(...list.map(({ stage, ...o }): Tap => [event, () => { ran.push({ stage, ...o }); }, { ...o, ...(stage === undefined ? {} : { stage }) }]));
    await fire(event);
    const clamp = (s = 0): number => (Number.isNaN(s) ? 0 : Math.max(-99, Math.min(99, Math.trunc(s))));
    const key = (o: (typeof list)[number]): (number | string)[] => [LAYERS.indexOf(o.layer) * (event === 'Elicitation' ? -1 : 1), clamp(o.stage), o.order, o.name];
    const sorted = [...list].sort((a, b) => { const [x, y] = [key(a), key(b)]; for (let i = 0; i < 4; i++) if (x[i] !== y[i]) return x[i]! < y[i]! ? -1 : 1; return 0; });
    assert.deepEqual(ran.map(key), sorted.map(key));
  }), { numRuns: 60 });
});
test('policy sees the final draft', async () => {
  let seen: unknown;
  const { fire } = table(['PreToolUse', (e) => { seen = e.input; }, { layer: 'policy', stage: -99 }], ['PreToolUse', () => ({ updatedInput: { command: 'rm' } }), { layer: 'flag', stage: 99 }]);
  await fire('PreToolUse');
  assert.deepEqual(seen, { command: 'rm' });
});
test('a tap with a matcher hears only of what it names; a disposed one of nothing', async () => {
  const heard: string[] = [];
  const { fire, records } = table(['PreToolUse', () => { heard.push('edit'); }, { matcher: 'Edit|Write' }], ['PreToolUse', () => { heard.push('bash'); }, { matcher: 'Bash(x)' }], ['Setup', () => { heard.push('init'); }, { matcher: 'init' }], ['PreToolUse', () => { heard.push('gone'); }]);
  records[3]!.disposed = true;
  await fire('PreToolUse');
  await fire('Setup');
  assert.deepEqual(heard, ['bash', 'init']);
});
test('a tap on an event that nobody declares is named with the nearest, unless it says that this is fine', () => {
  const { problems } = table(['PreToolUze', () => {}], ['Whatever', () => {}, { optional: true }], ['PreToolUse', () => {}, { matcher: 'Bash(' }]);
  assert.deepEqual(problems.map((p) => [p.code, p.facts.do]), [['E_PLUGIN_EVENT', 'did you mean "PreToolUse"?'], ['E_PLUGIN_SHAPE', undefined]]);
});
test('an event that was declared is fired and tapped like any other; the kernel\'s own cannot be declared anew', async () => {
  const hooks = createHookTable();
  const shape = fold<any, any>(contextSaid, (so, v) => ({ ...so, said: v.said, voices: [...so.voices, v] }));
  hooks.seal([record(['acme/deploy', () => ({ additionalContext: 'x' })], 0), record(['PreToolUse', () => { throw new Error('x'); }], 1)], new Map([['acme/deploy', shape], ['PreToolUse', shape]]));
  const signal = new AbortController().signal;
  assert.deepEqual((await hooks.fireExtension('acme/deploy', BASE, { signal })).said, { additionalContext: 'x' });
  assert.equal((await hooks.fire('PreToolUse', draft() as never, { signal })).said?.behavior, 'deny');
  await assert.rejects(hooks.fireExtension('acme/other', BASE, { signal }), /nobody declares the event acme\/other/);
});

// ---- a session's own taps --------------------------------------------------------------------------------------------------

const host = (run: LocalTap['run'], o: Partial<LocalTap> = {}): LocalTap => ({ name: '(host)', layer: 'flag', origin: makeOrigin('flag', '(host)'), run, ...o });
const locally = (event: string, ...taps: LocalTap[]): Partial<Firing> => ({ local: (name) => (name === event ? taps : []) });
test('a session\'s own taps stand behind all flags and before policy, also where nobody else taps', async () => {
  const ran: string[] = [];
  const { fire } = table(['PreToolUse', () => { ran.push('policy'); }, { layer: 'policy' }], ['PreToolUse', () => { ran.push('flag'); }, { layer: 'flag', stage: 99 }]);
  await fire('PreToolUse', draft(), locally('PreToolUse', host(() => { ran.push('host'); })));
  assert.deepEqual(ran, ['flag', 'host', 'policy']);
  assert.equal((await table().fire('PreToolUse', draft(), locally('PreToolUse', host(() => ({ behavior: 'deny' }))))).said.behavior, 'deny');
  assert.equal((await table().fire('Elicitation', ELICITATION, locally('Elicitation', host(() => ({ action: 'accept' }))))).said.action, 'accept');
});
test('they run side by side, fold in their order, and an allow does not count for what another one rewrote', async () => {
  const order: string[] = [];
  const wait = (name: string, ticks: number, said: unknown) => host(async () => { for (let i = 0; i < ticks; i++) await new Promise((r) => setImmediate(r)); order.push(name); return said; });
  const { fire } = table();
  const heard = await fire('PreToolUse', draft(), locally('PreToolUse', wait('slow', 3, { updatedInput: { a: 1 } }), wait('quick', 1, { behavior: 'allow', updatedInput: { b: 2 } }), wait('third', 2, { behavior: 'allow' })));
  assert.deepEqual([order, heard.event.input], [['quick', 'third', 'slow'], { command: 'echo a', a: 1, b: 2 }]);
  assert.equal(heard.event.verdict, null);
  const alone = await fire('PreToolUse', draft(), locally('PreToolUse', host(() => ({ behavior: 'allow', updatedInput: { b: 2 } })), host(() => undefined)));
  assert.equal(alone.event.verdict.opinion.behavior, 'allow');
});
test('a failure of a host\'s tap is no opinion, unless the host says that it blocks; it is reported either way', async () => {
  for (const [onFailure, expected] of [[undefined, undefined], ['continue', undefined], ['block', 'deny']] as const) {
    for (const run of [() => { throw new Error('x'); }, () => never, () => ({ mesage: 1 })]) {
      const { fire, reports } = table();
      const { said } = await fire('PreToolUse', draft(), locally('PreToolUse', host(run, { timeoutMs: 1, onFailure })));
      assert.deepEqual([said?.behavior, reports.length], [expected, 1]);
    }
  }
});
test('a host\'s matcher chooses; one that cannot be read concerns everything', async () => {
  let heard = 0;
  const count = (matcher: string) => host(() => { heard++; }, { matcher });
  await table().fire('PreToolUse', draft(), locally('PreToolUse', count('Bash'), count('Edit'), count('Bash(')));
  assert.equal(heard, 2);
});
