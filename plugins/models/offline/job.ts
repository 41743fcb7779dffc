/** A piece of work: it asks for calls, is told their results, and ends with words. It remembers nothing itself: the conversation is played to it again each time. */

export interface Call { readonly name: string; readonly input: Readonly<Record<string, unknown>> }
export interface Outcome { readonly call: Call; readonly text: string; readonly failed: boolean }
export type Job<T> = Generator<readonly Call[], T, readonly Outcome[]>;

/** What the jobs of one prompt know and hand on to each other. */
export interface Context {
  readonly tools: ReadonlySet<string>;
  readonly cwd: string | null;
  /** What `it` and `them` mean: the files that were spoken of last. */
  files: readonly string[];
}

/** What cannot be done, and why, as a sentence for the person. */
export class Impossible extends Error {}

export function* ask(ctx: Context, ...calls: readonly Call[]): Job<readonly Outcome[]> {
  const missing = [...new Set(calls.map((c) => c.name).filter((name) => !ctx.tools.has(name)))];
  if (missing.length > 0) throw new Impossible(`This needs the tool ${missing.join(' and ')}, which is not offered here.`);
  return yield calls;
}
export function* askOne(ctx: Context, name: string, input: Readonly<Record<string, unknown>>): Job<Outcome> {
  return (yield* ask(ctx, { name, input }))[0]!;
}
/** The result, or the end of the job with the tool's own words. */
export function* need(ctx: Context, name: string, input: Readonly<Record<string, unknown>>, what: string): Job<Outcome> {
  const outcome = yield* askOne(ctx, name, input);
  if (outcome.failed) throw new Impossible(failure(outcome, what));
  return outcome;
}
export const failure = ({ call, text }: Outcome, what: string): string => `${what[0]!.toUpperCase()}${what.slice(1)} did not succeed. ${call.name} said: ${text.trim().slice(0, 2000)}`;

export const keyOf = (call: Call): string => `${call.name} ${JSON.stringify(Object.fromEntries(Object.entries(call.input).sort(([a], [b]) => (a < b ? -1 : 1))))}`;

/** Plays the results that are there, in the order in which like calls were made. */
export function play<T>(job: Job<T>, known: ReadonlyMap<string, readonly Outcome[]>): { readonly done: T } | { readonly next: readonly Call[] } {
  const used = new Map<string, number>();
  for (let step = job.next(); ;) {
    if (step.done === true) return { done: step.value };
    const outcomes = step.value.map((call) => {
      const key = keyOf(call);
      const n = used.get(key) ?? 0;
      used.set(key, n + 1);
      return known.get(key)?.[n];
    });
    if (outcomes.some((o) => o === undefined)) return { next: step.value.filter((_, i) => outcomes[i] === undefined) };
    step = job.next(outcomes as Outcome[]);
  }
}
