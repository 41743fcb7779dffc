/** `tappet login`: takes the key of a provider, unseen, and stores it where the system keeps secrets. */
import { definePlugin, nearest, TappetError } from 'tappet/kernel';
import { FROM_HELPER, jsonText, keyInVariables, keyVariables, SIGNAL_EXITS } from 'tappet/kit';
import type { Io, KernelView, ModelProvider, SubcommandContext } from 'tappet/schemas';
import { readHidden } from './hidden.ts';

/** Far more than a key. */
const MOST_BYTES = 64 * 1024;
const usage = (message: string, todo: string): TappetError => new TappetError('E_USAGE', { message, do: todo });

export default definePlugin({
  name: 'cli/login',
  api: 1,
  apply: ({ registries }) => registries.subcommands.add({
    name: 'login', summary: 'store the key of a model provider', needs: 'kernel', verbs: [], usage: 'PROVIDER | PROVIDER --key-stdin',
    options: [{ flags: '--key-stdin', description: 'read the key from what is piped in, instead of asking for it' }],
    async run(c) {
      const kernel = c.kernel!;
      const provider = providerOf(kernel, c.args);
      const keys = kernel.service('keys');
      if (keys === undefined) throw usage('no plugin keeps keys here', 'switch keys/store on again');
      const key = c.options['keyStdin'] === true ? await pipedKey(c.io) : await typedKey(c, provider.name);
      if (typeof key === 'number') return key;
      const where = await keys.save(provider.name, key);
      const settings = kernel.config.settings.providers[provider.name];
      const wins = keyInVariables(c.io.env, keyVariables(provider.name, settings))?.from ?? (settings?.keyHelper === undefined ? null : FROM_HELPER);
      if (c.json) c.io.out(`${jsonText({ provider: provider.name, stored: where, ...(wins === null ? {} : { countsBefore: wins }) })}\n`);
      else {
        const [model] = provider.models();
        c.io.out(`the key of ${provider.name} is stored: ${where}\n${model === undefined ? '' : `\`tappet models test ${provider.name}/${model.id}\` tries it\n`}`);
        if (wins !== null) c.io.err(`note: ${wins} counts before it\n`);
      }
      return 0;
    },
  }),
});

/** A key that was written where a provider or nothing belongs is not repeated. */
function providerOf(kernel: KernelView, args: readonly string[]): ModelProvider {
  const [name, ...more] = args;
  const providers = kernel.registry('modelProviders').all().filter((p) => p.chains !== true);
  const { settings } = kernel.config;
  const known = providers.map((p) => p.name).filter((n) => settings.providers[n] !== undefined || keyVariables(n).length > 0);
  if (name === undefined) throw usage('tappet login needs a PROVIDER', `choose one of: ${known.join(', ')}`);
  if (more.length > 0) throw usage('a key is no argument: it would stay in the history of the shell, and everybody on this machine could see it', `write only: tappet login ${providers.some((p) => p.name === name) ? name : 'PROVIDER'}; it is asked for, or read from stdin with --key-stdin`);
  const found = providers.find((p) => p.name === name);
  if (found !== undefined) return found;
  const near = nearest(name, known);
  throw new TappetError('E_MODEL_UNKNOWN', { provider: name.length <= 24 ? name : '…', known: known.join(', '), do: near === null ? `choose one of: ${known.join(', ')}; others are named in \`providers:\` of your configuration first` : `did you mean "${near}"?` });
}

/** An exit code where nobody gave one. */
async function typedKey({ io }: SubcommandContext, provider: string): Promise<string | number> {
  if (io.stdin.isTTY !== true) throw usage('nobody can be asked here: stdin is no terminal', `pipe the key in: … | tappet login ${provider} --key-stdin`);
  const said = await readHidden(io, `Key of ${provider} (what you type is not shown): `);
  if (said === null) throw usage('this terminal cannot hide what is typed', `pipe the key in: … | tappet login ${provider} --key-stdin`);
  if ('text' in said) {
    if (said.text.trim() === '') throw usage('nothing was typed', 'try again; the key that was stored before, if any, stays');
    return said.text;
  }
  io.err('nothing was stored\n');
  return said.ended === null ? 1 : SIGNAL_EXITS[said.ended];
}

async function pipedKey({ stdin }: Io): Promise<string> {
  if (stdin.isTTY === true) throw usage('--key-stdin reads what is piped in, and a terminal would show it', 'leave the flag out to be asked');
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stdin) {
    const bytes = Buffer.from(chunk as Buffer | string);
    size += bytes.length;
    if (size > MOST_BYTES) throw usage(`more than ${MOST_BYTES} bytes are piped in: that is no key`, 'pipe the key alone');
    chunks.push(bytes);
  }
  const text = Buffer.concat(chunks).toString('utf8').trim();
  if (text === '') throw usage('nothing is piped in', 'pipe the key in; nothing was stored');
  return text;
}
