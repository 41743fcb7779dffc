/** Layers for tests of the merge: as values, and as anything that the schema of a layer lets through. */
import fc from 'fast-check';
import type { LayerFile } from '../../kernel/config/check.ts';
import { makeOrigin } from '../../kernel/config/origin.ts';
import { configLayer } from '../../schemas/config.ts';
import type { ConfigLayer, Layer } from '../../schemas/index.ts';

/** A file of a layer, with an origin of its own for every path. */
export function layerFile(layer: Layer, value: ConfigLayer, file = `${layer}.yaml`): LayerFile {
  const line = (path: string): number => [...path].reduce((n, c) => (n * 31 + c.charCodeAt(0)) % 100_000, 7);
  return { layer, file, value, hash: '', problems: [], origin: (path) => makeOrigin(layer, file, line(path), 1) };
}

/** Words that meet each other often, where any text would do. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  mode: ['default', 'plan', 'dontAsk', 'acceptEdits', 'bypassPermissions', 'their-mode'], model: ['a/one', 'a/two', 'b/one', 'sonnet'], fallbackModel: ['a/one', 'b/one,a/two'], allow: ['Bash(npm test)', 'Read', 'Edit(src/**)'], ask: ['Bash(git push)', 'Read(x)'],
  deny: ['Bash(rm *)', 'Read(.env)'], directories: ['/data', '../other'], use: ['./x.ts', 'acme-x'], sessions: ['stores/sessions', 'acme/store'], oneOf: ['plan', 'default', 'a/*', 'a/one', 'acceptEdits', '*'], default: ['plan', 'a/one'], forbid: ['acme/x', 'tools/*'], require: ['acme/x'], onlyFrom: ['user', 'project', 'policy'],
};
const NAMES: Readonly<Record<string, readonly string[]>> = { plugins: ['tools/web', 'skills/a', 'guards/rules', 'acme/x', 'acme/y'], env: ['A', 'B', 'HTTPS_PROXY', 'LD_PRELOAD', 'PATH'], providers: ['a', 'b'], models: ['a/one', 'b/one'], headers: ['x-h'], hashes: ['acme/x'] };

type Def = { readonly type: string; readonly shape?: Record<string, unknown>; readonly innerType?: unknown; readonly valueType?: unknown; readonly element?: unknown; readonly options?: readonly unknown[]; readonly values?: readonly unknown[]; readonly entries?: Record<string, string> };
const defOf = (schema: unknown): Def => (schema as { _zod: { def: Def } })._zod.def;

/** Anything that a schema describes: a new key is part of every test that uses this. */
function anything(schema: unknown, name: string): fc.Arbitrary<unknown> {
  const def = defOf(schema);
  switch (def.type) {
    case 'optional': case 'nullable': case 'default': return anything(def.innerType, name);
    case 'object': return fc.record(Object.fromEntries(Object.entries(def.shape!).map(([k, s]) => [k, anything(s, k)])), { requiredKeys: Object.entries(def.shape!).filter(([, s]) => defOf(s).type !== 'optional').map(([k]) => k) });
    case 'record': return fc.dictionary(fc.constantFrom(...(NAMES[name] ?? ['k'])), anything(def.valueType, name), { maxKeys: 3, noNullPrototype: true });
    case 'array': return fc.uniqueArray(anything(def.element, name), { maxLength: 3, minLength: name === 'oneOf' ? 1 : 0 });
    case 'union': return fc.oneof(...def.options!.map((o) => anything(o, name)));
    case 'enum': return fc.constantFrom(...Object.values(def.entries!));
    case 'literal': return fc.constantFrom(...def.values!);
    case 'boolean': return fc.boolean();
    case 'number': return fc.integer({ min: 1, max: 9 });
    case 'string': return fc.constantFrom(...(WORDS[name] ?? (name === 'hashes' ? [`sha256-${'a'.repeat(64)}`, `sha256-${'b'.repeat(64)}`] : name === 'baseUrl' ? ['http://127.0.0.1'] : ['one', 'two'])));
    case 'unknown': return fc.constantFrom(1, 'x', true);
    default: throw new Error(`this schema is not known to the generator: ${def.type} at ${name}`);
  }
}

/** A layer's words: of a policy with bounds, of all others without. */
export const layerValue = (layer: Layer): fc.Arbitrary<ConfigLayer> => anything(configLayer(), '').map((v) => { const { bounds, $schema: _, ...rest } = v as ConfigLayer; return layer === 'policy' && bounds !== undefined ? { ...rest, bounds } : rest; });
export const anyLayer = (layer: Layer): fc.Arbitrary<LayerFile> => layerValue(layer).map((v) => layerFile(layer, v));
