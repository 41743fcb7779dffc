/** Walks a folder for a search: in order of names, along ignore files, never through a link. */
import type { Dirent } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import type { Ignore } from 'ignore';
import type { FsLike } from '../../schemas/index.ts';
import { readBounded } from './files.ts';
import { codeOf } from './paths.ts';
import { isHeavy } from './patterns.ts';

export interface Found { readonly path: string; /** With `/`, from the root of the walk. */ readonly way: string; readonly isLink: boolean }
export interface WalkOptions {
  readonly signal?: AbortSignal | undefined;
  /** Is this folder worth a look? */
  readonly descends?: ((way: string) => boolean) | undefined;
  /** Folders that could not be looked into. */
  readonly onUnreadable?: ((path: string) => void) | undefined;
}
interface Rules { readonly ignore: Ignore; /** A way as the file of these rules counts it. */ to(way: string): string }
interface Listing { readonly files: readonly Dirent[]; readonly folders: readonly Dirent[]; readonly own: Ignore | null }
interface Folder { readonly path: string; readonly way: string; readonly rules: readonly Rules[]; listing?: Promise<Listing | null> }

const VERSION_CONTROL = new Set(['.git', '.hg', '.svn', '.jj', '.sl', '.bzr']);
const IGNORE_FILES = ['.gitignore', '.ignore'];
const AHEAD = 8;
/** Deeper trees are made to hold somebody up. */
const MAX_DEPTH = 100;

/** One folder's files at a time; `root` is a real path. Files that the ignore files of `root`, of folders in it and of its repository name are left out. */
export async function* walk(fs: FsLike, root: string, { signal, descends, onUnreadable }: WalkOptions = {}): AsyncGenerator<readonly Found[]> {
  const { default: makeIgnore } = await import('ignore');
  const make = () => makeIgnore({ ignorecase: false });
  const list = (folder: Folder): Promise<Listing | null> => readFolder(fs, folder.path, make).catch((e: unknown) => {
    if (!UNREADABLE.has(codeOf(e) ?? '')) throw e;
    onUnreadable?.(folder.path);
    return null;
  });
  const stack: Folder[] = [{ path: root, way: '', rules: await rulesAbove(fs, root, make) }];
  for (let folder = stack.pop(); folder !== undefined; folder = stack.pop()) {
    signal?.throwIfAborted();
    const { path, way } = folder;
    const listing = await (folder.listing ?? list(folder));
    if (listing === null) continue;
    const depth = way === '' ? 0 : way.length + 1;
    const rules = listing.own === null ? folder.rules : [{ ignore: listing.own, to: (w: string) => w.slice(depth) }, ...folder.rules];
    const wayOf = (name: string) => (way === '' ? name : `${way}/${name}`);
    yield listing.files.filter((f) => saidOf(rules, wayOf(f.name)) !== 'out').map((f) => ({ path: join(path, f.name), way: wayOf(f.name), isLink: f.isSymbolicLink() }));
    if (way.split('/').length > MAX_DEPTH) { onUnreadable?.(path); continue; }
    for (const { name } of listing.folders.toReversed()) {
      const said = (descends?.(wayOf(name)) ?? true) ? saidOf(rules, `${wayOf(name)}/`) : 'out';
      if (said !== 'out') stack.push({ path: join(path, name), way: wayOf(name), rules: said === 'in' ? withoutOverruled(rules, `${wayOf(name)}/`) : rules });
    }
    for (const next of stack.slice(-AHEAD)) { // read while this one's files are looked at
      next.listing ??= list(next);
      next.listing.catch(() => {}); // heard of when its turn comes
    }
  }
}
const UNREADABLE = new Set(['ENAMETOOLONG', 'EACCES', 'EPERM', 'ENOENT', 'ENOTDIR', 'ELOOP', 'EIO', 'E_FILE_MOVED', 'E_FILE_SPECIAL']);

async function readFolder(fs: FsLike, path: string, make: () => Ignore): Promise<Listing> {
  const entries = (await fs.readdir(path, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1));
  const own = make();
  let speaks = false;
  for (const name of IGNORE_FILES) {
    if (!entries.some((e) => e.name === name && e.isFile())) continue;
    own.add(await readRules(fs, join(path, name)));
    speaks = true;
  }
  return {
    files: entries.filter((e) => e.isFile() || e.isSymbolicLink()),
    folders: entries.filter((e) => e.isDirectory() && !VERSION_CONTROL.has(e.name)),
    own: speaks ? own : null,
  };
}
/** Anybody's repository may hold them: bounded, and without words that a name could be tried against for ever. */
const MAX_RULES = 1 << 17;
const readRules = async (fs: FsLike, path: string): Promise<string[]> => (await readBounded(fs, path, MAX_RULES)).bytes.toString('utf8').split(/\r?\n/).filter((line) => !isHeavy(line));

/** The nearest rules that say something decide. */
function saidOf(rules: readonly Rules[], way: string): 'in' | 'out' | null {
  for (const { ignore, to } of rules) {
    const said = ignore.test(to(way));
    if (said.ignored) return 'out';
    if (said.unignored) return 'in';
  }
  return null;
}
/** Rules that leave out a folder would leave out all that is in it, also where nearer rules took it in again. */
const withoutOverruled = (rules: readonly Rules[], way: string): Rules[] => rules.filter(({ ignore, to }) => !ignore.test(to(way)).ignored);

/** What the folders above say, up to the repository's root. A folder that they leave out and that is searched all the same is not searched by their rules. */
async function rulesAbove(fs: FsLike, root: string, make: () => Ignore): Promise<Rules[]> {
  const exists = (path: string) => fs.lstat(path).then(() => true, () => false);
  const load = async (folder: string, files: readonly string[]): Promise<Rules> => {
    const ignore = make();
    for (const file of files) ignore.add(await readRules(fs, join(folder, file)).catch(() => [])); // most folders have none
    const way = relative(folder, root).split(sep).join('/');
    return { ignore, to: (w) => (way === '' ? w : `${way}/${w}`) };
  };
  const above: Promise<Rules>[] = [];
  for (let top = root; ; top = dirname(top)) {
    if (top !== root) above.push(load(top, IGNORE_FILES));
    if (await exists(join(top, '.git'))) {
      const rules = await Promise.all([...above, load(top, [join('.git', 'info', 'exclude')])]);
      return rules.filter(({ ignore, to }) => to('') === '' || !ignore.test(to('')).ignored);
    }
    if (dirname(top) === top) return [];
  }
}
