/** Plugins at work: each applied as a whole or not at all, in the order of what they need. */
import type { Origin } from '../schemas/index.ts';
import { compareLayers } from '../schemas/origin.ts';
import type { LayerFile } from './config/check.ts';
import type { MergedPlugin } from './config/merge.ts';
import { makeOrigin } from './config/origin.ts';
import { enforcePolicy } from './enforce.ts';
import { isTappetError, messageOf, nearest, TappetError } from './errors.ts';
import { isThenable } from './guard.ts';
import type { Candidate } from './import.ts';
import { fail, frameOf, importOne, report, timeBoxed } from './import.ts';
import type { Kernel } from './kernel.ts';
import type { Plugin } from './plugin.ts';
import { checkedSchema } from './schema.ts';
import type { Collected } from './scope.ts';
import { createScope } from './scope.ts';

const APPLY_TIMEOUT_MS = 5000;

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
  enforcePolicy(kernel);
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
    const options = await checkOptions(kernel, entry, plugin, c.from === 'tappet', timeoutMs);
    collected = createScope(kernel, plugin, entry.origin, options, c.order, c.from === 'tappet');
    const applied: unknown = plugin.apply(collected.scope);
    if (isThenable(applied)) await timeBoxed(entry, 'apply()', timeoutMs, applied);
    collected.commit();
    report(kernel, entry, 'running', { hash: c.hash, from: c.from, adds: collected.adds(), ms: c.ms + performance.now() - started });
  } catch (e) {
    await collected?.abandon();
    fail(kernel, entry, isTappetError(e) ? e : new TappetError('E_PLUGIN_APPLY', { name: plugin.name, message: messageOf(e), where: entry.origin, cause: frameOf(e) }, undefined, { cause: e }), { hash: c.hash, from: c.from });
  }
}

async function checkOptions(kernel: Kernel, entry: MergedPlugin, plugin: Plugin, isOurs: boolean, timeoutMs: number): Promise<unknown> {
  const given = typeof entry.entry === 'object' ? entry.entry.with ?? {} : {};
  const file = kernel.config().files.find((f) => f.layer === entry.origin.layer && f.file === entry.origin.file);
  const at = (key: string): Origin => file?.origin(`plugins.${entry.name}.with.${key}`) ?? entry.origin;
  if (plugin.options === undefined) {
    const extra = Object.keys(given)[0];
    if (extra !== undefined) throw new TappetError('E_PLUGIN_OPTIONS', { name: plugin.name, message: `it takes no options, so not "${extra}"`, where: at(extra) });
    return {};
  }
  const { defaultOptions } = kernel.builtins;
  if (isOurs && Object.keys(given).length === 0 && defaultOptions !== undefined && Object.hasOwn(defaultOptions, plugin.name)) return structuredClone(defaultOptions[plugin.name]);
  const schema = checkedSchema(plugin.options, `options of ${plugin.name}`);
  const properties = Object.keys(given).length === 0 ? undefined : knownOptions(schema.jsonSchema);
  const unknown = properties === undefined ? undefined : Object.keys(given).find((k) => !Object.hasOwn(properties, k));
  if (unknown !== undefined) {
    const near = nearest(unknown, Object.keys(properties!));
    throw new TappetError('E_PLUGIN_OPTIONS', { name: plugin.name, message: `unknown option "${unknown}"`, where: at(unknown), cause: `known here: ${Object.keys(properties!).join(', ') || 'none'}`, ...(near === null ? {} : { do: `did you mean "${near}"?` }) });
  }
  const result = schema.check(given);
  const checked = isThenable(result) ? await timeBoxed(entry, 'checking its options', timeoutMs, result) : result;
  if ('problems' in checked) throw new TappetError('E_PLUGIN_OPTIONS', { name: plugin.name, message: checked.problems.join('; '), where: at(/^[\w.]+(?=:)/.exec(checked.problems[0] ?? '')?.[0] ?? '') });
  return checked.value;
}

/** Undefined: others are welcome, or it can't be told. */
function knownOptions(json: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | undefined {
  const { properties, additionalProperties } = json as { properties?: Readonly<Record<string, unknown>>; additionalProperties?: unknown };
  return additionalProperties === undefined || additionalProperties === false ? properties : undefined;
}
