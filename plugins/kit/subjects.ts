/** What a file call is about, and whether a rule's words mean it: the grammar of path rules. */
import { dirname, parse, sep } from 'node:path';
import type { FsLike, Match, MatchPlace, Origin, PermissionUpdate, SourcedRule, Subject } from '../../schemas/index.ts';
import { compilePattern, escapePattern, patternProblem } from './patterns.ts';
import { absolute, isInside, realPath } from './paths.ts';
import { toolNameOf } from './tool-names.ts';

export type PathSubject = Extract<Subject, { kind: 'path' }>;

/** Both spellings: as it was given, made absolute, and the one behind all links. */
export async function pathSubject(fs: FsLike, cwd: string, path: string, access: 'read' | 'write', home?: string): Promise<PathSubject> {
  const given = absolute(cwd, path, home);
  return { kind: 'path', access, path: given, real: await realPath(fs, given) };
}

const MAX_PATH = 4096;
const MAX_DEPTH = 256;
/** Disks that take `A` and `a` for one name: there a refusal means both, also of what does not exist yet. */
const FOLDS = process.platform === 'darwin' || process.platform === 'win32';

/**
 * `//x` counts from the root of the disk, `~/x` from home, `/x` from the folder of the file that holds the rule, `x` and `./x` from the working folder.
 * A link has two names: an allow needs both to match, everything else is met by either. A refusal that can't be read refuses; an allow that can't be read allows nothing.
 */
export function matchPath(subject: Subject, spec: string, place: MatchPlace): Match {
  if (subject.kind === 'opaque') return 'maybe';
  if (subject.kind !== 'path') return 'no';
  const allows = place.behavior === 'allow';
  const { anchor, pattern } = readSpec(spec, place);
  if (patternProblem(pattern) !== null) return allows ? 'no' : 'maybe';
  const folds = FOLDS && !allows;
  const matches = compiled(pattern, !allows, folds);
  const meets = (path: string): boolean => {
    if (path.length > MAX_PATH || path.split(sep).length > MAX_DEPTH) return !allows; // no file of this world, and trying it could take for ever
    const way = below(anchor, path, folds);
    return way !== null && matches(way);
  };
  if (meets(subject.path)) return subject.real === null ? (allows ? 'maybe' : 'yes') : !allows || meets(subject.real) ? 'yes' : 'no';
  if (allows) return 'no';
  return subject.real === null ? 'maybe' : meets(subject.real) ? 'yes' : 'no';
}

/** Why a rule's content can never mean a path; `null`: it can. */
export const pathSpecProblem = (spec: string): string | null => patternProblem(readSpec(spec, { cwd: '/', home: '/', base: '/', behavior: 'deny' }).pattern);

/** What a leading `/` means in a rule from there: the folder of its file (of the project, where the file lies in the project's `.claude`), else the working folder. */
export function ruleBase(origin: Origin, cwd: string): string {
  if (!parse(origin.file).root) return cwd;
  const folder = dirname(origin.file);
  return (origin.layer === 'project' || origin.layer === 'local') && folder.endsWith(`${sep}.claude`) ? dirname(folder) : folder;
}

/** May a search tell what it found in this file? Rules that refuse or ask name files; a search names a folder above them. */
export function hiddenByRules(rules: readonly SourcedRule[], tools: readonly string[], at: { readonly cwd: string; readonly home: string }): (path: string, real: string | null) => boolean {
  const speaking = rules.filter((r) => r.behavior !== 'allow' && r.ruleContent !== undefined && tools.includes(toolNameOf(r.toolName)));
  return (path, real) => speaking.some((r) =>
    matchPath({ kind: 'path', access: 'read', path, real }, r.ruleContent!, { ...at, base: ruleBase(r.origin, at.cwd), behavior: r.behavior }) !== 'no');
}

/** The narrowest words that would have let a file call through. A path with two names gets none: no one rule would mean both. */
export function suggestForPaths(subjects: readonly Subject[], place: MatchPlace, what: 'file' | 'folder' = 'file'): PermissionUpdate[] {
  const paths = subjects.filter((s): s is PathSubject => s.kind === 'path');
  const inside = paths.filter((s) => s.real !== null && [s.path, s.real].every((p) => isInside(p, place.cwd) || isInside(p, place.base)));
  const outside = paths.filter((s) => !inside.includes(s) && s.path === s.real);
  const rules = outside.map((s) => {
    if (s.access === 'write') return { toolName: 'Edit', ruleContent: exactly(s.path) };
    const folder = what === 'folder' ? s.path : dirname(s.path);
    return { toolName: 'Read', ruleContent: folder === place.home || folder === parse(folder).root ? exactly(s.path) : `${exactly(folder)}/**` };
  });
  return [
    ...(rules.length > 0 ? [{ type: 'addRules' as const, rules, behavior: 'allow' as const, destination: 'session' as const }] : []),
    ...(inside.some((s) => s.access === 'write') ? [{ type: 'setMode' as const, mode: 'acceptEdits', destination: 'session' as const }] : []),
  ];
}
const exactly = (path: string): string => `/${escapePattern(slashed(path))}`;

/** The path that a rule's content stands for, as a file tool's input takes it. */
export const specPath = (spec: string): string => (spec.startsWith('//') ? spec.slice(1) : spec.startsWith('/') ? `.${spec}` : spec);

function readSpec(spec: string, place: MatchPlace): { anchor: string; pattern: string } {
  if (spec === '~') return { anchor: place.home, pattern: './' };
  if (spec.startsWith('//')) return { anchor: '', pattern: `./${spec.slice(2)}` };
  if (spec.startsWith('~/')) return climb(place.home, `./${spec.slice(2)}`);
  return spec.startsWith('/') ? climb(place.base, `.${spec}`) : climb(place.cwd, spec);
}
/** `../x` counts from one folder higher. */
function climb(anchor: string, pattern: string): { anchor: string; pattern: string } {
  const up = /^(?:\.\/)*\.\.(?:\/|$)/.exec(pattern);
  return up === null ? { anchor, pattern } : climb(dirname(anchor), `./${pattern.slice(up[0].length)}`);
}

/** One spelling for all systems: `C:\x` is `/c/x`. */
const slashed = (path: string): string => (sep === '/' ? path : path.replace(/^([A-Za-z]):/, (_, letter: string) => `/${letter.toLowerCase()}`).replaceAll('\\', '/'));
/** The way from the anchor down to the path; `null` where it is not below. */
function below(anchor: string, path: string, folds: boolean): string | null {
  const clean = (p: string) => (folds ? slashed(p).normalize('NFC').toLowerCase() : slashed(p));
  const [from, to] = [clean(anchor).replace(/\/$/, ''), clean(path)];
  return to === from ? '' : to.startsWith(`${from}/`) ? to.slice(from.length + 1) : null;
}

/** Compiling costs more than all the rest, and each call asks the same rules again: the last few hundred are kept. */
const KEPT = 500;
const kept = new Map<string, (way: string) => boolean>();
function compiled(pattern: string, broad: boolean, folds: boolean): (way: string) => boolean {
  const key = `${broad ? '-' : '+'}${pattern}`;
  let matches = kept.get(key);
  if (matches === undefined) {
    matches = compilePattern(folds ? pattern.normalize('NFC') : pattern, { broad, ignoreCase: folds });
    if (kept.size >= KEPT) kept.delete(kept.keys().next().value!);
    kept.set(key, matches);
  }
  return matches;
}
