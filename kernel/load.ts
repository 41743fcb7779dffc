/** From an entry of the configuration to a plugin at work: found, admitted, imported, checked, applied as a whole or not at all. */
import { join } from 'node:path';
import type { Origin, PluginReport, Tool } from '../schemas/index.ts';
import { configLayer, ENFORCED_BY } from '../schemas/config.ts';
import { compareLayers, place } from '../schemas/origin.ts';
import { pluginRefusal } from './config/admit.ts';
import type { LayerFile } from './config/check.ts';
import type { MergedPlugin } from './config/merge.ts';
import { makeOrigin } from './config/origin.ts';
import { findPlugin } from './config/plugin-files.ts';
import { loadModule } from './door.ts';
import { asTappetError, isTappetError, messageOf, nearest, printError, TappetError } from './errors.ts';
import type { Kernel } from './kernel.ts';
import type { Plugin } from './plugin.ts';
import { API_VERSION, isPlugin } from './plugin.ts';
import { checkedSchema, requireObject } from './schema.ts';
import type { Collected } from './scope.ts';
import { createScope } from './scope.ts';

export const APPLY_TIMEOUT_MS = 5000;

interface Candidate { readonly entry: MergedPlugin; readonly plugin: Plugin; readonly hash: string | null; readonly from: string; readonly order: number; readonly ms: number }

/** Loads all; afterwards `kernel.reports` says what became of each, in the order of the configuration. @throws E_PLUGIN_REQUIRED, E_POLICY_UNENFORCED */
export async function loadPlugins(kernel: Kernel, o: { readonly timeoutMs?: number } = {}): Promise<void> {
  const timeoutMs = o.timeoutMs ?? APPLY_TIMEOUT_MS;
  const entries = kernel.config().plugins;
  const loaded = await Promise.all(entries.map((entry, order) => importOne(kernel, entry, order, timeoutMs)));
  const candidates = nearestOfEachName(kernel, loaded.filter((c): c is Candidate => c !== null));
  const useDefaults = (of: readonly Candidate[]): void => { if (candidates.some((c) => c.plugin.defaults !== undefined)) kernel.setConfig(kernel.config().withDefaults(of.flatMap((c) => (c.plugin.defaults === undefined ? [] : [defaultsLayer(c.plugin)])))); };
  useDefaults(candidates);
  for (const c of byNeeds(kernel, candidates)) await applyOne(kernel, c, timeoutMs);
  const isRunning = (c: Candidate): boolean => kernel.reports.some((r) => r.name === c.plugin.name && r.state === 'running');
  if (!candidates.every(isRunning)) useDefaults(candidates.filter(isRunning)); // a plugin that failed has left nothing
  const place = new Map(entries.map((e, i) => [e.origin, i]));
  kernel.reports.sort((a, b) => (place.get(a.origin) ?? 0) - (place.get(b.origin) ?? 0));
  requirePolicy(kernel);
}

/** `--plugin-dir` names files; whose plugin it is shows when it is loaded. Then the law of names holds: the nearest layer, and two of one layer are none. */
function nearestOfEachName(kernel: Kernel, candidates: readonly Candidate[]): readonly Candidate[] {
  return candidates.filter((c) => {
    const others = candidates.filter((x) => x !== c && x.plugin.name === c.plugin.name);
    if (others.length === 0) return true;
    const nearer = others.find((x) => compareLayers(x.entry.origin.layer, c.entry.origin.layer) > 0);
    const facts = { hash: c.hash, from: c.from };
    if (nearer !== undefined) { report(kernel, c.entry, 'shadowed', { ...facts, error: `${nearer.from} is nearer (${nearer.entry.origin.layer})` }); return false; }
    const equal = others.find((x) => x.entry.origin.layer === c.entry.origin.layer);
    if (equal === undefined) return true;
    fail(kernel, c.entry, new TappetError('E_NAME_TAKEN', { kind: 'plugins', name: c.plugin.name, where: c.entry.origin, cause: `${c.from} and ${equal.from}` }), facts);
    return false;
  });
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

async function importOne(kernel: Kernel, entry: MergedPlugin, order: number, timeoutMs: number): Promise<Candidate | null> {
  if (entry.refused !== null) {
    const waits = entry.refused.startsWith('waits');
    report(kernel, entry, waits ? 'untrusted' : 'forbidden', { error: `${entry.name}: ${entry.refused}` });
    return null;
  }
  if (entry.entry === false) { report(kernel, entry, 'off'); return null; }
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
  const module = await timeBoxed(entry, 'loading', timeoutMs, loadModule(found, () => kernel.builtins.face())).catch((e: unknown) => { throw isTappetError(e) ? e : cannotLoad(entry.name, e, found.entry, `named at ${place(entry.origin)}`); });
  return { module, hash: found.hash, from: found.entry };
}
function checkHash(kernel: Kernel, entry: MergedPlugin, hash: string): void {
  const wanted = kernel.settings().bounds.plugins?.hashes?.[entry.name];
  if (wanted !== undefined && wanted !== hash) throw new TappetError('E_PLUGIN_FORBIDDEN', { name: entry.name, where: entry.origin, cause: `policy wants content ${wanted}, this is ${hash}` });
}
const cannotLoad = (name: string, e: unknown, where: Origin | string, cause?: string): TappetError =>
  new TappetError('E_PLUGIN_LOAD', { name, message: messageOf(e), where, cause: [cause, frameOf(e)].filter((c) => c !== undefined).join('; ') || undefined }, undefined, { cause: e });
/** Where it was thrown, for the author. */
const frameOf = (e: unknown): string | undefined => (e instanceof Error ? /\n\s+(at .+)/.exec(e.stack ?? '')?.[1] : undefined);

async function timeBoxed<T>(entry: MergedPlugin, what: string, timeoutMs: number, work: PromiseLike<T>): Promise<T> {
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
function defaultsLayer(plugin: Plugin): LayerFile {
  const file = `(${plugin.name})`;
  return { layer: 'plugin', file, value: plugin.defaults ?? {}, hash: '', problems: [], origin: () => makeOrigin('plugin', file) };
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
  const reaches = (from: string, to: string, seen = new Set<string>()): boolean => {
    if (seen.has(from)) return false;
    seen.add(from);
    return (left.get(from)?.plugin.needs ?? []).some((n) => n === to || reaches(n, to, seen));
  };
  for (const [name, c] of left) {
    const missing = (c.plugin.needs ?? []).filter((n) => !placed.has(n)).map((n) => `${n}, ${n === name ? 'which is itself' : reaches(n, name) ? 'which needs it in turn' : 'which is not running'}`);
    fail(kernel, c.entry, new TappetError('E_PLUGIN_NEEDS', { name, needs: missing.join('; '), where: c.entry.origin }), { hash: c.hash, from: c.from });
  }
  return done;
}

async function applyOne(kernel: Kernel, c: Candidate, timeoutMs: number): Promise<void> {
  const { entry, plugin } = c;
  const started = performance.now();
  let collected: Collected | undefined;
  try {
    const missing = (plugin.needs ?? []).find((n) => !kernel.reports.some((r) => r.name === n && r.state === 'running'));
    if (missing !== undefined) throw new TappetError('E_PLUGIN_NEEDS', { name: plugin.name, needs: `${missing}, which failed`, where: entry.origin });
    const options = await checkOptions(kernel, entry, plugin);
    collected = createScope(kernel, plugin, entry.origin, options, c.order, c.from === 'tappet');
    const applied: unknown = plugin.apply(collected.scope);
    if (isThenable(applied)) await timeBoxed(entry, 'apply()', timeoutMs, applied);
    if (c.from !== 'tappet') for (const tool of collected.tools) describable(tool);
    collected.commit();
    report(kernel, entry, 'running', { hash: c.hash, from: c.from, adds: collected.adds(), ms: c.ms + performance.now() - started });
  } catch (e) {
    await collected?.abandon();
    fail(kernel, entry, isTappetError(e) ? e : new TappetError('E_PLUGIN_APPLY', { name: plugin.name, message: messageOf(e), where: entry.origin, cause: frameOf(e) }, undefined, { cause: e }), { hash: c.hash, from: c.from });
  }
}
const isThenable = (value: unknown): value is PromiseLike<unknown> => typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
/** Ours were described when they were built. @throws E_PLUGIN_SCHEMA */
function describable(tool: Tool): void {
  if (typeof tool.inputSchema !== 'function') throw new TappetError('E_PLUGIN_SCHEMA', { what: 'input schema', name: `tool ${tool.name}`, message: 'it is none; make the tool with defineTool' });
  requireObject(tool.inputSchema(), `input schema of tool ${tool.name}`);
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
  const properties = Object.keys(given).length === 0 ? undefined : knownOptions(schema.jsonSchema);
  const unknown = properties === undefined ? undefined : Object.keys(given).find((k) => !Object.hasOwn(properties, k));
  if (unknown !== undefined) {
    const near = nearest(unknown, Object.keys(properties!));
    throw new TappetError('E_PLUGIN_OPTIONS', { name: plugin.name, message: `unknown option "${unknown}"`, where: at(unknown), cause: `known here: ${Object.keys(properties!).join(', ') || 'none'}`, ...(near === null ? {} : { do: `did you mean "${near}"?` }) });
  }
  const checked = await schema.check(given);
  if ('problems' in checked) throw new TappetError('E_PLUGIN_OPTIONS', { name: plugin.name, message: checked.problems.join('; '), where: at(/^[\w.]+(?=:)/.exec(checked.problems[0] ?? '')?.[0] ?? '') });
  return checked.value;
}

/** Undefined: others are welcome, or it can't be told. */
function knownOptions(json: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | undefined {
  const { properties, additionalProperties } = json as { properties?: Readonly<Record<string, unknown>>; additionalProperties?: unknown };
  return additionalProperties === undefined || additionalProperties === false ? properties : undefined;
}

/** What policy demands must run, and what enforces policy too, and be what it is taken for: else nothing starts. */
function requirePolicy(kernel: Kernel): void {
  const config = kernel.config();
  const reportOf = (name: string): PluginReport | undefined => kernel.reports.find((r) => r.name === name && r.state === 'running') ?? kernel.reports.find((r) => r.name === name);
  /** Null: it runs, and is ours or policy's own. */
  const flaw = (name: string): string | null => {
    const r = reportOf(name);
    if (r === undefined) return 'not there';
    if (r.state !== 'running') return r.state === 'off' ? 'switched off' : r.state;
    return r.from === 'tappet' || r.origin.layer === 'policy' ? null : `replaced by ${r.from}`;
  };
  const blame = (name: string): { cause?: string } => { const r = reportOf(name); return r === undefined ? {} : { cause: r.state === 'failed' && r.error !== undefined ? r.error : `said at ${place(r.origin)} (${r.origin.layer})` }; };
  const ours = config.sources.builtIn.value.plugins ?? {};
  for (const name of config.settings.bounds.plugins?.require ?? []) {
    // A name of ours means ours; any other is whoever policy lets come.
    const wrong = Object.hasOwn(ours, name) || reportOf(name)?.state !== 'running' ? flaw(name) : null;
    if (wrong !== null) throw new TappetError('E_PLUGIN_REQUIRED', { name, message: wrong, where: requiredAt(config.files, name), ...blame(name) });
  }
  for (const { key, origin } of config.policyKeys) {
    for (const plugin of [...(ENFORCED_BY['*'] ?? []), ...(ENFORCED_BY[key] ?? [])]) {
      const wrong = flaw(plugin);
      if (wrong !== null) throw new TappetError('E_POLICY_UNENFORCED', { key, plugin, state: wrong, where: origin, ...blame(plugin) });
    }
  }
}
const requiredAt = (files: readonly LayerFile[], name: string): Origin | undefined => files.find((f) => f.layer === 'policy' && f.value.bounds?.plugins?.require?.includes(name) === true)?.origin('bounds.plugins.require');
