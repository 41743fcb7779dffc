/** All layers of one project root: read, checked each by itself, trusted or not, folded; and read again when files change. */
import { statSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { ChainLink, ConfigLayer, ConfigProblem, ConfigView, Layer, Origin, TrustView } from '../../schemas/index.ts';
import { asTappetError, isTappetError, messageOf, printError, TappetError } from '../errors.ts';
import { isStricterMode } from './admit.ts';
import type { LayerFile } from './check.ts';
import { checkLayer } from './check.ts';
import type { Merged } from './merge.ts';
import { mergeLayers } from './merge.ts';
import { makeOrigin } from './origin.ts';
import { FORBIDDEN_KEYS } from './parse.ts';
import type { Env, Places } from './places.ts';
import { LOCAL_FILE, PACKAGE_FILE, PACKAGE_KEY, PROJECT_FILES } from './places.ts';
import { findPlugin } from './plugin-files.ts';
import { listPolicyFiles, readPolicyFile } from './policy-files.ts';
import { readConfigFile, readConfigText } from './read.ts';
import type { TrustState } from './trust.ts';
import { readTrust, trustFile, writeTrust } from './trust.ts';
import { changeValue, pathSteps } from './write.ts';

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
  /** Reads all again. A file that broke or is gone keeps its last good denies and asks; its allows do not count. */
  reload(): Promise<Config>;
  /** The same files with the defaults of plugins between built-in and user. */
  withDefaults(defaults: readonly LayerFile[]): Config;
}

/** Throws nothing: what is wrong is in `problems`, what must stop a start in `fatal` as well. */
export async function loadConfig(sources: ConfigSources, last: Config | null = null): Promise<Config> {
  const { places, root, env } = sources;
  const problems: ConfigProblem[] = [];
  const fatal: TappetError[] = [];
  const layers: ConfigView['layers'][number][] = [];
  const stamps = new Map<string, string>();
  const silent = new Set<string>();
  const cache = join(places.cache, 'parsed');
  const files: LayerFile[] = [sources.builtIn];
  layers.push({ layer: 'built-in', file: sources.builtIn.file, state: 'counts' });
  // Before it is read: what changes in between is seen as changed.
  const watch = (file: string): string => { const now = stamp(file); stamps.set(file, now); return now; };

  const readPolicy = async (): Promise<void> => {
    const read: LayerFile[] = [];
    try {
      for (const f of [places.policy.main, places.policy.folder]) watch(f);
      for (const f of await listPolicyFiles(places.policy)) {
        watch(f);
        const found = await readPolicyFile(f, sources.policyOwner);
        if (found === null) continue;
        const checked = checkLayer(found, 'policy', env);
        const bad = checked.problems[0];
        if (bad !== undefined) throw bad.error;
        read.push(checked);
      }
    } catch (e) {
      const error = isTappetError(e) && e.code === 'E_POLICY_BROKEN' ? e : new TappetError('E_POLICY_BROKEN', { message: messageOf(e), where: isTappetError(e) ? e.facts.where : places.policy.main, cause: isTappetError(e) ? e.facts.cause : undefined });
      layers.push({ layer: 'policy', file: places.policy.main, state: 'broken', why: error.message });
      if (last === null) fatal.push(error); else problems.push(problemOf(error));
      return;
    }
    if (read.length === 0) layers.push({ layer: 'policy', file: places.policy.main, state: 'absent' });
    for (const f of read) layers.push({ layer: 'policy', file: f.file, state: 'counts' });
    files.push(...read);
  };

  const readLayer = async (layer: Layer, file: string, below?: string): Promise<'absent' | 'there'> => {
    watch(file);
    try {
      const read = await readConfigFile(file, { layer, cache, below });
      if (read === null || (below !== undefined && read.value === undefined)) {
        if (below !== undefined && stamps.get(file) !== 'absent') silent.add(file);
        return 'absent';
      }
      const checked = checkLayer(read, layer, env);
      files.push(checked);
      problems.push(...checked.problems);
      layers.push({ layer, file, state: 'counts' });
    } catch (e) {
      const error = asTappetError(e);
      layers.push({ layer, file, state: error.code === 'E_CONFIG_READ' ? 'unreadable' : 'broken', why: error.message });
      problems.push(problemOf(error));
    }
    return 'there';
  };
  /** The first of the project's files that is there, good or bad. */
  const readProject = async (): Promise<'absent' | 'there'> => {
    for (const name of PROJECT_FILES) {
      const file = join(root, name);
      if (await isSameFile(file, sources.builtIn.file)) return 'there'; // inside our own repository the file counts once
      if ((watch(file)) !== 'absent') return readLayer('project', file);
    }
    return readLayer('project', join(root, PACKAGE_FILE), PACKAGE_KEY);
  };

  await readPolicy();
  const own: readonly [layer: Layer, file: string, read: () => Promise<'absent' | 'there'>][] = [
    ['user', join(places.config, 'config.yaml'), () => readLayer('user', join(places.config, 'config.yaml'))],
    ['project', join(root, PROJECT_FILES[0]), readProject],
    ['local', join(root, LOCAL_FILE), () => readLayer('local', join(root, LOCAL_FILE))],
  ];
  for (const [layer, file, read] of own) if (sources.settingSources.includes(layer) && (await read()) === 'absent') layers.push({ layer, file, state: 'absent' });

  // What was said on the command line was said once.
  if (last !== null) files.push(...last.files.filter((f) => f.layer === 'flag'));
  else {
    try { files.push(...(await flagFiles(sources, layers))); } catch (e) { fatal.push(asTappetError(e)); }
  }

  // In mid-session a file that broke or is gone does not open what it had shut.
  for (const lost of last?.files.filter((f) => !silent.has(f.file) && !files.some((g) => g.layer === f.layer && g.file === f.file)) ?? []) {
    if (!stamps.has(lost.file)) watch(lost.file);
    files.push(withoutAllows(lost));
    if (stamps.get(lost.file) !== 'absent') continue; // said above
    problems.push(problemOf(new TappetError('E_CONFIG_READ', { file: lost.file, message: 'it is gone; what it denied and asked still counts until the next start', where: lost.origin('') })));
  }

  const gated = await gatedFiles(files, root);
  watch(trustFile(places.state));
  let trustState: TrustState;
  try { trustState = await readTrust(places.state, root, gated); } catch (e) {
    problems.push(problemOf(asTappetError(e)));
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
  const fatal = [...parts.fatal, ...merged.errors];
  const config: Config = {
    ...merged,
    root: sources.root, sources, files,
    fatal,
    problems: [...fatal.map((e) => ({ ...problemOf(e), fatal: true })), ...parts.problems],
    layers: parts.layers,
    trust: { root: sources.root, ...trustState, files: parts.gated, waits: trustState.trusted ? [] : waiting(merged) },
    chain: (path): readonly ChainLink[] => merged.chain(path),
    stale: async () => {
      for (const [file, before] of parts.stamps) if ((stamp(file)) !== before) return true;
      return false;
    },
    reload: async () => (await loadConfig(sources, config)).withDefaults(parts.defaults),
    withDefaults: (defaults) => assemble({ ...parts, defaults }),
    write: async (layer, path, value) => ({ file: await writeInto(config, layer, path, () => value) }),
    grantTrust: () => writeTrust(sources.places.state, sources.root, parts.gated, new Date()),
    revokeTrust: () => writeTrust(sources.places.state, sources.root, null, new Date()),
  };
  return config;
}

type OwnLayer = 'user' | 'project' | 'local';
/** Adds rules to a list of a file that a person owns ("always allow"). @throws E_CONFIG_WRITE */
export function changeRules(config: Config, layer: OwnLayer, behavior: 'allow' | 'ask' | 'deny', change: (now: readonly string[]) => readonly string[]): Promise<string> {
  return writeInto(config, layer, `permissions.${behavior}`, (now) => [...change(Array.isArray(now) ? (now as string[]) : [])]);
}
async function writeInto(config: Config, layer: OwnLayer, path: string, change: (now: unknown) => unknown): Promise<string> {
  const { root, places, env, builtIn } = config.sources;
  const { file, below } = layer === 'user' ? { file: join(places.config, 'config.yaml'), below: undefined } : layer === 'local' ? { file: join(root, LOCAL_FILE), below: undefined } : await projectFile(config);
  if (await isSameFile(file, builtIn.file)) throw new TappetError('E_CONFIG_WRITE', { key: path, file, message: 'it is the built-in layer', where: file });
  const read = async (text: string): Promise<LayerFile> => checkLayer(await readConfigText(text, file, { layer, below }), layer, env);
  await changeValue(file, path, change, {
    below, within: layer === 'user' ? undefined : root,
    check: async (text, before) => {
      const after = await read(text);
      const known = new Set(after.problems.length === 0 ? [] : (await read(before)).problems.map((p) => p.text));
      const fresh = after.problems.find((p) => !known.has(p.text));
      if (fresh !== undefined) throw fresh.error;
    },
  });
  return file;
}
/** The file that the project's words stand in now, or the one to begin with. */
async function projectFile(config: Config): Promise<{ file: string; below: string | undefined }> {
  const { root } = config.sources;
  for (const name of PROJECT_FILES) if ((stamp(join(root, name))) !== 'absent') return { file: join(root, name), below: undefined };
  const inPackage = config.layers.some((l) => l.layer === 'project' && l.file === join(root, PACKAGE_FILE));
  return inPackage ? { file: join(root, PACKAGE_FILE), below: PACKAGE_KEY } : { file: join(root, PROJECT_FILES[0]), below: undefined };
}

/** `--settings`, `--set` and `--plugin-dir`. @throws what is wrong with them */
async function flagFiles(sources: ConfigSources, layers: ConfigView['layers'][number][]): Promise<LayerFile[]> {
  const { settings: given, set, flagPlugins } = sources;
  const files: LayerFile[] = [];
  if (given !== null) {
    const isText = given.trimStart().startsWith('{');
    const read = isText ? await readConfigText(given, '--settings', { layer: 'flag' }) : await readConfigFile(given, { layer: 'flag' });
    if (read === null) throw new TappetError('E_CONFIG_READ', { file: given, message: 'there is no such file', where: '--settings' });
    files.push(withoutBadRules(checkLayer(read, 'flag', sources.env)));
    layers.push({ layer: 'flag', file: read.file, state: 'counts' });
  }
  if (set.length > 0 || flagPlugins.length > 0) files.push(await flagLayer(sources));
  return files;
}
function withoutBadRules(checked: LayerFile): LayerFile {
  if (checked.problems[0] !== undefined) throw checked.problems[0].error;
  return checked;
}
async function flagLayer(sources: ConfigSources): Promise<LayerFile> {
  const value: Record<string, unknown> = {};
  for (const word of sources.set) {
    const eq = word.indexOf('=');
    if (eq <= 0) throw new TappetError('E_USAGE', { message: `--set needs KEY=VALUE, not "${word}"`, where: '--set' });
    const path = word.slice(0, eq);
    let parsed: unknown;
    try { parsed = (await readConfigText(word.slice(eq + 1), '--set', { layer: 'flag' })).value; } catch (e) { throw isTappetError(e) ? new TappetError(e.code, { ...e.facts, where: `--set ${path}` }) : e; }
    const steps = pathSteps(path);
    if (steps.some((s) => s === '' || FORBIDDEN_KEYS.has(s))) throw new TappetError('E_CONFIG_KEY', { key: path, where: '--set' });
    let map = value;
    for (const step of steps.slice(0, -1)) {
      const inner = map[step];
      map = (map[step] = typeof inner === 'object' && inner !== null && !Array.isArray(inner) ? inner : {}) as Record<string, unknown>;
    }
    map[steps.at(-1)!] = parsed;
  }
  const checked = withoutBadRules(checkLayer({ file: '--set', value, hash: '', at: () => [1, 1], keyAt: () => [1, 1] }, 'flag', sources.env));
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

/** What remains of a file that can't be read any more: all but what widens. */
function withoutAllows(f: LayerFile): LayerFile {
  const { directories: _, mode, permissions, ...rest } = f.value;
  const keepsMode = mode !== undefined && (f.layer === 'policy' || isStricterMode(mode, 'default'));
  return { ...f, problems: [], value: { ...rest, ...(keepsMode ? { mode } : {}), ...(permissions === undefined ? {} : { permissions: { ...permissions, allow: [] } }) } };
}
const problemOf = (e: TappetError): ConfigProblem => ({ code: e.code, text: e.message, origin: typeof e.facts.where === 'object' ? (e.facts.where as Origin) : null, fatal: false, printed: printError(e) });

/** Changes whenever a file does, or who may read and write it. */
function stamp(file: string): string {
  try {
    const s = statSync(file); // some ten local files, before each request: a tenth of what ten trips to the thread pool cost
    return `${s.ino}:${s.size}:${s.mtimeMs}:${s.ctimeMs}`;
  } catch (e) {
    const code = (e as NodeJS.ErrnoException).code ?? '';
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'absent' : code;
  }
}
async function isSameFile(a: string, b: string): Promise<boolean> {
  try { return a === b || (await realpath(a)) === (await realpath(b)); } catch { return false; } // one of them is not there
}
