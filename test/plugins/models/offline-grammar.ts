/** Makes projects and prompts about them by a grammar, each with its right answer, worked out from the project itself. */

export interface GrownFile { readonly text: string; /** Seconds since its last change. */ readonly age: number }
export type Tree = Readonly<Record<string, GrownFile>>;
export interface Sample {
  readonly kind: string;
  readonly prompt: string;
  /** What is wrong with an answer; null: it is right. */
  check(answer: string): string | null;
  /** What must be on the disk afterwards, by path. */
  readonly after?: Readonly<Record<string, string>> | undefined;
}

/** Small and the same for ever: a seed tells all. */
function dice(seed: number) {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (n: number): number => Math.floor(next() * n);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)]!;
  return { below, pick, chance: (p: number): boolean => next() < p };
}
type Dice = ReturnType<typeof dice>;

const FOLDERS = ['', 'src', 'src/core', 'src/core/deep', 'docs', 'docs/guide', 'lib', 'config', 'My Notes'];
const ENDINGS = ['ts', 'md', 'json', 'py', 'txt', 'yaml'];
const STEMS = ['alpha', 'beta', 'gamma', 'delta', 'index', 'main', 'util', 'parser', 'notes', 'report', 'Zeta', '_hidden', '9lives', 'x'];
const WORDS = ['lantern', 'harbor', 'TODO', 'parseConfig', 'value', 'return', 'the', 'of', 'x = 1;', 'a.b(c)', '$cost', 'naïve', '{ok}', 'lanterns', 'Lantern'];
/** Words that are looked for; some are more than letters, some stand in others. */
const SOUGHT = ['lantern', 'harbor', 'TODO', 'parseConfig', 'a.b(c)', '$cost', 'x = 1;', 'naïve', 'nowhere-to-be-found'];

export function growTree(seed: number): Tree {
  const d = dice(seed);
  const tree: Record<string, GrownFile> = {};
  const ages = new Set<number>();
  const age = (): number => { let a: number; do a = 60 + d.below(1_000_000); while (ages.has(a)); ages.add(a); return a; };
  const text = (): string => {
    const lines = Array.from({ length: d.chance(0.1) ? 0 : 1 + d.below(25) }, () => (d.chance(0.15) ? '' : Array.from({ length: 1 + d.below(7) }, () => d.pick(WORDS)).join(' ')));
    return lines.length === 0 ? '' : `${lines.join('\n')}${d.chance(0.2) && lines.at(-1) !== '' ? '' : '\n'}`;
  };
  for (const folder of FOLDERS) {
    for (let n = 1 + d.below(6); n > 0; n--) tree[`${folder === '' ? '' : `${folder}/`}${d.pick(STEMS)}.${d.pick(ENDINGS)}`] = { text: text(), age: age() };
  }
  // More than one call of Glob names.
  if (d.chance(0.5)) for (let n = 0; n < 130; n++) tree[`many/${d.pick(['a', 'm', 'Q', '7', '_'])}${n}.csv`] = { text: `${n}\n`, age: age() };
  tree['package.json'] = { text: `${JSON.stringify({ name: d.pick(['lamp', 'harbour-tools']), version: `${d.below(9)}.${d.below(9)}.${d.below(9)}`, description: 'Keeps the light on.', scripts: { test: 'echo all-is-well' } }, null, 2)}\n`, age: age() };
  tree['README.md'] = { text: `# The lamp\n\nA tool that keeps the light on.\n\nMore ${d.pick(WORDS)}.\n`, age: age() };
  return tree;
}

// ---- the right answers -----------------------------------------------------------------------------------------------------

const inside = (path: string, folder: string): boolean => folder === '' || path.startsWith(`${folder}/`);
const ends = (path: string, endings: readonly string[]): boolean => endings.some((e) => path.endsWith(`.${e}`));
const linesOf = (text: string): string[] => { const lines = text.split('\n'); if (lines.at(-1) === '') lines.pop(); return lines; };
const times = (text: string, word: string): number => text.split(word).length - 1;
const bullets = (answer: string): string[] => answer.split('\n').filter((l) => l.startsWith('- ')).map((l) => l.slice(2));
const same = (a: readonly string[], b: readonly string[]): boolean => a.length === b.length && [...a].sort().every((x, i) => x === [...b].sort()[i]);

const number = (n: number, what: string) => (answer: string): string | null => (new RegExp(`(?:^|[^\\d])${n} ${what}\\b`, 'm').test(answer) ? null : `it should say ${n} ${what}`);
const lists = (paths: readonly string[]) => (answer: string): string | null => (same(bullets(answer), paths) ? null : `it should list ${JSON.stringify(paths)}, and lists ${JSON.stringify(bullets(answer))}`);
const has = (...parts: readonly string[]) => (answer: string): string | null => { const missing = parts.find((p) => !answer.includes(p)); return missing === undefined ? null : `it should have ${JSON.stringify(missing)}`; };
const starts = (word: RegExp) => (answer: string): string | null => (word.test(answer.split('\n').find((l) => l !== '' && !l.startsWith("This is Tappet's offline"))!) ? null : `it should begin like ${word}`);
const all = (...checks: readonly ((answer: string) => string | null)[]) => (answer: string): string | null => checks.map((c) => c(answer)).find((c) => c !== null) ?? null;
const shows = (text: string) => has(text === '' ? 'is empty' : `\n${text.replace(/\n$/, '')}\n`);

// ---- the grammar -----------------------------------------------------------------------------------------------------------

const NAMED_KINDS: readonly (readonly [string, readonly string[]])[] = [['TypeScript', ['ts', 'tsx', 'mts', 'cts']], ['Markdown', ['md', 'markdown']], ['Python', ['py']], ['YAML', ['yml', 'yaml']], ['JSON', ['json']]];
/** `.ts files`, `TypeScript files`, `files ending in .ts`, with the endings that are meant. */
function kindOfFiles(d: Dice): { readonly words: string; readonly endings: readonly string[] } {
  const ending = d.pick(ENDINGS);
  const [name, endings] = d.pick(NAMED_KINDS);
  return d.pick([
    { words: `${ending} files`, endings: [ending] }, { words: `.${ending} files`, endings: [ending] }, { words: `*.${ending} files`, endings: [ending] }, { words: `files with extension ${ending}`, endings: [ending] },
    { words: `files ending in .${ending}`, endings: [ending] }, { words: `${name} files`, endings }, { words: `${name.toLowerCase()} files`, endings }, { words: `files matching *.${ending}`, endings: [ending] },
  ]);
}
const folderOf = (d: Dice): string => d.pick(['src', 'docs', 'src/core', 'lib', 'config', 'My Notes']);
const inFolder = (d: Dice, folder: string): string => {
  const name = folder.includes(' ') ? `"${folder}"` : folder;
  return d.pick([`in ${name}`, `in the ${name} folder`, `under ${name}`, `inside ${name}`, `in the folder ${name}`, ...(folder.includes(' ') ? [] : [`in ${name}/`])]);
};
const path = (p: string): string => (p.includes(' ') ? `"${p}"` : p);
const polite = (d: Dice, words: string): string => {
  const said = d.pick([words, words, words, `please ${words}`, `${words}, please`, `can you ${words}?`, `Could you ${words} for me?`, `I want you to ${words}.`, words[0]!.toUpperCase() + words.slice(1)]);
  return said;
};
const asked = (d: Dice, words: string): string => d.pick([`${words}?`, words, `${words[0]!.toUpperCase()}${words.slice(1)}?`, `tell me ${words}`, `please tell me ${words}`]);
const quote = (d: Dice, word: string): string => d.pick([`"${word}"`, `'${word}'`, `\`${word}\``]);

type Made = Omit<Sample, 'kind'>;
type Production = (d: Dice, tree: Tree, n: number) => Made | null;

const paths = (tree: Tree): string[] => Object.keys(tree).sort();
const someFile = (d: Dice, tree: Tree, fits: (text: string, path: string) => boolean = () => true): string | null => { const fitting = paths(tree).filter((p) => fits(tree[p]!.text, p)); return fitting.length === 0 ? null : d.pick(fitting); };
/** Only one file has this name. */
const isAlone = (tree: Tree, p: string): boolean => paths(tree).filter((q) => q.split('/').at(-1) === p.split('/').at(-1)).length === 1;

const PRODUCTIONS: Readonly<Record<string, Production>> = {
  'list a kind': (d, tree) => { const k = kindOfFiles(d); return { prompt: polite(d, `${d.pick(['list', 'show me', 'find', 'give me'])} ${d.pick(['all ', 'the ', 'all the ', ''])}${k.words}`), check: listOrNone(paths(tree).filter((p) => ends(p, k.endings))) }; },
  'list a kind in a folder': (d, tree) => { const k = kindOfFiles(d); const f = folderOf(d); return { prompt: polite(d, `${d.pick(['list', 'show', 'find'])} ${d.pick(['all ', 'the ', ''])}${k.words} ${inFolder(d, f)}`), check: listOrNone(paths(tree).filter((p) => inside(p, f) && ends(p, k.endings))) }; },
  'list a folder': (d, tree) => { const f = folderOf(d); return { prompt: d.pick([polite(d, `list ${d.pick(['all files', 'the files', 'files', 'everything'])} ${inFolder(d, f)}`), asked(d, `what files are ${inFolder(d, f)}`), asked(d, `what is ${inFolder(d, f)}`)]), check: listOrNone(paths(tree).filter((p) => inside(p, f))) }; },
  'list a folder alone': (d, tree) => { const f = folderOf(d); return { prompt: polite(d, d.pick([`list the files directly in ${path(f)}`, `list the files ${inFolder(d, f)} without subfolders`])), check: listOrNone(paths(tree).filter((p) => inside(p, f) && !p.slice(f.length + 1).includes('/'))) }; },
  'list many': (d, tree) => ('many/' in tree || paths(tree).some((p) => p.startsWith('many/')) ? { prompt: polite(d, d.pick(['list the csv files', 'list all files in many'])), check: lists(paths(tree).filter((p) => p.startsWith('many/'))) } : null),
  'count everything': (d, tree) => ({ prompt: d.pick([asked(d, 'how many files are there'), polite(d, 'count all files'), asked(d, 'how many files are in this project'), 'what is the number of files?']), check: number(paths(tree).length, 'files?') }),
  'count a kind': (d, tree) => { const k = kindOfFiles(d); return { prompt: d.pick([asked(d, `how many ${k.words} are there`), polite(d, `count the ${k.words}`), asked(d, `how many ${k.words} do we have`)]), check: numberOrNone(paths(tree).filter((p) => ends(p, k.endings)).length, 'files?') }; },
  'count a kind in a folder': (d, tree) => { const k = kindOfFiles(d); const f = folderOf(d); return { prompt: d.pick([asked(d, `how many ${k.words} are ${inFolder(d, f)}`), asked(d, `how many ${k.words} are there ${inFolder(d, f)}`), polite(d, `count the ${k.words} ${inFolder(d, f)}`)]), check: numberOrNone(paths(tree).filter((p) => inside(p, f) && ends(p, k.endings)).length, 'files?') }; },
  'find by name': (d, tree) => { const p = someFile(d, tree)!; const name = p.split('/').at(-1)!; return { prompt: d.pick([polite(d, `find ${d.pick(['files named', 'the file', 'files called', ''])} ${name}`.replace('  ', ' ')), asked(d, `where is ${name}`)]), check: lists(paths(tree).filter((q) => q.split('/').at(-1) === name)) }; },
  'read a file': (d, tree) => { const p = someFile(d, tree)!; return { prompt: d.pick([polite(d, `${d.pick(['read', 'show me', 'open', 'print', 'display', 'cat'])} ${d.pick(['', 'the file '])}${path(p)}`), asked(d, `what does ${path(p)} say`), asked(d, `what is in ${path(p)}`), `show me the contents of ${path(p)}`]), check: shows(tree[p]!.text) }; },
  'read by name alone': (d, tree) => { const p = someFile(d, tree, (_, q) => q.includes('/') && isAlone(tree, q)); return p === null ? null : { prompt: polite(d, `read ${p.split('/').at(-1)}`), check: all(has(p), shows(tree[p]!.text)) }; },
  'read some lines': (d, tree) => {
    const p = someFile(d, tree, (t) => linesOf(t).length >= 4);
    if (p === null) return null;
    const lines = linesOf(tree[p]!.text);
    const from = 1 + d.below(lines.length - 2);
    const to = from + d.below(lines.length - from);
    return { prompt: polite(d, d.pick([`show lines ${from}-${to} of ${path(p)}`, `read lines ${from} to ${to} of ${path(p)}`, `print ${path(p)} lines ${from} to ${to}`, `show me lines ${from} through ${to} from ${path(p)}`])), check: all(has(from === to ? `line ${from} of ${lines.length}` : from === 1 && to === lines.length ? `(${lines.length} lines)` : `lines ${from}-${to} of ${lines.length}`), shows(lines.slice(from - 1, to).join('\n') || '\n')) };
  },
  'read the first lines': (d, tree) => { const p = someFile(d, tree, (t) => linesOf(t).length >= 3); if (p === null) return null; const n = 1 + d.below(3); return { prompt: polite(d, `show the first ${n} lines of ${path(p)}`), check: shows(linesOf(tree[p]!.text).slice(0, n).join('\n') || '\n') }; },
  'read the last lines': (d, tree) => { const p = someFile(d, tree, (t) => linesOf(t).length >= 3); if (p === null) return null; const n = 1 + d.below(3); return { prompt: polite(d, `show the last ${n} lines of ${path(p)}`), check: shows(linesOf(tree[p]!.text).slice(-n).join('\n') || '\n') }; },
  'count lines of a file': (d, tree) => { const p = someFile(d, tree)!; return { prompt: d.pick([asked(d, `how many lines does ${path(p)} have`), polite(d, `count the lines of ${path(p)}`), `how long is ${path(p)}?`, `number of lines in ${path(p)}`]), check: all(has(p), number(linesOf(tree[p]!.text).length, 'lines?')) }; },
  'count lines of a folder': (d, tree) => { const f = folderOf(d); return { prompt: d.pick([asked(d, `how many lines are ${inFolder(d, f)}`), polite(d, `count the lines of all files ${inFolder(d, f)}`)]), check: number(paths(tree).filter((p) => inside(p, f)).reduce((n, p) => n + linesOf(tree[p]!.text).length, 0), 'lines?') }; },
  'count lines of a kind': (d, tree) => { const k = kindOfFiles(d); return { prompt: asked(d, `how many lines are in all ${k.words}`), check: number(paths(tree).filter((p) => ends(p, k.endings)).reduce((n, p) => n + linesOf(tree[p]!.text).length, 0), 'lines?') }; },
  'count words of a file': (d, tree) => { const p = someFile(d, tree)!; return { prompt: d.pick([asked(d, `how many words are in ${path(p)}`), polite(d, `count the words in ${path(p)}`)]), check: number((tree[p]!.text.match(/\S+/g) ?? []).length, 'words?') }; },
  'search everywhere': (d, tree) => { const w = d.pick(SOUGHT); return { prompt: polite(d, `${d.pick(['search for', 'grep for', 'find all lines with', 'look for'])} ${quote(d, w)}`), check: findsLines(tree, paths(tree), w) }; },
  'search a folder': (d, tree) => { const w = d.pick(SOUGHT); const f = folderOf(d); return { prompt: polite(d, `search for ${quote(d, w)} ${inFolder(d, f)}`), check: findsLines(tree, paths(tree).filter((p) => inside(p, f)), w) }; },
  'search a kind': (d, tree) => { const w = d.pick(SOUGHT); const k = kindOfFiles(d); return { prompt: polite(d, `search for ${quote(d, w)} in all ${k.words}`), check: findsLines(tree, paths(tree).filter((p) => ends(p, k.endings)), w) }; },
  'which files': (d, tree) => { const w = d.pick(SOUGHT); const f = d.chance(0.5) ? folderOf(d) : ''; return { prompt: asked(d, `which files ${f === '' ? '' : `${inFolder(d, f)} `}${d.pick(['mention', 'contain', 'use'])} ${quote(d, w)}`), check: listOrNone(paths(tree).filter((p) => inside(p, f) && tree[p]!.text.includes(w))) }; },
  'how many files mention': (d, tree) => { const w = d.pick(SOUGHT); return { prompt: asked(d, `how many files ${d.pick(['mention', 'contain'])} ${quote(d, w)}`), check: numberOrNone(paths(tree).filter((p) => tree[p]!.text.includes(w)).length, 'files?') }; },
  'count occurrences in a file': (d, tree) => { const w = d.pick(SOUGHT); const p = someFile(d, tree)!; return { prompt: d.pick([asked(d, `how many times does ${quote(d, w)} ${d.pick(['occur', 'appear'])} in ${path(p)}`), polite(d, `count the occurrences of ${quote(d, w)} in ${path(p)}`), asked(d, `how often is ${quote(d, w)} mentioned in ${path(p)}`)]), check: number(times(tree[p]!.text, w), 'times?') }; },
  'count occurrences in a folder': (d, tree) => { const w = d.pick(SOUGHT); const f = folderOf(d); return { prompt: asked(d, `how many times is ${quote(d, w)} used ${inFolder(d, f)}`), check: number(paths(tree).filter((p) => inside(p, f)).reduce((n, p) => n + times(tree[p]!.text, w), 0), 'times?') }; },
  'count TODOs': (d, tree) => ({ prompt: d.pick([asked(d, 'how many TODOs are there'), polite(d, 'count the TODOs')]), check: number(paths(tree).reduce((n, p) => n + times(tree[p]!.text, 'TODO'), 0), 'times?') }),
  'count matching lines': (d, tree) => { const w = d.pick(SOUGHT); const p = someFile(d, tree)!; return { prompt: asked(d, `how many lines in ${path(p)} contain ${quote(d, w)}`), check: number(linesOf(tree[p]!.text).filter((l) => l.includes(w)).length, 'lines?') }; },
  'is it there': (d, tree) => { const p = someFile(d, tree)!; return { prompt: d.pick([asked(d, `does ${path(p)} exist`), asked(d, `is there a file named ${path(p)}`), polite(d, `check whether ${path(p)} exists`)]).replace(/tell me (does|is)/, '$1'), check: all(starts(/^Yes\b/), has(p)) }; },
  'is it there, and it is not': (d) => { const p = d.pick(['src/missing.ts', 'gone.md', 'docs/nope/none.txt']); return { prompt: d.pick([`does ${p} exist?`, `is there a file named ${p}?`, `check if ${p} exists`]), check: starts(/^No\b/) }; },
  'the longest': (d, tree) => { const k = d.pick(['ts', 'md', 'txt']); const sizes = paths(tree).filter((p) => ends(p, [k]) && tree[p]!.text !== '').map((p) => [p, linesOf(tree[p]!.text).length] as const); const most = Math.max(...sizes.map(([, n]) => n)); return sizes.length === 0 ? null : { prompt: asked(d, d.pick([`which ${k} file has the most lines`, `what is the longest ${k} file`])), check: all(number(most, 'lines?'), has(...sizes.filter(([, n]) => n === most).map(([p]) => p))) }; },
  'the largest': (d, tree) => { const f = folderOf(d); const sizes = paths(tree).filter((p) => inside(p, f)).map((p) => [p, Buffer.byteLength(tree[p]!.text)] as const); const most = Math.max(...sizes.map(([, n]) => n)); return { prompt: asked(d, d.pick([`what is the largest file ${inFolder(d, f)}`, `which file ${inFolder(d, f)} is the biggest`])), check: all(number(most, 'bytes?'), has(...sizes.filter(([, n]) => n === most).map(([p]) => p))) }; },
  'the newest': (d, tree) => { const k = d.pick(['ts', 'md', 'json', '']); const fitting = paths(tree).filter((p) => k === '' || ends(p, [k])); const newest = [...fitting].sort((a, b) => tree[a]!.age - tree[b]!.age)[0]; return newest === undefined ? null : { prompt: asked(d, d.pick([`what is the newest ${k} file`, `which ${k} file was changed last`]).replace('  ', ' ')), check: has(` is ${newest}`) }; },
  'a folder\'s folders': (d, tree) => { const names = [...new Set(paths(tree).filter((p) => p.includes('/')).map((p) => `${p.split('/')[0]}/`))]; return { prompt: polite(d, d.pick(['list the folders', 'show all directories'])), check: lists(names) }; },
  'write a file': (d, _tree, n) => { const p = d.pick([`out${n}.txt`, `made/new${n}.md`]); const text = d.pick(['hello there', 'one, two and three', "it's fine", 'x = 1;']); return { prompt: polite(d, d.pick([`create a file ${p} with "${text}"`, `write "${text}" to ${p}`, `create ${p} with the content "${text}"`, `make a new file called ${p} containing "${text}"`, `create a file named ${p} with the text "${text}"`])), check: has(p), after: { [p]: text } }; },
  'write in a fence': (d, _tree, n) => { const p = `fenced${n}.ts`; const text = 'const a = "b";\n\n// and then list files in src\nexport { a };'; return { prompt: `create ${p} ${d.pick(['with', 'with the content:', 'containing'])}\n\`\`\`ts\n${text}\n\`\`\``, check: has(p), after: { [p]: `${text}\n` } }; },
  'write, then read': (d, _tree, n) => { const p = `both${n}.txt`; const text = d.pick(['first light', 'a b c']); return { prompt: `${d.pick(['create', 'write'])} a file ${p} with "${text}" ${d.pick(['and then', ', then', 'and'])} read it`, check: shows(text), after: { [p]: text } }; },
  'replace': (d, tree, n) => { const p = someFile(d, tree, (t, q) => t.includes('harbor') && t.endsWith('\n') && !q.includes(' ') && q !== 'package.json'); if (p === null) return null; const now = tree[p]!.text.replaceAll('harbor', `port${n}`); return { prompt: polite(d, d.pick([`replace "harbor" with "port${n}" in ${p}`, `change all occurrences of "harbor" to "port${n}" in ${p}`])), check: all(has(p), number(times(tree[p]!.text, 'harbor'), 'times?')), after: { [p]: now } }; },
  'append': (d, tree) => { const p = someFile(d, tree, (t, q) => t.endsWith('\n') && t.trim() !== '' && !q.includes(' ') && q !== 'package.json'); if (p === null) return null; return { prompt: polite(d, d.pick([`append "the end" to ${p}`, `add the line "the end" to ${p}`, `add "the end" at the end of ${p}`])), check: has(p), after: { [p]: `${tree[p]!.text}the end\n` } }; },
  'run a command': (d) => { const w = d.pick(['lighthouse', 'buoy']); return { prompt: d.pick([polite(d, `run \`echo ${w}; echo done\``), polite(d, `execute the command "echo ${w}; echo done"`), `what is the output of \`echo ${w}; echo done\`?`]), check: has(`\n${w}\ndone\n`) }; },
  'run what fails': () => ({ prompt: 'run `exit 3`', check: has('failed', 'exit code 3') }),
  'run the tests': (d) => ({ prompt: polite(d, d.pick(['run the tests', 'run the test suite'])), check: has('all-is-well') }),
  'list, then count': (d, tree) => { const k = kindOfFiles(d); const n = paths(tree).filter((p) => ends(p, k.endings)); return n.length === 0 ? null : { prompt: `list the ${k.words} and then count them`, check: all(lists(n), has(`\n${n.length} file`)) }; },
  'find, then read': (d, tree) => { const p = someFile(d, tree, (_, q) => isAlone(tree, q)); return p === null ? null : { prompt: `find ${p.split('/').at(-1)} and then ${d.pick(['read it', 'show it', 'open that file'])}`, check: shows(tree[p]!.text) }; },
  'read, then count': (d, tree) => { const p = someFile(d, tree)!; return { prompt: d.pick([`read ${path(p)} and tell me how many lines it has`, `read ${path(p)}. Then count its lines`]), check: number(linesOf(tree[p]!.text).length, 'lines?') }; },
  'what the project is': (d, tree) => { const pkg = JSON.parse(tree['package.json']!.text) as { name: string; version: string; description: string }; return { prompt: d.pick(['what is this project?', 'explain this project', 'What does this repo do?', 'give me an overview of this codebase', 'summarize this repository', 'tell me about this project']), check: has(pkg.name, pkg.version, pkg.description, 'A tool that keeps the light on.', `Python ${paths(tree).filter((p) => p.endsWith('.py')).length}`.replace(/^Python 0$/, '')) }; },
  'its version': (d, tree) => ({ prompt: d.pick(['what version is this project?', 'what is the version of this project?']), check: has((JSON.parse(tree['package.json']!.text) as { version: string }).version) }),
  'what nobody understands': (d) => ({ prompt: d.pick(['write me a poem about the sea', 'what is the meaning of life?', 'refactor the parser to use generators', 'why is the sky blue?']), check: has("Tappet's offline stand-in", 'I did not understand', 'search for "TODO" in src') }),
};
function listOrNone(expected: readonly string[]): (answer: string) => string | null { return expected.length === 0 ? starts(/^(?:There is no|No) file/) : lists(expected); }
function numberOrNone(n: number, what: string): (answer: string) => string | null { return n === 0 ? starts(/^(?:There is no|No) file/) : number(n, what); }
function findsLines(tree: Tree, where: readonly string[], word: string): (answer: string) => string | null {
  const expected = where.flatMap((p) => linesOf(tree[p]!.text).flatMap((l, i) => (l.includes(word) ? [`${p}:${i + 1}:${l}`] : [])));
  if (expected.length === 0) return starts(/^Nothing\b/);
  return all(number(expected.length, 'lines?'), (answer) => { const missing = expected.slice(0, 300).find((l) => !answer.split('\n').includes(l)); return missing === undefined ? null : `it should show ${missing}`; });
}

/** One prompt of each kind that the tree has room for. Those that change files come one after the other: each sees the tree as the ones before have left it. */
export function* samples(tree: Tree, seed: number): Generator<Sample, void, void> {
  const d = dice(seed);
  let now: Record<string, GrownFile> = { ...tree };
  for (const [n, [kind, make]] of Object.entries(PRODUCTIONS).entries()) {
    const made = make(d, now, n);
    if (made === null) continue;
    yield { kind, ...made };
    for (const [p, text] of Object.entries(made.after ?? {})) now = { ...now, [p]: { text, age: -n } };
  }
}
