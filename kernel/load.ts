/** From an entry of the configuration to a plugin at work: found, admitted, imported, checked, applied as a whole or not at all. */
import type { Origin, PluginReport } from '../schemas/index.ts';
import { ENFORCED_BY } from '../schemas/config.ts';
import { place } from '../schemas/origin.ts';
import type { LayerFile } from './config/check.ts';
import type { MergedPlugin } from './config/merge.ts';
import { makeOrigin } from './config/origin.ts';
import { findPlugin } from './config/plugin-files.ts';
import { pluginRefusal } from './config/admit.ts';
import { loadModule } from './door.ts';
import { asTappetError, isTappetError, messageOf, nearest, printError, TappetError } from './errors.ts';
import type { Kernel } from './kernel.ts';
import type { Plugin } from './plugin.ts';
import { API_VERSION, isPlugin } from './plugin.ts';
import { checkedSchema } from './schema.ts';
import type { Collected } from './scope.ts';
import { createScope } from './scope.ts';

export const APPLY_TIMEOUT_MS = 5000;

interface Candidate { readonly entry: MergedPlugin; readonly plugin: Plugin; readonly hash: string | null; readonly from: string; readonly order: number; readonly ms: number }

/** Loads all; afterwards `kernel.reports` says what became of each. @throws E_PLUGIN_REQUIRED, E_POLICY_UNENFORCED */
export async function loadPlugins(kernel: Kernel): Promise<void> {
  const entries = kernel.config().plugins;
  const loaded = await Promise.all(entries.map((entry, order) => importOne(kernel, entry, order)));
  const candidates = loaded.filter((c): c is Candidate => c !== null);
  const defaults = candidates.flatMap((c) => (c.plugin.defaults === undefined ? [] : [defaultsLayer(c.plugin)]));
  if (defaults.length > 0) kernel.setConfig(kernel.config().withDefaults(defaults));
  for (const c of byNeeds(kernel, candidates)) await applyOne(kernel, c);
  requirePolicy(kernel);
}

function report(kernel: Kernel, entry: MergedPlugin, state: PluginReport['state'], more: Partial<PluginReport> = {}): void {
  kernel.reports.push({ name: entry.name, state, origin: entry.origin, from: sourceOf(entry), hash: null, adds: [], ms: 0, ...more });
}
const sourceOf = (entry: MergedPlugin): string => (typeof entry.entry === 'object' && entry.entry.use !== undefined ? entry.entry.use : 'tappet');
function fail(kernel: Kernel, entry: MergedPlugin, e: unknown, more: Partial<PluginReport> = {}): null {
  const error = asTappetError(e);
  const printed = error.where === null ? printError(new TappetError(error.code, { ...error.facts, where: entry.origin }, { [error.code]: error.row })) : printError(error);
  report(kernel, entry, 'failed', { error: printed, ...more });
  kernel.log({ level: 'error', name: entry.name, text: printed, code: error.code });
  return null;
}

async function importOne(kernel: Kernel, entry: MergedPlugin, order: number): Promise<Candidate | null> {
  if (entry.refused !== null) {
    const waits = entry.refused.startsWith('waits');
    report(kernel, entry, waits ? 'untrusted' : 'forbidden', { error: `${entry.name}: ${entry.refused}` });
    return null;
  }
  if (entry.entry === false) { report(kernel, entry, 'off'); return null; }
  const started = performance.now();
  try {
    const use = typeof entry.entry === 'object' ? entry.entry.use : undefined;
    let module: unknown;
    let hash: string | null = null;
    let from = 'tappet';
    if (use === undefined) {
      module = await kernel.builtins.plugin(entry.name).catch((e: unknown) => { throw new TappetError('E_PLUGIN_LOAD', { name: entry.name, message: messageOf(e), where: entry.origin }, undefined, { cause: e }); });
      if (module === undefined) {
        const near = nearest(entry.name, await kernel.builtins.names());
        throw new TappetError('E_PLUGIN_UNKNOWN', { name: entry.name, where: entry.origin, ...(near === null ? {} : { do: `did you mean "${near}"? Else say where it is: { use: ./path.ts }` }) });
      }
    } else {
      const found = await findPlugin(entry.name, use, entry.origin.file);
      const wanted = kernel.settings().bounds.plugins?.hashes?.[entry.name];
      if (wanted !== undefined && wanted !== found.hash) throw new TappetError('E_PLUGIN_FORBIDDEN', { name: entry.name, where: entry.origin, cause: `policy wants content ${wanted}, this is ${found.hash}` });
      // Between asking and running the content must not change: what was trusted is what is loaded.
      const { trust } = kernel.config();
      if ((entry.origin.layer === 'project' || entry.origin.layer === 'local') && !Object.values(trust.files).includes(found.hash)) throw new TappetError('E_PLUGIN_UNTRUSTED', { name: entry.name, message: 'its content is not what was trusted', where: entry.origin });
      hash = found.hash;
      from = found.entry;
      module = await loadModule(found, () => kernel.builtins.face()).catch((e: unknown) => { throw isTappetError(e) ? e : new TappetError('E_PLUGIN_LOAD', { name: entry.name, message: messageOf(e), where: found.entry, cause: `named at ${place(entry.origin)}` }, undefined, { cause: e }); });
    }
    const plugin = checkShape(entry, module);
    const named = entry.name.startsWith('plugin-dir/') ? { ...entry, name: plugin.name } : entry;
    if (named !== entry) {
      const refused = pluginRefusal(plugin.name, entry.entry, 'flag', kernel.settings().bounds);
      if (refused !== null) { report(kernel, named, 'forbidden', { error: `${plugin.name}: ${refused}` }); return null; }
    }
    return { entry: named, plugin, hash, from, order, ms: performance.now() - started };
  } catch (e) {
    return fail(kernel, entry, e);
  }
}

function checkShape(entry: MergedPlugin, module: unknown): Plugin {
  const bad = (message: string): TappetError => new TappetError('E_PLUGIN_SHAPE', { name: entry.name, message, where: entry.origin });
  if (typeof module !== 'object' || module === null) throw bad('its default export is no object');
  const plugin = module as Partial<Plugin>;
  if (typeof plugin.name !== 'string') throw bad('it has no name');
  if (plugin.api !== API_VERSION) throw new TappetError('E_PLUGIN_API', { name: entry.name, wants: plugin.api ?? '(unsaid)', has: API_VERSION, where: entry.origin });
  if (!isPlugin(module)) throw bad('it was not made by definePlugin');
  if (typeof plugin.apply !== 'function') throw bad('it has no apply()');
  if (!entry.name.startsWith('plugin-dir/') && plugin.name !== entry.name) throw bad(`it calls itself "${plugin.name}"`);
  return module as Plugin;
}

function defaultsLayer(plugin: Plugin): LayerFile {
  const allowed = new Set(['model', 'limits', 'models', 'directories']);
  const value = Object.fromEntries(Object.entries(plugin.defaults ?? {}).filter(([k]) => allowed.has(k)));
  return { layer: 'plugin', file: `(${plugin.name})`, value, hash: '', problems: [], origin: () => makeOrigin('plugin', `(${plugin.name})`) };
}

/** In the order of `needs`, else as configured; who needs what is not there, or needs itself in a circle, is left out. */
function byNeeds(kernel: Kernel, candidates: readonly Candidate[]): readonly Candidate[] {
  const left = new Map(candidates.map((c) => [c.plugin.name, c]));
  const done: Candidate[] = [];
  const placed = new Set<string>();
  for (let progress = true; progress; ) {
    progress = false;
    for (const [name, c] of left) {
      if (!(c.plugin.needs ?? []).every((n) => placed.has(n))) continue;
      done.push(c);
      placed.add(name);
      left.delete(name);
      progress = true;
    }
  }
  for (const c of left.values()) {
    const missing = (c.plugin.needs ?? []).filter((n) => !placed.has(n));
    const circle = missing.some((n) => left.has(n));
    fail(kernel, c.entry, new TappetError('E_PLUGIN_NEEDS', { name: c.plugin.name, needs: `${missing.join(', ')}${circle ? ', which needs it in turn' : ', which is not running'}`, where: c.entry.origin }), { hash: c.hash, from: c.from });
  }
  return done;
}

async function applyOne(kernel: Kernel, c: Candidate): Promise<void> {
  const { entry, plugin } = c;
  const started = performance.now();
  let timer: NodeJS.Timeout | undefined;
  let collected: Collected | undefined;
  try {
    const missing = (plugin.needs ?? []).find((n) => !kernel.reports.some((r) => r.name === n && r.state === 'running'));
    if (missing !== undefined) throw new TappetError('E_PLUGIN_NEEDS', { name: plugin.name, needs: `${missing}, which failed`, where: entry.origin });
    const options = await checkOptions(kernel, entry, plugin);
    collected = createScope(kernel, plugin, entry.origin, options, c.order);
    const applied = plugin.apply(collected.scope);
    if (applied instanceof Promise) {
      const late = new Promise<never>((_, reject) => { timer = setTimeout(() => reject(new TappetError('E_PLUGIN_TIMEOUT', { name: plugin.name, what: 'apply()', seconds: APPLY_TIMEOUT_MS / 1000, where: entry.origin })), APPLY_TIMEOUT_MS); });
      await Promise.race([applied, late]);
    }
    collected.commit();
    report(kernel, entry, 'running', { hash: c.hash, from: c.from, adds: collected.adds(), ms: c.ms + performance.now() - started });
  } catch (e) {
    await collected?.abandon().catch((late: unknown) => kernel.log({ level: 'error', name: plugin.name, text: `failed to close: ${messageOf(late)}` }));
    fail(kernel, entry, isTappetError(e) ? e : new TappetError('E_PLUGIN_APPLY', { name: plugin.name, message: messageOf(e), where: entry.origin }, undefined, { cause: e }), { hash: c.hash, from: c.from });
  } finally {
    clearTimeout(timer);
  }
}

async function checkOptions(kernel: Kernel, entry: MergedPlugin, plugin: Plugin): Promise<unknown> {
  const given = typeof entry.entry === 'object' ? entry.entry.with ?? {} : {};
  const file = kernel.config().files.find((f) => f.layer === entry.origin.layer && f.file === entry.origin.file);
  const at = (key: string): Origin => file?.origin(`plugins.${entry.name}.with.${key}`) ?? entry.origin;
  if (plugin.options === undefined) {
    const extra = Object.keys(given)[0];
    if (extra !== undefined) throw new TappetError('E_PLUGIN_OPTIONS', { name: plugin.name, message: `it takes no options, so not "${extra}"`, where: at(extra) });
    return {};
  }
  const schema = checkedSchema(plugin.options, `options of ${plugin.name}`);
  const properties = schema.jsonSchema['properties'] as Readonly<Record<string, unknown>> | undefined;
  const unknown = properties === undefined ? undefined : Object.keys(given).find((k) => !Object.hasOwn(properties, k));
  if (unknown !== undefined && schema.jsonSchema['additionalProperties'] !== true) {
    const near = nearest(unknown, Object.keys(properties!));
    throw new TappetError('E_PLUGIN_OPTIONS', { name: plugin.name, message: `unknown option "${unknown}"`, where: at(unknown), cause: `known here: ${Object.keys(properties!).join(', ') || 'none'}`, ...(near === null ? {} : { do: `did you mean "${near}"?` }) });
  }
  const checked = await schema.check(given);
  if ('problems' in checked) throw new TappetError('E_PLUGIN_OPTIONS', { name: plugin.name, message: checked.problems.join('; '), where: at(/^[\w.]+(?=:)/.exec(checked.problems[0] ?? '')?.[0] ?? '') });
  return checked.value;
}

/** What policy demands must run, and what enforces policy too: else nothing starts. */
function requirePolicy(kernel: Kernel): void {
  const config = kernel.config();
  const stateOf = (name: string): string => { const r = kernel.reports.find((x) => x.name === name); return r === undefined ? 'not there' : r.state === 'off' ? 'switched off' : r.state; };
  for (const name of config.settings.bounds.plugins?.require ?? []) {
    if (stateOf(name) !== 'running') throw new TappetError('E_PLUGIN_REQUIRED', { name, message: stateOf(name), where: boundPlace(config.policyKeys), cause: kernel.reports.find((r) => r.name === name)?.error });
  }
  for (const { key, origin } of config.policyKeys) {
    for (const plugin of [...(ENFORCED_BY['*'] ?? []), ...(ENFORCED_BY[key] ?? [])]) {
      if (stateOf(plugin) === 'running') continue;
      const said = kernel.reports.find((r) => r.name === plugin)?.origin;
      throw new TappetError('E_POLICY_UNENFORCED', { key, plugin, state: stateOf(plugin), where: origin, ...(said === undefined ? {} : { cause: `it was switched off at ${place(said)} (${said.layer})` }) });
    }
  }
}
const boundPlace = (keys: readonly { key: string; origin: Origin }[]): Origin | undefined => keys.find((k) => k.key === 'bounds')?.origin;
