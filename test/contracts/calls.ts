/** Calls, rules and opinions for property tests, polite and hostile ones. */
import fc from 'fast-check';
import { LAYERS, parseRule, RULE_SOURCES } from 'tappet/schemas';
import type { JudgedCall, Match, Opinion, Origin, SourcedRule, Subject } from 'tappet/schemas';

/** A call as judges see it; what is not said is harmless. */
export const judgedCall = (over: Partial<JudgedCall> = {}): JudgedCall => ({
  toolUseId: 'toolu_1', turnId: 'turn_1', agentId: null, tool: 'Bash', input: {}, subjects: [], isReadOnly: false, cwd: '/work/p', roots: ['/work/p'], home: '/home/u', mode: 'default', rules: [],
  matches: () => 'no', ...over,
});
export const originOf = (layer: Origin['layer'], file = `/${layer}/agent.config.yaml`, line = 1, column = 1): Origin => ({ layer, file, line, column });

const SOURCE_OF = { 'built-in': 'userSettings', plugin: 'userSettings', user: 'userSettings', project: 'projectSettings', local: 'localSettings', flag: 'cliArg', policy: 'policySettings' } as const;
export function sourcedRule(text: string, behavior: SourcedRule['behavior'], layer: Origin['layer'] = 'user', origin: Origin = originOf(layer)): SourcedRule {
  const rule = parseRule(text);
  if (rule === null) throw new Error(`${text} is no rule`);
  return { ...rule, behavior, origin, source: SOURCE_OF[layer] };
}

const SEGMENTS = ['a', 'src', '.git', '.GIT', '.ssh', 'id_rsa', '.env', 'p', '..', '.', '', ' ', '.git ', 'git~1', '\u0000', '\ud800', '*', '**', '[', '!x', 'a\\b', '\u202e', 'ſ', 'CON', 'C:', '~', 'x'.repeat(300)];
const hostileText = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constantFrom('', '\0', '\ud800', '__proto__', 'constructor', '../..', '$(x)', '*'.repeat(50)));
const anyPath: fc.Arbitrary<string> = fc.oneof(
  fc.tuple(fc.constantFrom('/', '/work/p/', '/work/', '/home/u/', '', 'C:\\', '//'), fc.array(fc.constantFrom(...SEGMENTS), { maxLength: 5 })).map(([start, parts]) => start + parts.join('/')),
  hostileText,
);
export const anySubject: fc.Arbitrary<Subject> = fc.oneof(
  fc.record({ kind: fc.constant('path' as const), access: fc.constantFrom('read' as const, 'write' as const), path: anyPath, real: fc.option(anyPath) }),
  fc.record({ kind: fc.constant('command' as const), argv: fc.array(fc.record({ text: fc.option(hostileText) }), { maxLength: 4 }), text: hostileText }),
  fc.record({ kind: fc.constant('domain' as const), host: hostileText }),
  fc.record({ kind: fc.constantFrom('agent' as const, 'skill' as const, 'mcp' as const), name: hostileText }),
  fc.record({ kind: fc.constant('opaque' as const), why: hostileText }),
);
const anyOrigin: fc.Arbitrary<Origin> = fc.record({ layer: fc.constantFrom(...LAYERS), file: fc.oneof(anyPath, fc.constantFrom('(session)', '--allow')), line: fc.nat(), column: fc.nat() });
const anyTool: fc.Arbitrary<string> = fc.oneof(fc.constantFrom('Bash', 'Read', 'Edit', 'Write', 'Task', 'Agent', 'mcp__srv__get', 'mcp__other__get', 'constructor'), fc.string({ minLength: 1, maxLength: 12 }));
const anyContent = fc.oneof(fc.constantFrom('src/**', '/src/**', '//etc/**', '~/x', 'git push *', 'model:opus', ':', '*:*', '.env', '!x', '[', '\0'), hostileText);
export const anyRule: fc.Arbitrary<SourcedRule> = fc.record({
  toolName: fc.oneof(anyTool, fc.constantFrom('*', 'B*', 'mcp__*', 'mcp__srv', 'mcp__srv__*', '**a**')), ruleContent: fc.option(anyContent, { nil: undefined }),
  behavior: fc.constantFrom('allow' as const, 'ask' as const, 'deny' as const), source: fc.constantFrom(...RULE_SOURCES), origin: anyOrigin,
});
/** Whatever a matcher does wrong. */
const anyMatcher: fc.Arbitrary<JudgedCall['matches']> = fc.oneof(
  fc.constantFrom<Match>('yes', 'no', 'maybe').map((said) => () => said),
  fc.constant((s: Subject, spec: string): Match => (JSON.stringify(s).length % 3 === spec.length % 3 ? 'yes' : 'no')),
  fc.constant((): Match => { throw new Error('the matcher is broken'); }),
  fc.constant((() => 'perhaps') as unknown as JudgedCall['matches']),
);
export const anyCall: fc.Arbitrary<JudgedCall> = fc.record({
  toolUseId: fc.constant('toolu_1'), turnId: fc.constant('turn_1'), agentId: fc.option(fc.constant('a1')), tool: anyTool,
  input: fc.dictionary(fc.oneof(fc.constantFrom('command', 'model', '__proto__', 'timeout'), fc.string()), fc.oneof(hostileText, fc.integer(), fc.boolean(), fc.constant(null), fc.constant({})), { maxKeys: 4 }),
  subjects: fc.array(anySubject, { maxLength: 4 }), isReadOnly: fc.boolean(), cwd: fc.constantFrom('/work/p', '/', '/work/p/src'), roots: fc.array(fc.oneof(fc.constant('/work/p'), anyPath), { maxLength: 3 }),
  home: fc.constantFrom('/home/u', '/'), mode: fc.constant('default'), rules: fc.array(anyRule, { maxLength: 6 }), matches: anyMatcher,
});
export const anyOpinion: fc.Arbitrary<Opinion> = fc.tuple(
  fc.oneof(
    fc.constantFrom({ behavior: 'passthrough' as const }, { behavior: 'allow' as const }),
    fc.record({ behavior: fc.constant('deny' as const), message: hostileText }),
    fc.record({ behavior: fc.constant('defer' as const), message: fc.option(hostileText, { nil: undefined }) }),
    fc.record({ behavior: fc.constant('ask' as const), until: fc.constantFrom('rule' as const, 'mode' as const, 'person' as const), message: fc.option(hostileText, { nil: undefined }) }),
  ),
  anyOrigin,
).map(([said, origin]) => ({ ...said, origin, reason: { kind: 'other', why: 'made up' } }));

/** Whoever changes it throws. */
export function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const v of Object.values(value)) frozen(v);
  }
  return value;
}
