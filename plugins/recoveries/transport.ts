/** Asks a model again that is overloaded, out of reach, or broke off: after the wait it asks for, or ever longer ones. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { definePlugin } from 'tappet/kernel';
import type { FaultKind, ModelFault, ToolUseContext } from 'tappet/schemas';

const options = z.strictObject({
  retries: z.number().int().min(0).max(10).default(10).describe('how often one request is made again; faults that rarely pass are asked about less often'),
  firstMs: z.number().int().min(1).default(500).describe('milliseconds before the first retry, where the server names none; each further wait is twice as long'),
  longestMs: z.number().int().min(1).default(60_000).describe('milliseconds of the longest single wait; a server that asks for more ends the turn at once'),
  totalMs: z.number().int().min(0).default(300_000).describe('milliseconds that all waits of one turn may take together'),
});

/** A server that does not listen, or falls silent, seldom changes its mind; one that is busy does. */
const MOST: Partial<Record<FaultKind, number>> = {
  rate_limit: 10, overloaded: 10, server_error: 10, connection: 3, broken_stream: 3, timeout_first_byte: 1, timeout_between_bytes: 1, empty_answer: 1,
};
const LONGEST_OWN_MS = 32_000;

export default definePlugin({
  name: 'recoveries/transport',
  api: 1,
  options,
  apply({ options: { retries, firstMs, longestMs, totalMs }, registries }) {
    const waited = new WeakMap<ToolUseContext, number>(); // a turn has one context
    registries.recoveries.add({
      name: 'transport',
      on(problem, { recovery, toolUseContext }) {
        if (problem.kind !== 'fault' || !problem.fault.transient) return undefined;
        const { fault } = problem;
        const attempt = recovery.transportAttempts + 1;
        const most = Math.min(retries, MOST[fault.kind] ?? 0);
        const delayMs = waitFor(fault, attempt, firstMs);
        const total = (waited.get(toolUseContext) ?? 0) + delayMs;
        if (attempt > most || (fault.retryAfterMs ?? 0) > longestMs || total > totalMs) return undefined;
        waited.set(toolUseContext, total);
        return {
          reason: 'transport_retry', delayMs,
          messages: [{
            type: 'system', format: 'api_retry', level: 'warning', uuid: randomUUID(), timestamp: new Date().toISOString(), content: `${fault.message.replace(/[.\s]+$/, '')}; asking again in ${inSeconds(delayMs)} (${attempt} of ${most})`,
            data: { attempt, max_retries: most, retry_delay_ms: delayMs, error_status: fault.status ?? null, error: fault.kind },
          }],
        };
      },
    });
  },
});

/** Never less than the server asks for; a quarter of chance keeps many clients from coming back at once. */
function waitFor(fault: ModelFault, attempt: number, firstMs: number): number {
  const least = fault.retryAfterMs ?? Math.min(firstMs * 2 ** (attempt - 1), LONGEST_OWN_MS);
  return Math.round(least * (1 + Math.random() / 4));
}
const inSeconds = (ms: number): string => `${(ms / 1000).toFixed(1).replace(/\.0$/, '')} s`;
