/** What a project is, in its own words: README, manifests, counts of files. Nothing here is guessed. */
import type { Intent } from './intents.ts';
import { ask, Impossible } from './job.ts';
import type { Call, Context, Job } from './job.ts';
import { makeTargets, parseJson, readmeWords, readProject, tomlTable } from './project-files.ts';
import type { Project } from './project-files.ts';
import { parseGlob } from './results.ts';
import { wholeText, oneMeant } from './text.ts';
import { count } from './wording.ts';

type Of<K extends Intent['do']> = Extract<Intent, { readonly do: K }>;
const MANIFESTS = ['package.json', 'pyproject.toml', 'setup.py', 'Cargo.toml', 'go.mod', 'Makefile', 'composer.json', 'Gemfile', 'pom.xml', 'build.gradle', 'CMakeLists.txt'];

const LANGUAGES: readonly (readonly [string, string])[] = [
  ['TypeScript', '*.{ts,tsx,mts,cts}'], ['JavaScript', '*.{js,jsx,mjs,cjs}'], ['Python', '*.py'], ['Rust', '*.rs'], ['Go', '*.go'], ['Java', '*.java'], ['Kotlin', '*.{kt,kts}'], ['C and C++', '*.{c,h,cc,cpp,cxx,hpp,hh}'], ['C#', '*.cs'],
  ['Ruby', '*.rb'], ['PHP', '*.php'], ['Swift', '*.swift'], ['Shell', '*.{sh,bash}'], ['HTML', '*.{html,htm}'], ['CSS', '*.{css,scss,less}'], ['Markdown', '*.{md,markdown}'], ['YAML', '*.{yml,yaml}'], ['JSON', '*.json'],
];

export function* project(ctx: Context, { about }: Of<'project'>): Job<string> {
  if (about === 'languages') return sentence(yield* languages(ctx));
  const found = yield* readProject(ctx, ['README*', ...MANIFESTS]);
  const facts = factsOf(found);
  const unread = found.unread.length === 0 ? '' : `\nNot read: ${found.unread.join('; ')}`;
  switch (about) {
    case 'scripts': return facts.scripts.length === 0 ? `The project names no scripts or targets (looked into ${looked(found)}).${unread}` : `It can be run by:\n${facts.scripts.map((s) => `- ${s}`).join('\n')}${unread}`;
    case 'dependencies': return facts.dependencies.length === 0 ? `The project names no dependencies (looked into ${looked(found)}).${unread}` : `It depends on ${count(facts.dependencies.length, 'package')}:\n${facts.dependencies.map((d) => `- ${d}`).join('\n')}${unread}`;
    case 'entry': return facts.entries.length === 0 ? `The project names no entry point (looked into ${looked(found)}).${unread}` : `Entry points, as the project names them:\n${facts.entries.map((e) => `- ${e}`).join('\n')}${unread}`;
    case 'all': return `${overview(found, facts, yield* languages(ctx))}${unread}`;
    default: {
      const value = facts[about];
      return value === null ? `The project does not say its ${about} (looked into ${looked(found)}).${unread}` : `Its ${about} is ${value}${facts.source === null ? '' : ` (${facts.source})`}.`;
    }
  }
}
const looked = (p: Project): string => [...p.files.keys()].join(', ') || 'a folder without README or manifest';

interface Facts {
  readonly name: string | null; readonly version: string | null; readonly description: string | null; readonly license: string | null; readonly author: string | null;
  /** The file that says them. */
  readonly source: string | null;
  readonly scripts: readonly string[]; readonly dependencies: readonly string[]; readonly entries: readonly string[];
}
function factsOf({ files, top }: Project): Facts {
  const pkg = parseJson(files.get('package.json')) ?? parseJson(files.get('composer.json'));
  const python = { ...tomlTable(files.get('pyproject.toml'), 'tool.poetry'), ...tomlTable(files.get('pyproject.toml'), 'project') };
  const cargo = tomlTable(files.get('Cargo.toml'), 'package');
  const toml = Object.keys(cargo).length > 0 ? cargo : python;
  const module = /^module\s+(\S+)/m.exec(files.get('go.mod') ?? '')?.[1];
  const readme = readmeWords([...files].find(([name]) => /^readme/i.test(name))?.[1]);
  const word = (key: string): string | null => { const v = pkg?.[key] ?? toml[key]; return typeof v === 'string' && v !== '' ? v : typeof v === 'object' && v !== null && typeof (v as { name?: unknown }).name === 'string' ? (v as { name: string }).name : null; };
  const map = (value: unknown): [string, string][] => (typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value).map(([k, v]) => [k, typeof v === 'string' ? v : JSON.stringify(v)]) : []);
  const go = [...(files.get('go.mod') ?? '').matchAll(/^(?:require\s+|\s+)([\w.-]+\.[\w./-]+)\s+(v\S+)/gm)].map((m) => `${m[1]} ${m[2]}`);
  return {
    name: word('name') ?? module ?? readme.title, version: word('version'), description: word('description') ?? readme.summary, license: word('license'), author: word('author'),
    source: pkg !== null ? (files.has('package.json') ? 'package.json' : 'composer.json') : Object.keys(toml).length > 0 ? (toml === cargo ? 'Cargo.toml' : 'pyproject.toml') : module !== undefined ? 'go.mod' : null,
    scripts: [
      ...map(pkg?.['scripts']).map(([k, v]) => `npm ${['test', 'start'].includes(k) ? k : `run ${k}`}: ${v}`),
      ...makeTargets(files.get('Makefile')).map((t) => `make ${t}`),
      ...(files.has('Cargo.toml') ? ['cargo build', 'cargo test'] : []), ...(module === undefined ? [] : ['go build ./...', 'go test ./...']),
    ],
    dependencies: [
      ...map(pkg?.['dependencies'] ?? pkg?.['require']).map(([k, v]) => `${k} ${v}`), ...map(pkg?.['devDependencies'] ?? pkg?.['require-dev']).map(([k, v]) => `${k} ${v} (development)`),
      ...Object.entries(tomlTable(files.get('Cargo.toml'), 'dependencies')).map(([k, v]) => `${k} ${v}`), ...pythonDependencies(files.get('pyproject.toml')), ...go,
    ],
    entries: [
      ...(typeof pkg?.['main'] === 'string' ? [`main: ${pkg['main']}`] : []), ...(typeof pkg?.['bin'] === 'string' ? [`bin: ${pkg['bin']}`] : map(pkg?.['bin']).map(([k, v]) => `bin ${k}: ${v}`)),
      ...(typeof pkg?.['exports'] === 'string' ? [`exports: ${pkg['exports']}`] : map(pkg?.['exports']).map(([k, v]) => `exports ${k}: ${v}`)),
      ...Object.entries(tomlTable(files.get('pyproject.toml'), 'project.scripts')).map(([k, v]) => `script ${k}: ${v}`),
      ...top.filter((f) => /^(?:main|index|app|server|cli|__main__)\.\w+$/.test(f)),
    ],
  };
}
function pythonDependencies(text: string | undefined): string[] {
  const list = /^dependencies\s*=\s*\[([\s\S]*?)\]/m.exec(text ?? '')?.[1] ?? '';
  return [...list.matchAll(/["']([^"']+)["']/g)].map((m) => m[1]!);
}

interface Languages { readonly rows: readonly (readonly [string, number])[]; readonly atLeast: boolean; readonly total: number }
function* languages(ctx: Context): Job<Languages> {
  const outcomes = yield* ask(ctx, { name: 'Glob', input: { pattern: '**/*' } }, ...LANGUAGES.map(([, names]): Call => ({ name: 'Glob', input: { pattern: `**/${names}` } })));
  const found = outcomes.map((o) => { if (o.failed) throw new Impossible(`Counting files did not succeed. Glob said: ${o.text.trim()}`); return parseGlob(o.text); });
  const rows = LANGUAGES.map(([name], i) => [name, found[i + 1]!.total] as const).filter(([, n]) => n > 0).sort((a, b) => b[1] - a[1]);
  return { rows, atLeast: found.some((f) => f.atLeast), total: found[0]!.total };
}
const sentence = ({ rows, atLeast, total }: Languages): string =>
  `${atLeast ? 'At least ' : ''}${count(total, 'file')}${rows.length === 0 ? ', of no language that is known here' : `, by kind: ${rows.map(([name, n]) => `${name} ${n}`).join(', ')}`}.`;

function overview({ top, files }: Project, facts: Facts, langs: Languages): string {
  const readmeFile = [...files.keys()].find((name) => /^readme/i.test(name));
  const readme = readmeWords(readmeFile === undefined ? undefined : files.get(readmeFile));
  const parts = [
    facts.name === null ? 'This folder does not say what it is called.' : `${facts.name}${facts.version === null ? '' : ` ${facts.version}`}${facts.source === null ? '' : ` (${facts.source})`}`,
    ...(facts.description === null ? [] : [facts.description]),
    ...(readme.title !== null && readme.title !== facts.name ? [`${readmeFile} is titled: ${readme.title}`] : []),
    ...(readme.summary !== null && readme.summary !== facts.description ? [`It begins: ${readme.summary}`] : []),
    `Files: ${sentence(langs)}`,
    `Top folder: ${top.length === 0 ? 'no files' : top.slice(0, 40).join(', ')}${top.length > 40 ? `, and ${top.length - 40} more` : ''}`,
    ...(facts.entries.length > 0 ? [`Entry points: ${facts.entries.slice(0, 10).join('; ')}`] : []),
    ...(facts.scripts.length > 0 ? [`To run: ${facts.scripts.slice(0, 15).join('; ')}`] : []),
    ...(facts.dependencies.length > 0 ? [`Dependencies: ${facts.dependencies.slice(0, 20).join(', ')}${facts.dependencies.length > 20 ? `, and ${facts.dependencies.length - 20} more` : ''}`] : []),
    ...(facts.license === null ? [] : [`License: ${facts.license}`]),
  ];
  return `What the project says of itself:\n\n${parts.join('\n\n')}`;
}

const DEFINES = /^(?:export\s+)?(?:default\s+)?(?:pub(?:\([^)]*\))?\s+)?(?:public\s+|private\s+|static\s+|abstract\s+|async\s+)*(?:function\*?|class|interface|type|enum|const|let|def|fn|func|struct|trait|impl|module|object)\s+(?:\([^)]*\)\s*)?([\p{L}_$][\p{L}\p{N}_$]*)/u;
/** Its own words: the comment at its head, its headings, the names that it defines. */
export function* explainFile(ctx: Context, { file }: Of<'explain file'>): Job<string> {
  const { path, shown } = yield* wholeText(ctx, oneMeant(ctx, file));
  ctx.files = [path];
  if (shown.other !== null) return `${path}:\n\n${shown.other}`;
  if (shown.total === 0) return `${path} is empty.`;
  const markdown = /\.(?:md|markdown)$/i.test(path);
  const readme = markdown ? readmeWords(shown.lines.join('\n')) : { title: null, summary: null };
  const headings = markdown ? shown.lines.filter((l) => /^#{1,3}\s/.test(l)).map((l) => l.trim()) : [];
  const defines = markdown ? [] : [...new Set(shown.lines.flatMap((l) => DEFINES.exec(l)?.[1] ?? []))];
  const comment = markdown ? null : leadComment(shown.lines);
  const parts = [
    `${path} has ${count(shown.lines.length, 'line')}${shown.whole ? '' : ` that were read, of ${shown.total}`}. I cannot judge code; this is what stands in it:`,
    ...(comment === null ? [] : [`It opens with the comment: ${comment}`]),
    ...(readme.title === null ? [] : [`Title: ${readme.title}`]), ...(readme.summary === null ? [] : [`It begins: ${readme.summary}`]),
    ...(headings.length > 1 ? [`Headings:\n${headings.slice(0, 40).map((h) => `- ${h.replace(/^#+\s*/, '')}`).join('\n')}`] : []),
    ...(defines.length > 0 ? [`It defines: ${defines.slice(0, 60).join(', ')}${defines.length > 60 ? `, and ${defines.length - 60} more` : ''}`] : []),
  ];
  return parts.join('\n\n');
}
function leadComment(lines: readonly string[]): string | null {
  const start = lines.findIndex((l) => l.trim() !== '' && !l.startsWith('#!') && !/^['"]use strict['"]/.test(l));
  const words: string[] = [];
  let block = false;
  for (const line of start < 0 ? [] : lines.slice(start, start + 20)) {
    const text = line.trim();
    if (!block && !/^(?:\/\/|#(?!include|define|!)|\/\*|--|;|"""|''')/.test(text)) break;
    if (/^(?:\/\*|"""|''')/.test(text)) block = !/(?:\*\/|.""".*|.'''.*)$/.test(text);
    else if (block && /(?:\*\/|"""|''')/.test(text)) block = false;
    words.push(text.replace(/^(?:\/\*+|\*\/|\*|\/\/+|#+|--+|;+|"""|''')\s?/, '').replace(/\s*(?:\*\/|"""|''')$/, ''));
    if (!block && !/^(?:\/\/|#|--|;)/.test(text)) break;
  }
  const said = words.join(' ').trim();
  return said === '' ? null : said.length > 500 ? `${said.slice(0, 500)}…` : said;
}
