/** One layer by itself: variables filled in, shape checked, rules read. What is wrong points into the file that holds it. */
import type { z } from 'zod';
import type { ConfigLayer, ConfigProblem, Layer, Origin, RuleBehavior } from '../../schemas/index.ts';
import { configLayer } from '../../schemas/config.ts';
import { parseRule } from '../../schemas/permissions.ts';
import { nearest, printError, TappetError } from '../errors.ts';
import { makeOrigin } from './origin.ts';
import type { Env } from './places.ts';
import type { Position, ReadFile } from './read.ts';

export interface RuleProblem extends ConfigProblem { readonly error: TappetError }
/** A layer's file that parsed and fits. */
export interface LayerFile {
  readonly layer: Layer;
  readonly file: string;
  readonly value: ConfigLayer;
  readonly hash: string;
  origin(path: string): Origin;
  /** Rules that are no rules: left out and said. */
  readonly problems: readonly RuleProblem[];
}

/** @throws E_CONFIG_KEY, E_CONFIG_VALUE, E_CONFIG_VAR with file, line and column */
export function checkLayer(read: ReadFile, layer: Layer, env: Env): LayerFile {
  const at = (p: Position): Origin => makeOrigin(layer, read.file, p[0], p[1]);
  const raw = read.value ?? {};
  if (typeof raw !== 'object' || Array.isArray(raw)) throw new TappetError('E_CONFIG_VALUE', { key: 'the file', message: `expected a map of keys, found ${Array.isArray(raw) ? 'a list' : `a ${typeof raw}`}`, where: at(read.at('')) });
  const filled = layer === 'policy' ? (refuseVariables(raw, '', read, at), raw) : fillVariables(raw, '', env, read, at);
  const { value: shaped, problems } = takeBadRules(filled as Record<string, unknown>, read, at);
  const parsed = configLayer().safeParse(shaped);
  if (!parsed.success) throw firstIssue(parsed.error.issues, read, at, layer);
  if (parsed.data.bounds !== undefined && layer !== 'policy') throw new TappetError('E_CONFIG_KEY', { key: 'bounds', where: at(read.keyAt('bounds')), cause: 'only a policy file may say bounds', do: 'take it out' });
  return { layer, file: read.file, value: parsed.data, hash: read.hash, problems, origin: (path) => at(read.at(path)) };
}

function firstIssue(issues: readonly z.core.$ZodIssue[], read: ReadFile, at: (p: Position) => Origin, layer: Layer): TappetError {
  const issue = deepest(issues[0]!);
  const path = issue.path.map(String).join('.');
  if (issue.code === 'unrecognized_keys') {
    const key = issue.keys[0]!;
    const known = knownKeys(issue.path).filter((k) => k !== 'bounds' || layer === 'policy');
    const near = nearest(key, known);
    return new TappetError('E_CONFIG_KEY', { key, where: at(read.keyAt(path === '' ? key : `${path}.${key}`)), ...(known.length === 0 ? {} : { cause: `known here: ${known.join(', ')}` }), ...(near === null ? {} : { do: `did you mean "${near}"?` }) });
  }
  if (issue.code === 'invalid_key') return new TappetError('E_CONFIG_KEY', { key: String(issue.path.at(-1)), where: at(read.keyAt(path)), cause: issue.issues[0]?.message });
  return new TappetError('E_CONFIG_VALUE', { key: path === '' ? 'the file' : path, message: issue.message, where: at(read.at(path)) });
}
/** Of a union's complaints the one that got furthest says most. */
function deepest(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== 'invalid_union') return issue;
  const branches = issue.errors.flat().map((e) => ({ ...e, path: [...issue.path, ...e.path] }) as z.core.$ZodIssue);
  const best = branches.sort((a, b) => score(b) - score(a))[0];
  return best === undefined ? issue : deepest(best);
}
const score = (i: z.core.$ZodIssue): number => i.path.length * 2 + (i.code === 'unrecognized_keys' ? 1 : 0);

/** Which keys the schema knows at a path, found by walking down the schema. */
function knownKeys(path: readonly PropertyKey[]): readonly string[] {
  let node: unknown = configLayer();
  for (const step of path) node = descend(node, String(step));
  const shape = shapeOf(node);
  return shape === null ? [] : Object.keys(shape).filter((k) => !k.startsWith('$'));
}
type Zodish = { readonly _zod?: { readonly def: { readonly type: string; readonly shape?: Record<string, unknown>; readonly innerType?: unknown; readonly valueType?: unknown; readonly element?: unknown; readonly options?: readonly unknown[] } } };
function unwrap(node: unknown): unknown {
  const def = (node as Zodish)?._zod?.def;
  if (def?.type === 'union') return unwrap(def.options?.find((o) => shapeOf(o) !== null));
  return def?.innerType === undefined ? node : unwrap(def.innerType);
}
const shapeOf = (node: unknown): Record<string, unknown> | null => (unwrap(node) as Zodish)?._zod?.def.shape ?? null;
function descend(node: unknown, step: string): unknown {
  const def = (unwrap(node) as Zodish)?._zod?.def;
  return def?.shape?.[step] ?? def?.valueType ?? def?.element;
}

const RULE_LISTS: readonly RuleBehavior[] = ['allow', 'ask', 'deny'];
/** One malformed rule must not void the file: it is taken out and said. */
function takeBadRules(value: Record<string, unknown>, read: ReadFile, at: (p: Position) => Origin): { value: Record<string, unknown>; problems: RuleProblem[] } {
  const permissions = value['permissions'];
  if (typeof permissions !== 'object' || permissions === null || Array.isArray(permissions)) return { value, problems: [] };
  const problems: RuleProblem[] = [];
  const kept: Record<string, unknown> = { ...permissions };
  for (const list of RULE_LISTS) {
    const rules = kept[list];
    if (!Array.isArray(rules)) continue;
    kept[list] = rules.map((rule, i) => {
      const parsed = typeof rule === 'string' ? parseRule(rule) : null;
      if (typeof rule !== 'string' || rule.length === 0) return rule; // the schema says what is wrong with it
      const why = parsed === null ? 'the brackets do not close, or the name is no tool name' : parsed.ruleContent?.startsWith('!') ? 'a leading ! would turn the rule inside out' : null;
      if (why === null) return rule;
      const origin = at(read.at(`permissions.${list}.${i}`));
      const error = new TappetError('E_CONFIG_RULE', { rule, cause: why, where: origin });
      problems.push({ code: error.code, text: error.message, origin, fatal: false, printed: printError(error), error });
      return BAD_RULE;
    });
  }
  return { value: { ...value, permissions: kept }, problems };
}
/** Stands in the place of a malformed rule, so that the others keep their positions. */
export const BAD_RULE = '(malformed)';

const VARIABLE = /\$\$\{|\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}|\$\{[^}]*\}?/g;
/** Once, never what a variable held. As in a shell, `:-` also stands in for an empty one. */
function fillVariables(value: unknown, path: string, env: Env, read: ReadFile, at: (p: Position) => Origin): unknown {
  if (typeof value !== 'string') return mapValues(value, path, (inner, p) => fillVariables(inner, p, env, read, at));
  if (!value.includes('${')) return value;
  return value.replace(VARIABLE, (all, name: string | undefined, fallback: string | undefined) => {
    if (all === '$${') return '${'; // $${ is how one writes ${
    if (name === undefined) throw new TappetError('E_CONFIG_VALUE', { key: path, message: `${all} is no variable`, where: at(read.at(path)), do: 'write ${NAME} or ${NAME:-default}; $${ stands for ${ itself' });
    const set = Object.hasOwn(env, name) ? env[name] : undefined;
    const filled = fallback === undefined ? set : set || fallback;
    if (filled === undefined) throw new TappetError('E_CONFIG_VAR', { key: path, name, where: at(read.at(path)) });
    return filled;
  });
}
function refuseVariables(value: unknown, path: string, read: ReadFile, at: (p: Position) => Origin): void {
  if (typeof value === 'string' && value.includes('${')) throw new TappetError('E_CONFIG_VALUE', { key: path, message: 'a policy knows no variables', where: at(read.at(path)), do: 'write the value out' });
  mapValues(value, path, (inner, p) => { refuseVariables(inner, p, read, at); return inner; });
}
function mapValues(value: unknown, path: string, fn: (inner: unknown, path: string) => unknown): unknown {
  if (Array.isArray(value)) return value.map((v, i) => fn(v, path === '' ? String(i) : `${path}.${i}`));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, fn(v, path === '' ? k : `${path}.${k}`)]));
}
