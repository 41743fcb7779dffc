/** Where files of ours lie on this system. The environment is read here, once, at the start. */
import { existsSync } from 'node:fs';
import { dirname, join, parse, resolve } from 'node:path';

export interface Places { readonly home: string; readonly config: string; readonly state: string; readonly cache: string; readonly policy: { readonly main: string; readonly folder: string } }
export type Env = Readonly<Record<string, string | undefined>>;

export function findPlaces(env: Env, platform: NodeJS.Platform, home: string): Places {
  const absolute = (value: string | undefined): string | undefined => (value !== undefined && (value.startsWith('/') || /^[A-Za-z]:/.test(value)) ? value : undefined);
  if (platform === 'win32') {
    const roaming = env['APPDATA'] ?? join(home, 'AppData', 'Roaming');
    const local = env['LOCALAPPDATA'] ?? join(home, 'AppData', 'Local');
    const shared = join(env['ProgramData'] ?? 'C:\\ProgramData', 'Tappet');
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

export const PROJECT_FILES = ['agent.config.yaml', 'agent.config.yml', 'agent.config.json', '.agentrc'] as const;
export const LOCAL_FILE = 'agent.config.local.yaml';

/** The project root: the nearest folder with a config file, up to the repository's root; else that root; else the folder itself. */
export function findRoot(cwd: string): string {
  const start = resolve(cwd);
  let repository: string | null = null;
  for (let dir = start; ; dir = dirname(dir)) {
    if ([...PROJECT_FILES, LOCAL_FILE].some((f) => existsSync(join(dir, f)))) return dir;
    if (existsSync(join(dir, '.git'))) { repository = dir; break; }
    if (dir === parse(dir).root) break;
  }
  return repository ?? start;
}
