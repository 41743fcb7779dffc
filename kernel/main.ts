/** The binary: argv, first pass -> boot -> sub-command or frontend -> exit code. No other file ends the process. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Io, KernelView, Layer, Subcommand } from '../schemas/index.ts';
import { place } from '../schemas/origin.ts';
import type { BootOptions } from './boot.ts';
import { boot, configOf } from './boot.ts';
import type { Builtins } from './builtins.ts';
import type { Config } from './config/load.ts';
import { makeOrigin } from './config/origin.ts';
import { dryRunner } from './dry-run.ts';
import { asTappetError, printError, TappetError } from './errors.ts';
import type { Kernel } from './kernel.ts';
import { createKernel, viewOf } from './kernel.ts';
import { createOpener } from './open.ts';
import type { Plugin } from './plugin.ts';
import { createScope } from './scope.ts';

/** What shapes the boot; the rest is read after the seal, with what plugins added. */
const EARLY = {
  cwd: { type: 'string' }, set: { type: 'string', multiple: true }, settings: { type: 'string' }, 'setting-sources': { type: 'string' }, 'plugin-dir': { type: 'string', multiple: true },
  debug: { type: 'boolean' }, verbose: { type: 'boolean' }, version: { type: 'boolean', short: 'v' },
} as const;

export interface MainOptions { readonly argv: readonly string[]; readonly cwd: string; readonly env: Readonly<Record<string, string | undefined>>; readonly io: Io; readonly builtins: Builtins; /** Tests only. */ readonly policy?: BootOptions['policy'] }

/** The exit code; never throws. */
export async function main(o: MainOptions): Promise<number> {
  try {
    return await run(o);
  } catch (e) {
    const error = asTappetError(e);
    o.io.err(`${printError(error)}\n`);
    if (o.argv.includes('--debug') && error.cause instanceof Error) o.io.err(`${error.cause.stack ?? ''}\n`);
    else if (o.argv.includes('--debug')) o.io.err(`${error.stack ?? ''}\n`);
    return error.exit;
  }
}

async function run(o: MainOptions): Promise<number> {
  const early = firstPass(o.argv, o.cwd);
  if (early.version) { o.io.out(`tappet ${o.builtins.version}\n`); return 0; }
  if (!existsSync(early.cwd) || !statSync(early.cwd).isDirectory()) throw new TappetError('E_USAGE', { message: `--cwd: there is no folder ${early.cwd}`, do: 'name a folder that exists' });
  const base: BootOptions = {
    cwd: early.cwd, builtins: o.builtins, env: o.env, home: o.env['HOME'] ?? homedir(), set: early.set, settings: early.settings, settingSources: early.settingSources, pluginFiles: early.pluginFiles,
    ...(o.policy === undefined ? {} : { policy: o.policy }),
  };
  const builtInCommand = early.word === null ? undefined : (await o.builtins.names()).find((n) => n === `cli/${early.word}`);
  if (builtInCommand !== undefined && early.word !== 'parse') return runBuiltIn(o, base, early, builtInCommand);

  const kernel = await boot(base);
  const opener = createOpener(base, { cwd: early.cwd, kernel });
  await opener.kernel(early.cwd);
  kernel.onLog((line) => { if (line.level !== 'info' || early.debug) o.io.err(`${line.level === 'info' ? `${line.name}: ` : ''}${line.text.startsWith('E_') ? line.text : `${line.level === 'warning' ? 'warning: ' : line.level === 'error' ? `error: ${line.name}: ` : ''}${line.text}`}\n`); });
  try {
    const added = kernel.registries.subcommands.all().find((c) => c.name === early.word);
    if (added !== undefined) return await runCommand(o, added, early, kernel.config(), kernel);
    const parser = kernel.services.get('arguments');
    if (parser === undefined) throw new TappetError('E_FRONTEND', { message: 'no plugin reads the command line', do: 'switch cli/parse on again' });
    const parsed = await parser.parse(o.argv, { cwd: early.cwd, subcommands: kernel.registries.subcommands.all(), stdinIsTTY: o.io.stdin.isTTY === true, stdoutIsTTY: o.io.isTTY, env: o.env });
    if ('help' in parsed) { o.io.out(`${parsed.help}\n`); return 0; }
    const { trust } = kernel.config();
    if (!trust.trusted && trust.waits.length > 0) {
      if (parsed.requireTrust) throw new TappetError('E_TRUST_REQUIRED', { message: trust.why ?? '', where: trust.root });
      o.io.err(`this folder is not trusted (${trust.why ?? ''}): ${trust.waits.length} of its settings wait; \`tappet trust\` shows them\n`);
    }
    const matching = kernel.registries.frontends.all().filter((f) => f.matches(parsed));
    if (matching.length === 0) throw new TappetError('E_FRONTEND', { message: parsed.prompt === null ? 'there is nothing to do: no prompt was given, and nothing here can talk in a terminal' : 'nothing here can show a session in a terminal yet', cause: `known here: ${kernel.registries.frontends.all().map((f) => f.name).join(', ') || 'none'}` });
    if (matching.length > 1) throw new TappetError('E_FRONTEND', { message: `several frontends want this: ${matching.map((f) => f.name).join(', ')}`, do: 'switch all but one off' });
    const code = await matching[0]!.run(opener.open, parsed, o.io);
    // A file that could not be used may have held a guard: an answer without it is no clean run.
    return code === 0 && parsed.print && parsed.outputFormat !== 'stream-json' && kernel.config().problems.length > 0 ? 2 : code;
  } finally {
    const pending = kernel.hooks.pending();
    if (pending.length > 0) o.io.err(`still waiting for: ${pending.join(', ')}\n`);
    await opener.close();
    await kernel.dispose();
  }
}

interface Early { readonly cwd: string; readonly set: readonly string[]; readonly settings: string | null; readonly settingSources: readonly Layer[]; readonly pluginFiles: readonly string[]; readonly debug: boolean; readonly version: boolean; readonly word: string | null; readonly rest: readonly string[] }
function firstPass(argv: readonly string[], cwd: string): Early {
  const { values, tokens } = parseArgs({ args: [...argv], options: EARLY, strict: false, allowPositionals: true, tokens: true });
  const one = (name: keyof typeof EARLY): string | null => { const v = values[name]; return typeof v === 'string' ? v : null; };
  const many = (name: keyof typeof EARLY): string[] => ((values[name] as (string | boolean)[] | undefined) ?? []).filter((v) => typeof v === 'string');
  const sources = one('setting-sources');
  const known: readonly Layer[] = ['user', 'project', 'local'];
  const settingSources = sources === null ? known : sources.split(',').map((s) => s.trim()).filter((s) => s !== '') as Layer[];
  const wrong = settingSources.find((s) => !known.includes(s));
  if (wrong !== undefined) throw new TappetError('E_USAGE', { message: `--setting-sources: unknown source "${wrong}"`, do: `choose among ${known.join(', ')}` });
  // A sub-command is the first word, before any flag that is not of the boot.
  const first = tokens?.find((t) => t.kind !== 'option' || !(t.name in EARLY));
  const word = first?.kind === 'positional' && /^[a-z][a-z-]*$/.test(first.value) ? first.value : null;
  const here = resolve(cwd, one('cwd') ?? '.');
  return {
    cwd: here, set: many('set'), settings: resolveSettings(one('settings'), cwd), settingSources, pluginFiles: many('plugin-dir').flatMap((d) => pluginFiles(resolve(cwd, d))),
    debug: values.debug === true || values.verbose === true, version: tokens?.[0]?.kind === 'option' && tokens[0].name === 'version', word, rest: word === null ? [] : argv.slice(first!.index + 1),
  };
}
const resolveSettings = (given: string | null, cwd: string): string | null => (given === null || given.trimStart().startsWith('{') ? given : resolve(cwd, given));

function pluginFiles(dir: string): string[] {
  if (!existsSync(dir)) throw new TappetError('E_USAGE', { message: `--plugin-dir: there is no folder ${dir}`, do: 'name a folder with plugins' });
  if (!statSync(dir).isDirectory() || existsSync(join(dir, 'package.json'))) return [dir];
  return readdirSync(dir).filter((f) => /\.[cm]?[jt]s$/.test(f) && !/\.(d|test)\.[cm]?[jt]s$/.test(f)).sort().map((f) => join(dir, f));
}

async function runBuiltIn(o: MainOptions, base: BootOptions, early: Early, name: string): Promise<number> {
  const config = await configOf(base);
  const link = config.chain(`plugins.${name}`).find((l) => l.status === 'counts');
  if (link?.value === false) throw new TappetError('E_USAGE', { message: `the command ${early.word} is switched off`, where: link.origin, do: `take \`${name}: false\` out at ${place(link.origin)}` });
  const kernel = await bareKernel(o, config, ['cli/parse', name]);
  const command = kernel.registries.subcommands.get(early.word!);
  if (command === undefined) throw new TappetError('E_INTERNAL', { message: `the plugin ${name} brings no command "${early.word}"` });
  if (command.needs !== 'kernel') return runCommand(o, command, early, config, null, kernel);
  const booted = await boot(base, config);
  booted.onLog((line) => { if (line.level !== 'info' || early.debug) o.io.err(`${line.text}\n`); });
  const opener = createOpener(base, { cwd: early.cwd, kernel: booted });
  await opener.kernel(early.cwd);
  try { return await runCommand(o, command, early, config, booted, kernel); } finally { await opener.close(); await booted.dispose(); }
}

/** Just what a command needs that must also run when the configuration is broken. */
async function bareKernel(o: MainOptions, config: Config, names: readonly string[]): Promise<Kernel> {
  const kernel = createKernel({ root: config.root, env: o.env, places: config.sources.places, builtins: o.builtins, config });
  for (const [i, name] of names.entries()) {
    const plugin = (await o.builtins.plugin(name)) as Plugin | undefined;
    if (plugin === undefined) throw new TappetError('E_INTERNAL', { message: `the plugin ${name} is missing` });
    const collected = createScope(kernel, plugin, makeOrigin('built-in', '(built-in)'), {}, i);
    await plugin.apply(collected.scope);
    collected.commit();
  }
  return kernel;
}

async function runCommand(o: MainOptions, command: Subcommand, early: Early, config: Config, kernel: Kernel | null, bare: Kernel | null = kernel): Promise<number> {
  let looked: Kernel | undefined;
  const parser = (bare ?? kernel)?.services.get('arguments');
  if (parser === undefined) throw new TappetError('E_FRONTEND', { message: 'no plugin reads the command line', do: 'switch cli/parse on again' });
  const parsed = await parser.parseCommand(command, early.rest);
  if ('help' in parsed) { o.io.out(`${parsed.help}\n`); return 0; }
  const view = (k: Kernel): KernelView => viewOf(k, dryRunner(k));
  try {
    return await command.run({
      ...parsed, io: o.io, cwd: early.cwd, config, kernel: kernel === null ? null : view(kernel),
      boot: async () => view(kernel ?? (looked ??= await boot({ cwd: early.cwd, builtins: o.builtins }, config))),
    });
  } finally { await looked?.dispose(); }
}
