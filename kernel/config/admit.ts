/** What a layer may say at all: before trust, after it, and under a policy's bounds. What may not count stays visible, with the reason. */
import picomatch from 'picomatch';
import type { Bounds, Layer, Origin } from '../../schemas/index.ts';
import { place } from '../../schemas/origin.ts';

/** One value that one layer says. */
export interface Statement { readonly path: string; readonly value: unknown; readonly layer: Layer; readonly origin: Origin }
export interface Admission { readonly trusted: boolean; readonly bounds: Bounds; readonly boundOrigin: (path: string) => Origin | null }

const PROJECT_MODES = ['default', 'plan', 'dontAsk'];
/** Kinds whose entries a stranger may switch off: less is offered, nothing is guarded less. */
const HARMLESS_KINDS = /^(tools|skills|commands)\//;
/** Variables through which programs load code, send data elsewhere or say where they are. */
const STEERING_VARIABLE = /proxy$|_base_url$|^otel_|^ld_|^dyld_|^node_options$|^bash_env$|^env$|^path$|^git_|^python(path|startup|home)$|^perl5|^ruby(opt|lib)$|^java_tool_options$/i;

/** `null`: it counts. Else the reason why not. */
export function refusal(s: Statement, a: Admission): string | null {
  const [key, ...rest] = s.path.split('.');
  const name = rest.join('.');
  if (s.layer === 'project' || s.layer === 'local') {
    if (!a.trusted && !onlyTightens(key!, name, s.value)) return 'waits until this folder is trusted (`tappet trust`)';
    if (key === 'providers') return 'how models are reached may not be said by a project; say it in your own config';
    if (s.layer === 'project' && key === 'mode' && !PROJECT_MODES.includes(String(s.value))) return `a project may only say ${PROJECT_MODES.join(', ')}`;
    if (s.layer === 'project' && key === 'env' && STEERING_VARIABLE.test(name)) return 'a project may not set this variable: it steers what programs load or whom they talk to';
  }
  return bounded(key!, name, s, a);
}

function onlyTightens(key: string, name: string, value: unknown): boolean {
  switch (key) {
    case 'permissions': return name === 'deny' || name === 'ask';
    case 'mode': return value === 'plan' || value === 'dontAsk' || value === 'default';
    case 'limits': return true;
    case 'earlyStart': return value === false;
    case 'plugins': return value === false && HARMLESS_KINDS.test(name);
    case '$schema': return true;
    default: return false;
  }
}

function bounded(key: string, name: string, s: Statement, a: Admission): string | null {
  if (s.layer === 'policy' || s.layer === 'built-in') return null;
  const { bounds } = a;
  const by = (path: string): string => { const o = a.boundOrigin(path); return o === null ? '' : `, set by ${place(o)} (policy)`; };
  if (key === 'mode' && bounds.mode !== undefined && !anyOf(bounds.mode.oneOf, String(s.value))) return `policy allows one of ${bounds.mode.oneOf.join(', ')}${by('bounds.mode')}`;
  if ((key === 'model' || key === 'fallbackModel') && bounds.model !== undefined && !String(s.value).split(',').every((m) => anyOf(bounds.model!.oneOf, m.trim()))) return `policy allows one of ${bounds.model.oneOf.join(', ')}${by('bounds.model')}`;
  if (key === 'permissions' && name === 'allow' && bounds.permissions?.onlyPolicyAllows === true) return `only policy may allow${by('bounds.permissions.onlyPolicyAllows')}`;
  if (key === 'plugins' && s.value !== false) return pluginRefusal(name, s.layer, bounds, by);
  return null;
}

export function pluginRefusal(name: string, layer: Layer, bounds: Bounds, by: (path: string) => string = () => ''): string | null {
  const p = bounds.plugins;
  if (p === undefined || layer === 'policy') return null;
  if (p.forbid !== undefined && anyOf(p.forbid, name)) return `policy forbids it${by('bounds.plugins.forbid')}`;
  if (layer === 'built-in') return null;
  if (p.onlyFrom !== undefined && !p.onlyFrom.includes(layer)) return `policy lets plugins come from ${p.onlyFrom.join(', ') || 'nowhere else'} only${by('bounds.plugins.onlyFrom')}`;
  if (p.allow !== undefined && !anyOf(p.allow, name)) return `policy does not list it${by('bounds.plugins.allow')}`;
  return null;
}
const anyOf = (patterns: readonly string[], word: string): boolean => patterns.some((p) => (/[*?[\]{}]/.test(p) ? picomatch.isMatch(word, p, { dot: true }) : p === word));
