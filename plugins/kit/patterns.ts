/** Path patterns as ignore files write them: a bare name at any depth, `**` across folders, a folder with all that is below it. Dotfiles are files. */
import picomatch from 'picomatch';

const MAX_LENGTH = 4096;
/** Why this is no pattern; `null`: it is one. A leading `!` would turn a rule inside out. */
export function patternProblem(pattern: string): string | null {
  if (pattern.trim() === '') return 'it is empty';
  if (pattern.startsWith('!')) return 'a leading `!` would match everything else';
  if (pattern.includes('\0')) return 'it holds a NUL';
  if (pattern.length > MAX_LENGTH) return `it is longer than ${MAX_LENGTH} characters`;
  if (pattern.split('/').includes('..')) return '`..` can stand at the front only';
  if (isHeavy(pattern)) return 'it has so many stars that a long name could be tried against it for ever';
  return null;
}

/** Each further star multiplies the ways in which a name can be tried. */
export function isHeavy(pattern: string): boolean {
  const stars = pattern.split('/').map((part) => part.match(/\*+/g)?.length ?? 0);
  return stars.some((n) => n > 4) || stars.reduce((a, b) => a + b, 0) > 10 || (pattern.match(/\*\*/g)?.length ?? 0) > 3;
}

export interface PatternOptions {
  /** For what refuses: `src/**` counts at any depth, `a/*` also for what is deeper. Left out: only what the letters say. */
  readonly broad?: boolean | undefined;
  readonly ignoreCase?: boolean | undefined;
}
/** Tests paths with `/`, relative to the pattern's anchor; `''` is the anchor itself. Whoever compiles keeps what came out. @throws where it is no pattern */
export function compilePattern(pattern: string, { broad = false, ignoreCase = false }: PatternOptions = {}): (relative: string) => boolean {
  const problem = patternProblem(pattern);
  if (problem !== null) throw new Error(`"${pattern}" is no path pattern: ${problem}`);
  const anchored = /^\.?\//.test(pattern);
  const body = pattern.replace(/^(?:\.?\/+)+/, '').replace(/\/+$/, '').replace(/\\.|[()|"]/gs, (c) => (c.length > 1 ? c : `\\${c}`)); // these are letters of names
  if (body === '' || body === '.' || body === '**' || (body === '*' && !anchored)) return () => true; // the anchor and all that is below
  const anywhere = !anchored && (!body.includes('/') || (broad && /^[^/]+\/\*\*$/.test(body)));
  const from = anywhere ? `**/${body}` : body;
  const reach = !broad && /(?:^|\/)\*$/.test(body) ? [from] : [from, `${from}/**`]; // who names a folder means what is in it
  return picomatch(reach, { dot: true, nocase: ignoreCase, noextglob: true, windows: false });
}

/** Takes the meaning from the characters that a pattern would read as more than themselves. */
export const escapePattern = (path: string): string => path.replace(/[\\*?[\]{}()|"]/g, '\\$&').replace(/^!/, '\\!');
