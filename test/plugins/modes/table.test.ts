/** Modes × calls: what becomes of a call when all guards and then the mode have spoken. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JudgedCall, Opinion, SourcedRule } from 'tappet/schemas';
import protectedPaths from '../../../plugins/guards/protected-paths.ts';
import rules from '../../../plugins/guards/rules.ts';
import workspace from '../../../plugins/guards/workspace.ts';
import acceptEdits from '../../../plugins/modes/accept-edits.ts';
import bypass from '../../../plugins/modes/bypass-permissions.ts';
import byDefault from '../../../plugins/modes/default.ts';
import dontAsk from '../../../plugins/modes/dont-ask.ts';
import plan from '../../../plugins/modes/plan.ts';
import { judgedCall, originOf, sourcedRule } from '../../contracts/calls.ts';
import { collect } from '../../contracts/collect.ts';
import { sayings, strictness } from '../../contracts/guard.ts';
import { mayNotBeLifted, modeContext } from '../../contracts/mode.ts';
import { COMMAND, FETCH, OPAQUE, READ, WRITE } from './judging.ts';

const MODES = { default: byDefault, acceptEdits, plan, dontAsk, bypassPermissions: bypass };
type Outcome = 'allow' | 'ask' | 'deny';

const write = (path: string, real: string | null = path): Partial<JudgedCall> => ({ tool: 'Write', subjects: [{ kind: 'path', access: 'write', path, real }] });
const read = (path: string): Partial<JudgedCall> => ({ tool: 'Read', isReadOnly: true, subjects: [{ kind: 'path', access: 'read', path, real: path }] });
const under = (call: Partial<JudgedCall>, ...given: SourcedRule[]): Partial<JudgedCall> => ({ ...call, rules: given, matches: () => 'yes' });

const TABLE: readonly (readonly [what: string, call: Partial<JudgedCall>, ...outcomes: readonly Outcome[]])[] = [
  //                                                                                              default   acceptEdits plan    dontAsk   bypass
  ['a read inside', READ,                                                                          'allow',  'allow',  'allow', 'allow', 'allow'],
  ['a command that merely reads', { ...COMMAND, isReadOnly: true },                                'allow',  'allow',  'allow', 'allow', 'allow'],
  ['a command without a rule', COMMAND,                                                            'ask',    'ask',    'deny',  'deny',  'allow'],
  ['a command with an allow', under(COMMAND, sourcedRule('Bash(make)', 'allow')),                  'allow',  'allow',  'deny',  'allow', 'allow'],
  ['a page without a rule', FETCH,                                                                 'ask',    'ask',    'ask',   'deny',  'allow'],
  ['a page with an allow', under(FETCH, sourcedRule('WebFetch(domain:example.com)', 'allow')),     'allow',  'allow',  'allow', 'allow', 'allow'],
  ['an edit inside', WRITE,                                                                        'ask',    'allow',  'deny',  'deny',  'allow'],
  ['an edit inside with an allow', under(WRITE, sourcedRule('Edit(a)', 'allow')),                  'allow',  'allow',  'deny',  'allow', 'allow'],
  ['an edit that a rule asks about', under(WRITE, sourcedRule('Edit(a)', 'ask')),                  'ask',    'ask',    'deny',  'deny',  'ask'],
  ['the same, asked by policy', under(WRITE, sourcedRule('Edit(a)', 'ask', 'policy')),             'ask',    'ask',    'deny',  'deny',  'ask'],
  ['an edit asked about and allowed', under(WRITE, sourcedRule('Edit(a)', 'ask'), sourcedRule('Edit', 'allow', 'policy')), 'ask', 'ask', 'deny', 'deny', 'ask'],
  ['an edit that a rule denies', under(WRITE, sourcedRule('Edit(a)', 'deny')),                     'deny',   'deny',   'deny',  'deny',  'deny'],
  ['an edit denied and allowed', under(WRITE, sourcedRule('Edit(a)', 'deny', 'project'), sourcedRule('Write', 'allow', 'policy')), 'deny', 'deny', 'deny', 'deny', 'deny'],
  ['a read outside', read('/etc/hosts'),                                                           'ask',    'ask',    'ask',   'deny',  'allow'],
  ['a read outside with an allow', under(read('/etc/hosts'), sourcedRule('Read(//etc/**)', 'allow')), 'allow', 'allow', 'allow', 'allow', 'allow'],
  ['an edit outside', write('/etc/hosts'),                                                         'ask',    'ask',    'deny',  'deny',  'allow'],
  ['an edit through a link outside', write('/work/p/l', '/etc/hosts'),                             'ask',    'ask',    'deny',  'deny',  'allow'],
  ['a protected path', write('/work/p/.git/config'),                                               'ask',    'ask',    'deny',  'deny',  'allow'],
  ['a protected path with an allow', under(write('/work/p/.git/config'), sourcedRule('Edit(.git/**)', 'allow')), 'ask', 'ask', 'deny', 'deny', 'allow'],
  ['a key', read('/home/u/.ssh/id_rsa'),                                                           'ask',    'ask',    'ask',   'deny',  'allow'],
  ['an opaque command', OPAQUE,                                                                    'ask',    'ask',    'deny',  'deny',  'allow'],
  ['an opaque command, all of the tool allowed', under(OPAQUE, sourcedRule('Bash', 'allow')),      'ask',    'ask',    'deny',  'deny',  'allow'],
  ['an opaque command where the shell has a deny', { ...OPAQUE, rules: [sourcedRule('Bash(git push *)', 'deny')] }, 'ask', 'ask', 'deny', 'deny', 'ask'],
  ['an opaque command where policy asks of the shell', { ...OPAQUE, rules: [sourcedRule('Bash(curl *)', 'ask', 'policy')] }, 'ask', 'ask', 'deny', 'deny', 'ask'],
  ['an opaque command where policy denies a path', { ...OPAQUE, rules: [sourcedRule('Read(~/.ssh/**)', 'deny', 'policy')] }, 'ask', 'ask', 'deny', 'deny', 'ask'],
];

for (const [i, [name, plugin]] of Object.entries(MODES).entries()) {
  for (const [what, call, ...outcomes] of TABLE) test(`${name}: ${what}: ${outcomes[i]}`, async () => assert.equal(await outcome(plugin, call), outcomes[i]));
}

async function outcome(plugin: (typeof MODES)[keyof typeof MODES], over: Partial<JudgedCall>): Promise<Outcome> {
  const call = judgedCall(over);
  const folders = { root: '/work/p', config: '/home/u/.config/tappet', state: '/home/u/.local/state/tappet', cache: '/home/u/.cache/tappet', home: '/home/u' };
  const guards = (await Promise.all([workspace, protectedPaths, rules].map((p) => collect(p, { folders })))).flatMap((b) => b.guards);
  const opinions = guards.flatMap((g) => sayings(g, call)).map((s): Opinion => ({ ...s, origin: s.origin ?? originOf('built-in'), reason: s.reason ?? { kind: 'other', why: 'test' } }));
  const soFar = opinions.reduce<Opinion>((a, b) => (strictness(b) > strictness(a) ? b : a), { behavior: 'passthrough', origin: originOf('built-in'), reason: { kind: 'other', why: 'nobody spoke' } });
  const said = await (await collect(plugin)).permissionModes[0]!.judge(call, soFar, modeContext());
  const lifted = said.behavior === 'allow' && !mayNotBeLifted(soFar);
  const { behavior } = lifted ? said : strictness(said) > strictness(soFar) ? said : soFar;
  return behavior === 'allow' || behavior === 'deny' ? behavior : 'ask';
}
