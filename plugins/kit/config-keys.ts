/** Keys of the configuration as dotted paths. Names of plugins and models may hold dots themselves, so a path is read with what is there. */
import { z } from 'zod';
import type { ChainLink, ConfigView } from '../../schemas/index.ts';
import { configLayer } from '../../schemas/config.ts';

interface Node { readonly properties?: Readonly<Record<string, Node>>; readonly additionalProperties?: Node | boolean; readonly propertyNames?: { readonly pattern?: string }; readonly anyOf?: readonly Node[] }

/** JSON Schema of one layer, in the draft that editors know. */
export function configSchema(): Readonly<Record<string, unknown>> {
  const { $schema: _, ...rest } = z.toJSONSchema(configLayer(), { io: 'input', target: 'draft-7' });
  return { $schema: 'http://json-schema.org/draft-07/schema#', title: 'One layer of agent.config.yaml', ...rest };
}

/** All that may be written, `NAME` where a name of one's own stands: `plugins.NAME.use`. */
export function configKeys(): readonly string[] {
  const list = (node: Node, path: string): string[] => [
    ...(path === '' ? [] : [path]),
    ...Object.entries(node.properties ?? {}).flatMap(([key, inner]) => (key === '$schema' ? [] : list(inner, path === '' ? key : `${path}.${key}`))),
    ...(typeof node.additionalProperties === 'object' && Object.keys(node.additionalProperties).length > 0 ? list(node.additionalProperties, `${path}.NAME`) : []),
    ...(node.anyOf ?? []).flatMap((n) => list(n, path).filter((p) => p !== path)),
  ];
  return list(configSchema() as Node, '');
}

export function isConfigKey(path: string): boolean {
  const knows = (node: Node, steps: readonly string[]): boolean => steps.length === 0
    || (node.anyOf ?? []).some((n) => knows(n, steps))
    || (Object.hasOwn(node.properties ?? {}, steps[0]!) && knows(node.properties![steps[0]!]!, steps.slice(1)))
    || (typeof node.additionalProperties === 'object' && steps.some((_, i) => isName(node, steps.slice(0, i + 1).join('.')) && knows(node.additionalProperties as Node, steps.slice(i + 1))));
  const isName = (node: Node, name: string): boolean => node.propertyNames?.pattern === undefined || new RegExp(node.propertyNames.pattern).test(name);
  return path !== '' && !path.split('.').includes('') && knows(configSchema() as Node, path.split('.'));
}

/** Who spoke of a key. Chains are kept per entry: for a key inside of one it is the entry's, with what each said of that key. */
export function chainAt(config: Pick<ConfigView, 'chain' | 'keys'>, path: string): readonly ChainLink[] {
  const entry = config.keys().filter((k) => path.startsWith(`${k}.`)).sort((a, b) => b.length - a.length)[0];
  if (entry === undefined || config.keys().includes(path)) return config.chain(path);
  return config.chain(entry).map((l) => ({ ...l, value: valueAt(l.value, path.slice(entry.length + 1)) }));
}
/** The keys at and below a path of which somebody spoke. */
export const keysAt = (config: Pick<ConfigView, 'keys'>, path: string): readonly string[] => config.keys().filter((k) => k === path || k.startsWith(`${path}.`));

/** The value at a path, or undefined. */
export function valueAt(value: unknown, path: string): unknown {
  const find = (inner: unknown, steps: readonly string[]): unknown => {
    if (steps.length === 0) return inner;
    if (typeof inner !== 'object' || inner === null) return undefined;
    for (let n = 1; n <= steps.length; n++) {
      const key = steps.slice(0, n).join('.');
      if (!Object.hasOwn(inner, key)) continue;
      const found = find((inner as Record<string, unknown>)[key], steps.slice(n));
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return find(value, path.split('.'));
}
