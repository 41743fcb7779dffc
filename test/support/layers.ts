/** The layers of a temporary project as configuration, and kernels in it that are booted room by room. */
import type { TestContext } from 'node:test';
import type { BootOptions } from '../../kernel/boot.ts';
import { configOf } from '../../kernel/boot.ts';
import type { Config } from '../../kernel/config/load.ts';
import type { Kernel, LogLine } from '../../kernel/kernel.ts';
import { createKernel } from '../../kernel/kernel.ts';
import { loadPlugins } from '../../kernel/load.ts';
import type { Folded, Firing } from '../../kernel/hooks.ts';
import type { TappetError } from '../../kernel/errors.ts';
import type { Project } from './project.ts';

type More = Partial<BootOptions>;
export const bootOptions = (p: Project, more: More = {}): BootOptions => ({ cwd: p.dir, builtins: p.builtins, env: p.env, home: p.home, policy: p.policy, ...more });
export const configIn = (p: Project, more: More = {}): Promise<Config> => configOf(bootOptions(p, more));
/** The same as a start sees it: what must stop it is thrown. */
export async function startIn(p: Project, more: More = {}): Promise<Config> {
  const c = await configIn(p, more);
  if (c.fatal[0] !== undefined) throw c.fatal[0];
  return c;
}
/** Trusts what lies in the project now. */
export async function trust(p: Project, more: More = {}): Promise<void> { await (await configIn(p, more)).grantTrust(); }

export interface Loaded { readonly kernel: Kernel; readonly logs: LogLine[]; readonly problems: readonly TappetError[]; report(name: string): Kernel['reports'][number] | undefined }
/** Plugins loaded and hooks sealed, as `boot` does it; `timeoutMs` is how long a plugin may take. */
export async function load(t: TestContext, p: Project, o: { readonly timeoutMs?: number; readonly more?: More } = {}): Promise<Loaded> {
  const config = await configIn(p, o.more);
  if (config.fatal[0] !== undefined) throw config.fatal[0];
  const kernel = createKernel({ root: config.root, env: config.sources.env, places: config.sources.places, builtins: p.builtins, config });
  t.after(() => kernel.dispose());
  const logs: LogLine[] = [];
  kernel.onLog((line) => logs.push(line));
  await loadPlugins(kernel, o.timeoutMs === undefined ? {} : { timeoutMs: o.timeoutMs });
  const problems = kernel.hooks.seal(kernel.taps, kernel.declared);
  for (const registry of Object.values(kernel.registries)) registry.seal();
  return { kernel, logs, problems, report: (name) => kernel.reports.find((r) => r.name === name) };
}

/** What every event carries, and a call in it. */
export const BASE = { sessionId: 's', cwd: '/w', agentId: null, agentType: null, mode: 'default' };
export const draft = (input: Record<string, unknown> = { command: 'echo a' }, tool = 'Bash') => ({
  ...BASE, tool, toolUseId: 'u', turnId: 't', input, subjects: [], isReadOnly: false, roots: [], home: '/h', rules: [], matches: () => 'maybe' as const, verdict: null,
});
export const fire = (kernel: Kernel, name: string, event: object, firing: Partial<Firing> = {}): Promise<Folded<any, any>> => kernel.hooks.fire(name as 'PreToolUse', event as never, { signal: new AbortController().signal, ...firing });
