/** What policy demands must run, and what enforces policy too, and be what it is taken for: else nothing starts. */
import type { Origin, PluginReport } from '../schemas/index.ts';
import { ENFORCED_BY } from '../schemas/config.ts';
import { place } from '../schemas/origin.ts';
import type { LayerFile } from './config/check.ts';
import { TappetError } from './errors.ts';
import type { Kernel } from './kernel.ts';

/** @throws E_PLUGIN_REQUIRED, E_POLICY_UNENFORCED */
export function enforcePolicy(kernel: Kernel): void {
  const config = kernel.config();
  const reportOf = (name: string): PluginReport | undefined => kernel.reports.find((r) => r.name === name && r.state === 'running') ?? kernel.reports.find((r) => r.name === name);
  /** Null: it runs, and is ours or policy's own. */
  const flaw = (name: string): string | null => {
    const r = reportOf(name);
    if (r === undefined) return 'not there';
    if (r.state !== 'running') return r.state === 'off' ? 'switched off' : r.state;
    return r.from === 'tappet' || r.origin.layer === 'policy' ? null : `replaced by ${r.from}`;
  };
  const blame = (name: string): { cause?: string } => { const r = reportOf(name); return r === undefined ? {} : { cause: r.state !== 'running' && r.error !== undefined ? r.error : `said at ${place(r.origin)} (${r.origin.layer})` }; };
  const ours = config.sources.builtIn.value.plugins ?? {};
  for (const name of config.settings.bounds.plugins?.require ?? []) {
    // A name of ours means ours; any other is whoever policy lets come.
    const wrong = Object.hasOwn(ours, name) || reportOf(name)?.state !== 'running' ? flaw(name) : null;
    if (wrong !== null) throw new TappetError('E_PLUGIN_REQUIRED', { name, message: wrong, where: requiredAt(config.files, name), ...blame(name) });
  }
  for (const { key, origin } of config.policyKeys) {
    for (const plugin of [...(ENFORCED_BY['*'] ?? []), ...(ENFORCED_BY[key] ?? [])]) {
      const wrong = flaw(plugin);
      if (wrong !== null) throw new TappetError('E_POLICY_UNENFORCED', { key, plugin, state: wrong, where: origin, ...blame(plugin) });
    }
  }
}
const requiredAt = (files: readonly LayerFile[], name: string): Origin | undefined => files.find((f) => f.layer === 'policy' && f.value.bounds?.plugins?.require?.includes(name) === true)?.origin('bounds.plugins.require');
