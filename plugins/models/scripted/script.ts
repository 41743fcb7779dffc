/** What a script may say: its steps, checked key by key, each mistake with its place. */
import { FAULT_KINDS, nearest, TOOL_NAME } from 'tappet/kernel';
import type { FaultKind, ModelFault, Usage } from 'tappet/kernel';
import { scriptError } from './codes.ts';
import { plain } from './spot.ts';
import type { Entry, Spot } from './spot.ts';

/** A text that is contained, or a /pattern/ that is found. */
export interface Matcher { readonly shown: string; readonly test: (text: string) => boolean }
export interface ResultMatcher { readonly text: Matcher | null; readonly error: boolean | null }
export interface Expect {
  readonly lastUser: readonly Matcher[];
  readonly system: readonly Matcher[];
  readonly tools: readonly string[];
  readonly noTools: readonly string[];
  /** `all`: one for each result of the last batch, in order; else at least one result fits. */
  readonly results: { readonly all: boolean; readonly list: readonly ResultMatcher[] } | null;
}
export interface ScriptedCall { readonly id: string; readonly name: string; readonly input: Readonly<Record<string, unknown>>; /** Sent in place of JSON. */ readonly raw?: string | undefined }
export type FaultSpec = { readonly kind: FaultKind } & Partial<Pick<ModelFault, 'message' | 'status' | 'retryAfterMs' | 'resetAt' | 'tokens' | 'transient'>>;
export interface Step {
  readonly at: string;
  readonly expect: Expect | null;
  readonly think: string | null;
  readonly say: readonly string[];
  readonly calls: readonly ScriptedCall[];
  readonly stop: string;
  readonly usage: Partial<Usage>;
  readonly fault: FaultSpec | null;
  readonly cut: boolean;
  readonly delayUntil: 'abort' | { readonly file: string } | null;
}
export interface Script { readonly at: string; readonly steps: readonly Step[] }

const STEP_KEYS = ['expect', 'think', 'say', 'call', 'badJson', 'stop', 'usage', 'fault', 'cut', 'delayUntil'] as const;
const EXPECT_KEYS = ['lastUser', 'system', 'tools', 'noTools', 'results'] as const;
const RESULT_KEYS = ['text', 'error'] as const;
const FAULT_KEYS = ['kind', 'message', 'status', 'retryAfterMs', 'resetAt', 'tokens', 'transient'] as const;
const USAGE_KEYS = ['input_tokens', 'output_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'] as const;
const STOPS = ['end_turn', 'tool_use', 'max_tokens', 'stop_sequence', 'refusal', 'pause_turn', 'model_context_window_exceeded'] as const;

/** @throws E_SCRIPT_KEY, E_SCRIPT_VALUE */
export function readScript(root: Spot): Script {
  const { steps } = fields(root, 'the script', ['steps']);
  if (steps === undefined) throw wrong(root, 'steps', 'is missing', 'begin with `steps:` and a list of what the model says and calls');
  if (list(steps, 'steps').length === 0) throw wrong(steps, 'steps', 'has no step', 'write at least one, for example `- say: Done.`');
  let calls = 0;
  return { at: root.at, steps: list(steps, 'steps').map((spot) => {
    const step = readStep(spot, calls);
    calls += step.calls.length;
    return step;
  }) };
}

function readStep(spot: Spot, callsBefore: number): Step {
  const f = fields(spot, 'a step', STEP_KEYS);
  if (Object.keys(f).every((key) => key === 'expect' || key === 'usage')) throw wrong(spot, 'step', 'does nothing', 'let it `say`, `call` or `fault`; `stop: end_turn` alone is an empty answer');
  const calls = f.call === undefined ? [] : readCalls(f.call, callsBefore);
  const step: Step = {
    at: spot.at,
    expect: f.expect === undefined ? null : readExpect(f.expect),
    think: f.think === undefined ? null : text(f.think, 'think'),
    say: f.say === undefined ? [] : f.say.kind === 'list' ? f.say.items.map((item) => text(item, 'say')) : [text(f.say, 'say')],
    calls: f.badJson === undefined ? calls : withBadJson(calls, f.badJson),
    stop: f.stop === undefined ? (calls.length > 0 ? 'tool_use' : 'end_turn') : word(f.stop, 'stop', STOPS),
    usage: f.usage === undefined ? {} : readUsage(f.usage),
    fault: f.fault === undefined ? null : readFault(f.fault),
    cut: f.cut !== undefined && bool(f.cut, 'cut'),
    delayUntil: f.delayUntil === undefined ? null : readDelay(f.delayUntil),
  };
  if (step.cut && step.fault !== null) throw wrong(f.cut!, 'cut', 'stands beside `fault`', 'keep one of them: a cut is the fault broken_stream in the middle of a block');
  return step;
}

function readCalls(spot: Spot, before: number): ScriptedCall[] {
  const pairs: readonly Entry[] = spot.kind === 'list' ? spot.items.flatMap((item) => map(item, 'call')) : map(spot, 'call');
  if (pairs.length === 0) throw wrong(spot, 'call', 'names no tool', 'write a tool and its input: call: { Read: { file_path: README.md } }');
  return pairs.map(({ key, keyAt, value }, i) => {
    if (!TOOL_NAME.test(key)) throw scriptError('E_SCRIPT_VALUE', { key: 'call', message: `"${key}" is no name of a tool`, where: keyAt });
    if (value.kind !== 'map' && !(value.kind === 'scalar' && value.value === null)) throw wrong(value, `call.${key}`, `must be a map of the tool's input, and is ${kindOf(value)}`);
    return { id: `toolu_script_${before + i + 1}`, name: key, input: value.kind === 'map' ? (plain(value) as Record<string, unknown>) : {} };
  });
}

function withBadJson(calls: readonly ScriptedCall[], spot: Spot): ScriptedCall[] {
  const raw = text(spot, 'badJson');
  const last = calls.at(-1);
  if (last === undefined) throw wrong(spot, 'badJson', 'has no call that it could stand in', 'name the tool: call: { Read: {} }');
  const parses = ((): boolean => { try { JSON.parse(raw); return true; } catch { return false; } })();
  if (parses) throw wrong(spot, 'badJson', 'is JSON', 'write a text that does not parse, or put the input into `call`');
  return [...calls.slice(0, -1), { ...last, input: {}, raw }];
}

function readExpect(spot: Spot): Expect {
  const f = fields(spot, 'expect', EXPECT_KEYS);
  const names = (key: 'tools' | 'noTools') => (f[key] === undefined ? [] : list(f[key], `expect.${key}`).map((item) => text(item, `expect.${key}`)));
  const matchers = (key: 'lastUser' | 'system') => (f[key] === undefined ? [] : (f[key].kind === 'list' ? f[key].items : [f[key]]).map((item) => matcher(item, `expect.${key}`)));
  const results = f.results === undefined ? null : { all: f.results.kind === 'list', list: (f.results.kind === 'list' ? f.results.items : [f.results]).map(readResult) };
  return { lastUser: matchers('lastUser'), system: matchers('system'), tools: names('tools'), noTools: names('noTools'), results };
}
function readResult(spot: Spot): ResultMatcher {
  if (spot.kind !== 'map') return { text: matcher(spot, 'expect.results'), error: null };
  const f = fields(spot, 'a result', RESULT_KEYS);
  return { text: f.text === undefined ? null : matcher(f.text, 'expect.results.text'), error: f.error === undefined ? null : bool(f.error, 'expect.results.error') };
}
function matcher(spot: Spot, key: string): Matcher {
  const shown = text(spot, key);
  const pattern = /^\/(.+)\/([imsu]*)$/s.exec(shown);
  if (pattern === null) return { shown: JSON.stringify(shown), test: (s) => s.includes(shown) };
  try {
    const made = new RegExp(pattern[1]!, pattern[2]);
    return { shown, test: (s) => made.test(s) };
  } catch (e) {
    throw wrong(spot, key, `${shown} is no regular expression: ${(e as Error).message}`);
  }
}

function readFault(spot: Spot): FaultSpec {
  if (spot.kind === 'scalar') return { kind: word(spot, 'fault', FAULT_KINDS) };
  const f = fields(spot, 'fault', FAULT_KEYS);
  if (f.kind === undefined) throw wrong(spot, 'fault.kind', 'is missing', `choose one of: ${FAULT_KINDS.join(', ')}`);
  const tokens = f.tokens === undefined ? null : fields(f.tokens, 'fault.tokens', ['sent', 'limit']);
  return {
    kind: word(f.kind, 'fault.kind', FAULT_KINDS),
    ...(f.message === undefined ? {} : { message: text(f.message, 'fault.message') }),
    ...(f.status === undefined ? {} : { status: count(f.status, 'fault.status') }),
    ...(f.retryAfterMs === undefined ? {} : { retryAfterMs: count(f.retryAfterMs, 'fault.retryAfterMs') }),
    ...(f.resetAt === undefined ? {} : { resetAt: text(f.resetAt, 'fault.resetAt') }),
    ...(tokens === null ? {} : { tokens: Object.fromEntries(Object.entries(tokens).map(([key, s]) => [key, count(s, `fault.tokens.${key}`)])) }),
    ...(f.transient === undefined ? {} : { transient: bool(f.transient, 'fault.transient') }),
  };
}
function readUsage(spot: Spot): Partial<Usage> {
  return Object.fromEntries(Object.entries(fields(spot, 'usage', USAGE_KEYS)).map(([key, s]) => [key, count(s, `usage.${key}`)]));
}
function readDelay(spot: Spot): 'abort' | { readonly file: string } {
  if (spot.kind === 'scalar') return word(spot, 'delayUntil', ['abort'] as const);
  const { file } = fields(spot, 'delayUntil', ['file']);
  if (file === undefined) throw wrong(spot, 'delayUntil', 'names nothing to wait for', 'write `abort`, or { file: path }');
  return { file: text(file, 'delayUntil.file') };
}

// ---- values ----------------------------------------------------------------------------------------------------------------

const wrong = (spot: Spot, key: string, message: string, todo?: string) => scriptError('E_SCRIPT_VALUE', { key, message, where: spot.at, ...(todo === undefined ? {} : { do: todo }) });
const kindOf = (spot: Spot): string => (spot.kind === 'scalar' ? (spot.value === null ? 'empty' : `the ${typeof spot.value} ${spot.source}`) : `a ${spot.kind}`);

function map(spot: Spot, key: string): readonly Entry[] {
  if (spot.kind !== 'map') throw wrong(spot, key, `must be a map, and is ${kindOf(spot)}`);
  return spot.entries;
}
function list(spot: Spot, key: string): readonly Spot[] {
  if (spot.kind !== 'list') throw wrong(spot, key, `must be a list, and is ${kindOf(spot)}`);
  return spot.items;
}
function fields<const K extends string>(spot: Spot, what: string, known: readonly K[]): { readonly [P in K]?: Spot } {
  const found: { [P in K]?: Spot } = {};
  for (const { key, keyAt, value } of map(spot, what)) {
    if (!(known as readonly string[]).includes(key)) {
      const near = nearest(key, known);
      throw scriptError('E_SCRIPT_KEY', { key, where: keyAt, cause: `known in ${what}: ${known.join(', ')}`, ...(near === null ? {} : { do: `did you mean "${near}"?` }) });
    }
    found[key as K] = value;
  }
  return found;
}
function text(spot: Spot, key: string): string {
  if (spot.kind !== 'scalar' || spot.value === null) throw wrong(spot, key, `must be a text, and is ${kindOf(spot)}`);
  return spot.source;
}
function bool(spot: Spot, key: string): boolean {
  if (spot.kind !== 'scalar' || typeof spot.value !== 'boolean') throw wrong(spot, key, `must be true or false, and is ${kindOf(spot)}`);
  return spot.value;
}
function count(spot: Spot, key: string): number {
  if (spot.kind !== 'scalar' || typeof spot.value !== 'number' || !Number.isInteger(spot.value) || spot.value < 0) throw wrong(spot, key, `must be a whole number, and is ${kindOf(spot)}`);
  return spot.value;
}
function word<const W extends string>(spot: Spot, key: string, known: readonly W[]): W {
  const said = text(spot, key);
  if ((known as readonly string[]).includes(said)) return said as W;
  const near = nearest(said, known);
  throw wrong(spot, key, `"${said}" is not known`, near === null ? `choose one of: ${known.join(', ')}` : `did you mean "${near}"?`);
}
