/** The calls of one message: harmless ones together and early, the others one by one, results in the model's order; an abort at any point leaves one result per call. */
import type { ToolUseBlock, ToolUseContext } from '../schemas/index.ts';
import type { CallOutcome } from './call.ts';

export interface SchedulerOptions {
  /** Runs a call; never rejects. `cwd`: as earlier calls left it. */
  readonly run: (use: ToolUseBlock, o: { readonly cwd: string; readonly hold: Promise<void>; readonly signal: AbortSignal }) => Promise<CallOutcome>;
  /** A result for a call that will not be made. */
  readonly skip: (use: ToolUseBlock, why: string) => CallOutcome;
  /** May it run beside others? Decided on the checked input; unknown is no. */
  readonly isSafe: (use: ToolUseBlock) => Promise<boolean>;
  /** May it begin before the message is whole? */
  readonly mayStartEarly: (use: ToolUseBlock) => Promise<boolean>;
  readonly earlyStart: boolean;
  readonly signal: AbortSignal;
  readonly cwd: string;
  /** Called with each outcome in the model's order, as soon as all before it are there. */
  readonly deliver: (outcome: CallOutcome) => Promise<void>;
  /** Applies what a call changes for the later ones; never throws. */
  readonly applyContext: (modifier: (context: ToolUseContext) => ToolUseContext, context: ToolUseContext) => ToolUseContext;
  readonly limit?: number;
}
export interface Scheduler {
  /** A finished block of the message that is still streaming. */
  offer(use: ToolUseBlock): void;
  /** The message is whole: runs the rest; resolves when every call has its result delivered. */
  finish(): Promise<readonly CallOutcome[]>;
  /** The message was cut: what runs is finished, nothing else begins, each of the others is told why. */
  cut(why: string): Promise<readonly CallOutcome[]>;
  readonly size: number;
}

interface Slot { readonly use: ToolUseBlock; readonly safe: Promise<boolean>; started: boolean; readonly done: Deferred<CallOutcome>; readonly delivered: Deferred<void> }
const MAX_PARALLEL = 10;
const UNRECORDED = 'the result of a call before it could not be recorded';

export function createScheduler(o: SchedulerOptions): Scheduler {
  const slots: Slot[] = [];
  let cwd = o.cwd;
  let running = 0;
  const waiting: (() => void)[] = [];
  const whole = deferred<void>();
  whole.promise.catch(() => {}); // whoever holds on to it hears of a cut; others need not
  let early: Promise<void> = Promise.resolve();
  let failure: { readonly error: unknown } | undefined;

  const start = (slot: Slot): Promise<CallOutcome> => {
    if (slot.started) return slot.done.promise;
    slot.started = true;
    void (async () => {
      if (running >= (o.limit ?? MAX_PARALLEL)) await new Promise<void>((r) => waiting.push(r));
      running++;
      try {
        slot.done.resolve(failure !== undefined ? o.skip(slot.use, UNRECORDED) : o.signal.aborted ? o.skip(slot.use, 'interrupted') : await o.run(slot.use, { cwd, hold: whole.promise, signal: o.signal }));
      } finally {
        running--;
        waiting.shift()?.();
      }
    })();
    return slot.done.promise;
  };
  const skip = (slot: Slot, why: string): void => {
    if (slot.started) return;
    slot.started = true;
    slot.done.resolve(o.skip(slot.use, why));
  };
  /** Only an unbroken run of harmless calls from the front may begin early: none overtakes a call that changes something. */
  const tryEarly = async (): Promise<void> => {
    for (const slot of slots) {
      if (slot.started) continue;
      if (o.signal.aborted || !(await slot.safe) || !(await o.mayStartEarly(slot.use))) return;
      if (slot.started) continue;
      void start(slot);
    }
  };

  const deliverAll = async (): Promise<readonly CallOutcome[]> => {
    const outcomes: CallOutcome[] = [];
    for (const slot of slots) {
      const outcome = await slot.done.promise;
      try { if (failure === undefined) await o.deliver(outcome); } catch (error) {
        // What can't be recorded must not go on; what runs already is waited for.
        failure = { error };
        for (const s of slots) skip(s, UNRECORDED);
      }
      slot.delivered.resolve();
      outcomes.push(outcome);
    }
    if (failure !== undefined) throw failure.error;
    return outcomes;
  };
  /** Runs of harmless calls side by side, the others one by one. */
  const runAll = async (): Promise<void> => {
    for (let i = 0; i < slots.length; ) {
      let end = i;
      while (end < slots.length && (await slots[end]!.safe)) end++;
      if (end === i) end = i + 1;
      const group = slots.slice(i, end);
      const outcomes = await Promise.all(group.map(start));
      await Promise.all(group.map((s) => s.delivered.promise)); // written before the next call has an effect
      i = end;
      const [only] = outcomes;
      if (outcomes.length === 1 && only?.contextModifier !== undefined && only.context !== undefined) cwd = o.applyContext(only.contextModifier, only.context).cwd;
      if (outcomes.some((x) => x.ends !== undefined)) for (const slot of slots.slice(i)) skip(slot, 'the turn was ended before this call');
    }
  };

  return {
    get size() { return slots.length; },
    offer(use) {
      slots.push({ use, safe: o.isSafe(use), started: false, done: deferred(), delivered: deferred() });
      if (o.earlyStart) early = early.then(tryEarly);
    },
    async finish() {
      await early;
      whole.resolve();
      const [outcomes] = await Promise.all([deliverAll(), runAll()]);
      return outcomes;
    },
    async cut(why) {
      await early;
      whole.reject(new Error(why));
      for (const slot of slots) skip(slot, why);
      return deliverAll();
    },
  };
}

interface Deferred<T> { readonly promise: Promise<T>; readonly resolve: (value: T) => void; readonly reject: (e: Error) => void }
function deferred<T>(): Deferred<T> {
  let resolve!: (value: T) => void;
  let reject!: (e: Error) => void;
  const promise = new Promise<T>((a, b) => { resolve = a; reject = b; });
  return { promise, resolve, reject };
}
