/** What every permission mode must do. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Plugin } from 'tappet/kernel';
import type { JudgedCall, ModeContext, Opinion, PermissionMode, Said } from 'tappet/schemas';
import { anyCall, anyOpinion, frozen } from './calls.ts';
import type { CollectOptions } from './collect.ts';
import { collect } from './collect.ts';
import { assertSaid } from './saying.ts';

export const modeContext = (over: Partial<ModeContext> = {}): ModeContext => ({ signal: new AbortController().signal, transcript: () => [], adjudicators: [], ...over });

/** A deny, a defer, what a person must answer, and whatever policy does not want to pass. */
export const mayNotBeLifted = (soFar: Opinion): boolean =>
  soFar.behavior === 'deny' || soFar.behavior === 'defer' || (soFar.behavior === 'ask' && (soFar.until === 'person' || soFar.origin.layer === 'policy'));

export function modeContract(plugin: Plugin, o: CollectOptions = {}): void {
  const modes = async (): Promise<readonly PermissionMode[]> => (await collect(plugin, o)).permissionModes;
  const always = async (law: (judge: () => Promise<Said>, call: JudgedCall, soFar: Opinion) => Promise<void>): Promise<void> => {
    for (const mode of await modes()) await fc.assert(fc.asyncProperty(anyCall, anyOpinion, (call, soFar) => law(async () => mode.judge(frozen(call), frozen(soFar), modeContext()), call, soFar)));
  };

  test(`${plugin.name} brings a mode with a name and a title`, async () => {
    const all = await modes();
    assert.ok(all.length > 0);
    for (const { name, title } of all) { assert.match(name, /^[a-z][A-Za-z0-9-]*$/); assert.notEqual(title.trim(), ''); }
  });
  test(`${plugin.name} answers every call in form, never throws and changes nothing`, () => always(async (judge) => assertSaid(await judge())));
  test(`${plugin.name} never claims to lift a deny, an ask that only a person answers, or what policy says`, () => always(async (judge, _call, soFar) => {
    if (mayNotBeLifted(soFar)) assert.notEqual((await judge()).behavior, 'allow');
  }));
  test(`${plugin.name} settles when the turn is interrupted`, async () => {
    for (const mode of await modes()) await fc.assert(fc.asyncProperty(anyCall, anyOpinion, async (call, soFar) => {
      const [settled] = await Promise.allSettled([(async () => mode.judge(call, soFar, modeContext({ signal: AbortSignal.abort() })))()]);
      if (settled.status === 'fulfilled') assertSaid(settled.value);
    }), { numRuns: 20 });
  });
}
