/** One file by itself, as if it were a project's: all that is wrong with it, each with its place. */
import { readFile } from 'node:fs/promises';
import { messageOf, nearest, printError, TappetError } from 'tappet/kernel';
import { configKeys } from 'tappet/kit';
import { configLayer, parseRule } from 'tappet/schemas';
import type { ConfigProblem, Origin } from 'tappet/schemas';
import type { Document, LineCounter, Node } from 'yaml';

type Path = readonly PropertyKey[];
type Issue = { readonly code?: string | undefined; readonly path: Path; readonly message: string; readonly keys?: readonly string[]; readonly errors?: readonly (readonly Issue[])[] };
/** Maps whose keys are names of one's own. */
const NAMED = new Set(['plugins', 'env', 'providers', 'models']);

export async function checkFile(file: string, env: Readonly<Record<string, string | undefined>>): Promise<readonly ConfigProblem[]> {
  const problem = (code: string, at: readonly [number, number] | null, facts: Readonly<Record<string, unknown>>): ConfigProblem => {
    const origin: Origin | null = at === null ? null : { layer: 'project', file, line: at[0], column: at[1] };
    const error = new TappetError(code, { ...facts, where: origin ?? file });
    return { code, text: error.message, origin, fatal: false, printed: printError(error) };
  };
  let text: string;
  try { text = await readFile(file, 'utf8'); } catch (e) { return [problem('E_CONFIG_READ', null, { file, message: messageOf(e) })]; }
  const { LineCounter: Counter, parseDocument } = await import('yaml');
  const lines = new Counter();
  const doc = parseDocument(text.replace(/^\ufeff/, ''), { lineCounter: lines, uniqueKeys: true, prettyErrors: false, strict: true, version: '1.2' });
  const broken = [...doc.errors, ...doc.warnings];
  if (broken.length > 0) return broken.map((e) => { const { line, col } = lines.linePos(e.pos[0]); return problem('E_CONFIG_SYNTAX', [line, col], { message: e.message.replace(/\s+/g, ' ') }); });

  const { at, keyAt } = await placesIn(doc, lines);
  const found: ConfigProblem[] = [];
  const value: unknown = fill(doc.toJS({ maxAliasCount: 0 }), [], env, (path, name) => found.push(problem('E_CONFIG_VAR', at(path), { key: path.join('.'), name })));
  const parsed = configLayer().safeParse(value ?? {});
  for (const issue of (parsed.error?.issues ?? []).map((i) => deepest(i as Issue))) found.push(...asProblems(issue, at, keyAt, problem));
  if (parsed.success && parsed.data.bounds !== undefined) found.push(problem('E_CONFIG_KEY', keyAt(['bounds']), { key: 'bounds', cause: 'only a policy file may say bounds' }));
  const rules = (value as { permissions?: Record<string, unknown> } | null)?.permissions;
  for (const list of ['allow', 'ask', 'deny']) {
    const texts = rules?.[list];
    if (Array.isArray(texts)) texts.forEach((rule, i) => { if (typeof rule === 'string' && rule !== '' && parseRule(rule) === null) found.push(problem('E_CONFIG_RULE', at(['permissions', list, i]), { rule })); });
  }
  return found;
}

function asProblems(issue: Issue, at: (p: Path) => [number, number], keyAt: (p: Path) => [number, number], problem: (code: string, at: [number, number], facts: Readonly<Record<string, unknown>>) => ConfigProblem): ConfigProblem[] {
  const path = issue.path.map(String);
  if (issue.code === 'invalid_key') return [problem('E_CONFIG_KEY', keyAt(path), { key: path.at(-1), cause: issue.message })];
  if (issue.code !== 'unrecognized_keys') return [problem('E_CONFIG_VALUE', at(path), { key: path.join('.') || 'the file', message: issue.message })];
  const shape = path.map((step, i) => (i === 1 && NAMED.has(path[0]!) ? 'NAME' : step));
  const known = [...new Set(configKeys().map((k) => k.split('.')).filter((k) => k.length === shape.length + 1 && shape.every((s, i) => s === k[i])).map((k) => k.at(-1)!))].filter((k) => k !== 'NAME');
  return (issue.keys ?? []).map((key) => {
    const near = nearest(key, known);
    return problem('E_CONFIG_KEY', keyAt([...path, key]), { key, ...(known.length === 0 ? {} : { cause: `known here: ${known.join(', ')}` }), ...(near === null ? {} : { do: `did you mean "${near}"?` }) });
  });
}

/** Of a union's complaints the one that got furthest says most. */
function deepest(issue: Issue): Issue {
  const inner = (issue.errors ?? []).flat().map((e) => ({ ...e, path: [...issue.path, ...e.path] })).sort((a, b) => b.path.length - a.path.length || Number(b.code === 'unrecognized_keys') - Number(a.code === 'unrecognized_keys'))[0];
  return issue.code === 'invalid_union' && inner !== undefined ? deepest(inner) : issue;
}

/** A scalar stands where it is written, a map or list where its key does. */
async function placesIn(doc: Document, lines: LineCounter): Promise<{ at(path: Path): [number, number]; keyAt(path: Path): [number, number] }> {
  const { isMap, isScalar, isSeq } = await import('yaml');
  const place = (node: unknown): [number, number] => { const { line, col } = lines.linePos((node as Node | null)?.range?.[0] ?? 0); return [Math.max(1, line), Math.max(1, col)]; };
  const find = (path: Path, wantsKey: boolean): [number, number] => {
    let node: unknown = doc.contents;
    let here: [number, number] = [1, 1];
    path.forEach((step, i) => {
      if (isMap(node)) {
        const pair = node.items.find((p) => String(isScalar(p.key) ? p.key.value : p.key) === String(step));
        if (pair === undefined) return;
        node = pair.value;
        here = place(!wantsKey && i === path.length - 1 && isScalar(node) ? node : pair.key);
      } else if (isSeq(node)) { node = node.items[Number(step)]; here = place(node); }
    });
    return here;
  };
  return { at: (path) => find(path, false), keyAt: (path) => find(path, true) };
}

/** Variables are filled in before values are checked, as the kernel does. */
function fill(value: unknown, path: Path, env: Readonly<Record<string, string | undefined>>, missing: (path: Path, name: string) => void): unknown {
  if (typeof value === 'string') return value.replace(/\$\$\{|\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g, (all, name: string | undefined, other: string | undefined) => {
    if (name === undefined) return '${';
    if (env[name] === undefined && other === undefined) missing(path, name);
    return env[name] ?? other ?? all;
  });
  if (Array.isArray(value)) return value.map((v, i) => fill(v, [...path, i], env, missing));
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value).map(([k, v]) => [k, fill(v, [...path, k], env, missing)])) : value;
}
