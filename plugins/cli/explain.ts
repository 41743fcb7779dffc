/** `tappet explain`: where a value comes from and what it beat, what would be said of a call, what became of a plugin. */
import * as nodeFs from 'node:fs/promises';
import { definePlugin, messageOf, nearest, TappetError } from 'tappet/kernel';
import { chainAt, chainRows, columns, configKeys, isConfigKey, jsonText, keysAt, PLUGIN_COLUMNS, pluginRow, pluginText, shownPlace, valueAt, valueText } from 'tappet/kit';
import type { Reader } from 'tappet/kit';
import { LAYERS, parseRule, ruleText } from 'tappet/schemas';
import type { ChainLink, ConfigView, KernelView, Opinion, Origin, RuleBehavior, SubcommandContext, Tool } from 'tappet/schemas';

export default definePlugin({
  name: 'cli/explain',
  api: 1,
  apply: ({ registries, folders }) => registries.subcommands.add({
    name: 'explain', summary: 'say where a value comes from, what would become of a call, or why a plugin runs', needs: 'kernel', verbs: [], usage: 'SUBJECT',
    options: [
      { flags: '--mode <mode>', description: 'for a call: judged in this permission mode' },
      { flags: '--input <json>', description: 'for a call: its input, where the words in brackets do not say it' },
    ],
    async run(c) {
      const subject = c.args[0]!;
      const kernel = c.kernel!;
      const reader = { cwd: c.cwd, home: folders.home, width: c.io.isTTY ? c.io.columns : undefined };
      const print = (value: unknown, text: () => string): number => { c.io.out(`${c.json ? jsonText(value) : text()}\n`); return 0; };

      if (subject === 'plugins') return print(kernel.plugins, () => columns([PLUGIN_COLUMNS, ...kernel.plugins.map(pluginRow)], reader));
      const list = /^permissions(?:\.(allow|ask|deny))?$/.exec(subject);
      if (list !== null) { const said = rulesOf(kernel.config, list[1] as RuleBehavior | undefined); return print({ key: subject, rules: said }, () => rulesText(said, reader)); }
      const plugin = kernel.plugins.find((p) => p.name === subject);
      if (plugin !== undefined) { const chain = kernel.config.chain(`plugins.${subject}`); return print({ ...plugin, chain }, () => pluginText(plugin, chain, reader)); }
      const rule = parseRule(subject);
      const tool = rule === null ? undefined : kernel.registry('tools').all().find((t) => t.name === rule.toolName);
      if (tool !== undefined) { const said = await judged(c, kernel, tool, rule!.ruleContent, folders.home); return print(said, () => judgedText(said, reader)); }
      if (rule?.ruleContent !== undefined) throw unknown(rule.toolName, 'tool', kernel.registry('tools').all().map((t) => t.name));
      if (isConfigKey(subject) || kernel.config.keys().includes(subject)) { const said = keyOf(kernel.config, subject); return print(said, () => keyText(said, reader)); }
      throw unknown(subject, 'key, plugin or tool', [...configKeys(), ...kernel.config.keys(), ...kernel.plugins.map((p) => p.name), ...kernel.registry('tools').all().map((t) => t.name), 'plugins']);
    },
  }),
});

function unknown(word: string, what: string, known: readonly string[]): TappetError {
  const near = nearest(word, known);
  return new TappetError('E_USAGE', { message: `there is no ${what} "${word}"`, do: near === null ? "name a key (`tappet config list`), a plugin, or a call such as 'Bash(git push)'" : `did you mean "${near}"?` });
}

// ---- values ----------------------------------------------------------------------------------------------------------------

interface SaidOfKey { readonly key: string; readonly value: unknown; readonly chain: readonly ChainLink[]; readonly below: readonly Omit<SaidOfKey, 'below'>[] }

const keyOf = (config: ConfigView, key: string): SaidOfKey => ({
  key, value: valueAt(config.settings, key) ?? null, chain: chainAt(config, key),
  below: keysAt(config, key).filter((k) => k !== key).map((k) => ({ key: k, value: valueAt(config.settings, k) ?? null, chain: config.chain(k) })),
});
function keyText(said: SaidOfKey, reader: Reader): string {
  const one = ({ key, value, chain }: Omit<SaidOfKey, 'below'>): string =>
    [columns([[`${key} = ${value === null ? '(nothing)' : valueText(value)}`]]), chain.length === 0 ? '  no layer speaks of it' : columns(chainRows(chain, reader), { ...reader, indent: 2 })].join('\n');
  return said.below.length === 0 ? one(said) : said.below.map(one).join('\n');
}

// ---- rules -----------------------------------------------------------------------------------------------------------------

interface SaidRule { readonly behavior: RuleBehavior; readonly rule: string; readonly origin: Origin; readonly status: 'counts' | 'set aside'; readonly reason?: string | undefined }
const BEHAVIORS: readonly RuleBehavior[] = ['deny', 'ask', 'allow'];

/** Highest layer first. Lists that were set aside as a whole have only the place of the list. */
function rulesOf(config: ConfigView, only: RuleBehavior | undefined): SaidRule[] {
  return BEHAVIORS.filter((b) => only === undefined || b === only).flatMap((behavior) => {
    const counting = config.rules.filter((r) => r.behavior === behavior).map((r): SaidRule => ({ behavior, rule: ruleText(r), origin: r.origin, status: 'counts' }));
    const lists = config.chain(`permissions.${behavior}`).filter((l) => l.status === 'set aside');
    const aside = lists.flatMap((l) => (l.value as readonly string[]).map((rule): SaidRule => ({ behavior, rule, origin: l.origin, status: 'set aside', ...(l.reason === undefined ? {} : { reason: l.reason }) })));
    return [...counting, ...aside].sort((a, b) => LAYERS.indexOf(b.origin.layer) - LAYERS.indexOf(a.origin.layer));
  });
}
const rulesText = (rules: readonly SaidRule[], reader: Reader): string =>
  (rules.length === 0 ? 'no layer says a rule' : columns(rules.map((r) => [r.behavior, r.origin.layer, shownPlace(r.origin, reader), r.rule, r.reason === undefined ? r.status : `${r.status}: ${r.reason}`]), reader));

// ---- calls -----------------------------------------------------------------------------------------------------------------

type Judged = Awaited<ReturnType<typeof judged>>;

async function judged(c: SubcommandContext, kernel: KernelView, tool: Tool, content: string | undefined, home: string) {
  const input = givenInput(c, tool, content);
  const { mode } = c.options;
  const decision = await kernel.dryRun(tool.name, input, { cwd: c.cwd, ...(typeof mode === 'string' ? { mode } : {}) });
  const subjects = await tool.subjects(input, { cwd: c.cwd, roots: [kernel.config.root], home, fs: nodeFs, env: kernel.config.settings.env });
  const wouldAllow = decision.wouldAsk ? tool.suggest(input, subjects, { cwd: c.cwd, home, base: c.cwd, behavior: 'allow' }) : [];
  const said = typeof mode === 'string' ? undefined : kernel.config.chain('mode').find((l) => l.status === 'counts')?.origin;
  return { tool: tool.name, input, ...(said === undefined ? {} : { modeOrigin: said }), answer: decision.wouldAsk ? ('ask' as const) : decision.behavior, decision, wouldAllow };
}

function givenInput(c: SubcommandContext, tool: Tool, content: string | undefined): Readonly<Record<string, unknown>> {
  const text = c.options['input'];
  if (typeof text === 'string') {
    if (content !== undefined) throw new TappetError('E_USAGE', { message: `${tool.name}(${content}) and --input both say the input`, do: 'leave one of them out' });
    try { return JSON.parse(text) as Record<string, unknown>; } catch (e) { throw new TappetError('E_USAGE', { message: `--input is no JSON: ${messageOf(e)}`, do: `write for example --input '{"file_path":"a.txt"}'` }); }
  }
  const input = content === undefined ? null : tool.fromSpec(content);
  if (input !== null) return input;
  throw new TappetError('E_USAGE', { message: content === undefined ? `which call of ${tool.name}?` : `${tool.name} cannot tell a call from "${content}"`, do: `give its input: tappet explain ${tool.name} --input '{…}'` });
}

const ANSWERS = { allow: 'allowed', deny: 'denied', defer: 'put off', ask: 'a person would be asked; where nobody can be, denied' } as const;
function judgedText(said: Judged, reader: Reader): string {
  const { decision } = said;
  const rules = said.wouldAllow.flatMap((u) => (u.type === 'addRules' ? u.rules.map(ruleText) : u.type === 'setMode' ? [`mode ${u.mode}`] : u.type === 'addDirectories' ? u.directories.map((d) => `directories: ${d}`) : []));
  return [
    columns([
      ['call', `${said.tool} ${valueText(said.input)}`], ['answer', ANSWERS[said.answer]], ['mode', decision.mode + (said.modeOrigin === undefined ? '' : `, said at ${shownPlace(said.modeOrigin, reader)} (${said.modeOrigin.layer})`)],
      ['because', reasonText(decision.reason)], ['said at', `${shownPlace(decision.origin, reader)} (${decision.origin.layer})`],
      ...(decision.message === undefined ? [] : [['message', decision.message]]), ...rules.map((r, i) => [i === 0 ? 'allowed by' : '', r]),
    ], reader),
    'opinions', columns(decision.opinions.map((o) => [o.behavior === 'ask' ? `ask until ${o.until}` : o.behavior, o.origin.layer, shownPlace(o.origin, reader), reasonText(o.reason)]), { ...reader, indent: 2 }),
  ].join('\n');
}

function reasonText(r: Opinion['reason']): string {
  switch (r.kind) {
    case 'rule': return `the rule ${r.rule}`;
    case 'mode': return `the mode ${r.mode}`;
    case 'hook': return `the hook ${r.hook} on ${r.event}`;
    case 'permissionPromptTool': return `an answer of ${r.tool}`;
    case 'workingDir': return `${r.path} is outside of the working folders`;
    case 'subcommandResults': return r.parts.map((p) => `${p.text}: ${p.behavior}${p.reason === undefined ? '' : ` (${reasonText(p.reason)})`}`).join('; ');
    default: return r.why;
  }
}
