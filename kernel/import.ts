/** From an entry of the configuration to a module that is a plugin: found, admitted, imported, looked at. Nothing of it has run yet but its top level. */
import { join } from 'node:path';
import type { Origin, PluginReport } from '../schemas/index.ts';
import { configLayer } from '../schemas/config.ts';
import { place } from '../schemas/origin.ts';
import { pluginRefusal } from './config/admit.ts';
import type { MergedPlugin } from './config/merge.ts';
import { findPlugin } from './config/plugin-files.ts';
import { loadModule } from './door.ts';
import { asTappetError, isTappetError, messageOf, nearest, printError, TappetError } from './errors.ts';
import type { Kernel } from './kernel.ts';
import type { Plugin } from './plugin.ts';
import { API_VERSION, isPlugin } from './plugin.ts';

export interface Candidate { readonly entry: MergedPlugin; readonly plugin: Plugin; readonly hash: string | null; readonly from: string; readonly order: number; readonly ms: number }

export function report(kernel: Kernel, entry: MergedPlugin, state: PluginReport['state'], more: Partial<PluginReport> = {}): void {
  kernel.reports.push({ name: entry.name, state, origin: entry.origin, from: sourceOf(entry), hash: null, adds: [], ms: 0, ...more });
}
const sourceOf = (entry: MergedPlugin): string => (typeof entry.entry === 'object' && entry.entry.use !== undefined ? entry.entry.use : 'tappet');
export function fail(kernel: Kernel, entry: MergedPlugin, e: unknown, more: Partial<PluginReport> = {}): null {
  const error = asTappetError(e);
  const printed = error.where === null ? printError(new TappetError(error.code, { ...error.facts, where: entry.origin }, { [error.code]: error.row })) : printError(error);
  report(kernel, entry, 'failed', { error: printed, ...more });
  kernel.log({ level: 'error', name: entry.name, text: printed, code: error.code });
  return null;
}

/** Null: it is reported why not. */
export async function importOne(kernel: Kernel, entry: MergedPlugin, order: number, timeoutMs: number): Promise<Candidate | null> {
  if (entry.refused !== null) {
    const waits = entry.refused.startsWith('waits');
    report(kernel, entry, waits ? 'untrusted' : 'forbidden', { error: `${entry.name}: ${entry.refused}` });
    return null;
  }
  if (entry.entry === false) {
    report(kernel, entry, 'off');
    await sayNearMiss(kernel, entry);
    return null;
  }
  const started = performance.now();
  try {
    const use = typeof entry.entry === 'object' ? entry.entry.use : undefined;
    const { module, hash, from } = use === undefined ? await ourModule(kernel, entry) : await theirModule(kernel, entry, use, timeoutMs);
    const plugin = checkShape(entry, module);
    const named = isNameless(entry) ? { ...entry, name: plugin.name } : entry;
    if (named !== entry) {
      const refused = pluginRefusal(plugin.name, entry.entry, entry.origin.layer, kernel.settings().bounds);
      if (refused !== null) { report(kernel, named, 'forbidden', { error: `${plugin.name}: ${refused}`, hash, from }); return null; }
      checkHash(kernel, named, hash!);
    }
    return { entry: named, plugin, hash, from, order, ms: performance.now() - started };
  } catch (e) {
    return fail(kernel, entry, e);
  }
}
/** `tools/bsh: false` leaves tools/bash on. A name that is nowhere near one of ours may be that of a plugin which only other projects have. */
async function sayNearMiss(kernel: Kernel, entry: MergedPlugin): Promise<void> {
  const ours = await kernel.builtins.names();
  if (ours.includes(entry.name) || kernel.config().chain(`plugins.${entry.name}`).some((l) => l.value !== false)) return;
  const near = nearest(entry.name, ours);
  if (near !== null) kernel.log({ level: 'warning', name: entry.name, text: printError(new TappetError('E_PLUGIN_UNKNOWN', { name: entry.name, where: entry.origin, cause: 'so nothing is switched off', do: `did you mean "${near}"?` })), code: 'E_PLUGIN_UNKNOWN' });
}
/** An entry of `--plugin-dir`, which only its module can name. */
const isNameless = (entry: MergedPlugin): boolean => entry.name.startsWith('plugin-dir/');

interface Loaded { readonly module: unknown; readonly hash: string | null; readonly from: string }
async function ourModule(kernel: Kernel, entry: MergedPlugin): Promise<Loaded> {
  const module = await kernel.builtins.plugin(entry.name).catch((e: unknown) => { throw cannotLoad(entry.name, e, entry.origin); });
  if (module !== undefined) return { module, hash: null, from: 'tappet' };
  const near = nearest(entry.name, await kernel.builtins.names());
  throw new TappetError('E_PLUGIN_UNKNOWN', { name: entry.name, where: entry.origin, ...(near === null ? {} : { do: `did you mean "${near}"? Else say where it is: { use: ./path.ts }` }) });
}
async function theirModule(kernel: Kernel, entry: MergedPlugin, use: string, timeoutMs: number): Promise<Loaded> {
  const { layer, file } = entry.origin;
  const found = await findPlugin(entry.name, use, /^(\(|--)/.test(file) ? join(kernel.root, file) : file); // what no file says counts from the project
  if (!isNameless(entry)) checkHash(kernel, entry, found.hash);
  // Between asking and running the content must not change: what was trusted is what is loaded.
  if ((layer === 'project' || layer === 'local') && !Object.values(kernel.config().trust.files).includes(found.hash)) throw new TappetError('E_PLUGIN_UNTRUSTED', { name: entry.name, message: 'its content is not what was trusted', where: entry.origin });
  const module = await timeBoxed(entry, 'loading', timeoutMs, loadModule(found, () => kernel.builtins.face(), kernel.places.cache)).catch((e: unknown) => { throw isTappetError(e) ? e : cannotLoad(entry.name, e, found.entry, `named at ${place(entry.origin)}`); });
  return { module, hash: found.hash, from: found.entry };
}
function checkHash(kernel: Kernel, entry: MergedPlugin, hash: string): void {
  const wanted = kernel.settings().bounds.plugins?.hashes?.[entry.name];
  if (wanted !== undefined && wanted !== hash) throw new TappetError('E_PLUGIN_FORBIDDEN', { name: entry.name, where: entry.origin, cause: `policy wants content ${wanted}, this is ${hash}` });
}
const cannotLoad = (name: string, e: unknown, where: Origin | string, cause?: string): TappetError =>
  new TappetError('E_PLUGIN_LOAD', { name, message: messageOf(e), where, cause: [cause, frameOf(e)].filter((c) => c !== undefined).join('; ') || undefined }, undefined, { cause: e });
/** Where it was thrown, for the author. */
export const frameOf = (e: unknown): string | undefined => (e instanceof Error ? /\n\s+(at .+)/.exec(e.stack ?? '')?.[1] : undefined);

export async function timeBoxed<T>(entry: MergedPlugin, what: string, timeoutMs: number, work: PromiseLike<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => { timer = setTimeout(() => reject(new TappetError('E_PLUGIN_TIMEOUT', { name: entry.name, what, seconds: timeoutMs / 1000, where: entry.origin })), timeoutMs); });
  try { return await Promise.race([work, late]); } finally { clearTimeout(timer); }
}

function checkShape(entry: MergedPlugin, module: unknown): Plugin {
  const bad = (message: string): TappetError => new TappetError('E_PLUGIN_SHAPE', { name: entry.name, message, where: entry.origin });
  if (typeof module !== 'object' || module === null) throw bad('its default export is no object');
  const plugin = module as Partial<Plugin>;
  if (plugin.api !== undefined && plugin.api !== API_VERSION) throw new TappetError('E_PLUGIN_API', { name: entry.name, wants: plugin.api, has: API_VERSION, where: entry.origin });
  if (!isPlugin(module)) throw bad('it was not made by definePlugin');
  if (plugin.api === undefined) throw new TappetError('E_PLUGIN_API', { name: entry.name, wants: '(unsaid)', has: API_VERSION, where: entry.origin });
  if (typeof plugin.name !== 'string' || plugin.name === '') throw bad('it has no name');
  if (typeof plugin.apply !== 'function') throw bad('it has no apply()');
  if (!isNameless(entry) && plugin.name !== entry.name) throw bad(`it calls itself "${plugin.name}"`);
  const list = [plugin.needs, plugin.fires].find((l) => l !== undefined && !(Array.isArray(l) && l.every((n) => typeof n === 'string')));
  if (list !== undefined) throw bad('its needs and fires must be lists of names');
  checkDefaults(plugin, bad);
  return module as Plugin;
}

const DEFAULTABLE = ['model', 'limits', 'models', 'directories'];
function checkDefaults(plugin: Partial<Plugin>, bad: (message: string) => TappetError): void {
  if (plugin.defaults === undefined) return;
  const other = Object.keys(plugin.defaults).find((k) => !DEFAULTABLE.includes(k));
  if (other !== undefined) throw bad(`its defaults may not say "${other}", only ${DEFAULTABLE.join(', ')}`);
  const issue = configLayer().safeParse(plugin.defaults).error?.issues[0];
  if (issue !== undefined) throw bad(`its defaults: ${issue.path.join('.')}: ${issue.message}`);
}
