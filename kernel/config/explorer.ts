/**
 * cosmiconfig behind bars: a loader of files and nothing else. Making an explorer reads and even runs what lies in the current folder, so it is made
 * here, once, while the process stands in our own package; its code loaders throw; it is never asked to search.
 */
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cosmiconfig } from 'cosmiconfig';

const wrap = (_path: string, text: string): { text: string } => ({ text });
const refuse = (path: string): never => { throw new Error(`configuration is data: ${path} would have to be run`); };

function make() {
  const before = process.cwd();
  const own = dirname(typeof __filename === 'string' ? __filename : fileURLToPath(import.meta.url));
  let moved = false;
  try { process.chdir(own); moved = true; } catch { /* a worker thread may not; it stands where its parent stood */ }
  try {
    return cosmiconfig('tappet', {
      searchPlaces: [], cache: false, searchStrategy: 'none',
      loaders: { '.yaml': wrap, '.yml': wrap, '.json': wrap, noExt: wrap, '.js': refuse, '.cjs': refuse, '.mjs': refuse, '.ts': refuse },
    });
  } finally {
    if (moved) process.chdir(before);
  }
}
const explorer = make();

/** The text of a file; '' where it is empty. */
export async function loadText(path: string): Promise<string> {
  const result = await explorer.load(path);
  return result === null || result.isEmpty === true ? '' : (result.config as { text: string }).text;
}
