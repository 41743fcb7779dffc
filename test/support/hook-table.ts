/** A table of hooks with taps of many layers, and an event of each kind to fire. */
import { makeOrigin } from '../../kernel/config/origin.ts';
import { createHookTable } from '../../kernel/guard.ts';
import type { TapRecord } from '../../kernel/guard.ts';
import type { Firing, Folded, TapFunction, TapOptions, TapReport } from '../../kernel/hooks.ts';
import type { Layer } from '../../schemas/index.ts';
import { BASE, draft } from './layers.ts';

export type Tap = readonly [event: string, fn: TapFunction, o?: Partial<TapOptions> & { readonly layer?: Layer; readonly order?: number }];
export const record = ([event, fn, o = {}]: Tap, i: number): TapRecord => {
  const { layer = 'built-in', order = i, ...options } = o;
  return { event, plugin: `p${i}`, options: { name: `t${i}`, ...options }, origin: makeOrigin(layer, `${layer}.yaml`, i + 1), fn, order, disposed: false };
};
export function table(...taps: Tap[]) {
  const hooks = createHookTable();
  const records = taps.map(record);
  const problems = hooks.seal(records, new Map());
  const reports: TapReport[] = [];
  const fire = (event: string, body: object = BODIES[event] ?? {}, firing: Partial<Firing> = {}): Promise<Folded<any, any>> => hooks.fire(event as 'PreToolUse', { ...BASE, ...body } as never, { signal: new AbortController().signal, onError: (r) => reports.push(r), ...firing });
  return { hooks, records, problems, reports, fire };
}
/** An event of each kind. */
export const RESULT = { tool: 'Bash', toolUseId: 'u', input: {}, subjects: [], output: { raw: 'secret' }, content: 'secret', durationMs: 1 };
export const ELICITATION = { serverName: 'srv', message: 'm', requestedSchema: {} };
export const BODIES: Readonly<Record<string, object>> = {
  PreToolUse: draft(), PermissionRequest: { ...draft(), asks: [], until: 'mode', suggestions: [] }, PermissionDenied: { tool: 'Bash', toolUseId: 'u', input: {}, reason: { kind: 'other', why: 'x' }, message: 'm', opinions: [] }, PostToolUse: RESULT, PostToolUseFailure: { ...RESULT, error: 'e', isInterrupt: false },
  UserPromptSubmit: { prompt: 'hi', promptId: 'p' }, Stop: { lastMessage: '', stopHookActive: false }, SessionStart: { source: 'startup', model: 'm' }, Setup: { trigger: 'init' }, SubagentStart: { childId: 'c', task: 't' }, Elicitation: ELICITATION, ElicitationResult: { ...ELICITATION, answer: { action: 'accept', content: { secret: 1 } } },
  WorktreeCreate: { name: 'w', base: null }, Notification: { kind: 'k', text: 't' }, CwdChanged: { from: 'a', to: 'b' }, FileChanged: { path: 'a', change: 'add' }, SessionEnd: { reason: 'r' }, PreCompact: { trigger: 'auto', messages: [] }, PostCompact: { trigger: 'auto', summary: '' }, StopFailure: { reason: 'answered', error: '' }, PostToolBatch: { calls: [] }, SubagentStop: { lastMessage: '', stopHookActive: false }, ConfigChange: { files: [] },
};
