/** Reads the command line: a prompt with its flags as an Invocation, the words of a sub-command as verb, arguments and options. */
import { definePlugin, nearest } from 'tappet/kernel';
import { columns } from 'tappet/kit';
import type { ArgumentParser, Subcommand } from 'tappet/schemas';
import { readCommand } from './command.ts';
import { addFlag, helpOf, newProgram, readWords } from './program.ts';
import type { Program } from './program.ts';
import { GROUPS, LATER, NO_COLOR } from './flags.ts';
import { toInvocation } from './invocation.ts';
import { usage } from './usage.ts';

export default definePlugin({
  name: 'cli/parse',
  api: 1,
  apply({ services, registries }) {
    const parser: ArgumentParser = {
      parseCommand: readCommand,
      async parse(argv, o) {
        const { program, refused } = await mainProgram(o.subcommands);
        const read = readWords(program, argv, ['--allowed-tools', '--disallowed-tools', '--tools']);
        if ('help' in read) return read;
        if (argv[0] === 'help') return helpFor(program, read.words.slice(1), o.subcommands);
        for (const { option, why } of refused) if (option.attributeName() in read.values) throw usage(`${option.long} cannot be honoured: ${why}`, 'take it out');
        mistypedCommand(argv, read.words, o.subcommands);
        return toInvocation(read.words, read.values, { cwd: o.cwd, stdinIsTTY: o.stdinIsTTY, stdoutIsTTY: o.stdoutIsTTY, modes: registries.permissionModes.all().map((m) => m.name), tools: registries.tools.all().map((tool) => tool.name) });
      },
    };
    services.provide('arguments', parser);
  },
});

async function mainProgram(subcommands: readonly Subcommand[]) {
  const program = await newProgram('tappet', 'Other:');
  const { command, commander } = program;
  command.description('An agent harness: everything is a plugin, every decision explains itself.').usage('[flags] [PROMPT]\n       tappet COMMAND …');
  for (const group of GROUPS) for (const flag of group.flags) addFlag(commander, command, flag, { group: group.title });
  addFlag(commander, command, NO_COLOR, { group: 'Other:' });
  addFlag(commander, command, { flags: '-v, --version', about: 'print the version' }, { group: 'Other:' });
  const later = LATER.map((flag) => ({ ...flag, option: addFlag(commander, command, { flags: flag.flags, about: flag.why }, { hidden: true }) }));
  command.configureHelp({ ...command.configureHelp(), visibleCommands: () => [...subcommands].sort((a, b) => (a.name < b.name ? -1 : 1)).map((c) => new commander.Command(c.name).description(c.summary).helpOption(false)) });
  const ignored = later.filter((l) => l.then === 'ignored').map((l) => l.option.long).join(' ');
  command.addHelpText('after', `\n\`tappet COMMAND --help\` says more about a command. A prompt that begins with a dash stands behind --,\none that is the name of a command behind -p.\n\nAccepted without effect yet (docs/cli.md says why):\n${columns([[ignored]], { width: 80, indent: 2 })}`);
  return { program, refused: later.filter((l) => l.then === 'refused') };
}

async function helpFor(program: Program, words: readonly string[], subcommands: readonly Subcommand[]): Promise<{ readonly help: string }> {
  if (words[0] === undefined) return helpOf(program);
  const command = subcommands.find((c) => c.name === words[0]);
  if (command !== undefined) return (await readCommand(command, ['--help'])) as { help: string };
  const near = nearest(words[0], subcommands.map((c) => c.name));
  throw usage(`there is no command "${words[0]}"`, near === null ? `choose one of: ${subcommands.map((c) => c.name).join(', ')}` : `did you mean "${near}"?`);
}

/** `tappet sesions list` is no prompt. What stands behind -p or -- is one. */
function mistypedCommand(argv: readonly string[], words: readonly string[], subcommands: readonly Subcommand[]): void {
  const [first] = words;
  if (first === undefined || first !== argv[0] || !/^[a-z][a-z-]*$/.test(first)) return;
  const near = nearest(first, subcommands.map((c) => c.name));
  if (near !== null) throw usage(`there is no command "${first}"`, `did you mean "${near}"? As a prompt: tappet -- ${first}`);
}
