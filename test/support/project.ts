/** A temporary project with its own home, and a kernel in it. Everything goes when the test ends. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { boot } from '../../kernel/boot.ts';
import type { BootOptions } from '../../kernel/boot.ts';
import { sourceBuiltins } from '../../kernel/builtins.ts';
import type { Builtins } from '../../kernel/builtins.ts';
import { makeOrigin } from '../../kernel/config/origin.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { LogLine } from '../../kernel/kernel.ts';
import { createOpener } from '../../kernel/open.ts';
import type { Plugin } from 'tappet/kernel';
import type { Open, OpenOptions, Session } from '../../schemas/index.ts';
import { testModel } from './model.ts';
import type { Step } from './model.ts';

export interface ProjectOptions {
  /** Relative to the project; `~/x` is in its home, `policy:x` in the policy folder. */
  readonly files?: Readonly<Record<string, string>>;
  /** Only these of the built-in plugins; left out: the guards, modes, host and tools that a kernel test needs. */
  readonly only?: readonly string[];
  /** Plugins beside them, at the built-in layer. */
  readonly plugins?: readonly Plugin<any>[];
  /** What the model says, message by message. */
  readonly steps?: readonly Step[];
  readonly env?: Readonly<Record<string, string>>;
  readonly boot?: Partial<BootOptions>;
}
export interface Project {
  readonly dir: string;
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
  readonly policy: NonNullable<BootOptions['policy']>;
  readonly builtins: Builtins;
  readonly model: ReturnType<typeof testModel>;
  write(file: string, text: string): string;
  boot(): Promise<Kernel>;
  open(o?: Partial<OpenOptions>): Promise<Session>;
  readonly logs: LogLine[];
}

export const BASIC = ['targets/host', 'guards/rules', 'guards/workspace', 'guards/protected-paths', 'modes/default', 'modes/plan', 'modes/accept-edits', 'modes/bypass-permissions', 'modes/dont-ask', 'tools/read', 'tools/write', 'stores/sessions'];

export function project(t: TestContext, o: ProjectOptions = {}): Project {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'tappet-test-')));
  t.after(() => rmSync(base, { recursive: true, force: true, maxRetries: 3 }));
  const dir = join(base, 'project');
  const home = join(base, 'home');
  const policyFolder = join(base, 'policy');
  for (const d of [dir, home, policyFolder]) mkdirSync(d, { recursive: true });
  const path = (file: string): string => (file.startsWith('~/') ? join(home, file.slice(2)) : file.startsWith('policy:') ? join(policyFolder, file.slice(7)) : join(dir, file));
  const write = (file: string, text: string): string => { mkdirSync(dirname(path(file)), { recursive: true }); writeFileSync(path(file), text); return path(file); };
  for (const [file, text] of Object.entries(o.files ?? {})) write(file, text);
  const env = { HOME: home, PATH: process.env['PATH'] ?? '', ...o.env };
  const policy = { main: join(policyFolder, 'policy.yaml'), folder: join(policyFolder, 'policy.d'), owner: null };
  const model = testModel(o.steps ?? []);
  const builtins = withPlugins(o.only ?? BASIC, [...(o.plugins ?? []), model.plugin]);
  const logs: LogLine[] = [];
  const bootOptions = { builtins, env, home, policy, ...o.boot };
  let booted: Promise<Kernel> | undefined;
  let open: Open | undefined;
  const bootOnce = (): Promise<Kernel> => (booted ??= boot({ ...bootOptions, cwd: dir }).then((kernel) => {
    kernel.onLog((line) => logs.push(line));
    const opener = createOpener(bootOptions, { cwd: dir, kernel });
    open = opener.open;
    kernel.open = opener.open;
    t.after(async () => { await opener.close(); await kernel.dispose(); });
    return kernel;
  }));
  return {
    dir, home, env, policy, builtins, model, write, logs,
    boot: bootOnce,
    async open(more = {}) {
      await bootOnce();
      const session = await open!({ cwd: dir, host: { asks: [] }, ...more, overlay: { model: 'test/model', ...more.overlay } });
      t.after(() => session.close());
      return session;
    },
  };
}

/** The real built-ins, but only some, and others beside them. */
export function withPlugins(only: readonly string[] | null, extra: readonly Plugin<any>[]): Builtins {
  const real = sourceBuiltins();
  const added = new Map(extra.map((p) => [p.name, p]));
  return {
    ...real,
    plugin: async (name) => added.get(name) ?? real.plugin(name),
    names: async () => [...(await real.names()), ...added.keys()],
    layer: async () => {
      const layer = await real.layer();
      const entries = Object.entries(layer.value.plugins ?? {}).filter(([n]) => only === null || only.includes(n));
      return { ...layer, value: { ...layer.value, plugins: Object.fromEntries([...entries, ...[...added.keys()].map((n) => [n, true] as const)]) }, origin: (path) => (added.has(path.slice('plugins.'.length)) ? makeOrigin('built-in', '(test)') : layer.origin(path)) };
    },
  };
}

/** Runs one prompt to its end. */
export async function ask(session: Session, prompt: string) { return session.submit(prompt).turn; }

/** All events of a session until it closes, as they come. */
export function record(session: Session) {
  const events: import('../../schemas/index.ts').SessionEvent[] = [];
  const done = (async () => { for await (const e of session.events({ from: 'start', tree: true })) events.push(e); })();
  return { events, done };
}
