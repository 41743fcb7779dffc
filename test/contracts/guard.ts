/** What every guard must do. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Plugin } from 'tappet/kernel';
import type { Guard, JudgedCall, Said } from 'tappet/schemas';
import { anyCall, anySubject, frozen } from './calls.ts';
import type { CollectOptions } from './collect.ts';
import { collect } from './collect.ts';
import { assertSaid } from './saying.ts';

export const sayings = (guard: Guard, call: JudgedCall): readonly Said[] => {
  const said = guard.judge(call);
  return Array.isArray(said) ? (said as readonly Said[]) : [said as Said];
};

export function guardContract(plugin: Plugin, o: CollectOptions = {}): void {
  const guards = async (): Promise<readonly Guard[]> => (await collect(plugin, o)).guards;
  const always = async (law: (guard: Guard, call: JudgedCall) => void): Promise<void> => {
    for (const guard of await guards()) fc.assert(fc.property(anyCall, (call) => law(guard, call)));
  };

  test(`${plugin.name} brings a guard with a name`, async () => {
    const names = (await guards()).map((g) => g.name);
    assert.ok(names.length > 0);
    for (const name of names) assert.match(name, /^[a-z][a-z0-9-]*$/);
  });
  test(`${plugin.name} answers at once, in form, and never throws, whatever the call is about`, () => always((guard, call) => {
    const said: unknown = guard.judge(call);
    assert.ok(typeof (said as { then?: unknown }).then !== 'function', 'a guard is synchronous');
    for (const one of sayings(guard, call)) assertSaid(one);
  }));
  test(`${plugin.name} says the same of the same call and leaves it as it is`, () => always((guard, call) => assert.deepEqual(guard.judge(frozen(call)), guard.judge(call))));
  test(`${plugin.name} speaks in no name but those of the rules that it was handed`, () => always((guard, call) => {
    for (const { origin } of sayings(guard, call)) assert.ok(origin === undefined || call.rules.some((r) => r.origin === origin));
  }));
  test(`${plugin.name} never allows what was not understood`, () => always((guard, call) => {
    const said = sayings(guard, { ...call, subjects: [...call.subjects, { kind: 'opaque', why: 'made at run time' }] });
    assert.ok(said.every((s) => s.behavior !== 'allow'));
  }));
  test(`${plugin.name} does not get milder when a call is about more`, async () => {
    for (const guard of await guards()) fc.assert(fc.property(anyCall, anySubject, (call, more) => {
      const before = sayings(guard, call).filter((s) => s.behavior !== 'allow' && s.behavior !== 'passthrough');
      const after = sayings(guard, { ...call, subjects: [...call.subjects, more] });
      for (const s of before) assert.ok(after.some((a) => strictness(a) >= strictness(s)), `${JSON.stringify(s)} went away`);
    }));
  });
}

const STRICTNESS = { rule: 1, mode: 3, person: 4 } as const;
/** passthrough < ask until a rule < allow < ask until a mode < ask until a person < defer < deny: the law, written down a second time. */
export const strictness = (said: Said): number => ({ passthrough: 0, allow: 2, defer: 5, deny: 6, ask: said.behavior === 'ask' ? STRICTNESS[said.until] : 0 })[said.behavior];
