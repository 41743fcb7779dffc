/** Bash: one command line per call, in a process of its own. */
import { definePlugin, defineTool, messageOf, z } from 'tappet/kernel';
import { endOrphans } from 'tappet/kit';
import { runBash, shown } from './run.ts';

const DESCRIPTION = `Runs a command line in bash and returns its output and exit code.
Each call is a new shell: the working folder carries over (cd) while it stays inside the project's folders; variables, functions and options do not.
Standard input is empty and there is no terminal: nothing can ask a question or open an editor. Whatever still runs in the background when the shell ends is ended with it.
Long output is written to a file, and the result holds its start, its end and the file's path.
Use the tools for files and searches where they fit, rather than cat, sed, find or grep.`;

export default definePlugin({
  name: 'tools/bash',
  api: 1,
  options: () => z.object({
    bash: z.string().min(1).default('bash').describe('the bash to use: a name in PATH, or a path'),
    timeoutMs: z.number().int().positive().default(120_000).describe('milliseconds that a command may run where the call says nothing'),
    maxTimeoutMs: z.number().int().positive().default(600_000).describe('milliseconds that a call may ask for; more is lowered to it'),
    inlineChars: z.number().int().min(1_000).default(30_000).describe('characters of output that a result holds whole'),
    excerptChars: z.number().int().min(200).default(10_000).describe('characters that are shown of a longer output, or of that of a failed command'),
    lineChars: z.number().int().min(100).default(10_000).describe('characters of one line that are shown'),
  }),
  apply({ registries, options, env, own, log }) {
    let orphans: Promise<void> | null = null;
    own(() => orphans ?? undefined);
    registries.tools.add(defineTool({
      name: 'Bash',
      description: DESCRIPTION,
      inputSchema: () => z.object({
        command: z.string().min(1).describe('the command line'),
        timeout: z.number().positive().optional().describe(`milliseconds after which it is ended; default ${options.timeoutMs}, at most ${options.maxTimeoutMs}`),
        description: z.string().optional().describe('what it does, in five to ten words, for the person who watches'),
        run_in_background: z.boolean().optional().describe('not available yet'),
      }),
      // Until command lines are analysed nobody knows what one does: a rule can refuse or ask, only a person or a mode can allow.
      subjects: ({ command }) => [{ kind: 'command', argv: [{ text: null }], text: command }, { kind: 'opaque', why: 'command lines are not analysed yet' }],
      matches: (subject, spec) => (subject.kind === 'command' && subject.text === spec ? 'yes' : 'maybe'),
      fromSpec: (spec) => ({ command: spec }),
      suggest: ({ command }) => (command.includes('*') ? [] : [{ type: 'addRules', rules: [{ toolName: 'Bash', ruleContent: command }], behavior: 'allow', destination: 'localSettings' }]),
      render: shown,
      call: (input, context) => {
        // What a killed process of ours left running; beside the first command, as looking for it takes a few milliseconds.
        orphans ??= endOrphans().then(
          (n) => { if (n > 0) log.warn(`ended ${n} processes that a killed session had left behind`); },
          (e: unknown) => log.warn(`could not look for what killed sessions left behind: ${messageOf(e)}`),
        );
        return runBash(input, context, { options, env });
      },
    }));
  },
});
