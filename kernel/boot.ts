/** config -> kernel -> plugins -> sealed: the one entry for main, tests and embedders. */
import { homedir } from 'node:os';
import type { Layer } from '../schemas/index.ts';
import type { Builtins } from './builtins.ts';
import type { Config } from './config/load.ts';
import { loadConfig } from './config/load.ts';
import type { Env, Places } from './config/places.ts';
import { findPlaces, findRoot } from './config/places.ts';
import { printError } from './errors.ts';
import type { Kernel } from './kernel.ts';
import { createKernel } from './kernel.ts';
import { loadPlugins } from './load.ts';

export interface BootOptions {
  readonly cwd: string;
  readonly builtins: Builtins;
  readonly env?: Env;
  readonly home?: string;
  readonly platform?: NodeJS.Platform;
  /** `--set`, `--settings`, `--setting-sources`, `--plugin-dir`. */
  readonly set?: readonly string[];
  readonly settings?: string | null;
  readonly settingSources?: readonly Layer[];
  readonly pluginFiles?: readonly string[];
  /** Replaces where policy lies and who must own it: for tests only, never for a flag or a variable. */
  readonly policy?: { readonly main: string; readonly folder: string; readonly owner: number | null };
}

export function configOf(o: BootOptions): Promise<Config> {
  const env = o.env ?? {};
  const platform = o.platform ?? process.platform;
  const home = o.home ?? env['HOME'] ?? homedir();
  const found = findPlaces(env, platform, home);
  const places: Places = o.policy === undefined ? found : { ...found, policy: o.policy };
  return o.builtins.layer().then((builtIn) => loadConfig({
    root: findRoot(o.cwd), places, env, builtIn, set: o.set ?? [], settings: o.settings ?? null, settingSources: o.settingSources ?? ['user', 'project', 'local'], flagPlugins: o.pluginFiles ?? [],
    policyOwner: o.policy === undefined ? (platform === 'win32' ? null : 0) : o.policy.owner,
  }));
}

/** @throws E_POLICY_BROKEN, E_POLICY_UNENFORCED, E_PLUGIN_REQUIRED and what a flag got wrong; all else is said and left out */
export async function boot(o: BootOptions, given?: Config): Promise<Kernel> {
  const config = given ?? (await configOf(o));
  if (config.fatal[0] !== undefined) throw config.fatal[0];
  const kernel = createKernel({ root: config.root, env: config.sources.env, places: config.sources.places, builtins: o.builtins, config });
  for (const p of config.problems) kernel.log({ level: 'error', name: 'configuration', text: p.printed, code: p.code });
  try {
    await loadPlugins(kernel);
    for (const problem of kernel.hooks.seal(kernel.taps, kernel.declared)) kernel.log({ level: 'error', name: 'hooks', text: printError(problem), code: problem.code });
    for (const registry of Object.values(kernel.registries)) {
      registry.seal();
      for (const problem of registry.problems()) kernel.log({ level: 'error', name: registry.kind, text: printError(problem), code: problem.code });
    }
  } catch (e) {
    await kernel.dispose();
    throw e;
  }
  return kernel;
}
