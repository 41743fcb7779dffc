/** The door: a third party's plugin, however it lies there, gets our one face. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { PluginFiles } from './config/plugin-files.ts';
import { messageOf } from './errors.ts';
import { createTranspiled } from './transpiled.ts';

/** What plugins import by name; the bundle puts it under a registered symbol, so that its facades hand out the same objects. */
export interface Face { readonly 'tappet/kernel': object; readonly 'tappet/kit': object; readonly 'tappet/schemas': object; readonly zod: object }
export const FACE = Symbol.for('tappet.face/1');
/** A script that was compiled from a cache cannot import; its loader hands in a function that can. */
const IMPORT = Symbol.for('tappet.import');
const nativeImport = (url: string): Promise<unknown> => ((globalThis as Record<symbol, unknown>)[IMPORT] as ((u: string) => Promise<unknown>) | undefined)?.(url) ?? import(url);

/** `cache`: a folder for what was transpiled. */
export async function loadModule(found: PluginFiles, face: () => Promise<Face>, cache: string): Promise<unknown> {
  const modules = await face();
  (globalThis as Record<symbol, unknown>)[FACE] ??= modules;
  if (found.kind === 'package' && /^\.(c|m)?js$/.test(extname(found.entry))) {
    const url = pathToFileURL(found.entry);
    url.searchParams.set('content', found.hash.slice(-12)); // other content is another module
    try { return pick(await nativeImport(url.href)); } catch (e) {
      if (!isOursMissing(e)) throw e;
    }
  }
  return loadWithJiti(found, modules, join(cache, 'transpiled'));
}

/** Loose files, TypeScript, and packages without a tappet of their own beside them: their imports are answered by us. */
async function loadWithJiti({ entry, files }: PluginFiles, modules: Face, folder: string): Promise<unknown> {
  const { createJiti } = await import('jiti');
  const cache = createTranspiled(folder);
  const withTranspiler = async (): Promise<void> => {
    const whole = (await import('jiti/static')).createJiti(pathToFileURL(entry).href); // with its transpiler inside, so that a bundle is whole
    cache.transpiler = (source) => ({ code: whole.transform(source as Parameters<typeof whole.transform>[0]) });
  };
  if (!files.filter((f) => /\.[cm]?[jt]sx?$/.test(f)).every((f) => cache.has(f))) await withTranspiler();
  const jiti = createJiti(pathToFileURL(entry).href, { virtualModules: { ...modules } as Record<string, Record<string, unknown>>, tryNative: false, fsCache: false, moduleCache: false, interopDefault: false, transform: (source) => cache.transform(source) });
  for (const file of files) delete createRequire(entry).cache[file]; // CommonJS goes through Node's own loader, which would remember it
  // As `require`: asked to import, it first lets Node load each file, which remembers the old content and runs a file that fails twice.
  try { return pick(jiti(entry)); } catch (e) {
    if (!(e instanceof SyntaxError) || !e.message.includes('await')) throw e;
  }
  await withTranspiler();
  return pick(await jiti.evalModule(await readFile(entry, 'utf8'), { filename: entry, async: true, forceTranspile: true })); // it waits at its top level
}

/** It was our name that could not be resolved, as Node says it for `import` and for `require`. */
function isOursMissing(e: unknown): boolean {
  const code = (e as { code?: unknown } | null)?.code;
  return (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND' || code === 'ERR_PACKAGE_PATH_NOT_EXPORTED') && /'(tappet|zod)(\/[^']*)?'|node_modules[\\/](tappet|zod)[\\/]/.test(messageOf(e));
}

function pick(module: unknown): unknown {
  const m = module as { default?: unknown } | null;
  const first = m?.default ?? m;
  const inner = (first as { default?: unknown } | null)?.default;
  return inner !== undefined && typeof first === 'object' && !('apply' in (first as object)) ? inner : first;
}
