/** The form of what guards and modes say. */
import assert from 'node:assert/strict';
import { DECISION_KINDS } from 'tappet/schemas';

const FIELDS: Readonly<Record<string, readonly string[]>> = { allow: [], passthrough: [], deny: ['message'], ask: ['until', 'message'], defer: ['message'] };

export function assertSaid(said: unknown): void {
  assert.ok(typeof said === 'object' && said !== null, `said ${String(said)} instead of an opinion`);
  const { behavior, reason, origin, ...rest } = said as Record<string, unknown>;
  const known = FIELDS[String(behavior)];
  assert.ok(known !== undefined, `"${String(behavior)}" is no behaviour`);
  assert.deepEqual(Object.keys(rest).filter((k) => !known.includes(k)), [], `fields that ${String(behavior)} has not`);
  if (behavior === 'deny') assert.ok(typeof rest['message'] === 'string' && rest['message'] !== '', 'a deny says why');
  else assert.ok(rest['message'] === undefined || typeof rest['message'] === 'string');
  if (behavior === 'ask') assert.ok(['rule', 'mode', 'person'].includes(String(rest['until'])), 'an ask says what may lift it');
  if (reason !== undefined) assert.ok(Object.hasOwn(DECISION_KINDS, (reason as { kind: string }).kind), 'a reason is one of the eleven kinds');
  assert.ok(origin === undefined || typeof origin === 'object');
}
