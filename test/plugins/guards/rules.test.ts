import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Guard, JudgedCall, Match, MatchPlace, Said, SourcedRule, Subject } from 'tappet/schemas';
import rulesPlugin from '../../../plugins/guards/rules.ts';
import { anyCall, anyRule, judgedCall, originOf, sourcedRule } from '../../contracts/calls.ts';
import { collect } from '../../contracts/collect.ts';
import { guardContract, sayings, strictness } from '../../contracts/guard.ts';

guardContract(rulesPlugin);

const guard = async (): Promise<Guard> => (await collect(rulesPlugin)).guards[0]!;
const judge = async (over: Partial<JudgedCall>): Promise<readonly Said[]> => sayings(await guard(), judgedCall(over));
const strictestOf = (said: readonly Said[]): number => Math.max(0, ...said.map(strictness));
const [DENY, PERSON, ALLOW, NOTHING] = [6, 4, 2, 0];

const command = (text: string): Subject => ({ kind: 'command', argv: text.split(' ').map((word) => ({ text: word === '$X' ? null : word })), text });
const path = (p: string, access: 'read' | 'write', real: string | null = p): Subject => ({ kind: 'path', access, path: p, real });
const opaque: Subject = { kind: 'opaque', why: 'eval' };
/** `git push *` by its first words; a word that is not known yet may be anything. */
const byPrefix = (subject: Subject, spec: string): Match => {
  if (subject.kind !== 'command') return 'no';
  const said = spec.split(' ').filter((w) => w !== '*').map((w, i) => { const word = subject.argv[i]; return word === undefined ? 'no' : word.text === null ? 'maybe' : word.text === w ? 'yes' : 'no'; });
  return said.includes('no') ? 'no' : said.includes('maybe') ? 'maybe' : 'yes';
};
const bash = (text: string, ...rules: SourcedRule[]) => judge({ tool: 'Bash', input: { command: text }, subjects: text.split(' && ').map(command), matches: byPrefix, rules });
const file = (tool: string, subjects: readonly Subject[], ...rules: SourcedRule[]) => judge({ tool, subjects, rules, matches: () => assert.fail('path rules are the kit’s to match') });

test('says nothing without rules', async () => assert.deepEqual(await bash('git push'), []));

test('a deny names the rule and the place that says it', async () => {
  const rule = sourcedRule('Bash(git push *)', 'deny', 'policy', originOf('policy', 'policy.yaml', 4, 7));
  assert.deepEqual(await bash('git push origin', rule), [{
    behavior: 'deny', message: 'Bash(git push *) is denied by policy.yaml:4:7 (policy)', reason: { kind: 'rule', rule: 'Bash(git push *)', source: 'policySettings' }, origin: rule.origin,
  }]);
});
test('a deny that perhaps matches asks a person, and says that it is not known', async () => {
  const [said] = await bash('git $X', sourcedRule('Bash(git push)', 'deny'));
  assert.ok(said?.behavior === 'ask' && said.until === 'person');
  assert.match(said.message ?? '', /Bash\(git push\) is denied by .*not known before it runs/);
});
test('an ask rule asks a person, whether it surely or perhaps matches', async () => {
  for (const text of ['git push', 'git $X']) {
    const [said] = await bash(text, sourcedRule('Bash(git push)', 'ask', 'project'));
    assert.ok(said?.behavior === 'ask' && said.until === 'person');
    assert.equal(said.origin?.layer, 'project');
  }
});
test('an allow needs a sure match', async () => {
  assert.equal(strictestOf(await bash('git push', sourcedRule('Bash(git push)', 'allow'))), ALLOW);
  assert.deepEqual(await bash('git $X', sourcedRule('Bash(git push)', 'allow')), []);
});
test('a rule for the whole tool needs no matcher', async () => {
  for (const text of ['Bash', 'Bash(*)']) {
    assert.equal(strictestOf(await bash('rm x', sourcedRule(text, 'deny'))), DENY);
    assert.equal(strictestOf(await bash('rm x', sourcedRule(text, 'ask'))), PERSON);
    assert.equal(strictestOf(await bash('rm x', sourcedRule(text, 'allow'))), ALLOW);
  }
});
test('names are exact, and case counts', async () => {
  assert.deepEqual(await bash('rm x', sourcedRule('bash', 'deny'), sourcedRule('Bas', 'deny'), sourcedRule('BashOutput', 'deny')), []);
});

test('every part of a call must be allowed, by whichever rules', async () => {
  const git = sourcedRule('Bash(git *)', 'allow', 'user');
  const npm = sourcedRule('Bash(npm test)', 'allow', 'project');
  assert.deepEqual(await bash('git status && npm test', git), []);
  assert.deepEqual(await bash('git status && npm test', git, npm), [{ behavior: 'allow', origin: git.origin, reason: { kind: 'rule', rule: 'Bash(git *) + Bash(npm test)', source: 'userSettings' } }]);
});
test('where several layers allow together, the words have the rank of the lowest', async () => {
  const said = await bash('git status && npm test', sourcedRule('Bash(git *)', 'allow', 'policy'), sourcedRule('Bash(npm test)', 'allow', 'project'));
  assert.deepEqual(said.map((s) => s.origin?.layer), ['project']);
});
test('one denied part denies the call', async () => {
  assert.equal(strictestOf(await bash('git status && rm x', sourcedRule('Bash', 'allow'), sourcedRule('Bash(rm *)', 'deny'))), DENY);
});
test('the target of a redirect is not allowed by the command', async () => {
  const call = (...rules: SourcedRule[]) => judge({ subjects: [command('echo x'), path('/work/p/out', 'write')], matches: byPrefix, rules });
  const echo = sourcedRule('Bash(echo *)', 'allow');
  assert.deepEqual(await call(echo), []);
  assert.equal(strictestOf(await call(echo, sourcedRule('Edit(out)', 'allow'))), ALLOW);
  assert.equal(strictestOf(await call(echo, sourcedRule('Edit(out)', 'deny'))), DENY);
});
test('what was not understood is allowed by no rule, not even by one for the whole tool', async () => {
  assert.deepEqual(await judge({ subjects: [command('x'), opaque], rules: [sourcedRule('Bash', 'allow')], matches: () => 'yes' }), []);
});
test('a call about nothing is allowed by a rule for its tool alone', async () => {
  assert.equal(strictestOf(await judge({ tool: 'TodoWrite', rules: [sourcedRule('TodoWrite', 'allow')] })), ALLOW);
  assert.deepEqual(await judge({ tool: 'TodoWrite', rules: [sourcedRule('TodoWrite(x)', 'allow'), sourcedRule('Bash', 'allow')] }), []);
});

test('an Edit rule is about every write, whatever tool does it', async () => {
  const rule = sourcedRule('Edit(src/**)', 'deny');
  for (const tool of ['Edit', 'Write', 'NotebookEdit', 'Bash', 'acme']) assert.equal(strictestOf(await file(tool, [path('/work/p/src/a', 'write')], rule)), DENY);
  assert.deepEqual(await file('Read', [path('/work/p/src/a', 'read')], rule), []);
  assert.deepEqual(await file('Write', [path('/work/p/lib/a', 'write')], rule), []);
});
test('a Read rule is about every read; a Read deny about writes too, a Read ask and allow not', async () => {
  const read = [path('/work/p/.env', 'read')];
  const write = [path('/work/p/.env', 'write')];
  for (const tool of ['Read', 'Grep', 'Bash']) assert.equal(strictestOf(await file(tool, read, sourcedRule('Read(.env)', 'deny'))), DENY);
  assert.equal(strictestOf(await file('Write', write, sourcedRule('Read(.env)', 'deny'))), DENY);
  assert.equal(strictestOf(await file('Read', read, sourcedRule('Read(.env)', 'ask'))), PERSON);
  assert.equal(strictestOf(await file('Write', write, sourcedRule('Read(.env)', 'ask'))), NOTHING);
  assert.equal(strictestOf(await file('Read', read, sourcedRule('Read(.env)', 'allow'))), ALLOW);
  assert.equal(strictestOf(await file('Write', write, sourcedRule('Read(.env)', 'allow'))), NOTHING);
});
test('an Edit allow grants reading the same path', async () => {
  assert.equal(strictestOf(await file('Read', [path('/work/p/src/a', 'read')], sourcedRule('Edit(src/**)', 'allow'))), ALLOW);
  assert.equal(strictestOf(await file('Edit', [path('/work/p/src/a', 'read'), path('/work/p/src/a', 'write')], sourcedRule('Edit(src/**)', 'allow'))), ALLOW);
});
test('a refusal of all Edit or Read meets other tools that write or read; an allow does not', async () => {
  const write = [path('/work/p/a', 'write')];
  assert.equal(strictestOf(await file('Write', write, sourcedRule('Edit', 'deny'))), DENY);
  assert.equal(strictestOf(await file('Bash', write, sourcedRule('Read', 'deny'))), DENY);
  assert.equal(strictestOf(await file('Bash', [path('/work/p/a', 'read')], sourcedRule('Edit', 'deny'))), NOTHING);
  assert.equal(strictestOf(await file('Write', write, sourcedRule('Edit', 'allow'))), NOTHING);
  assert.equal(strictestOf(await file('Edit', write, sourcedRule('Edit', 'allow'))), ALLOW);
});
test('a link is refused by either of its names and allowed by both only', async () => {
  const link = [path('/work/p/link', 'write', '/work/p/secret/a')];
  assert.equal(strictestOf(await file('Write', link, sourcedRule('Edit(secret/**)', 'deny'))), DENY);
  assert.equal(strictestOf(await file('Write', link, sourcedRule('Edit(link)', 'deny'))), DENY);
  assert.equal(strictestOf(await file('Write', link, sourcedRule('Edit(link)', 'allow'))), NOTHING);
  assert.equal(strictestOf(await file('Write', link, sourcedRule('Edit(**)', 'allow'))), ALLOW);
});
test('a leading slash counts from the folder of the file that holds the rule, without a file from the working folder', async () => {
  const places: MatchPlace[] = [];
  const rules = [originOf('project', '/work/p/agent.config.yaml'), originOf('user', '/home/u/.config/tappet/config.yaml'), originOf('flag', '--deny')].map((o) => sourcedRule('Bash(x)', 'deny', o.layer, o));
  await judge({ cwd: '/work/p/sub', subjects: [command('x')], rules, matches: (_s, _spec, place) => { places.push(place); return 'no'; } });
  assert.deepEqual(places.map((p) => p.base).sort(), ['/home/u/.config/tappet', '/work/p', '/work/p/sub']);
  assert.deepEqual(places[0], { cwd: '/work/p/sub', home: '/home/u', base: places[0]!.base, behavior: 'deny' });
  const slash = sourcedRule('Edit(/x)', 'deny', 'user', originOf('user', '/home/u/.config/tappet/config.yaml'));
  assert.equal(strictestOf(await file('Write', [path('/home/u/.config/tappet/x', 'write')], slash)), DENY);
  assert.equal(strictestOf(await file('Write', [path('/x', 'write')], slash)), NOTHING);
});

test('old names mean the tools of today', async () => {
  for (const [old, now] of [['Task', 'Agent'], ['KillShell', 'TaskStop'], ['KillBash', 'TaskStop']] as const) assert.equal(strictestOf(await judge({ tool: now, rules: [sourcedRule(old, 'deny')] })), DENY);
});
test('globs and servers mean many tools in refusals', async () => {
  for (const name of ['*', 'mcp__*', 'mcp__srv', 'mcp__srv__*', 'mcp__*__get', 'mcp__s*']) assert.equal(strictestOf(await judge({ tool: 'mcp__srv__get', rules: [sourcedRule(name, 'deny')] })), DENY, name);
  for (const name of ['mcp__sr', 'mcp__srv__ge', 'mcp__other', 'get', 'mcp__srv__get_*']) assert.equal(strictestOf(await judge({ tool: 'mcp__srv__get', rules: [sourcedRule(name, 'deny')] })), NOTHING, name);
});
test('an allow with a glob counts only behind a server that is written out', async () => {
  const allow = (name: string) => judge({ tool: 'mcp__srv__get_x', rules: [sourcedRule(name, 'allow')] }).then(strictestOf);
  for (const name of ['mcp__srv', 'mcp__srv__*', 'mcp__srv__get_*', 'mcp__srv__get_x']) assert.equal(await allow(name), ALLOW, name);
  for (const name of ['*', 'mcp__*', 'mcp__s*', 'mcp__*__get_x', 'mcp__s*__get_x']) assert.equal(await allow(name), NOTHING, name);
});
test('a parameter rule compares a field as the model wrote it, in refusals only', async () => {
  const call = (rule: SourcedRule) => judge({ tool: 'Agent', input: { model: 'opus-4', quick: true, n: 3, deep: {} }, subjects: [{ kind: 'agent', name: 'x' }], rules: [rule] }).then(strictestOf);
  for (const text of ['Agent(model:opus-4)', 'Agent(model: opus*)', 'Agent(quick:true)', 'Agent(n:3)', 'Task(model:*)']) assert.equal(await call(sourcedRule(text, 'deny')), DENY, text);
  for (const text of ['Agent(model:opus)', 'Agent(effort:*)', 'Agent(deep:*)', 'Agent(constructor:*)', 'Agent(quick:false)']) assert.equal(await call(sourcedRule(text, 'deny')), NOTHING, text);
  assert.equal(await call(sourcedRule('Agent(model:opus-4)', 'allow')), NOTHING);
});
test('a parameter rule may not name the field that a tool’s own content is about', async () => {
  assert.deepEqual(await bash('git push', sourcedRule('Bash(command:git push)', 'deny')), []);
});
test('a matcher that fails or talks nonsense has neither allowed nor let pass', async () => {
  for (const matches of [() => { throw new Error('broken'); }, () => undefined as unknown as Match]) {
    assert.equal(strictestOf(await judge({ subjects: [command('x')], matches, rules: [sourcedRule('Bash(y)', 'deny')] })), PERSON);
    assert.equal(strictestOf(await judge({ subjects: [command('x')], matches, rules: [sourcedRule('Bash(y)', 'allow')] })), NOTHING);
  }
});
test('of several refusals the one of the highest layer comes first', async () => {
  const said = await bash('rm x', sourcedRule('Bash(rm *)', 'deny', 'project'), sourcedRule('Bash', 'deny', 'policy'), sourcedRule('Bash(rm x)', 'deny', 'user'));
  assert.deepEqual(said.map((s) => s.origin?.layer), ['policy', 'project', 'user']);
});

test('a deny or ask rule more never makes the result milder', async () => {
  const { judge: say } = await guard();
  const of = (call: JudgedCall): number => strictestOf(sayings({ name: 'rules', judge: say }, call));
  fc.assert(fc.property(anyCall, anyRule, fc.nat(), (call, more, at) => {
    fc.pre(more.behavior !== 'allow');
    const rules = call.rules.toSpliced(at % (call.rules.length + 1), 0, more);
    assert.ok(of({ ...call, rules }) >= of(call));
  }));
});
test('an allow rule more never changes what was denied or asked', async () => {
  const { judge: say } = await guard();
  const refusals = (call: JudgedCall) => sayings({ name: 'rules', judge: say }, call).filter((s) => s.behavior !== 'allow');
  fc.assert(fc.property(anyCall, anyRule, (call, more) => assert.deepEqual(refusals({ ...call, rules: [...call.rules, { ...more, behavior: 'allow' }] }), refusals(call))));
});
test('a subject more never turns what was not allowed into allowed', async () => {
  const { judge: say } = await guard();
  const allows = (call: JudgedCall) => sayings({ name: 'rules', judge: say }, call).some((s) => s.behavior === 'allow');
  fc.assert(fc.property(anyCall, anyCall, (call, other) => {
    fc.pre(call.subjects.length > 0);
    if (!allows(call)) assert.ok(!allows({ ...call, subjects: [...call.subjects, ...other.subjects] }));
  }));
});
test('the order of the rules changes nothing of what is said but its order', async () => {
  const { judge: say } = await guard();
  const words = (call: JudgedCall): string[] => sayings({ name: 'rules', judge: say }, call).map((s) => (s.behavior === 'allow' ? 'allow' : JSON.stringify(s))).sort();
  fc.assert(fc.property(anyCall.chain((call) => fc.tuple(fc.constant(call), fc.shuffledSubarray([...call.rules], { minLength: call.rules.length }))), ([call, rules]) => assert.deepEqual(words({ ...call, rules }), words(call))));
});
