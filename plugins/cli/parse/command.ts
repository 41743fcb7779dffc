/** The words behind a sub-command: its verb, as many arguments as that takes, its options. */
import { nearest } from 'tappet/kernel';
import { columns } from 'tappet/kit';
import type { ArgumentParser, Subcommand } from 'tappet/schemas';
import { EARLY, NO_COLOR } from './flags.ts';
import { addFlag, helpOf, newProgram, readWords } from './program.ts';
import { oneOf, usage } from './usage.ts';

/** @throws E_USAGE */
export const readCommand: ArgumentParser['parseCommand'] = async (given, argv) => {
  const called = `tappet ${given.name}`;
  const program = await newProgram(called, 'Options:');
  const { command, commander } = program;
  const verbs = given.verbs.length === 0 ? '' : `\n\nVerbs:\n${columns(given.verbs.map((v) => [v.usage, v.summary]), { indent: 2 })}`;
  command.description(given.summary + verbs).usage(usageOf(given));
  const own = new Set((given.options ?? []).flatMap((o) => o.flags.match(/--[\w-]+/g) ?? []));
  const isOwn = (flags: string): boolean => own.has(flags.split(' ')[0]!);
  for (const o of given.options ?? []) addFlag(commander, command, { flags: o.flags, about: o.description, ...(o.choices === undefined ? {} : { choices: o.choices }) }, { group: 'Options:' });
  if (!isOwn('--json')) addFlag(commander, command, { flags: '--json', about: 'print JSON' }, { group: 'Options:' });
  if (!isOwn('--no-color')) addFlag(commander, command, NO_COLOR, { group: 'Everywhere:' });
  const early = EARLY.filter((f) => !isOwn(f.flags)).map((f) => addFlag(commander, command, f, { group: 'Everywhere:' }).attributeName());

  const read = readWords(program, argv, []);
  if ('help' in read) return read;
  const { json, ...values } = Object.fromEntries(Object.entries(read.values).filter(([key]) => !early.includes(key)));
  for (const o of command.options) {
    const value = values[o.attributeName()];
    if (o.argChoices !== undefined && typeof value === 'string') oneOf(o.long ?? o.flags, value, o.argChoices);
  }
  const answer = (verb: string | null, shape: string, args: readonly string[]) => {
    checkCount(verb === null ? called : `${called} ${verb}`, shape, args);
    return { verb, args, options: values, json: json === true };
  };
  if (given.verbs.length === 0) return answer(null, given.usage ?? '', read.words);
  const [word, ...args] = read.words;
  if (word === undefined && json !== true) return helpOf(program);
  const verb = given.verbs.find((v) => verbName(v.usage) === word);
  if (word !== undefined && verb !== undefined) return answer(word, verb.usage.split(/\s+/).slice(1).join(' '), args);
  const names = given.verbs.map((v) => verbName(v.usage));
  const near = word === undefined ? null : nearest(word, names);
  throw usage(word === undefined ? `${called} needs a verb` : `${called} has no verb "${word}"`, `${near === null ? '' : `did you mean "${near}"? `}choose one of: ${names.join(', ')}`);
};

const verbName = (text: string): string => text.split(/\s+/)[0]!;
const usageOf = (c: Subcommand): string => (c.verbs.length > 0 ? 'VERB … [options]' : [c.usage, '[options]'].filter((w) => w !== undefined && w !== '').join(' '));

/** `KEY [FILE]`, `NAME...`: what stands in brackets may be left out, dots take all that follow. Usages with a choice (`A | B`) are the command's own to check. */
function checkCount(called: string, shape: string, args: readonly string[]): void {
  if (shape.includes('|')) return;
  const names = shape.split(/\s+/).filter((w) => w !== '' && !w.startsWith('-') && !w.startsWith('[-'));
  const needed = names.filter((n) => !n.startsWith('['));
  if (args.length < needed.length) throw usage(`${called} needs ${needed.slice(args.length).join(' and ')}`, `write: ${called} ${shape}`);
  if (args.length > names.length && !/(?:\.\.\.|…)\]?$/.test(shape)) throw usage(`${called} does not know what to do with "${args[names.length]!}"`, names.length === 0 ? 'take it out' : `write: ${called} ${shape}; words with blanks stand in quotes`);
}
