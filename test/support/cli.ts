/** Runs `main()` in this process, in a project, home and policy of its own: words in, exit code and output out. */
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { Io } from 'tappet/schemas';
import type { Builtins } from '../../kernel/builtins.ts';
import { sourceBuiltins } from '../../kernel/builtins.ts';
import { checkLayer } from '../../kernel/config/check.ts';
import { readConfigText } from '../../kernel/config/read.ts';
import { main } from '../../kernel/main.ts';

export interface CliRun { readonly code: number; readonly out: string; readonly err: string }
export interface CliOptions {
  /** What stands on stdin; a terminal whose person types this, line by line, where `tty` is set. */
  readonly stdin?: string | undefined;
  readonly tty?: boolean | undefined;
  readonly columns?: number | undefined;
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Below the project. */
  readonly cwd?: string | undefined;
}
export interface CliPlace {
  /** All three exist and are real paths. */
  readonly project: string;
  readonly home: string;
  readonly policy: string;
  run(argv: readonly string[], o?: CliOptions): Promise<CliRun>;
  /** The output as JSON; fails where there is more or less than one value. */
  json<T = any>(argv: readonly string[], o?: CliOptions): Promise<T>;
  /** `~/…` lies in the home, `/etc/tappet/…` in the policy folder, all else in the project. */
  at(path: string): string;
  file(path: string, content: string): Promise<string>;
  read(path: string): Promise<string>;
}
type Cleanup = { after(fn: () => Promise<void>): void };

/** `plugins`: only these of ours ship, with `layer` as the rest of the built-in layer; left out: all that ships. */
export async function cliPlace(t: Cleanup, o: { readonly files?: Readonly<Record<string, string>>; readonly plugins?: readonly string[]; readonly layer?: string } = {}): Promise<CliPlace> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'tappet-cli-')));
  t.after(() => rm(base, { recursive: true, force: true }));
  const [project, home, policy] = ['project', 'home', 'policy'].map((f) => join(base, f)) as [string, string, string];
  // The repository's root ends the way up: nothing above it is taken for configuration.
  await Promise.all([mkdir(join(project, '.git'), { recursive: true }), mkdir(home), mkdir(policy)]);
  const builtins = o.plugins === undefined ? withoutLocalServers(sourceBuiltins()) : onlyBuiltins(o.plugins, o.layer ?? '');
  const at = (path: string): string => (path.startsWith('~/') ? join(home, path.slice(2)) : path.startsWith('/etc/tappet/') ? join(policy, path.slice('/etc/tappet/'.length)) : join(project, path));
  const place: CliPlace = {
    project, home, policy, at,
    read: (path) => readFile(at(path), 'utf8'),
    async file(path, content) {
      await mkdir(dirname(at(path)), { recursive: true });
      await writeFile(at(path), content);
      return at(path);
    },
    async run(argv, c = {}) {
      const said = { out: '', err: '' };
      const env = { HOME: home, PATH: process.env['PATH'], ...c.env };
      const code = await main({
        argv, env, cwd: join(project, c.cwd ?? ''), builtins, io: fakeIo(said, env, c), policy: { main: join(policy, 'policy.yaml'), folder: join(policy, 'policy.d'), owner: null },
      });
      return { code, ...said };
    },
    async json(argv, c) {
      const { code, out, err } = await place.run([...argv, '--json'], c);
      try { return JSON.parse(out) as never; } catch (e) { throw new Error(`no JSON (exit ${code}): ${(e as Error).message}\n${out}\n${err}`); }
    },
  };
  for (const [path, content] of Object.entries(o.files ?? {})) await place.file(path, content);
  return place;
}

/** One run in a place of its own. */
export const runCli = async (t: Cleanup, argv: readonly string[], o: CliOptions & NonNullable<Parameters<typeof cliPlace>[1]> = {}): Promise<CliRun> => (await cliPlace(t, o)).run(argv, o);

function fakeIo(said: { out: string; err: string }, env: Io['env'], o: CliOptions): Io {
  const stdin = Object.assign(new PassThrough(), { isTTY: o.tty === true });
  if (o.tty === true) stdin.write(o.stdin ?? ''); else stdin.end(o.stdin ?? '');
  return {
    stdin: stdin as unknown as NodeJS.ReadStream, isTTY: o.tty === true, columns: o.columns ?? 100, color: false, env,
    out: (text) => { said.out += text; },
    err: (text) => { said.err += text; },
    flush: async () => {},
    onInterrupt: () => () => {},
  };
}

/** Tests never look whether a server of models runs on this machine. */
const withoutLocalServers = (real: Builtins): Builtins => ({
  ...real,
  layer: async () => { const layer = await real.layer(); return { ...layer, value: { ...layer.value, providers: { local: { options: { servers: false } } } } }; },
});
function onlyBuiltins(names: readonly string[], layer: string): Builtins {
  const all = sourceBuiltins();
  const text = `${layer}\nplugins:\n${names.map((n) => `  ${n}: true\n`).join('')}`;
  return { ...all, names: async () => names, layer: async () => checkLayer(await readConfigText(text, '(built-in)', { layer: 'built-in' }), 'built-in', {}), plugin: async (name) => (names.includes(name) ? all.plugin(name) : undefined) };
}
