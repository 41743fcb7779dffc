/** What ships with the kernel: the built-in layer and a way to its plugins. The build makes it from `agent.config.yaml`; from sources it is read there. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { LayerFile } from './config/check.ts';
import { checkLayer } from './config/check.ts';
import { readConfigFile } from './config/read.ts';
import type { Face } from './door.ts';
import { TappetError } from './errors.ts';

export interface Builtins {
  readonly version: string;
  layer(): Promise<LayerFile>;
  /** The default export of our plugin of this name; undefined where there is none. */
  plugin(name: string): Promise<unknown>;
  /** Names of all that ship, also of those that the layer switches off. */
  readonly names: () => Promise<readonly string[]>;
  /** What a third party's plugin imports by name. */
  face(): Promise<Face>;
  /** What the options of our plugins are where nobody says any, made at build. */
  readonly defaultOptions?: Readonly<Record<string, unknown>>;
  /** JSON Schemas of the built-in tools, made at build. */
  readonly toolSchemas?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** Straight from the repository: development and tests. */
export function sourceBuiltins(): Builtins {
  const root = join(dirname(fileURLToPath(import.meta.url)), '..');
  const file = join(root, 'agent.config.yaml');
  let layer: Promise<LayerFile> | undefined;
  const find = (name: string): string | undefined => [`${name}.ts`, `${name}/index.ts`].map((f) => join(root, 'plugins', f)).find((f) => existsSync(f));
  const readLayer = async (): Promise<LayerFile> => {
    const read = await readConfigFile(file, { layer: 'built-in' });
    if (read === null) throw new TappetError('E_INTERNAL', { message: `${file} is missing` });
    return checkLayer(read, 'built-in', {});
  };
  return {
    version: '0.1.0',
    layer: () => (layer ??= readLayer()),
    plugin: async (name) => {
      const path = find(name);
      return path === undefined ? undefined : ((await import(pathToFileURL(path).href)) as { default: unknown }).default;
    },
    names: async () => Object.keys((await (layer ??= readLayer())).value.plugins ?? {}),
    face: async () => {
      const [kernel, kit, schemas, zod] = await Promise.all(['tappet/kernel', 'tappet/kit', 'tappet/schemas', 'zod'].map((name) => import(name) as Promise<object>));
      return { 'tappet/kernel': kernel!, 'tappet/kit': kit!, 'tappet/schemas': schemas!, zod: zod! };
    },
  };
}
