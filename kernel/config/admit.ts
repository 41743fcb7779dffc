/** What a layer may say at all: before trust, after it, and under a policy's bounds. What may not count stays visible, with the reason. */
import type { Bounds, Layer, Origin, PluginEntry } from '../../schemas/index.ts';
import { place } from '../../schemas/origin.ts';

/** One value that one layer says. */
export interface Statement { readonly path: string; readonly value: unknown; readonly layer: Layer; readonly origin: Origin }
export interface Admission { readonly trusted: boolean; readonly bounds: Bounds; readonly boundOrigin: (path: string) => Origin | null }
type By = (path: string) => string;

const PROJECT_MODES = ['default', 'plan', 'dontAsk'];
/** From loose to strict, for "a stricter mode"; one that is not here cannot be compared with another. */
const MODE_ORDER = 'bypassPermissions acceptEdits default dontAsk plan'.split(' ');
/** Kinds whose entries a stranger may switch off: less is offered, nothing is guarded less. */
const HARMLESS_KINDS = /^(tools|skills|commands)\//;
/** Variables through which programs load code, send data elsewhere, say where they are or find a credential. */
const STEERING_VARIABLE = new RegExp([
  'proxy$', '_base_url$', '_endpoint$', '^otel_', '^ld_', '^dyld_', '^node_(options|path|extra_ca_certs|tls_reject_unauthorized)$', '^bash_env$', '^bash_func', '^env$', '^(path|home|shell|ifs|ps4)$', '^(shellopts|bashopts|prompt_command)$',
  '^git_', '^ssh_', '^npm_config_', '^pip_', '^python(path|startup|home)$', '^perl5', '^ruby(opt|lib)$', '_?java_(tool_)?options$', '^dotnet_startup_hooks$', '^rustc_', '^cargo_', '^go(flags|proxy|env)$',
  '^(editor|visual|pager|browser|lessopen|lessclose)$', '^(ssl|curl|requests)_c', '^xdg_', '^tappet_', '^docker_host$', '^kubeconfig$', '_(api_key|auth_token|access_key|access_token|secret|secret_key|password|credentials)$', '^aws_', '^google_application',
].join('|'), 'i');

/** `null`: it counts. Else the reason why not. `soFar`: what the layers below say of the same key. */
export function refusal(s: Statement, a: Admission, soFar?: unknown): string | null {
  const [key, ...rest] = s.path.split('.') as [string, ...string[]];
  const name = rest.join('.');
  if (s.layer === 'project' || s.layer === 'local') {
    if (!a.trusted && !onlyTightens(key, name, s.value, soFar)) return 'waits until this folder is trusted (`tappet trust`)';
    if (key === 'providers') return 'how models are reached may not be said by a project; say it in your own config';
    if (s.layer === 'project' && key === 'mode' && !PROJECT_MODES.includes(String(s.value))) return `a project may only say ${PROJECT_MODES.join(', ')}`;
    if (s.layer === 'project' && key === 'env' && STEERING_VARIABLE.test(name)) return 'a project may not set this variable: it steers what programs load or whom they talk to';
  }
  return bounded(key, name, s, a);
}

function onlyTightens(key: string, name: string, value: unknown, soFar: unknown): boolean {
  switch (key) {
    case 'permissions': return name === 'deny' || name === 'ask';
    case 'mode': return isStricterMode(value, soFar ?? 'default');
    case 'limits': case '$schema': return true;
    case 'earlyStart': return value === false;
    case 'plugins': return value === false && HARMLESS_KINDS.test(name);
    default: return false;
  }
}
export function isStricterMode(mode: unknown, than: unknown): boolean {
  const [a, b] = [MODE_ORDER.indexOf(String(mode)), MODE_ORDER.indexOf(String(than))];
  return mode === than || (a >= 0 && b >= 0 && a > b);
}

function bounded(key: string, name: string, s: Statement, a: Admission): string | null {
  if (s.layer === 'policy') return null;
  const { bounds } = a;
  const by: By = (path) => { const o = a.boundOrigin(path); return o === null ? '' : `, set by ${place(o)} (policy)`; };
  const { mode, model } = bounds;
  if (key === 'mode' && mode !== undefined && !fitsOne(mode.oneOf, String(s.value))) return `policy allows one of ${mode.oneOf.join(', ') || '(nothing)'}${by('bounds.mode')}`;
  if ((key === 'model' || key === 'fallbackModel') && model !== undefined && !String(s.value).split(',').every((m) => fitsOne(model.oneOf, m.trim()))) return `policy allows one of ${model.oneOf.join(', ') || '(nothing)'}${by('bounds.model')}`;
  // A word that policy allows must not come to mean another model.
  if (key === 'models' && model !== undefined && s.layer !== 'built-in' && givesNames(s.value)) return `policy bounds models, so only policy may say which id or alias means which${by('bounds.model')}`;
  if (key === 'permissions' && name === 'allow' && bounds.permissions?.onlyPolicyAllows === true) return `only policy may allow${by('bounds.permissions.onlyPolicyAllows')}`;
  if (key === 'plugins' && s.value !== false) return pluginRefusal(name, s.value as PluginEntry, s.layer, bounds, by);
  return null;
}
const givesNames = (entry: unknown): boolean => typeof entry === 'object' && entry !== null && ('id' in entry || 'aliases' in entry);

/** Forbidden is forbidden, ours too; where plugins may come from and which are listed says nothing of those that ship with us. */
export function pluginRefusal(name: string, entry: PluginEntry, layer: Layer, bounds: Bounds, by: By = () => ''): string | null {
  const p = bounds.plugins;
  if (p === undefined || layer === 'policy') return null;
  if (p.forbid !== undefined && fitsOne(p.forbid, name)) return `policy forbids it${by('bounds.plugins.forbid')}`;
  if (typeof entry !== 'object' || entry.use === undefined) return null;
  if (p.onlyFrom !== undefined && !p.onlyFrom.includes(layer)) return `policy lets plugins come from ${p.onlyFrom.join(', ') || 'nowhere else'} only${by('bounds.plugins.onlyFrom')}`;
  if (p.allow !== undefined && !fitsOne(p.allow, name)) return `policy does not list it${by('bounds.plugins.allow')}`;
  return null;
}

/** Names and patterns of a policy: `*` stands for any characters, a slash too, and nothing else is special. */
export const fitsOne = (patterns: readonly string[], word: string): boolean => patterns.some((p) => fits(p, word));
function fits(pattern: string, word: string): boolean {
  const [first, ...parts] = pattern.split('*') as [string, ...string[]];
  const last = parts.pop();
  if (last === undefined) return pattern === word;
  if (!word.startsWith(first) || word.length < first.length + last.length || !word.endsWith(last)) return false;
  let at = first.length;
  for (const part of parts) {
    const next = word.indexOf(part, at);
    if (next < 0) return false;
    at = next + part.length;
  }
  return at <= word.length - last.length;
}
