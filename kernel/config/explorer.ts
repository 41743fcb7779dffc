/**
 * cosmiconfig behind bars: a loader of files and nothing else. Making an explorer reads and even runs what lies in the current folder, so it is made
 * here, once, while the process stands in our own package; its code loaders throw; it is never asked to search.
 */
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cosmiconfig } from 'cosmiconfig';

const wrap = (_path: string, text: string): { text: string } => ({ text });
const refuse = (path: string): never => { throw new Error(`configuration is data: ${path} would have to be run`); };

const make = () => cosmiconfig('tappet', {
  searchPlaces: [], cache: false, searchStrategy: 'none',
  // Of a package.json it hands out one property: that of our own wrapper.
  packageProp: 'text',
  loaders: { '.yaml': wrap, '.yml': wrap, '.json': wrap, noExt: wrap, '.js': refuse, '.cjs': refuse, '.mjs': refuse, '.ts': refuse },
});

/** In our own package, synchronously and back. A worker thread may not move, so there only the answer to "where am I?" is another. */
function standingIn<T>(folder: string, work: () => T): T {
  const { cwd } = process;
  const before = process.cwd();
  let moved = false;
  try { process.chdir(folder); moved = true; } catch { process.cwd = () => folder; }
  try { return work(); } finally { if (moved) process.chdir(before); else process.cwd = cwd; }
}
const explorer = standingIn(dirname(fileURLToPath(import.meta.url)), make);

/** The text of a file; '' where it is empty. */
export async function loadText(path: string): Promise<string> {
  const result = await explorer.load(path);
  if (result === null || result.isEmpty === true) return '';
  const loaded = result.config as string | { readonly text: string };
  return typeof loaded === 'string' ? loaded : loaded.text;
}
