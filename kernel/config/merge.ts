/** Folds layers into settings: one law per key, bounds of the policy, and for every value the chain of all who spoke of it. */
import type { Bounds, ChainLink, ConfigKey, ConfigLayer, Layer, Origin, PermissionRuleSource, PluginEntry, RuleBehavior, Settings, SourcedRule } from '../../schemas/index.ts';
import { compareLayers } from '../../schemas/origin.ts';
import { parseRule } from '../../schemas/permissions.ts';
import { TappetError } from '../errors.ts';
import { fitsOne, refusal } from './admit.ts';
import type { Statement } from './admit.ts';
import { BAD_RULE } from './check.ts';
import type { LayerFile } from './check.ts';

/** replace: the nearest layer; byName: the nearest per entry; union: all; strictest: the smallest; none: not folded. */
export type Law = 'replace' | 'byName' | 'union' | 'strictest' | 'none';
export const LAWS = {
  $schema: 'none', model: 'replace', fallbackModel: 'replace', mode: 'replace', plugins: 'byName', permissions: 'union', directories: 'union', env: 'byName', limits: 'strictest',
  providers: 'byName', models: 'byName', stores: 'byName', earlyStart: 'replace', effort: 'replace', thinking: 'replace', bounds: 'none',
} satisfies Record<ConfigKey, Law>;

export interface MergedPlugin { readonly name: string; readonly entry: PluginEntry; readonly origin: Origin; readonly refused: string | null }
export interface Merged {
  readonly settings: Settings;
  readonly rules: readonly SourcedRule[];
  /** In the order in which they were first named, low layers first. */
  readonly plugins: readonly MergedPlugin[];
  readonly errors: readonly TappetError[];
  chain(path: string): readonly ChainLink[];
  keys(): readonly string[];
  /** Names that a policy layer uses, for "what enforces cannot be switched off". */
  readonly policyKeys: readonly { readonly key: string; readonly origin: Origin }[];
}

const SOURCES: Record<Layer, PermissionRuleSource> = { 'built-in': 'userSettings', plugin: 'userSettings', user: 'userSettings', project: 'projectSettings', local: 'localSettings', flag: 'flagSettings', policy: 'policySettings' };
const RULE_LISTS: readonly RuleBehavior[] = ['allow', 'ask', 'deny'];

/** `layers` in any order; two files of one layer count in the order given (later ones nearer). */
export function mergeLayers(layers: readonly LayerFile[], o: { trusted: boolean }): Merged {
  const ordered = layers.map((l, i) => ({ l, i })).sort((a, b) => compareLayers(a.l.layer, b.l.layer) || a.i - b.i).map(({ l }) => l);
  const policies = ordered.filter((l) => l.layer === 'policy');
  const { bounds, boundOrigin } = foldBounds(policies);
  const admission = { trusted: o.trusted, bounds, boundOrigin };
  const chains = new Map<string, ChainLink[]>();
  const errors: TappetError[] = [];
  const say = (s: Statement, soFar?: unknown): boolean => {
    const reason = refusal(s, admission, soFar);
    const list = chains.get(s.path) ?? [];
    chains.set(s.path, list);
    list.push({ origin: s.origin, value: s.value, status: reason === null ? 'shadowed' : 'set aside', ...(reason === null ? {} : { reason }) });
    return reason === null;
  };
  const statements = (pick: (v: ConfigLayer, l: LayerFile) => readonly [path: string, value: unknown][]): Statement[] =>
    ordered.flatMap((l) => pick(l.value, l).filter(([, v]) => v !== undefined).map(([path, value]) => ({ path, value, layer: l.layer, origin: l.origin(path) })));

  const replace = <T>(key: ConfigKey): T | undefined => {
    let last: Statement | undefined;
    for (const s of statements((v) => [[key, v[key]]])) if (say(s, last?.value)) last = s;
    if (last !== undefined) mark(chains, key, last.origin);
    return last?.value as T | undefined;
  };
  /** A bounded value that nobody says as he may: the bound's own default, or an error. Where nobody said any, whoever chooses one keeps the bound. */
  const bounded = (key: 'mode' | 'model'): string | undefined => {
    const value = replace<string>(key);
    const bound = bounds[key];
    if (value !== undefined || bound === undefined) return value;
    const where = boundOrigin(`bounds.${key}`);
    if (bound.default !== undefined && where !== null) chains.set(key, [...(chains.get(key) ?? []), { origin: boundOrigin(`bounds.${key}.default`) ?? where, value: bound.default, status: 'counts' }]);
    else if (key === 'mode' || chains.has(key)) errors.push(new TappetError('E_CONFIG_BOUND', { key, value: chains.get(key)?.at(-1)?.value ?? '(nothing)', allowed: bound.oneOf.join(', ') || '(nothing)', where: where ?? undefined, cause: 'no layer says a value that keeps the bound, and the bound names no default' }));
    return bound.default;
  };
  const byName = <T>(key: 'plugins' | 'env' | 'providers' | 'models' | 'stores'): Record<string, T> => {
    const out: Record<string, T> = Object.create(null);
    for (const s of statements((v) => Object.entries(v[key] ?? {}).map(([name, value]) => [`${key}.${name}`, value]))) {
      if (!say(s)) continue;
      out[s.path.slice(key.length + 1)] = s.value as T;
      mark(chains, s.path, s.origin);
    }
    return out;
  };

  const mode = bounded('mode');
  const model = bounded('model');

  const rules: SourcedRule[] = [];
  const texts: Record<RuleBehavior, string[]> = { allow: [], ask: [], deny: [] };
  for (const behavior of RULE_LISTS) {
    for (const l of ordered) {
      const list = l.value.permissions?.[behavior];
      if (list === undefined) continue;
      const path = `permissions.${behavior}`;
      const counts = say({ path, value: list.filter((r) => r !== BAD_RULE), layer: l.layer, origin: l.origin(path) });
      if (!counts) continue;
      mark(chains, path, l.origin(path), true);
      list.forEach((text, i) => {
        const parsed = text === BAD_RULE ? null : parseRule(text);
        if (parsed === null) return;
        texts[behavior].push(text);
        rules.push({ ...parsed, behavior, source: SOURCES[l.layer], origin: l.origin(`${path}.${i}`) });
      });
    }
  }
  const directories: string[] = [];
  for (const s of statements((v) => [['directories', v.directories]])) if (say(s)) { mark(chains, 'directories', s.origin, true); directories.push(...(s.value as string[])); }

  const limits: Record<string, number> = {};
  for (const s of statements((v) => Object.entries(v.limits ?? {}).map(([k, n]) => [`limits.${k}`, n]))) {
    if (!say(s)) continue;
    const field = s.path.slice('limits.'.length);
    if (limits[field] !== undefined && limits[field] <= (s.value as number)) continue;
    limits[field] = s.value as number;
    mark(chains, s.path, s.origin);
  }

  const entries = byName<PluginEntry>('plugins');
  const plugins = pluginList(chains);
  const settings: Settings = deepFreeze({
    model, mode: mode ?? 'default', fallbackModel: replace<string>('fallbackModel'), plugins: entries, permissions: texts, directories,
    env: byName<string>('env'), limits, providers: byName('providers'), models: byName('models'), stores: byName('stores'), earlyStart: replace<boolean>('earlyStart') ?? true,
    effort: replace<string>('effort'), thinking: replace<Settings['thinking']>('thinking'), bounds,
  });
  const policyKeys = policies.flatMap((l) => (Object.keys(l.value) as ConfigKey[]).filter((k) => k !== '$schema').map((key) => ({ key, origin: l.origin(key) })));
  return {
    settings, rules, plugins, errors, policyKeys,
    keys: () => [...chains.keys()].sort(),
    chain: (path) => withBound([...(chains.get(path) ?? [])].reverse(), path, bounds, boundOrigin),
  };
}

/** Marks who counts; unless `all` may count, whoever counted before is shadowed. */
function mark(chains: Map<string, ChainLink[]>, path: string, origin: Origin, all = false): void {
  const list = chains.get(path);
  list?.forEach((link, i) => {
    if (link.origin === origin || samePlace(link.origin, origin)) { if (link.status === 'shadowed') list[i] = { ...link, status: 'counts' }; }
    else if (!all && link.status === 'counts') list[i] = { ...link, status: 'shadowed' };
  });
}
const samePlace = (a: Origin, b: Origin): boolean => a.layer === b.layer && a.file === b.file && a.line === b.line && a.column === b.column;

function pluginList(chains: ReadonlyMap<string, readonly ChainLink[]>): MergedPlugin[] {
  const list: MergedPlugin[] = [];
  for (const [path, links] of chains) {
    if (!path.startsWith('plugins.')) continue;
    const counts = links.find((l) => l.status === 'counts');
    const refused = links.filter((l) => l.status === 'set aside').at(-1);
    const name = path.slice('plugins.'.length);
    if (counts !== undefined) list.push({ name, entry: counts.value as PluginEntry, origin: counts.origin, refused: null });
    else if (refused !== undefined) list.push({ name, entry: refused.value as PluginEntry, origin: refused.origin, refused: refused.reason ?? 'set aside' });
  }
  return list;
}

function withBound(links: ChainLink[], path: string, bounds: Bounds, boundOrigin: (path: string) => Origin | null): ChainLink[] {
  const key = path === 'fallbackModel' ? 'model' : path;
  const bound = key === 'mode' || key === 'model' ? bounds[key] : undefined;
  const origin = boundOrigin(`bounds.${key}`);
  return bound === undefined || origin === null ? links : [{ origin, value: bound, status: 'bound', reason: `one of ${bound.oneOf.join(', ')}` }, ...links];
}

/** Bounds of several policy files: each only tightens. */
function foldBounds(policies: readonly LayerFile[]): { bounds: Bounds; boundOrigin: (path: string) => Origin | null } {
  const all = policies.filter((p) => p.value.bounds !== undefined);
  const origin = (path: string): Origin | null => {
    const [, ...steps] = path.split('.') as [string, ...string[]];
    const holder = all.find((p) => steps.reduce<unknown>((v, s) => (v as Record<string, unknown> | undefined)?.[s], p.value.bounds) !== undefined);
    return holder?.origin(path) ?? (steps.length === 1 ? policies.findLast((p) => p.value[steps[0] as 'mode'] !== undefined)?.origin(steps[0]!) ?? null : null);
  };
  const list = all.map((p) => p.value.bounds!);
  /** What both let through: of two patterns the narrower. */
  const both = (a: readonly string[] | undefined, b: readonly string[] | undefined): string[] | undefined => {
    if (a === undefined || b === undefined) return (a ?? b)?.slice();
    return [...new Set([...a.filter((x) => fitsOne(b, x)), ...b.filter((x) => fitsOne(a, x))])];
  };
  const add = (a: readonly string[] | undefined, b: readonly string[] | undefined): string[] | undefined => (a === undefined && b === undefined ? undefined : [...new Set([...(a ?? []), ...(b ?? [])])]);
  const defined = <T extends object>(o: T): T => Object.fromEntries(Object.entries(o).filter(([, v]) => v !== undefined)) as T;
  const oneOf = (a: Bounds['mode'], b: Bounds['mode']): Bounds['mode'] => {
    if (a === undefined || b === undefined) return a ?? b;
    const left = both(a.oneOf, b.oneOf)!;
    const fallback = [a.default, b.default].find((d) => d !== undefined && fitsOne(left, d));
    return { oneOf: left, ...(fallback === undefined ? {} : { default: fallback }) };
  };
  /** Two contents of one plugin: none fits. */
  const hashes = (a: Readonly<Record<string, string>> = {}, b: Readonly<Record<string, string>> = {}): Record<string, string> =>
    Object.fromEntries([...new Set([...Object.keys(a), ...Object.keys(b)])].map((n) => [n, a[n] === undefined || a[n] === b[n] ? b[n]! : b[n] === undefined ? a[n] : `${a[n]} and ${b[n]}`]));
  const bounds = list.reduce<Bounds>((a, b) => defined({
    mode: oneOf(a.mode, b.mode), model: oneOf(a.model, b.model),
    permissions: a.permissions === undefined && b.permissions === undefined ? undefined : { onlyPolicyAllows: a.permissions?.onlyPolicyAllows === true || b.permissions?.onlyPolicyAllows === true },
    plugins: a.plugins === undefined && b.plugins === undefined ? undefined : defined({
      allow: both(a.plugins?.allow, b.plugins?.allow), forbid: add(a.plugins?.forbid, b.plugins?.forbid), require: add(a.plugins?.require, b.plugins?.require),
      onlyFrom: both(a.plugins?.onlyFrom, b.plugins?.onlyFrom), hashes: a.plugins?.hashes === undefined && b.plugins?.hashes === undefined ? undefined : hashes(a.plugins?.hashes, b.plugins?.hashes),
    }),
  }), {});
  // A plain value of policy's binds who chooses later (flags, a session) as it binds files, unless a bound says what may be chosen.
  const fixed = (key: 'mode' | 'model'): Bounds => {
    const value = policies.findLast((p) => p.value[key] !== undefined)?.value[key];
    return value === undefined || bounds[key] !== undefined ? {} : { [key]: { oneOf: [value] } };
  };
  return { bounds: { ...bounds, ...fixed('mode'), ...fixed('model') }, boundOrigin: origin };
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) { Object.freeze(value); for (const v of Object.values(value)) deepFreeze(v); }
  return value;
}
