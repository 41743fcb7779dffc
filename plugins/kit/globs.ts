/** Patterns that a search is given: the folder that they start in, and which names they mean. */
import picomatch from 'picomatch';
import { isHeavy } from './patterns.ts';
import { createTimeBox } from './time-box.ts';

/** `src/*.ts` starts in `src` and means `*.ts` there; a pattern without wildcards starts in the folder of the file. */
export function splitGlob(glob: string): { readonly base: string; readonly rest: string } {
  const parts = glob.replace(/(?<=.)\/+$/, '').split('/');
  const wild = parts.findIndex((part) => /(?<!\\)[*?[{]/.test(part));
  const at = wild === -1 ? parts.length - 1 : wild;
  const base = parts.slice(0, at).join('/').replace(/\\(.)/g, '$1');
  return { base: base === '' && at > 0 ? '/' : base, rest: parts.slice(at).filter((part) => part !== '.').join('/') };
}

export interface Glob { matches(way: string): boolean; /** Can anything below this folder match? */ descends(way: string): boolean }
export interface GlobOptions { /** A pattern without `/` means names at any depth. */ readonly anyDepth?: boolean | undefined }
const BOX_MS = 50;
/**
 * For paths with `/`, relative to where the pattern starts. Brackets of names are letters, braces are choices, dotfiles are files.
 * @throws where it is no pattern; what comes out throws `E_PATTERN_SLOW` where a name would be tried against it for ever
 */
export async function compileGlob(glob: string, { anyDepth = false }: GlobOptions = {}): Promise<Glob> {
  if (glob.trim() === '' || glob.includes('\0') || glob.length > 4096) throw new Error('a pattern has 1 to 4096 characters, and no NUL');
  if (glob.startsWith('!')) throw new Error('a pattern says what is meant, not what is left out: no leading `!`');
  // `[!a]` is how shells write `[^a]`; the matcher knows the latter only.
  const words = glob.replace(/^\.?\//, '').replace(/(?<!\\)\[!/g, '[^').replace(/\\.|[()|"]/gs, (c) => (c.length > 1 ? c : `\\${c}`));
  if (words.split(/[/{},]/).includes('..')) throw new Error('`..` can stand at the front only');
  const pattern = anyDepth && !words.includes('/') && !glob.startsWith('/') ? `**/${words}` : words;
  const parts = pattern.split('/');
  const deep = parts.findIndex((part) => part.includes('**'));
  const options = { dot: true, noextglob: true, windows: false } as const;
  const whole = picomatch(pattern, options);
  const firm = /\{[^}]*\//.test(pattern) ? null : parts.slice(0, deep === -1 ? -1 : deep).map((part) => picomatch(part, options));
  const descends = (way: string): boolean => {
    if (firm === null) return true;
    const names = way.split('/');
    return (deep !== -1 || names.length <= firm.length) && names.every((name, i) => i >= firm.length || firm[i]!(name));
  };
  if (!isHeavy(pattern)) return { matches: (way) => whole(way), descends };
  const box = await createTimeBox();
  const inTime = (test: (way: string) => boolean) => (way: string): boolean => {
    const said = box(BOX_MS, () => test(way));
    if (said === null) throw Object.assign(new Error(`the pattern ${glob} takes too long; use fewer stars`), { code: 'E_PATTERN_SLOW' });
    return said.value;
  };
  return { matches: inTime((way) => whole(way)), descends: inTime(descends) };
}
