/** Where files of ours lie on this system. The environment is read here, once, at the start. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { dirname, join, parse, resolve } from 'node:path';

export interface Places { readonly home: string; readonly config: string; readonly state: string; readonly cache: string; readonly policy: { readonly main: string; readonly folder: string } }
export type Env = Readonly<Record<string, string | undefined>>;

export function findPlaces(env: Env, platform: NodeJS.Platform, givenHome: string): Places {
  const absolute = (value: string | undefined): string | undefined => (value !== undefined && (value.startsWith('/') || /^[A-Za-z]:[\\/]/.test(value)) ? value : undefined);
  // A home that is no absolute path would be looked for in the working folder, and that may be a stranger's.
  const home = absolute(givenHome) ?? absolute(homedir()) ?? userInfo().homedir;
  if (platform === 'win32') {
    const roaming = absolute(env['APPDATA']) ?? join(home, 'AppData', 'Roaming');
    const local = absolute(env['LOCALAPPDATA']) ?? join(home, 'AppData', 'Local');
    // Not from the environment: no variable moves the policy.
    const shared = join('C:\\ProgramData', 'Tappet');
    return { home, config: join(roaming, 'tappet'), state: absolute(env['TAPPET_STATE_DIR']) ?? join(local, 'tappet', 'state'), cache: join(local, 'tappet', 'cache'), policy: { main: join(shared, 'policy.yaml'), folder: join(shared, 'policy.d') } };
  }
  const shared = platform === 'darwin' ? '/Library/Application Support/Tappet' : '/etc/tappet';
  return {
    home,
    config: join(absolute(env['XDG_CONFIG_HOME']) ?? join(home, '.config'), 'tappet'),
    state: absolute(env['TAPPET_STATE_DIR']) ?? join(absolute(env['XDG_STATE_HOME']) ?? join(home, '.local', 'state'), 'tappet'),
    cache: join(absolute(env['XDG_CACHE_HOME']) ?? join(home, '.cache'), 'tappet'),
    policy: { main: join(shared, 'policy.yaml'), folder: join(shared, 'policy.d') },
  };
}

export const SETTINGS_MAX_BYTES = 1_000_000;
export const PROJECT_FILES = ['agent.config.yaml', 'agent.config.yml', 'agent.config.json', '.agentrc'] as const;
export const LOCAL_FILE = 'agent.config.local.yaml';
/** Counts where none of the project's own files is there. */
export const PACKAGE_FILE = 'package.json';
export const PACKAGE_KEY = 'agent';

/** The project root: the nearest folder with a config file, up to the repository's root; else that root; else the folder itself. */
export function findRoot(cwd: string): string {
  const start = resolve(cwd);
  for (let dir = start; ; dir = dirname(dir)) {
    if ([...PROJECT_FILES, LOCAL_FILE].some((f) => existsSync(join(dir, f))) || isAgentPackage(join(dir, PACKAGE_FILE))) return dir;
    if (existsSync(join(dir, '.git'))) return dir;
    if (dir === parse(dir).root) return start;
  }
}
/** A package.json that configures an agent below its key `agent`. */
function isAgentPackage(file: string): boolean {
  try {
    const info = statSync(file);
    if (!info.isFile() || info.size > SETTINGS_MAX_BYTES) return false;
    const text = readFileSync(file, 'utf8');
    return text.includes(`"${PACKAGE_KEY}"`) && Object.hasOwn(JSON.parse(text.replace(/^\ufeff/, '')) as object, PACKAGE_KEY);
  } catch { return false; } // none, or none that could configure anything
}
