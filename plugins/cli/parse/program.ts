/** commander, made to neither print nor end the process: words in, values or help out. */
import type { Command, Option } from 'commander';
import type { Flag } from './flags.ts';
import { unknownFlag, usage } from './usage.ts';
import { tidyWords } from './words.ts';

type Commander = typeof import('commander');
export interface Program { readonly command: Command; /** Long and short names, for suggestions. */ readonly names: () => string[] }
export interface Parsed { readonly words: readonly string[]; /** Only what was written. */ readonly values: Readonly<Record<string, string | boolean | readonly string[]>> }

/** `group`: the heading under which --help stands. */
export async function newProgram(name: string, group: string): Promise<Program & { readonly commander: Commander }> {
  const commander = await import('commander');
  const command = new commander.Command(name).argument('[words...]').exitOverride().combineFlagAndOptionalValue(false).addHelpOption(new commander.Option('-h, --help', 'print this').helpGroup(group));
  command.configureOutput({ writeErr: () => {}, outputError: () => {} });
  command.configureHelp({
    minWidthToWrap: 20, visibleArguments: () => [],
    optionTerm: (o) => o.flags.replace(/^--\w+, (?=--)/, ''),
    optionDescription: (o) => o.description + (o.argChoices === undefined ? '' : `: ${o.argChoices.join(', ')}`),
  });
  return { commander, command, names: () => command.options.flatMap((o) => [o.short, o.long]).filter((n): n is string => n !== undefined && n !== null) };
}

/** The option's `attributeName()` is its key among the values. */
export function addFlag({ Option: Make }: Commander, command: Command, flag: Flag, o: { readonly hidden?: boolean; readonly group?: string } = {}): Option {
  const option = new Make(flag.flags, flag.about).hideHelp(o.hidden === true);
  if (flag.choices !== undefined) option.argChoices = [...flag.choices]; // for help alone: what is wrong is said in our words
  if (flag.many !== undefined) option.argParser((value: string, before: readonly string[] | undefined) => [...(before ?? []), value]);
  if (o.group !== undefined) option.helpGroup(o.group);
  command.addOption(option);
  return option;
}

export function helpOf({ command }: Program): { readonly help: string } {
  let help = '';
  command.configureOutput({ writeOut: (text) => { help += text; } }).outputHelp();
  return { help: help.trimEnd() };
}

/** @throws E_USAGE */
export function readWords(program: Program, argv: readonly string[], rules: readonly string[]): Parsed | { readonly help: string } {
  const { command, names } = program;
  command.configureOutput({ writeOut: () => {} });
  try {
    command.parse(tidyWords(argv, command.options, rules), { from: 'user' });
  } catch (e) {
    const { code, message } = e as { code?: unknown; message: string };
    if (code === 'commander.helpDisplayed') return helpOf(program);
    if (code === 'commander.unknownOption') throw unknownFlag(/'(.*)'/s.exec(message)?.[1] ?? message, [...names(), '--help'], `${command.name()} --help`);
    if (typeof code === 'string' && code.startsWith('commander.')) throw usage(message.replace(/^error: /, ''), `run \`${command.name()} --help\``);
    throw e;
  }
  const written = command.options.filter((o) => command.getOptionValueSource(o.attributeName()) === 'cli');
  return { words: command.args, values: Object.fromEntries(written.map((o) => [o.attributeName(), command.getOptionValue(o.attributeName()) as string])) };
}
