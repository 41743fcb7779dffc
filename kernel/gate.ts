/** May it run? Opinions, then the mode, then those who may be asked; every reason is kept. */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type {
  Answer, Decision, GateDecision, JudgedCall, Opinion, Origin, PermissionMode, PermissionResult, PermissionUpdate, Said, Tool, ToolUseContext, Verdict,
} from '../schemas/index.ts';
import { compareLayers, place } from '../schemas/origin.ts';
import { isOrigin, makeOrigin } from './config/origin.ts';
import type { Conversation } from './conversation.ts';
import { messageOf } from './errors.ts';
import { foldOpinions, judgeByMode, strictest, voidAllows } from './verdict.ts';

/** A call that is known, checked, and about known subjects. */
export interface PreparedCall { readonly tool: Tool; readonly input: Readonly<Record<string, unknown>>; readonly judged: JudgedCall; /** What PreToolUse said. */ readonly said: readonly Opinion[] }
export interface GateOptions {
  readonly signal: AbortSignal;
  readonly context: ToolUseContext;
  /** An early call waits here before anybody is asked; rejects where the message was cut. */
  readonly hold: Promise<void>;
  /** Makes a changed input whole again. @throws where it does not fit */
  readonly prepare: (input: Readonly<Record<string, unknown>>) => Promise<PreparedCall>;
}
export interface GateResult { readonly decision: Decision; readonly call: PreparedCall; readonly interrupt: boolean }

const KERNEL_ORIGIN = makeOrigin('built-in', '(kernel)');

export async function decide(c: Conversation, call: PreparedCall, o: GateOptions): Promise<GateResult> {
  const verdict = await opinionsOf(c, call, o.context);
  const mode = c.mode();
  const finish = (behavior: Decision['behavior'], opinion: Opinion, by: Decision['by'], more: Partial<Decision> = {}): GateResult => ({
    decision: {
      id: randomUUID(), toolUseId: call.judged.toolUseId, toolName: call.tool.name, behavior, reason: opinion.reason, origin: opinion.origin, opinions: verdict.opinions, mode: mode.name, by,
      ...(behavior === 'allow' ? {} : { message: refusalText(call, opinion) }), ...more,
    },
    call, interrupt: more.interrupt === true,
  });
  if (verdict.opinion.behavior === 'deny') return finish('deny', verdict.opinion, 'rules');
  if (verdict.opinion.behavior === 'defer') return finish('defer', verdict.opinion, 'hook');

  const said = stamp(await judgeMode(mode, call.judged, verdict.opinion, c, o.signal), { kind: 'mode', mode: mode.name }, originOf(c, 'permissionModes', mode.name));
  let opinion = judgeByMode(verdict, said);
  if (opinion.behavior === 'passthrough') opinion = { behavior: 'ask', until: 'mode', reason: { kind: 'mode', mode: mode.name }, origin: KERNEL_ORIGIN };
  if (opinion.behavior === 'allow') return finish('allow', opinion, opinion === said ? 'mode' : 'rules');
  if (opinion.behavior !== 'ask') return finish('deny', opinion, 'mode');

  await o.hold;
  return ask(c, call, verdict, opinion, o, finish);
}

/** Guards only, no hooks, no mode, no person: for targets that appear in the middle of a call. An ask counts as deny. */
export async function derived(c: Conversation, call: PreparedCall): Promise<GateDecision> {
  const opinions = c.kernel.registries.guards.all().flatMap((g) => judgeGuard(c, g, call.judged));
  const verdict = foldOpinions(opinions);
  const { opinion } = verdict ?? { opinion: null };
  if (opinion === null || opinion.behavior === 'passthrough' || opinion.behavior === 'allow') return { behavior: 'allow' };
  return { behavior: 'deny', message: refusalText(call, opinion) };
}

/** What would be said, without making the call: for `explain`. */
export async function dryRun(c: Conversation, call: PreparedCall, context: ToolUseContext, signal: AbortSignal): Promise<Decision & { readonly wouldAsk: boolean }> {
  const verdict = await opinionsOf(c, call, context);
  const mode = c.mode();
  const said = verdict.opinion.behavior === 'deny' ? null : stamp(await judgeMode(mode, call.judged, verdict.opinion, c, signal), { kind: 'mode', mode: mode.name }, originOf(c, 'permissionModes', mode.name));
  const opinion = said === null ? verdict.opinion : judgeByMode(verdict, said);
  const wouldAsk = opinion.behavior === 'ask' || opinion.behavior === 'passthrough';
  return {
    id: randomUUID(), toolUseId: call.judged.toolUseId, toolName: call.tool.name, behavior: opinion.behavior === 'allow' ? 'allow' : 'deny', reason: opinion.reason, origin: opinion.origin,
    opinions: said === null || said.behavior === 'passthrough' ? verdict.opinions : [...verdict.opinions, said], mode: mode.name, by: opinion === said ? 'mode' : 'rules',
    ...(opinion.behavior === 'allow' ? {} : { message: refusalText(call, opinion) }), wouldAsk,
  };
}

// ---- opinions --------------------------------------------------------------------------------------------------------------

async function opinionsOf(c: Conversation, call: PreparedCall, context: ToolUseContext): Promise<Verdict> {
  const opinions: Opinion[] = [...call.said];
  opinions.push(await ownCheck(c, call, context));
  for (const guard of c.kernel.registries.guards.all()) opinions.push(...judgeGuard(c, guard, call.judged));
  const heard = opinions.filter((o) => o.behavior !== 'passthrough');
  return foldOpinions(heard.length === 0 ? opinions : heard) ?? { opinion: opinions[0]!, opinions, floor: null };
}

async function ownCheck(c: Conversation, call: PreparedCall, context: ToolUseContext): Promise<Opinion> {
  const origin = originOf(c, 'tools', call.tool.name);
  let said: PermissionResult;
  try { said = await call.tool.checkPermissions(call.input, context); } catch (e) { said = { behavior: 'deny', message: `its own check failed: ${messageOf(e)}` }; }
  const reason = said.decisionReason ?? { kind: 'other' as const, why: said.message ?? `${call.tool.name}'s own check` };
  if (call.tool.requiresUserInteraction && said.behavior !== 'deny') return { behavior: 'ask', until: 'person', reason: { kind: 'other', why: `${call.tool.name} needs a person` }, origin };
  if (said.behavior === 'deny') return { behavior: 'deny', message: said.message ?? `${call.tool.name} refuses this`, reason, origin };
  if (said.behavior === 'ask') return { behavior: 'ask', until: said.until ?? 'rule', message: said.message, reason, origin };
  return { behavior: said.behavior, reason, origin };
}

function judgeGuard(c: Conversation, guard: { readonly name: string; judge(call: JudgedCall): Said | readonly Said[] }, judged: JudgedCall): Opinion[] {
  const origin = originOf(c, 'guards', guard.name);
  try {
    const said = guard.judge(judged);
    return (Array.isArray(said) ? (said as readonly Said[]) : [said as Said]).map((s) => stamp(s, { kind: 'other', why: guard.name }, origin));
  } catch (e) {
    return [{ behavior: 'deny', message: `the guard ${guard.name} failed: ${messageOf(e)}`, reason: { kind: 'safetyCheck', why: `the guard ${guard.name} failed` }, origin }];
  }
}

async function judgeMode(mode: PermissionMode, judged: JudgedCall, soFar: Opinion, c: Conversation, signal: AbortSignal): Promise<Said> {
  try {
    return await mode.judge(judged, soFar, { signal, transcript: () => c.messages(), adjudicators: c.ancestors });
  } catch (e) {
    return { behavior: 'deny', message: `the mode ${mode.name} failed: ${messageOf(e)}` };
  }
}

function stamp(said: Said, reason: Opinion['reason'], origin: Origin): Opinion {
  const stamped = { ...said, reason: said.reason ?? reason, origin: isOrigin(said.origin) ? said.origin : origin } as Opinion;
  // Everything that policy asks is for a person.
  return stamped.behavior === 'ask' && stamped.origin.layer === 'policy' ? { ...stamped, until: 'person' } : stamped;
}
function originOf(c: Conversation, kind: 'tools' | 'guards' | 'permissionModes', name: string): Origin {
  return c.kernel.registries[kind].who(name).find((e) => e.status === 'counts')?.origin ?? KERNEL_ORIGIN;
}

// ---- asking ----------------------------------------------------------------------------------------------------------------

type Finish = (behavior: Decision['behavior'], opinion: Opinion, by: Decision['by'], more?: Partial<Decision>) => GateResult;

async function ask(c: Conversation, call: PreparedCall, verdict: Verdict, opinion: Opinion & { behavior: 'ask' }, o: GateOptions, finish: Finish, rewritten = false): Promise<GateResult> {
  const asks = verdict.opinions.filter((x) => x.behavior === 'ask');
  const standing = asks.length === 0 ? [opinion] : asks;
  const suggestions = suggest(call);
  const { behavior: _, ...event } = { behavior: null, ...call.judged };
  const heard = await c.fire('PermissionRequest', { ...event, asks: standing, until: opinion.until, suggestions }, { signal: o.signal });
  const hookSaid = (voice: { by: string; origin: Origin }): Opinion['reason'] => ({ kind: 'hook', hook: voice.by, event: 'PermissionRequest' });
  const denied = heard.voices.find((v) => v.said.behavior === 'deny');
  if (denied !== undefined) return finish('deny', { behavior: 'deny', message: denied.said.message ?? `denied by ${denied.by}`, reason: hookSaid(denied), origin: denied.origin }, 'hook', { interrupt: denied.said.interrupt === true });
  // An ask is answered by a tap of the asker's layer or above, or by a person.
  const allowed = heard.voices.find((v) => v.said.behavior === 'allow' && v.failed !== true && standing.every((a) => compareLayers(v.origin.layer, a.origin.layer) >= 0));
  if (allowed !== undefined) {
    // An allow that stands was given for the words as all before it had left them; a change behind it would have voided it.
    const input = { ...call.input, ...heard.said?.updatedInput };
    const isChanged = !isDeepStrictEqual(input, call.input);
    if (isChanged && !rewritten) return again(c, call, input, o, allowed.origin, hookSaid(allowed));
    if (!isChanged) {
      const { updatedPermissions } = allowed.said; // of the voice that counts, not of all that spoke
      if (updatedPermissions !== undefined) await c.update(updatedPermissions);
      return finish('allow', { behavior: 'allow', reason: hookSaid(allowed), origin: allowed.origin }, 'hook');
    }
  }

  // A child's question climbs: its parent may answer within its own authority, never what policy asks.
  if (!standing.some((a) => a.origin.layer === 'policy')) {
    for (const ancestor of c.ancestors) {
      const said = await ancestor.adjudicate(call.judged, { signal: o.signal });
      if (said.behavior !== 'deny' && (said.behavior !== 'allow' || !asks.every((a) => answers(said, a)))) continue;
      return finish(said.behavior, said, 'parent');
    }
  }
  if (!c.canAsk('permission')) return finish('deny', { ...opinion, behavior: 'deny', message: `${askText(call, opinion)}; nobody can be asked here` } as Opinion, 'nobody');

  const question = c.desk.open(o.signal);
  const blocked = call.judged.subjects.find((s) => s.kind === 'path');
  const rule = standing.find((a) => a.reason.kind === 'rule');
  c.emit({
    type: 'ask', requestId: question.id, kind: 'permission', toolUseId: call.judged.toolUseId, toolName: call.tool.name, input: { ...call.input }, message: askText(call, opinion), reason: opinion.reason,
    suggestions: [...suggestions], pendingClassifierCheck: false,
    ...(opinion.reason.kind === 'workingDir' && blocked?.kind === 'path' ? { blockedPath: blocked.path } : {}), ...(rule?.reason.kind === 'rule' ? { matchedAskRule: rule.reason.rule } : {}),
  });
  void c.fire('Notification', { kind: 'permission_prompt', text: askText(call, opinion) }, { signal: o.signal });
  const settled = await question.settled;
  c.emit({ type: 'ask_settled', requestId: question.id, by: settled.by, behavior: settled.by === 'person' ? settled.answer.behavior : 'deny' });
  if (settled.by === 'withdrawn') return finish('deny', { ...opinion, behavior: 'deny', message: 'the question was withdrawn before anybody answered' } as Opinion, 'nobody');
  return byPerson(c, call, settled.answer, opinion, o, finish);
}

/** A parent answers what its rules and its mode could lift in its own calls; what is for a person stays so. */
const answers = (parent: Opinion, ask: Opinion): boolean => ask.behavior === 'ask' && (ask.until === 'rule' || (ask.until === 'mode' && parent.reason.kind === 'mode'));

async function byPerson(c: Conversation, call: PreparedCall, answer: Answer, opinion: Opinion, o: GateOptions, finish: Finish): Promise<GateResult> {
  const origin = makeOrigin('flag', '(person)');
  const reason = { kind: 'permissionPromptTool' as const, tool: 'person' };
  if (answer.behavior === 'deny') return finish('deny', { behavior: 'deny', message: answer.message ?? 'a person refused this', reason, origin }, 'person', { interrupt: answer.interrupt === true });
  if (answer.updatedPermissions !== undefined) await c.update(answer.updatedPermissions);
  if (answer.updatedInput === undefined || isDeepStrictEqual(answer.updatedInput, call.input)) return finish('allow', { behavior: 'allow', reason, origin }, 'person');
  // A person's rewrite replaces the whole input; what denies the new words still denies.
  return again(c, call, answer.updatedInput, o, origin, reason, true);
}

/** Rewritten words go back to the start, once. */
async function again(c: Conversation, call: PreparedCall, input: Readonly<Record<string, unknown>>, o: GateOptions, origin: Origin, reason: Opinion['reason'], answered = false): Promise<GateResult> {
  let next: PreparedCall;
  const refuse = (message: string, by: Opinion): GateResult => ({ decision: { id: randomUUID(), toolUseId: call.judged.toolUseId, toolName: call.tool.name, behavior: 'deny', message, reason: by.reason, origin: by.origin, opinions: [by], mode: c.mode().name, by: 'rules' }, call, interrupt: false });
  try { next = { ...(await o.prepare(input)), said: voidAllows(call.said) }; } catch (e) { return refuse(`the changed input does not fit: ${messageOf(e)}`, { behavior: 'deny', message: '', reason, origin }); }
  const verdict = await opinionsOf(c, next, o.context);
  if (verdict.opinion.behavior === 'deny') return refuse(refusalText(next, verdict.opinion), verdict.opinion);
  const mode = c.mode();
  const said = stamp(await judgeMode(mode, next.judged, verdict.opinion, c, o.signal), { kind: 'mode', mode: mode.name }, originOf(c, 'permissionModes', mode.name));
  if (said.behavior === 'deny') return refuse(refusalText(next, said), said);
  const allow: Opinion = { behavior: 'allow', reason, origin };
  const asks = verdict.opinions.filter((x) => x.behavior === 'ask');
  if (!answered && !asks.every((a) => compareLayers(origin.layer, a.origin.layer) >= 0)) {
    const strict = asks.reduce(strictest);
    return ask(c, next, verdict, strict as Opinion & { behavior: 'ask' }, o, (behavior, opinion, by, more = {}) => ({ decision: { id: randomUUID(), toolUseId: call.judged.toolUseId, toolName: call.tool.name, behavior, reason: opinion.reason, origin: opinion.origin, opinions: verdict.opinions, mode: c.mode().name, by, ...(behavior === 'allow' ? { updatedInput: next.input } : { message: refusalText(next, opinion) }), ...more }, call: next, interrupt: more.interrupt === true }), true);
  }
  return { decision: { id: randomUUID(), toolUseId: call.judged.toolUseId, toolName: call.tool.name, behavior: 'allow', reason, origin, opinions: [...verdict.opinions, allow], mode: c.mode().name, by: answered ? 'person' : 'hook', updatedInput: next.input }, call: next, interrupt: false };
}

/** Rules that would have let the call through, as the tool proposes them. */
export function suggest(call: PreparedCall): readonly PermissionUpdate[] {
  try { return call.tool.suggest(call.input, call.judged.subjects, { cwd: call.judged.cwd, home: call.judged.home, base: call.judged.roots[0] ?? call.judged.cwd, behavior: 'allow' }); } catch { return []; } // a suggestion that fails is none
}

function askText(call: PreparedCall, opinion: Opinion): string {
  return 'message' in opinion && opinion.message !== undefined && opinion.message !== '' ? opinion.message : `${call.tool.name} asks for permission: ${reasonText(opinion)}`;
}
function refusalText(call: PreparedCall, opinion: Opinion): string {
  const text = askText(call, opinion);
  const where = opinion.origin.file.startsWith('(') ? '' : ` [${place(opinion.origin)}, ${opinion.origin.layer}]`;
  return text.includes(place(opinion.origin)) ? text : text + (opinion.reason.kind === 'rule' || opinion.reason.kind === 'hook' ? where : '');
}

/** A reason as a sentence. */
function reasonText(o: Opinion): string {
  const r = o.reason;
  switch (r.kind) {
    case 'rule': return `the rule ${r.rule}`;
    case 'mode': return `mode ${r.mode}`;
    case 'subcommandResults': return r.parts.map((p) => `${p.text}: ${p.behavior}`).join('; ');
    case 'permissionPromptTool': return `an answer of ${r.tool}`;
    case 'hook': return `the hook ${r.hook} on ${r.event}`;
    case 'asyncAgent': case 'sandboxOverride': case 'safetyCheck': case 'classifier': case 'other': return r.why;
    case 'workingDir': return `${r.path} is outside of the working folders`;
  }
}
