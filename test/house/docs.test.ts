/** The words for people are true: snippets compile, configurations fit, commands are ones that there are, links lead somewhere. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { checkedSchema } from 'tappet/kernel';
import type { CodeRow, Plugin } from 'tappet/kernel';
import { crcHex } from 'tappet/kit';
import { boot } from '../../kernel/boot.ts';
import { sourceBuiltins } from '../../kernel/builtins.ts';
import { checkLayer } from '../../kernel/config/check.ts';
import { readConfigText } from '../../kernel/config/read.ts';
import { LAWS } from '../../kernel/config/merge.ts';
import { CODES } from '../../kernel/errors.ts';
import { EVENTS, MOMENTS } from '../../kernel/hooks.ts';
import { readScript } from '../../plugins/models/scripted/script.ts';
import { spotOfYaml } from '../../plugins/models/scripted/spot.ts';
import { limits, modelEntry, provider } from '../../schemas/config.ts';
import { bounds } from '../../schemas/policy.ts';
import { project } from '../support/project.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const below = (folder: string): string[] => readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((f) => join(folder, f).split(sep).join('/')).filter((f) => f.endsWith('.md'));
const pages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...below('docs'), ...below('examples')].sort();
const read = (page: string): string => readFileSync(join(root, page), 'utf8');

/** `line` is that of the first line inside, from 1. */
interface Block { readonly page: string; readonly line: number; readonly language: string; readonly mark: string; readonly text: string }
function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  let open: { fence: string; info: string; line: number; lines: string[] } | null = null;
  for (const [i, line] of read(page).split('\n').entries()) {
    const fence = /^(`{3,})(.*)$/.exec(line);
    if (open === null) { if (fence !== null) open = { fence: fence[1]!, info: fence[2]!.trim(), line: i + 2, lines: [] }; continue; }
    if (fence === null || fence[1]!.length < open.fence.length || fence[2]!.trim() !== '') { open.lines.push(line); continue; }
    const [language = '', ...mark] = open.info.split(/\s+/);
    blocks.push({ page, line: open.line, language, mark: mark.join(' '), text: `${open.lines.join('\n')}\n` });
    open = null;
  }
  assert.equal(open, null, `${page}: a block does not end`);
  return blocks;
}
const blocks = pages.flatMap(blocksOf);
const at = (b: Block): string => `${b.page}:${b.line}`;

test('every block says what it is', () => {
  const known: Readonly<Record<string, readonly string[]>> = { ts: ['', 'fragment'], yaml: ['', 'policy', 'other'], sh: ['', 'other'], js: [''], json: [''], jsonl: [''], text: [''], console: [''], '': [''] };
  assert.deepEqual(blocks.filter((b) => known[b.language]?.includes(b.mark) !== true).map((b) => `${at(b)} \`${b.language} ${b.mark}\``), []);
});

test('every TypeScript block compiles, as strictly as the sources', { timeout: 120_000 }, (t) => {
  const whole = blocks.filter((b) => b.language === 'ts' && b.mark === '');
  for (const b of blocks) if (b.language === 'ts' && b.mark !== '') t.diagnostic(`not compiled, a fragment: ${at(b)}`);
  assert.ok(whole.length > 0);
  const folder = mkdtempSync(join(tmpdir(), 'tappet-docs-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction');
  const paths = { tappet: 'kernel/embed.ts', 'tappet/kernel': 'kernel/index.ts', 'tappet/kit': 'plugins/kit/index.ts', 'tappet/schemas': 'schemas/index.ts', 'tappet/testing': 'test/contracts/index.ts' };
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({
    extends: join(root, 'tsconfig.json'), include: ['*.ts'],
    compilerOptions: { moduleDetection: 'force', paths: Object.fromEntries(Object.entries(paths).map(([name, file]) => [name, [join(root, file)]])) },
  }));
  whole.forEach((b, i) => writeFileSync(join(folder, `block-${i}.ts`), b.text));
  const { stdout, status } = spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder, '--pretty', 'false'], { cwd: folder, encoding: 'utf8' });
  const errors = [...stdout.matchAll(/^block-(\d+)\.ts\((\d+),(\d+)\): error (.+)$/gm)].map((m) => { const b = whole[Number(m[1])]!; return `${b.page}:${b.line + Number(m[2]) - 1}:${m[3]} ${m[4]}`; });
  assert.deepEqual(errors, []);
  // What else there is to complain about is not the pages' fault, and is told by the check of the types.
  if (status !== 0) t.diagnostic(`the sources have errors of their own: ${stdout.split('\n')[0]}`);
});

test('every configuration fits: its keys, its rules, the plugins that it names and their options; and every script of a model', async (t) => {
  const builtins = sourceBuiltins();
  const ours = await builtins.names();
  const problems: string[] = [];
  for (const b of blocks.filter((x) => x.language === 'yaml')) {
    if (b.mark === 'other') { t.diagnostic(`no layer of configuration: ${at(b)}`); continue; }
    if (/^steps:/m.test(b.text)) {
      try { readScript(await spotOfYaml(b.text, at(b))); } catch (e) { problems.push(`${at(b)} ${(e as Error).message}`); }
      continue;
    }
    const layer = b.mark === 'policy' ? 'policy' : 'user';
    const env = Object.fromEntries([...b.text.matchAll(/\$\{(\w+)\}/g)].map((m) => [m[1]!, 'x']));
    try {
      const { value, problems: bad } = checkLayer(await readConfigText(b.text, at(b), { layer }), layer, env);
      problems.push(...bad.map((p) => `${at(b)} ${p.text}`));
      for (const [name, entry] of Object.entries(value.plugins ?? {})) {
        if (typeof entry === 'object' && entry.use !== undefined) continue;
        if (!ours.includes(name)) { problems.push(`${at(b)} there is no plugin ${name}`); continue; }
        const given = typeof entry === 'object' ? entry.with ?? {} : {};
        const { options } = (await builtins.plugin(name)) as Plugin;
        if (options === undefined) { if (Object.keys(given).length > 0) problems.push(`${at(b)} ${name} takes no options`); continue; }
        const schema = checkedSchema(options, `options of ${name}`);
        const unknown = Object.keys(given).filter((k) => !Object.hasOwn((schema.jsonSchema['properties'] ?? {}) as object, k));
        const checked = await schema.check(given);
        problems.push(...unknown.map((k) => `${at(b)} ${name} has no option ${k}`), ...('problems' in checked ? checked.problems.map((p) => `${at(b)} ${name}: ${p}`) : []));
      }
    } catch (e) {
      problems.push(`${at(b)} ${(e as Error).message}`);
    }
  }
  assert.deepEqual(problems, []);
});

test('every command is one that there is, with flags that it takes', async (t) => {
  const p = project(t, { only: await sourceBuiltins().names() });
  const kernel = await boot({ cwd: p.dir, builtins: p.builtins, env: p.env, home: p.home, policy: p.policy });
  t.after(() => kernel.dispose());
  const parser = kernel.services.get('arguments')!;
  const subcommands = kernel.registries.subcommands.all();
  const problems: string[] = [];
  let tried = 0;
  for (const b of blocks.filter((x) => x.language === 'sh' && x.mark === '')) {
    for (const [i, line] of b.text.split('\n').entries()) {
      const words = commandIn(line);
      if (words === null) continue;
      tried++;
      try {
        // Flags that shape the start may stand before a sub-command.
        let first = 0;
        while (BOOT_FLAGS.test(words[first] ?? '')) first += 2;
        const command = subcommands.find((c) => c.name === words[first]);
        if (command !== undefined) await parser.parseCommand(command, words.slice(first + 1));
        else await parser.parse(words, { cwd: p.dir, subcommands, stdinIsTTY: false, stdoutIsTTY: false, env: {} });
      } catch (e) {
        problems.push(`${b.page}:${b.line + i} ${(e as Error).message}`);
      }
    }
  }
  assert.deepEqual(problems, []);
  assert.ok(tried > 20, `only ${tried} commands were found`);
});
const BOOT_FLAGS = /^--(?:cwd|set|settings|setting-sources|plugin-dir)$/;
/** The words behind `tappet` or `npm start --`; null where the line runs something else, or leaves something out. */
function commandIn(line: string): string[] | null {
  const start = /^(?:.*\|\s*)?(?:[A-Z_]+=\S*\s+)*(?:tappet|npm (?:run )?start(?: --silent)? --(?: --)?)(?=\s|$)/.exec(line.replace(/^\$ /, ''));
  if (start === null || line.includes('…')) return null;
  const words: string[] = [];
  for (const m of line.replace(/^\$ /, '').slice(start[0].length).matchAll(/\s*(?:(#|[|&;>])|((?:'[^']*'|"[^"]*"|[^\s'"#|&;>])+))/g)) {
    if (m[1] !== undefined) break;
    words.push(m[2]!.replace(/'([^']*)'|"([^"]*)"/g, (_, a: string | undefined, q: string | undefined) => a ?? q ?? ''));
  }
  return words;
}

test('lines of a session are as they would be written: whole, with their checksums', () => {
  const lines = blocks.filter((b) => b.language === 'jsonl').flatMap((b) => b.text.trimEnd().split('\n').map((text) => ({ b, text })));
  assert.ok(lines.length > 0);
  for (const { b, text } of lines) {
    const { crc } = JSON.parse(text) as { crc: string };
    assert.equal(text.endsWith(`,"crc":"${crc}"}`) && crcHex(Buffer.from(text.slice(0, -`,"crc":"${crc}"}`.length)), '}'), crc, at(b));
  }
});

test('every link between pages leads to a page, a file or a heading that is there', () => {
  const headings = new Map<string, ReadonlySet<string>>();
  const prose = (page: string): string => read(page).replace(/^(`{3,})[^\n]*\n[\s\S]*?^\1`*$/gm, '');
  const anchors = (page: string): ReadonlySet<string> => {
    let known = headings.get(page);
    if (known === undefined) headings.set(page, (known = new Set([...prose(page).matchAll(/^#+ (.+)$/gm)].map((m) => m[1]!.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').trim().replace(/\s/g, '-')))));
    return known;
  };
  const broken: string[] = [];
  for (const page of pages) {
    for (const [, target] of prose(page).replace(/`[^`\n]*`/g, '').matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target!)) continue;
      const [path = '', anchor] = target!.split('#');
      const file = path === '' ? page : relative(root, resolve(root, dirname(page), path)).split(sep).join('/');
      if (!existsSync(join(root, file)) || file.startsWith('..')) broken.push(`${page}: ${target}`);
      else if (anchor !== undefined && (!statSync(join(root, file)).isFile() || !anchors(file).has(anchor))) broken.push(`${page}: ${target} has no such heading`);
    }
  }
  assert.deepEqual(broken, []);
});

test('every error of the kernel and of the plugins has its heading, and no other has one', async () => {
  const builtins = sourceBuiltins();
  const plugins = await Promise.all((await builtins.names()).map(async (n) => (await builtins.plugin(n)) as Plugin));
  const rows = Object.assign({}, CODES, ...plugins.map((p) => p.codes ?? {})) as Record<string, CodeRow>;
  const page = read('docs/errors.md');
  assert.deepEqual([...page.matchAll(/^### (e_\w+)$/gm)].map((m) => m[1]!).sort(), Object.keys(rows).map((c) => c.toLowerCase()).sort());
  for (const [code, row] of Object.entries(rows)) assert.ok(page.includes(`\`${code}\`: ${row.sentence}\n\nDo: ${row.do}. Exit code ${row.exit}.\n`), `docs/errors.md says something else of ${code}`);
});

test('every event has its heading', () => {
  const text = [...read('docs/events.md').matchAll(/^### (.+)$/gm)].flatMap((m) => m[1]!.split(', '));
  assert.deepEqual(text.sort(), [...Object.keys(EVENTS), ...Object.keys(MOMENTS)].sort());
});

test('every dependency is accounted for, with its version and its licence', () => {
  const manifest = JSON.parse(read('package.json')) as { dependencies: Record<string, string>; devDependencies: Record<string, string> };
  const rows = [...read('docs/dependencies.md').matchAll(/^\| ([@\w/-]+) \| (\d[\w.]*) \| ([^|]+) \|/gm)].map((m) => [m[1]!, m[2]!, m[3]!.trim()] as const);
  const said = Object.fromEntries(rows.map(([name, version]) => [name, version]));
  assert.deepEqual(Object.fromEntries(Object.entries(said).sort()), Object.fromEntries(Object.entries({ ...manifest.dependencies, ...manifest.devDependencies }).sort()));
  for (const [name, , licence] of rows) assert.equal((JSON.parse(read(`node_modules/${name}/package.json`)) as { license: string }).license, licence, name);
  // What runs is either installed with it or in the bundle, and is said to be.
  const page = read('docs/dependencies.md');
  const section = (title: string): string => page.slice(page.indexOf(`## ${title}`), page.indexOf('\n## ', page.indexOf(`## ${title}`) + 1));
  const listed = (title: string): string[] => rows.map(([name]) => name).filter((name) => section(title).includes(`| ${name} |`));
  assert.deepEqual(listed('Installed with it').sort(), Object.keys(manifest.dependencies).sort());
  const sources = ['kernel', 'plugins', 'schemas'].flatMap((room) => readdirSync(join(root, room), { recursive: true, encoding: 'utf8' }).filter((f) => f.endsWith('.ts')).map((f) => read(join(room, f))));
  const imported = new Set(sources.flatMap((text) => [...text.matchAll(/(?:from |import\()'((?:@[\w-]+\/)?[\w-]+)(?:\/[\w-]+)*'/g)].map((m) => m[1]!)).filter((name) => name !== 'tappet'));
  assert.deepEqual([...imported].filter((name) => !(name in manifest.dependencies)).sort(), listed('In the bundle').sort());
});

test('every key of the configuration is explained, with its law', () => {
  const page = read('docs/config.md');
  const words = { replace: 'replace', byName: 'by name', union: 'union', strictest: 'strictest', none: '–' };
  const table = page.slice(page.indexOf('## Every key'), page.indexOf('### Plugins'));
  const told = Object.fromEntries([...table.matchAll(/^\| `([\w$]+)` \| [^|]+ \| ([^|]+) \|/gm)].map((m) => [m[1]!, m[2]!.trim()]));
  assert.deepEqual(told, Object.fromEntries(Object.entries(LAWS).map(([key, law]) => [key, words[law]])));
  const all = `${page}${read('docs/models.md')}`;
  const shapes = { limits: limits(), provider: provider(), models: modelEntry(), bounds: bounds(), plugins: bounds().shape.plugins.unwrap() };
  const silent = Object.entries(shapes).flatMap(([of, { shape }]) => Object.keys(shape).filter((key) => !new RegExp(`\`(?:\\w+\\.)?${key}(?:\\.\\w+)?\``).test(all)).map((key) => `${of}.${key}`));
  assert.deepEqual(silent, []);
});
