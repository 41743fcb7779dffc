/** Adjudicators: a parent frozen at the fork, asked from near to far. It answers within its own authority, and hands on what it would ask. */
import type { JudgedCall, Message, Opinion, ParentAdjudicator, Said } from '../schemas/index.ts';
import { isOrigin, makeOrigin } from './config/origin.ts';
import type { Conversation } from './conversation.ts';
import { messageOf } from './errors.ts';
import { foldOpinions, judgeByMode } from './verdict.ts';
import { orAborted } from './waiting.ts';

/** `snapshot`: the parent's messages at the moment of the fork. */
export function freeze(parent: Conversation, snapshot: readonly Message[]): ParentAdjudicator {
  const mode = parent.mode();
  const rules = parent.rules();
  const origin = makeOrigin('built-in', `(${parent.agentId ?? 'main agent'})`);
  const stamp = (s: Said, why: string): Opinion => ({ ...s, reason: s.reason ?? { kind: 'other', why }, origin: isOrigin(s.origin) ? s.origin : origin }) as Opinion;
  return {
    agentId: parent.agentId,
    async adjudicate(call: JudgedCall, o) {
      if (o.signal.aborted) return { behavior: 'deny', message: 'interrupted', reason: { kind: 'other', why: 'interrupted' }, origin };
      try {
        return await orAborted(judge(call, o.signal), o.signal, 0);
      } catch (e) {
        // What cannot judge does not open a gate.
        const why = o.signal.aborted ? 'interrupted' : `${origin.file} could not judge it: ${messageOf(e)}`;
        return { behavior: 'deny', message: why, reason: { kind: 'other', why }, origin };
      }
    },
  };

  async function judge(call: JudgedCall, signal: AbortSignal): Promise<Opinion | { readonly behavior: 'escalate' }> {
    // The parent's rules and mode, in the child's folder.
    const judged: JudgedCall = { ...call, rules, mode: mode.name };
    const opinions = parent.kernel.registries.guards.all().flatMap((g) => { const s = g.judge(judged); return (Array.isArray(s) ? (s as readonly Said[]) : [s as Said]).map((x) => stamp(x, g.name)); }).filter((x) => x.behavior !== 'passthrough');
    const verdict = foldOpinions(opinions);
    if (verdict?.opinion.behavior === 'deny') return verdict.opinion;
    const soFar = verdict?.opinion ?? { behavior: 'passthrough', reason: { kind: 'mode', mode: mode.name }, origin };
    const said = stamp(await mode.judge(judged, soFar, { signal, transcript: () => snapshot, adjudicators: parent.ancestors }), `mode ${mode.name}`);
    const opinion = judgeByMode(verdict, said);
    return opinion.behavior === 'allow' || opinion.behavior === 'deny' ? opinion : { behavior: 'escalate' };
  }
}
