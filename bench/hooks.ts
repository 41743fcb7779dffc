/** What a tap costs: an event through 0, 1 and 100 of them. */
import { createHookTable } from '../kernel/guard.ts';
import type { TapRecord } from '../kernel/guard.ts';
import { makeOrigin } from '../kernel/config/origin.ts';
import type { Row } from './table.ts';

async function measure(taps: number): Promise<number> {
  const table = createHookTable();
  const origin = makeOrigin('built-in', '(bench)');
  table.seal(Array.from({ length: taps }, (_, i): TapRecord => ({ event: 'PreToolUse', plugin: `bench/t${i}`, options: { name: `bench/t${i}` }, origin, fn: async () => undefined, order: i, disposed: false })), new Map());
  const event = { tool: 'Read', toolUseId: 'x', turnId: 't', input: {}, subjects: [], isReadOnly: true, roots: [], home: '', rules: [], matches: () => 'no' as const, verdict: null, sessionId: 's', cwd: '', agentId: null, agentType: null, mode: 'default' };
  const signal = new AbortController().signal;
  const rounds = taps === 0 ? 20_000 : Math.max(200, 20_000 / taps);
  for (let i = 0; i < rounds / 10; i++) await table.fire('PreToolUse', event, { signal });
  const started = process.hrtime.bigint();
  for (let i = 0; i < rounds; i++) await table.fire('PreToolUse', event, { signal });
  return Number(process.hrtime.bigint() - started) / 1000 / rounds;
}
export async function rows(): Promise<readonly Row[]> {
  const none = await measure(0);
  const one = await measure(1);
  const hundred = await measure(100);
  return [
    { what: 'PreToolUse with no tap', target: null, reached: none, unit: 'µs' },
    { what: 'with one', target: 20, reached: one, unit: 'µs' },
    { what: 'with a hundred', target: 1000, reached: hundred, unit: 'µs', note: `${(hundred / 100).toFixed(1)} µs each` },
  ];
}
