/** The lattice of opinions: one total order, and the folds over it. */
import type { Opinion, Saying, Verdict } from '../schemas/index.ts';

const UNTIL = { rule: 1, mode: 3, person: 4 } as const;
/** passthrough < ask until a rule < allow < ask until a mode < ask until a person < defer < deny */
export function rank(said: Saying): number {
  switch (said.behavior) {
    case 'passthrough': return 0;
    case 'ask': return UNTIL[said.until];
    case 'allow': return 2;
    case 'defer': return 5;
    case 'deny': return 6;
  }
}

/** Of two equals the first stays, so reasons read in the order in which they were given. */
export const strictest = <T extends Saying>(a: T, b: T): T => (rank(b) > rank(a) ? b : a);

/** `null` where nobody said anything. */
export function foldOpinions(opinions: readonly Opinion[]): Verdict | null {
  const [first, ...rest] = opinions;
  if (first === undefined) return null;
  const policy = opinions.filter((o) => o.origin.layer === 'policy' && (o.behavior === 'ask' || o.behavior === 'deny' || o.behavior === 'defer'));
  return { opinion: rest.reduce(strictest, first), opinions, floor: policy.length === 0 ? null : policy.reduce(strictest) };
}

/** A rewritten input voids what was allowed for other words, never an ask or a deny. */
export const voidAllows = (opinions: readonly Opinion[]): Opinion[] => opinions.filter((o) => o.behavior !== 'allow');

/** May a mode turn this into an allow? */
export function modeMayLift(verdict: Verdict | null): boolean {
  if (verdict === null) return true;
  if (verdict.floor !== null) return false;
  return rank(verdict.opinion) < UNTIL.person;
}

/** What stands after the mode has spoken: it lifts what it may, and never lowers the rest. */
export function judgeByMode(verdict: Verdict | null, mode: Opinion): Opinion {
  if (mode.behavior === 'passthrough') return verdict?.opinion ?? mode;
  if (verdict === null) return mode;
  if (mode.behavior === 'allow') return modeMayLift(verdict) ? (verdict.opinion.behavior === 'allow' ? verdict.opinion : mode) : strictest(verdict.opinion, verdict.floor ?? verdict.opinion);
  return strictest(verdict.opinion, mode);
}
