/** What would change what runs later without anybody looking (hooks, settings, start-up files, keys), and what nobody understood: asked about in every mode but one. */
import * as nodeFs from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { definePlugin } from 'tappet/kernel';
import type { Scope } from 'tappet/kernel';
import { meansTool, realPath, toolNameOf } from 'tappet/kit';
import { compareLayers, place, ruleText } from 'tappet/schemas';
import type { JudgedCall, Said, SourcedRule, Subject } from 'tappet/schemas';

/** Names, or names in a row, anywhere in a path; what is below them is meant too. */
const PROTECTED: Readonly<Record<string, readonly string[]>> = {
  'version control reads it, and runs what it says': [
    '.git', '.gitconfig', '.gitmodules', '.config/git', '.hg', '.svn', '.husky', '.pre-commit-config.yaml', '.pre-commit-config.yml', 'lefthook.yml', 'lefthook.yaml', '.lefthook.yml', '.lefthook.yaml',
  ],
  'editors and development tools run what it says': ['.vscode', '.idea', '.devcontainer', '.devcontainer.json', '.ripgreprc', 'pyrightconfig.json'],
  'package managers and build tools run what it says': [
    '.cargo', '.yarn', '.mvn', '.npmrc', '.yarnrc', '.yarnrc.yml', '.pnp.cjs', '.pnp.loader.mjs', '.pnpmfile.cjs', 'bunfig.toml', '.bunfig.toml', '.bazelrc', '.bazelversion', '.bazeliskrc',
    'gradle-wrapper.properties', 'maven-wrapper.properties',
  ],
  'a shell or the system runs it at the start': [
    '.bashrc', '.bash_profile', '.bash_login', '.bash_aliases', '.bash_logout', '.profile', '.zshrc', '.zprofile', '.zshenv', '.zlogin', '.zlogout', '.kshrc', '.cshrc', '.tcshrc', '.login', '.inputrc', '.envrc',
    '.xprofile', '.xinitrc', '.xsessionrc', '.config/fish', '.config/autostart', '.config/systemd', '.config/environment.d', 'library/launchagents', 'microsoft.powershell_profile.ps1', 'profile.ps1',
  ],
  'agents take their settings from it': ['.claude', '.claude.json', '.mcp.json', '.agents', '.codex', '.gemini', '.config/opencode'],
  'Tappet takes its settings from it': [
    'agent.config.yaml', 'agent.config.yml', 'agent.config.json', 'agent.config.local.yaml', '.agentrc', 'agent.lock.json', 'etc/tappet', 'library/application support/tappet', 'programdata/tappet',
  ],
  'it holds credentials': [
    '.ssh', '.gnupg', '.aws', '.azure', '.kube', '.docker', '.password-store', '.config/gcloud', '.config/gh', '.netrc', '_netrc', '.git-credentials', '.pypirc', '.pgpass', '.vault-token',
  ],
};
/** Reading these is telling somebody. */
const CREDENTIALS: readonly string[] = [
  '.ssh', '.gnupg', '.aws', '.azure', '.kube', '.password-store', '.docker/config.json', '.config/gcloud', '.config/gh', '.config/git/credentials',
  '.netrc', '_netrc', '.git-credentials', '.pypirc', '.pgpass', '.vault-token', '.claude/.credentials.json', '.codex/auth.json', 'etc/shadow', 'etc/gshadow',
];
/** In a folder of keys, but no secret. */
const HARMLESS = /^(?:config|known_hosts.*|authorized_keys|.*\.pub)$/;

/** A folder or name that is looked for, folded, and what is said of it. */
interface Watched { readonly parts: readonly string[]; readonly name: string; readonly why: string }

export default definePlugin({
  name: 'guards/protected-paths',
  api: 1,
  async apply(scope) {
    const { folders, registries } = scope;
    const anywhere = indexed(Object.entries(PROTECTED).flatMap(([why, names]) => names.map((name) => watched(name, why))));
    const secrets = indexed(CREDENTIALS.map((name) => watched(name, 'it holds credentials')));
    const own = await bothNames([[folders.config, 'Tappet takes its settings from it'], [folders.state, 'Tappet keeps trust, keys and sessions in it'], [folders.cache, 'Tappet runs code from it']]);
    const agents = await bothNames([[join(folders.root, 'agents'), 'it defines agents']]);
    const keys = await bothNames([[join(folders.state, 'mcp'), 'it holds credentials'], [join(folders.state, 'keys.json'), 'it holds credentials']]);

    const write = (path: string): Watched | undefined => {
      const parts = components(path);
      const last = parts.at(-1) ?? '';
      if (/\.agent\.ya?ml$/.test(last)) return watched(last, 'it defines an agent');
      return (/\.(?:ya?ml|md)$/.test(last) ? agents.find((w) => below(parts, w)) : undefined)
        ?? find(parts, anywhere) ?? own.find((w) => below(parts, w) || below(w.parts, { parts })) ?? loadedCode(scope).find((w) => below(parts, w));
    };
    const read = (path: string): Watched | undefined => {
      const parts = components(path);
      if (parts.at(-2) === '.ssh' && HARMLESS.test(parts.at(-1) ?? '')) return undefined;
      return find(parts, secrets) ?? keys.find((w) => below(parts, w));
    };
    registries.guards.add({ name: 'protected-paths', judge: (call) => call.subjects.flatMap((s) => judge(s, call, write, read)) });
  },
});

type Look = (path: string) => Watched | undefined;

function judge(subject: Subject, call: JudgedCall, write: Look, read: Look): Said[] {
  if (subject.kind === 'opaque') return [notUnderstood(subject.why, call)];
  if (subject.kind !== 'path') return [];
  const { path, real, access } = subject;
  const look = access === 'write' ? write : read;
  const hit = look(path) ?? (real === null || real === path ? undefined : look(real));
  if (hit === undefined) return [];
  const why = `${path} is ${access === 'write' ? 'protected' : 'a secret'} (${hit.name}: ${hit.why})`;
  return [{ behavior: 'ask', until: access === 'write' ? 'mode' : 'rule', message: why, reason: { kind: 'safetyCheck', why } }];
}

/** Nothing can be compared with what was not understood. Where a deny would be evaded so, or policy wants to be asked, not even a mode may pass it. */
function notUnderstood(what: string, call: JudgedCall): Said {
  const why = `not understood: ${what}`;
  const [rule] = call.rules.filter((r) => mightForbid(r, call.tool)).toSorted((a, b) => compareLayers(b.origin.layer, a.origin.layer));
  if (rule === undefined) return { behavior: 'ask', until: 'mode', message: why, reason: { kind: 'safetyCheck', why } };
  const rest = `so ${ruleText(rule)}, which is ${rule.behavior === 'deny' ? 'denied' : 'asked about'} by ${place(rule.origin)} (${rule.origin.layer}), can't be compared with it`;
  return { behavior: 'ask', until: 'person', message: `${why}; ${rest}`, reason: { kind: 'safetyCheck', why }, origin: rule.origin };
}

function mightForbid(rule: SourcedRule, tool: string): boolean {
  const policy = rule.origin.layer === 'policy' || rule.source === 'policySettings';
  if (rule.behavior === 'allow' || (rule.behavior === 'ask' && !policy)) return false;
  return meansTool(rule, tool) || (policy && ['Edit', 'Read'].includes(toolNameOf(rule.toolName)));
}

/** The files that the configuration names as plugins: what stands in them runs in the next session. */
function loadedCode({ settings }: Scope): Watched[] {
  return Object.entries(settings.get().plugins).flatMap(([name, entry]) => {
    if (typeof entry !== 'object' || entry.use?.startsWith('.') !== true) return [];
    const file = settings.origin(`plugins.${name}`)?.file;
    return file === undefined ? [] : [watched(resolve(dirname(file), entry.use), `the plugin ${name} is loaded from it`)];
  });
}

// ---- names as the most careless file system sees them ------------------------------------------------------------------------

const watched = (name: string, why: string): Watched => ({ name, why, parts: components(name) });

/** A folder that is reached through a link has two. */
async function bothNames(folders: readonly (readonly [folder: string, why: string])[]): Promise<Watched[]> {
  const found = await Promise.all(folders.map(async ([folder, why]) => [folder, await realPath(nodeFs, folder)].flatMap((name) => (name === null ? [] : watched(name, why)))));
  return found.flat();
}

/** What HFS+ leaves out of names. */
// biome-ignore lint/suspicious/noMisleadingCharacterClass: single code points are meant
const UNSEEN = /[\u00ad\u034f\u200b-\u200f\u202a-\u202e\u2060-\u2064\u206a-\u206f\ufe00-\ufe0f\ufeff]/g;

/** Lower case, whole letters, no stream (`.git::$DATA`), no dots and blanks at the end, no short name (`GIT~1`). */
function folded(part: string): string {
  const [name = ''] = part.replace(UNSEEN, '').normalize('NFC').toUpperCase().toLowerCase().split(':', 1);
  let end = name.length;
  while (end > 0 && (name[end - 1] === '.' || name[end - 1] === ' ')) end--;
  return /^git~\d+$/.test(name) ? '.git' : name.slice(0, end);
}

function components(path: string): string[] {
  const parts: string[] = [];
  for (const part of path.split(/[\\/]+/)) {
    if (part === '..') { parts.pop(); continue; }
    const name = folded(part);
    if (name !== '') parts.push(name);
  }
  return parts;
}

const below = (parts: readonly string[], { parts: folder }: Pick<Watched, 'parts'>, from = 0): boolean => parts.length >= from + folder.length && folder.every((p, i) => parts[from + i] === p);

function indexed(all: readonly Watched[]): ReadonlyMap<string, readonly Watched[]> {
  const index = new Map<string, Watched[]>();
  for (const w of all) index.set(w.parts[0] ?? '', [...(index.get(w.parts[0] ?? '') ?? []), w]);
  return index;
}

function find(parts: readonly string[], index: ReadonlyMap<string, readonly Watched[]>): Watched | undefined {
  for (const [i, part] of parts.entries()) {
    // Agents work in worktrees there; what those hold is judged by its own names.
    if (part === '.claude' && parts[i + 1] === 'worktrees' && parts.length > i + 2) continue;
    const hit = index.get(part)?.find((w) => below(parts, w, i));
    if (hit !== undefined) return hit;
  }
  return undefined;
}
