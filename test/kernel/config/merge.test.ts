/** The laws of the merge, over all keys of the schema: who wins, what adds up, what only tightens, and that every value explains itself. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fitsOne, refusal } from '../../../kernel/config/admit.ts';
import type { LayerFile } from '../../../kernel/config/check.ts';
import { LAWS, mergeLayers } from '../../../kernel/config/merge.ts';
import type { Merged } from '../../../kernel/config/merge.ts';
import { configLayer } from '../../../schemas/config.ts';
import type { ConfigKey, ConfigLayer, Layer, PluginEntry } from '../../../schemas/index.ts';
import { compareLayers } from '../../../schemas/origin.ts';
import { ruleText } from '../../../schemas/permissions.ts';
import { anyLayer, layerFile, layerValue } from '../../support/layer-files.ts';

const plain = <T>(v: T): T => (v === undefined ? v : JSON.parse(JSON.stringify(v)) as T);
const trusted = (...layers: LayerFile[]): Merged => mergeLayers(layers, { trusted: true });
const untrusted = (...layers: LayerFile[]): Merged => mergeLayers(layers, { trusted: false });
/** Layers that may say anything: nothing is set aside here. */
const FREE = ['built-in', 'user', 'local', 'flag'] as const;
/** `providers` are refused in a project's own layers by another law. */
const free = (layer: Layer) => layerValue(layer).map((v) => { const { providers: _, ...rest } = v; return layerFile(layer, rest); });
const said = (m: Merged, key: string): boolean => m.chain(key).some((l) => l.status === 'counts');
/** A merge as one layer's words, to be merged on. */
function asLayer(m: Merged): ConfigLayer {
  const { permissions, directories, bounds: _, ...rest } = plain(m.settings);
  const lists = Object.fromEntries(Object.entries(permissions).filter(([k]) => said(m, `permissions.${k}`)));
  const all = { ...rest, ...(Object.keys(lists).length === 0 ? {} : { permissions: lists }), ...(said(m, 'directories') ? { directories } : {}) } as Record<string, unknown>;
  for (const key of ['mode', 'earlyStart']) if (!said(m, key)) delete all[key];
  return all as ConfigLayer;
}
const settingsOf = (m: Merged) => plain(m.settings);

test('every key of a layer has a law', () => {
  assert.deepEqual(Object.keys(LAWS).sort(), Object.keys(configLayer().shape).sort());
});
test('the generator says every key, so that all of this is tested for each', () => {
  const seen = new Set<string>();
  for (const value of fc.sample(layerValue('policy'), 200)) for (const key of Object.keys(value)) seen.add(key);
  assert.deepEqual([...seen].sort(), Object.keys(LAWS).filter((k) => k !== '$schema').sort());
});
test('the merge is associative: it does not matter which two neighbours are folded first', () => {
  fc.assert(fc.property(free('user'), free('local'), free('flag'), (a, b, c) => {
    const all = settingsOf(trusted(a, b, c));
    assert.deepEqual(settingsOf(trusted(layerFile('local', asLayer(trusted(a, b))), c)), all);
    assert.deepEqual(settingsOf(trusted(a, layerFile('flag', asLayer(trusted(b, c))))), all);
  }), { numRuns: 60 });
});
test('the merge is idempotent: a layer that says the same once more changes nothing but the length of lists', () => {
  fc.assert(fc.property(free('user'), (a) => {
    const once = settingsOf(trusted(a));
    const twice = settingsOf(trusted(a, { ...a, file: 'again.yaml', layer: 'local' }));
    const unique = (s: typeof once) => ({ ...s, directories: [...new Set(s.directories)], permissions: Object.fromEntries(Object.entries(s.permissions).map(([k, v]) => [k, [...new Set(v as string[])]])) });
    assert.deepEqual(unique(twice), unique(once));
  }), { numRuns: 60 });
});
test('the order in which files were read does not matter, only their layers', () => {
  fc.assert(fc.property(fc.tuple(...FREE.map(free)).chain((list) => fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length, maxLength: list.length }))), ([list, shuffled]) => {
    assert.deepEqual(settingsOf(trusted(...shuffled)), settingsOf(trusted(...list)));
  }), { numRuns: 40 });
});

const nearest = <T>(layers: readonly LayerFile[], pick: (v: ConfigLayer) => T | undefined): T | undefined => layers.map((l) => pick(l.value)).filter((v) => v !== undefined).at(-1);
test('replace: the nearest layer that says a key wins', () => {
  fc.assert(fc.property(fc.tuple(...FREE.map(free)), (layers) => {
    const { settings } = trusted(...layers);
    for (const [key, law] of Object.entries(LAWS)) if (law === 'replace') assert.deepEqual(plain(settings[key as 'model']), plain(nearest(layers, (v) => v[key as 'model']) ?? { mode: 'default', earlyStart: true }[key]), key);
  }), { numRuns: 60 });
});
test('byName: of each name the nearest layer wins, whole, and false switches off', () => {
  fc.assert(fc.property(fc.tuple(...FREE.map(free)), (layers) => {
    const { settings } = trusted(...layers);
    for (const key of (Object.keys(LAWS) as ConfigKey[]).filter((k) => LAWS[k] === 'byName')) {
      const names = new Set(layers.flatMap((l) => Object.keys(l.value[key] ?? {})));
      assert.deepEqual(plain(settings[key as 'env']), plain(Object.fromEntries([...names].map((n) => [n, nearest(layers, (v) => (v[key] as Record<string, string> | undefined)?.[n])]))), key);
    }
  }), { numRuns: 60 });
  const off = trusted(layerFile('built-in', { plugins: { 'tools/web': true } }), layerFile('user', { plugins: { 'tools/web': false } }));
  assert.deepEqual(off.plugins.map((p) => [p.name, p.entry, p.origin.layer]), [['tools/web', false, 'user']]);
});
test('union: all rules and folders count, low layers first, each with the place of its own words', () => {
  fc.assert(fc.property(fc.tuple(...FREE.map(free)), (layers) => {
    const { rules, settings } = trusted(...layers);
    for (const behavior of ['allow', 'ask', 'deny'] as const) {
      const expected = layers.flatMap((l) => (l.value.permissions?.[behavior] ?? []).map((text, i) => [text, l.origin(`permissions.${behavior}.${i}`)] as const));
      assert.deepEqual(rules.filter((r) => r.behavior === behavior).map((r) => [ruleText(r), { ...r.origin }]), expected.map(([text, origin]) => [text, { ...origin }]));
    }
    assert.deepEqual(settings.directories, layers.flatMap((l) => l.value.directories ?? []));
  }), { numRuns: 40 });
});
test('strictest: of each limit the smallest counts, whoever says it', () => {
  fc.assert(fc.property(fc.tuple(...FREE.map(free)), (layers) => {
    const { settings } = trusted(...layers);
    for (const field of ['costUsd', 'turns', 'timeMs', 'outputTokens'] as const) {
      const all = layers.flatMap((l) => l.value.limits?.[field] ?? []);
      assert.equal(settings.limits[field], all.length === 0 ? undefined : Math.min(...all));
    }
  }), { numRuns: 40 });
});
test('settings are frozen to the bottom, and their maps have no prototype to reach', () => {
  const { settings } = trusted(layerFile('user', { plugins: { 'acme/x': { use: './x.ts', with: { a: { b: 1 } } } }, permissions: { deny: ['Read'] } }));
  assert.throws(() => { (settings.plugins['acme/x'] as { with: { a: { b: number } } }).with.a.b = 2; }, TypeError);
  assert.throws(() => { (settings.permissions.deny as string[]).push('x'); }, TypeError);
  assert.equal(settings.env['constructor'], undefined);
});

// ---- policy ----------------------------------------------------------------------------------------------------------------

const LOWER = ['built-in', 'plugin', 'user', 'project', 'local', 'flag'] as const;
const lower = fc.tuple(...LOWER.map(anyLayer));
test('nothing that any other layer says widens what policy bounds, for any key', () => {
  fc.assert(fc.property(lower, anyLayer('policy'), fc.boolean(), (layers, policy, isTrusted) => {
    const m = mergeLayers([...layers, policy], { trusted: isTrusted });
    const { settings } = m;
    const p = policy.value;
    const bounds = p.bounds ?? {};
    const stops = (key: string): boolean => m.errors.some((e) => e.code === 'E_CONFIG_BOUND' && e.facts['key'] === key);
    const keeps = (bound: { oneOf: readonly string[]; default?: string | undefined } | undefined, value: string): boolean => bound === undefined || fitsOne(bound.oneOf, value) || value === bound.default;
    assert.ok(stops('mode') || settings.mode === p.mode || keeps(bounds.mode, settings.mode), `mode ${settings.mode}`);
    assert.ok(stops('model') || settings.model === undefined || settings.model === p.model || keeps(bounds.model, settings.model), `model ${settings.model}`);
    assert.ok(settings.fallbackModel === undefined || settings.fallbackModel === p.fallbackModel || settings.fallbackModel.split(',').every((f) => keeps(bounds.model, f)));
    for (const [name, entry] of Object.entries(settings.models)) assert.ok(bounds.model === undefined || p.models?.[name] !== undefined || layers[0]!.value.models?.[name] === entry || !('id' in entry || 'aliases' in entry), `models.${name} means another model`);
    if (bounds.permissions?.onlyPolicyAllows === true) assert.deepEqual(m.rules.filter((r) => r.behavior === 'allow' && r.origin.layer !== 'policy'), []);
    for (const { name, entry, origin, refused } of m.plugins) {
      if (refused !== null || entry === false || origin.layer === 'policy') continue;
      const b = bounds.plugins ?? {};
      assert.ok(b.forbid === undefined || !fitsOne(b.forbid, name), `${name} is forbidden`);
      if (!(typeof entry === 'object' && entry.use !== undefined)) continue;
      assert.ok(b.onlyFrom === undefined || b.onlyFrom.includes(origin.layer), `${name} comes from ${origin.layer}`);
      assert.ok(b.allow === undefined || fitsOne(b.allow, name), `${name} is not listed`);
    }
    for (const field of Object.keys(p.limits ?? {}) as (keyof typeof settings.limits)[]) assert.ok(settings.limits[field]! <= p.limits![field]!);
    for (const key of Object.keys(LAWS) as ConfigKey[]) {
      if (p[key] === undefined) continue;
      if (LAWS[key] === 'replace') assert.deepEqual(settings[key as 'model'], p[key], key);
      if (LAWS[key] === 'byName') for (const [name, value] of Object.entries(p[key] as Record<string, unknown>)) assert.deepEqual(plain((settings[key as 'env'] as Record<string, unknown>)[name]), plain(value), `${key}.${name}`);
    }
    for (const behavior of ['ask', 'deny'] as const) for (const text of p.permissions?.[behavior] ?? []) assert.ok(m.rules.some((r) => r.behavior === behavior && r.origin.layer === 'policy' && ruleText(r) === text));
    assert.deepEqual(plain(settings.bounds), plain(mergeLayers([policy], { trusted: true }).settings.bounds));
  }), { numRuns: 200 });
});
test('two policy files let through only what both let through', () => {
  const words = ['plan', 'default', 'a/one', 'a/two', 'acceptEdits', 'acme/x', 'acme/y', 'tools/web'];
  const onlyBounds = layerValue('policy').map(({ bounds }): ConfigLayer => (bounds === undefined ? {} : { bounds }));
  fc.assert(fc.property(onlyBounds, onlyBounds, (a, b) => {
    const both = trusted(layerFile('policy', a, 'a'), layerFile('policy', b, 'b')).settings.bounds;
    for (const word of words) {
      for (const pick of [(v: typeof both) => v.mode?.oneOf, (v: typeof both) => v.model?.oneOf, (v: typeof both) => v.plugins?.allow, (v: typeof both) => v.plugins?.onlyFrom]) {
        const each = [a, b].map((v) => pick(v.bounds ?? {})).filter((l) => l !== undefined);
        const now = pick(both);
        assert.equal(now === undefined, each.length === 0);
        if (now !== undefined && fitsOne(now, word)) assert.ok(each.every((l) => fitsOne(l, word)), word);
      }
      for (const v of [a, b]) {
        if (fitsOne(v.bounds?.plugins?.forbid ?? [], word)) assert.ok(fitsOne(both.plugins?.forbid ?? [], word));
        for (const r of v.bounds?.plugins?.require ?? []) assert.ok(both.plugins?.require?.includes(r));
        for (const [name, hash] of Object.entries(v.bounds?.plugins?.hashes ?? {})) assert.ok(both.plugins?.hashes?.[name] === hash || ![a, b].some((x) => x.bounds?.plugins?.hashes?.[name] === both.plugins?.hashes?.[name]), 'a hash was loosened');
        if (v.bounds?.permissions?.onlyPolicyAllows === true) assert.equal(both.permissions?.onlyPolicyAllows, true);
      }
      if (both.mode?.default !== undefined && a.bounds?.mode !== undefined && b.bounds?.mode !== undefined) assert.ok(fitsOne(a.bounds.mode.oneOf, both.mode.default) && fitsOne(b.bounds.mode.oneOf, both.mode.default));
    }
  }), { numRuns: 100 });
});
test('a pattern of policy means the whole word, * stands for anything, and nothing else is special', () => {
  fc.assert(fc.property(fc.stringMatching(/^[a/*.!?[(|]{1,8}$/), fc.stringMatching(/^[a/.!?[(|]{0,8}$/), (pattern, word) => {
    const expected = new RegExp(`^${pattern.split('*').map((p) => p.replace(/[.!?[(|/]/g, '\\$&')).join('.*')}$`, 's').test(word);
    assert.equal(fitsOne([pattern], word), expected);
  }), { numRuns: 500 });
  assert.ok(fitsOne(['*'], 'acme/x'), 'a star that stops at a slash would forbid nothing');
});

test('a mode that breaks the bound is set aside and the next one that keeps it counts', () => {
  const policy = layerFile('policy', { bounds: { mode: { oneOf: ['default', 'plan'] } } });
  const m = trusted(layerFile('built-in', { mode: 'default' }), layerFile('user', { mode: 'plan' }), layerFile('local', { mode: 'acceptEdits' }), policy);
  assert.equal(m.settings.mode, 'plan');
  assert.deepEqual(m.chain('mode').map((l) => [l.origin.layer, l.status]), [['policy', 'bound'], ['local', 'set aside'], ['user', 'counts'], ['built-in', 'shadowed']]);
  assert.match(m.chain('mode')[1]!.reason!, /policy allows one of default, plan, set by policy\.yaml:\d+:1 \(policy\)/);
});
test('where no layer keeps the bound its own default counts, and without one nothing starts', () => {
  const builtIn = layerFile('built-in', { mode: 'default' });
  const m = trusted(builtIn, layerFile('policy', { bounds: { mode: { oneOf: ['plan'], default: 'plan' } } }));
  assert.equal(m.settings.mode, 'plan');
  assert.deepEqual(m.chain('mode').map((l) => [l.origin.layer, l.status]), [['policy', 'bound'], ['policy', 'counts'], ['built-in', 'set aside']]);
  const none = trusted(builtIn, layerFile('policy', { bounds: { mode: { oneOf: ['plan'] } } }));
  assert.equal(none.errors[0]?.code, 'E_CONFIG_BOUND');
  assert.match(none.errors[0]!.where!, /\(policy\)$/);
  assert.equal(trusted(layerFile('user', { model: 'b/x' }), layerFile('policy', { bounds: { model: { oneOf: ['a/*'] } } })).errors[0]?.facts['key'], 'model');
});
test('a plain mode or model of policy\'s binds flags and sessions too, and says so, unless a bound says what may be chosen', () => {
  const m = trusted(layerFile('user', { mode: 'default', model: 'b/x', models: { 'b/x': { aliases: ['a/one'] } } }), layerFile('policy', { mode: 'plan', model: 'a/one' }));
  assert.deepEqual([m.settings.mode, m.settings.model, plain(m.settings.bounds)], ['plan', 'a/one', { mode: { oneOf: ['plan'] }, model: { oneOf: ['a/one'] } }]);
  assert.match(m.chain('mode').at(-1)!.reason!, /policy allows one of plan, set by policy\.yaml:\d+:1 \(policy\)/);
  const flag = (value: string) => refusal({ path: 'mode', value, layer: 'flag', origin: layerFile('flag', {}).origin('mode') }, { trusted: true, bounds: m.settings.bounds, boundOrigin: () => null });
  assert.deepEqual([flag('plan'), flag('bypassPermissions')], [null, 'policy allows one of plan']);
  assert.deepEqual(plain(trusted(layerFile('policy', { mode: 'plan', bounds: { mode: { oneOf: ['plan', 'default'] } } })).settings.bounds.mode), { oneOf: ['plan', 'default'] });
});
test('two policies that leave nothing in common stop the start', () => {
  const m = trusted(layerFile('built-in', { mode: 'default' }), layerFile('policy', { bounds: { mode: { oneOf: ['plan'], default: 'plan' } } }, 'a'), layerFile('policy', { bounds: { mode: { oneOf: ['dontAsk'], default: 'dontAsk' } } }, 'b'));
  assert.match(m.errors[0]?.message ?? '', /mode = default is not allowed here/);
});
const entries = (allow: string[] | undefined, layer: Layer, entry: PluginEntry = { use: './x.ts' }) =>
  trusted(layerFile(layer, { plugins: { 'acme/x': entry } }), layerFile('policy', { bounds: { plugins: { ...(allow === undefined ? {} : { allow }) } } })).plugins.map((p) => p.refused === null);
test('an allow-list: absent lets all come, empty lets none come, a name and a pattern let what they name come, from whichever layer', () => {
  for (const layer of ['user', 'project', 'local', 'flag'] as const) {
    assert.deepEqual([undefined, [], ['acme/x'], ['acme/*'], ['acme/y'], ['*']].map((allow) => entries(allow, layer)[0]), [true, false, true, true, false, true], layer);
    assert.deepEqual(entries([], layer, false), [true], 'switching off is always allowed');
    assert.deepEqual(entries([], layer, true), [true], 'ours need not be listed');
  }
});
test('forbid, also by pattern, hits ours as well and names who forbids', () => {
  const m = trusted(layerFile('built-in', { plugins: { 'tools/web': true, 'guards/x': true } }), layerFile('user', { plugins: { 'acme/x': { use: './x.ts' } } }), layerFile('policy', { bounds: { plugins: { forbid: ['tools/*', 'acme/x'] } } }));
  assert.deepEqual(m.plugins.map((p) => [p.name, p.refused === null]), [['tools/web', false], ['guards/x', true], ['acme/x', false]]);
  assert.match(m.plugins[0]!.refused!, /policy forbids it, set by policy\.yaml/);
  assert.equal(m.settings.plugins['tools/web'], undefined);
});
test('an alias or an id of another layer cannot make an allowed word mean another model', () => {
  const policy = layerFile('policy', { bounds: { model: { oneOf: ['sonnet', 'a/one'] } } });
  const m = trusted(layerFile('user', { model: 'sonnet', models: { 'evil/x': { aliases: ['sonnet'] }, 'a/one': { id: 'other' }, 'a/two': { contextWindow: 9 } } }), policy);
  assert.deepEqual(Object.keys(m.settings.models), ['a/two']);
  assert.match(m.chain('models.evil/x')[0]!.reason!, /only policy may say which id or alias/);
});

// ---- trust -----------------------------------------------------------------------------------------------------------------

const ORDER = ['bypassPermissions', 'acceptEdits', 'default', 'dontAsk', 'plan'];
test('before a folder is trusted its layers only tighten, for any key', () => {
  fc.assert(fc.property(anyLayer('built-in'), anyLayer('user'), anyLayer('project'), anyLayer('local'), (builtIn, user, project, local) => {
    const without = untrusted(builtIn, user);
    const m = untrusted(builtIn, user, project, local);
    const [before, after] = [plain(without.settings), plain(m.settings)];
    for (const key of ['model', 'fallbackModel', 'directories', 'env', 'providers', 'models', 'stores', 'effort', 'thinking', 'bounds'] as const) assert.deepEqual(after[key], before[key], key);
    assert.deepEqual(after.permissions.allow, before.permissions.allow);
    for (const b of ['ask', 'deny'] as const) for (const r of before.permissions[b]) assert.ok(after.permissions[b].includes(r));
    assert.ok(after.mode === before.mode || ORDER.indexOf(after.mode) > ORDER.indexOf(before.mode) && ORDER.includes(before.mode), `${before.mode} became ${after.mode}`);
    assert.ok(after.earlyStart === before.earlyStart || after.earlyStart === false);
    for (const f of ['costUsd', 'turns', 'timeMs', 'outputTokens'] as const) assert.ok(before.limits[f] === undefined || after.limits[f]! <= before.limits[f]);
    for (const [name, entry] of Object.entries(after.plugins)) assert.ok(JSON.stringify(entry) === JSON.stringify(before.plugins[name]) || (entry === false && /^(tools|skills|commands)\//.test(name)), name);
    for (const name of Object.keys(before.plugins)) assert.ok(name in after.plugins);
    for (const r of m.rules) if (r.behavior === 'allow') assert.ok(r.origin.layer !== 'project' && r.origin.layer !== 'local');
  }), { numRuns: 150 });
});
test('what waits for trust is in the chain, with the reason', () => {
  fc.assert(fc.property(anyLayer('project'), (project) => {
    const m = untrusted(layerFile('built-in', { mode: 'default' }), project);
    for (const key of ['model', 'env.A', 'directories', 'permissions.allow', 'plugins.acme/x'] as const) {
      for (const link of m.chain(key)) if (link.origin.layer === 'project' && link.value !== false) assert.match(link.reason ?? '', /waits until this folder is trusted/);
    }
  }), { numRuns: 60 });
});
test('before it is trusted a project may take a mode up where that is known to be up, never down', () => {
  const mode = (user: string | undefined, project: string) => untrusted(layerFile('built-in', { mode: 'default' }), layerFile('user', user === undefined ? {} : { mode: user }), layerFile('project', { mode: project })).settings.mode;
  assert.equal(mode(undefined, 'plan'), 'plan');
  assert.equal(mode('plan', 'default'), 'plan');
  assert.equal(mode('plan', 'dontAsk'), 'plan');
  assert.equal(mode('dontAsk', 'plan'), 'plan');
  assert.equal(mode('acceptEdits', 'default'), 'default');
  assert.equal(mode('their-mode', 'plan'), 'their-mode', 'a mode that nobody here knows may be stricter than any');
  assert.equal(mode(undefined, 'acceptEdits'), 'default');
});
test('after trust a project still may not choose a loose mode, reach models, or steer what programs load; each is set aside with the reason', () => {
  const project = layerFile('project', { mode: 'bypassPermissions', providers: { anthropic: { baseUrl: 'http://127.0.0.1' } }, env: { LD_PRELOAD: 'x', HTTPS_PROXY: 'x', OPENAI_BASE_URL: 'x', NODE_OPTIONS: 'x', ANTHROPIC_API_KEY: 'x', GIT_SSH_COMMAND: 'x', PATH: 'x', npm_config_registry: 'x', NODE_EXTRA_CA_CERTS: 'x', FINE: 'yes' }, permissions: { allow: ['Read'] } });
  const m = trusted(layerFile('built-in', { mode: 'default' }), project);
  assert.equal(m.settings.mode, 'default');
  assert.match(m.chain('mode')[0]!.reason!, /a project may only say default, plan, dontAsk/);
  assert.deepEqual(plain(m.settings.env), { FINE: 'yes' });
  assert.match(m.chain('env.LD_PRELOAD')[0]!.reason!, /steers what programs load/);
  assert.deepEqual(plain(m.settings.providers), {});
  assert.match(m.chain('providers.anthropic')[0]!.reason!, /may not be said by a project/);
  assert.deepEqual(m.settings.permissions.allow, ['Read']);
});
test('no trusted project chooses another mode than default, plan or dontAsk, whatever it says', () => {
  fc.assert(fc.property(anyLayer('project'), (project) => {
    const { chain, settings } = trusted(project);
    assert.ok(chain('mode').every((l) => l.status !== 'counts' || ['default', 'plan', 'dontAsk'].includes(settings.mode)));
    assert.deepEqual(plain(settings.providers), {});
  }), { numRuns: 60 });
});

// ---- chains ----------------------------------------------------------------------------------------------------------------

test('a chain lists everybody who spoke, highest first, one counts where one can, and who does not count says why', () => {
  fc.assert(fc.property(lower, anyLayer('policy'), fc.boolean(), (layers, policy, isTrusted) => {
    const all = [...layers, policy];
    const m = mergeLayers(all, { trusted: isTrusted });
    for (const path of m.keys()) {
      const [key, ...rest] = path.split('.') as [ConfigKey, ...string[]];
      const name = rest.join('.');
      const speakers = all.filter((l) => { const v = l.value[key] as Record<string, unknown> | undefined; return name === '' ? v !== undefined : v !== undefined && Object.hasOwn(v, name) && v[name] !== undefined; });
      const links = m.chain(path).filter((l) => l.status !== 'bound');
      const spoken = links.filter((l) => speakers.some((s) => JSON.stringify(s.origin(path)) === JSON.stringify(l.origin)));
      assert.equal(spoken.length, speakers.length, path);
      assert.ok(links.length - spoken.length <= 1, 'only the default of a bound may come besides');
      assert.deepEqual(spoken.map((l) => l.origin.layer), spoken.map((l) => l.origin.layer).sort((a, b) => compareLayers(b, a)), path);
      const counting = links.filter((l) => l.status === 'counts');
      if (LAWS[key] !== 'union') assert.ok(counting.length <= 1, path);
      for (const link of links) assert.equal(link.status === 'set aside', link.reason !== undefined, path);
      if (LAWS[key] === 'replace' && counting[0] !== undefined) assert.deepEqual(m.settings[key as 'model'], counting[0].value, path);
      if ((LAWS[key] === 'byName' || LAWS[key] === 'strictest') && counting[0] !== undefined) assert.deepEqual(plain((m.settings[key as 'env'] as Record<string, unknown>)[name]), plain(counting[0].value), path);
      if (links.some((l) => l.status === 'shadowed')) assert.equal(counting.length, 1, `${path}: somebody is shadowed by nobody`);
    }
  }), { numRuns: 100 });
});
test('where two files of the policy layer speak, the later one counts and both are listed', () => {
  const m = trusted(layerFile('user', { mode: 'default' }), layerFile('policy', { mode: 'dontAsk', limits: { turns: 5 }, permissions: { deny: ['Bash(a)'] } }, 'policy.yaml'), layerFile('policy', { mode: 'plan', limits: { turns: 9 }, permissions: { deny: ['Bash(b)'] } }, 'policy.d/20.yaml'));
  assert.deepEqual(m.chain('mode').map((l) => [l.origin.file, l.status]), [['policy.d/20.yaml', 'bound'], ['policy.d/20.yaml', 'counts'], ['policy.yaml', 'shadowed'], ['user.yaml', 'set aside']]);
  assert.deepEqual(m.chain('limits.turns').map((l) => [l.origin.file, l.status]), [['policy.d/20.yaml', 'shadowed'], ['policy.yaml', 'counts']]);
  assert.deepEqual(m.chain('permissions.deny').map((l) => [l.origin.file, l.status]), [['policy.d/20.yaml', 'counts'], ['policy.yaml', 'counts']]);
  assert.equal(m.settings.limits.turns, 5);
});
test('plugins are listed in the order in which they were first named, low layers first', () => {
  const m = trusted(layerFile('built-in', { plugins: { 'tools/b': true, 'tools/a': true } }), layerFile('user', { plugins: { 'acme/z': { use: './z.ts' }, 'tools/a': false } }));
  assert.deepEqual(m.plugins.map((p) => [p.name, p.origin.layer]), [['tools/b', 'built-in'], ['tools/a', 'user'], ['acme/z', 'user']]);
});
