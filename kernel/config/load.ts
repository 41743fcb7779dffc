/** All layers of one project root: read, checked each by itself, trusted or not, folded; and read again when files change. */
import { realpath, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { ChainLink, ConfigLayer, ConfigProblem, ConfigView, Layer, Origin, TrustView } from '../../schemas/index.ts';
import { asTappetError, isTappetError, messageOf, printError, TappetError } from '../errors.ts';
import type { LayerFile } from './check.ts';
import { checkLayer } from './check.ts';
import type { Merged } from './merge.ts';
import { mergeLayers } from './merge.ts';
import { makeOrigin } from './origin.ts';
import type { Env, Places } from './places.ts';
import { LOCAL_FILE, PROJECT_FILES } from './places.ts';
import { findPlugin } from './plugin-files.ts';
import { readPolicyFiles } from './policy-files.ts';
import type { ReadFile } from './read.ts';
import { readConfigFile, readConfigText } from './read.ts';
import type { TrustState } from './trust.ts';
import { readTrust, writeTrust } from './trust.ts';
import { changeValue } from './write.ts';

export interface ConfigSources {
  readonly root: string;
  readonly places: Places;
  readonly env: Env;
  readonly builtIn: LayerFile;
  /** `--set a.b=c`, in order. */
  readonly set: readonly string[];
  /** `--settings`: a file or JSON. */
  readonly settings: string | null;
  /** Which of user, project, local are read. */
  readonly settingSources: readonly Layer[];
  /** Files of `--plugin-dir`, as entries of the flag layer. */
  readonly flagPlugins: readonly string[];
  /** Who must own policy files; null: not checked (Windows, tests). */
  readonly policyOwner: number | null;
}

export interface Config extends ConfigView, Omit<Merged, 'chain' | 'keys' | 'settings'> {
  readonly sources: ConfigSources;
  readonly files: readonly LayerFile[];
  /** Errors that stop a start. */
  readonly fatal: readonly TappetError[];
  /** Have files changed since they were read? */
  stale(): Promise<boolean>;
  /** Reads all again. A file that broke keeps its last good denies and asks; its allows do not count. */
  reload(): Promise<Config>;
  /** The same files with the defaults of plugins between built-in and user. */
  withDefaults(defaults: readonly LayerFile[]): Config;
}

/** @throws E_POLICY_BROKEN; all else is in `problems` and `fatal` */
export async function loadConfig(sources: ConfigSources, last: Config | null = null): Promise<Config> {
  const { places, root, env } = sources;
  const problems: ConfigProblem[] = [];
  const fatal: TappetError[] = [];
  const layers: { layer: Layer; file: string; state: 'counts' | 'absent' | 'broken' | 'unreadable'; why?: string }[] = [];
  const stamps = new Map<string, string>();
  const cache = join(places.cache, 'parsed');
  const files: LayerFile[] = [sources.builtIn];
  layers.push({ layer: 'built-in', file: sources.builtIn.file, state: 'counts' });

  const readPolicy = async (): Promise<void> => {
    for (const f of [places.policy.main, places.policy.folder]) stamps.set(f, await stamp(f));
    try {
      const read = await readPolicyFiles(places.policy, sources.policyOwner);
      if (read.length === 0) layers.push({ layer: 'policy', file: places.policy.main, state: 'absent' });
      for (const r of read) {
        stamps.set(r.file, await stamp(r.file));
        const checked = checkLayer(r, 'policy', env);
        const bad = checked.problems[0];
        if (bad !== undefined) throw new TappetError('E_POLICY_BROKEN', { message: bad.text, where: bad.origin ?? r.file });
        files.push(checked);
        layers.push({ layer: 'policy', file: r.file, state: 'counts' });
      }
    } catch (e) {
      const error = isTappetError(e) && e.code === 'E_POLICY_BROKEN' ? e : new TappetError('E_POLICY_BROKEN', { message: messageOf(e), where: isTappetError(e) ? e.facts.where : places.policy.main });
      if (last === null) throw error;
      // In mid-session the last good policy stays, but for what it allowed.
      files.push(...last.files.filter((f) => f.layer === 'policy').map(withoutAllows));
      layers.push({ layer: 'policy', file: places.policy.main, state: 'broken', why: error.message });
      problems.push(problemOf(error, false));
    }
  };

  const readLayer = async (layer: Layer, file: string, below?: string): Promise<ReadFile | null> => {
    stamps.set(file, await stamp(file));
    try {
      const read = await readConfigFile(file, { layer, cache, below });
      if (read === null) { layers.push({ layer, file, state: 'absent' }); return null; }
      if (below !== undefined && read.value === undefined) return null;
      const checked = checkLayer(read, layer, env);
      files.push(checked);
      problems.push(...checked.problems);
      layers.push({ layer, file, state: 'counts' });
      return read;
    } catch (e) {
      const error = asTappetError(e);
      layers.push({ layer, file, state: error.code === 'E_CONFIG_READ' ? 'unreadable' : 'broken', why: error.message });
      problems.push(problemOf(error, false));
      const kept = last?.files.find((f) => f.layer === layer && f.file === file);
      if (kept !== undefined) files.push(withoutAllows(kept));
      return null;
    }
  };

  await readPolicy();
  const wants = (layer: Layer): boolean => sources.settingSources.includes(layer);
  if (wants('user')) await readLayer('user', join(places.config, 'config.yaml'));
  if (wants('project')) {
    let found: ReadFile | null = null;
    for (const name of PROJECT_FILES) {
      const file = join(root, name);
      if (file === sources.builtIn.file || (await sameFile(file, sources.builtIn.file))) { found = { file } as ReadFile; break; } // inside our own repository the file counts once
      if ((await stamp(file)) === 'absent') { stamps.set(file, 'absent'); continue; }
      found = await readLayer('project', file);
      break;
    }
    if (found === null && (await stamp(join(root, 'package.json'))) !== 'absent') await readLayer('project', join(root, 'package.json'), 'agent');
  }
  if (wants('local')) await readLayer('local', join(root, LOCAL_FILE));
  try {
    if (sources.settings !== null) await readFlagFile(sources.settings);
    if (sources.set.length > 0 || sources.flagPlugins.length > 0) files.push(await flagLayer(sources));
  } catch (e) {
    fatal.push(asTappetError(e));
  }

  async function readFlagFile(given: string): Promise<void> {
    const isText = given.trimStart().startsWith('{');
    const read = isText ? await readConfigText(given, '--settings', { layer: 'flag' }) : await readConfigFile(given, { layer: 'flag' });
    if (read === null) throw new TappetError('E_CONFIG_READ', { file: given, message: 'there is no such file', where: '--settings' });
    const checked = checkLayer(read, 'flag', env);
    if (checked.problems.length > 0) throw new TappetError('E_CONFIG_RULE', { rule: checked.problems[0]!.text, where: checked.problems[0]!.origin ?? undefined });
    files.push(checked);
    layers.push({ layer: 'flag', file: isText ? '--settings' : given, state: 'counts' });
  }

  const gated = await gatedFiles(files, root);
  let trustState: TrustState;
  try { trustState = await readTrust(places.state, root, gated); } catch (e) {
    problems.push(problemOf(asTappetError(e), false));
    trustState = { trusted: false, why: messageOf(e) };
  }
  return assemble({ sources, files, problems, fatal, layers, stamps, gated, trustState, defaults: [] });
}

interface Parts {
  readonly sources: ConfigSources; readonly files: readonly LayerFile[]; readonly problems: readonly ConfigProblem[]; readonly fatal: readonly TappetError[];
  readonly layers: ConfigView['layers']; readonly stamps: ReadonlyMap<string, string>; readonly gated: Readonly<Record<string, string>>;
  readonly trustState: { readonly trusted: boolean; readonly why: string | null }; readonly defaults: readonly LayerFile[];
}
function assemble(parts: Parts): Config {
  const { sources, files, trustState } = parts;
  const merged = mergeLayers([...parts.defaults, ...files], { trusted: trustState.trusted });
  const config: Config = {
    ...merged,
    root: sources.root, sources, files,
    fatal: [...parts.fatal, ...merged.errors],
    problems: parts.problems,
    layers: parts.layers,
    trust: { root: sources.root, ...trustState, files: parts.gated, waits: trustState.trusted ? [] : waiting(merged) },
    chain: (path): readonly ChainLink[] => merged.chain(path),
    stale: async () => {
      for (const [file, before] of parts.stamps) if ((await stamp(file)) !== before) return true;
      return false;
    },
    reload: async () => (await loadConfig(sources, config)).withDefaults(parts.defaults),
    withDefaults: (defaults) => assemble({ ...parts, defaults }),
    write: async (layer, path, value) => {
      const file = layer === 'user' ? join(sources.places.config, 'config.yaml') : layer === 'local' ? join(sources.root, LOCAL_FILE) : await projectFile(sources.root);
      await changeValue(file, path, () => value, async (text) => { checkLayer(await readConfigText(text, file, { layer }), layer, sources.env); });
      return { file };
    },
    grantTrust: () => writeTrust(sources.places.state, sources.root, parts.gated, new Date()),
    revokeTrust: () => writeTrust(sources.places.state, sources.root, null, new Date()),
  };
  return config;
}

async function projectFile(root: string): Promise<string> {
  for (const name of PROJECT_FILES) if ((await stamp(join(root, name))) !== 'absent') return join(root, name);
  return join(root, PROJECT_FILES[0]);
}

/** Adds rules to a list of a file that a person owns ("always allow"). @throws E_CONFIG_WRITE */
export async function changeRules(config: Config, layer: 'user' | 'project' | 'local', behavior: 'allow' | 'ask' | 'deny', change: (now: readonly string[]) => readonly string[]): Promise<string> {
  const { sources } = config;
  const file = layer === 'user' ? join(sources.places.config, 'config.yaml') : layer === 'local' ? join(sources.root, LOCAL_FILE) : await projectFile(sources.root);
  await changeValue(file, `permissions.${behavior}`, (now) => [...change(Array.isArray(now) ? (now as string[]) : [])], async (text) => { checkLayer(await readConfigText(text, file, { layer }), layer, sources.env); });
  return file;
}

async function flagLayer(sources: ConfigSources): Promise<LayerFile> {
  const { parse } = await import('yaml');
  const value: Record<string, unknown> = {};
  const { pathSteps } = await import('./write.ts');
  for (const word of sources.set) {
    const eq = word.indexOf('=');
    if (eq <= 0) throw new TappetError('E_USAGE', { message: `--set needs KEY=VALUE, not "${word}"`, where: '--set' });
    let parsed: unknown;
    try { parsed = parse(word.slice(eq + 1), { maxAliasCount: 0 }); } catch (e) { throw new TappetError('E_CONFIG_SYNTAX', { message: `the value of ${word.slice(0, eq)} is no YAML: ${messageOf(e).split('\n')[0]}`, where: '--set' }); }
    const steps = pathSteps(word.slice(0, eq));
    if (steps.some((s) => ['__proto__', 'constructor', 'prototype'].includes(s))) throw new TappetError('E_CONFIG_KEY', { key: word.slice(0, eq), where: '--set' });
    steps.reduce<Record<string, unknown>>((map, step, i) => {
      if (i === steps.length - 1) { map[step] = parsed; return map; }
      return (map[step] = typeof map[step] === 'object' && map[step] !== null ? map[step] : {}) as Record<string, unknown>;
    }, value);
  }
  const read: ReadFile = { file: '--set', value, hash: '', at: () => [1, 1], keyAt: () => [1, 1] };
  const checked = checkLayer(read, 'flag', sources.env);
  if (checked.problems.length > 0) throw new TappetError('E_CONFIG_RULE', { rule: checked.problems[0]!.text, where: '--set' });
  return sources.flagPlugins.length === 0 ? checked : withFlagPlugins(checked, sources.flagPlugins);
}
function withFlagPlugins(layer: LayerFile, files: readonly string[]): LayerFile {
  const plugins: NonNullable<ConfigLayer['plugins']> = { ...layer.value.plugins };
  files.forEach((file, i) => { plugins[`plugin-dir/${i + 1}`] = { use: file }; });
  return { ...layer, value: { ...layer.value, plugins }, origin: (path) => (path.startsWith('plugins.plugin-dir/') ? makeOrigin('flag', '--plugin-dir') : layer.origin(path)) };
}

/** What a folder's own files would do once it is trusted, by path relative to the root. */
async function gatedFiles(files: readonly LayerFile[], root: string): Promise<Readonly<Record<string, string>>> {
  const gated: Record<string, string> = {};
  for (const f of files) {
    if (f.layer !== 'project' && f.layer !== 'local') continue;
    gated[relative(root, f.file)] = `sha256-${f.hash}`;
    for (const [name, entry] of Object.entries(f.value.plugins ?? {})) {
      if (typeof entry !== 'object' || entry.use === undefined) continue;
      try {
        const found = await findPlugin(name, entry.use, f.file);
        gated[relative(root, found.entry)] = found.hash;
      } catch { gated[`${name} (${entry.use})`] = 'missing'; } // said when it is loaded
    }
  }
  return gated;
}
function waiting(merged: Merged): TrustView['waits'] {
  return merged.keys().flatMap((path) => merged.chain(path).filter((l) => l.status === 'set aside' && l.reason?.startsWith('waits') === true).map((l) => ({ what: `${path}: ${brief(l.value)}`, origin: l.origin })));
}
const brief = (value: unknown): string => { const text = JSON.stringify(value) ?? ''; return text.length > 100 ? `${text.slice(0, 97)}…` : text; };

const withoutAllows = (f: LayerFile): LayerFile => ({ ...f, value: { ...f.value, ...(f.value.permissions === undefined ? {} : { permissions: { ...f.value.permissions, allow: [] } }) } });
const problemOf = (e: TappetError, isFatal: boolean): ConfigProblem => ({ code: e.code, text: e.message, origin: typeof e.facts.where === 'object' ? (e.facts.where as Origin) : null, fatal: isFatal, printed: printError(e) });

/** Changes whenever a file does. */
async function stamp(file: string): Promise<string> {
  try { const s = await stat(file); return `${s.ino}:${s.size}:${s.mtimeMs}`; } catch { return 'absent'; }
}
async function sameFile(a: string, b: string): Promise<boolean> {
  try { return (await realpath(a)) === (await realpath(b)); } catch { return false; }
}
