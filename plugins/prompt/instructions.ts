/** What people wrote down for agents: AGENTS.md and CLAUDE.md of the user and of the project, the nearest last. */
import { dirname, join, relative, resolve, sep } from 'node:path';
import { definePlugin, messageOf, z } from 'tappet/kernel';
import { codeOf, decodeText, hiddenByRules, isAbsence, isInside, readBounded } from 'tappet/kit';
import type { PromptContext } from 'tappet/schemas';

const LEAD = 'What people wrote down for agents, from the general to the particular. Where two contradict each other, the later holds; what the person says in the conversation holds above both.';
const MAX_IMPORTS = 50;

/** Where a file may lead: what lies elsewhere is not the writer's to give away. */
interface Home { readonly folder: string; readonly note: string; /** A person may keep the files of their own folder elsewhere. */ readonly linksOut: boolean }

export default definePlugin({
  name: 'prompt/instructions',
  api: 1,
  options: () => z.strictObject({
    // A project may set these: nothing but texts below the folder can be named.
    files: z.array(z.string().regex(/^(?:(?!\.\.?\/)[^\\/\0]+\/)*[^\\/\0]+\.md$/i, 'the name of an .md file, or its path below a folder')).default(['AGENTS.md', 'CLAUDE.md']).describe('names that are looked for in each folder, in this order'),
    fileBytes: z.number().int().positive().max(1_000_000).default(40_000).describe('bytes of one file that are read; the rest is left out, with a notice'),
    totalBytes: z.number().int().positive().max(4_000_000).default(160_000).describe('bytes of all files together'),
  }),
  apply({ registries, options, folders }) {
    registries.promptParts.add({
      name: 'instructions',
      slot: 'instructions',
      async render(context) {
        const { said, take } = createReader(context, options, hiddenByRules(context.rules.filter((r) => r.behavior !== 'allow').map((r) => ({ ...r, behavior: 'deny' as const })), ['Read'], { cwd: context.cwd, home: folders.home }));
        const user: Home = { folder: folders.config, note: 'instructions of the person, for all projects', linksOut: true };
        const project: Home = { folder: context.root, note: 'instructions of the project', linksOut: false };
        if (context.settingSources.includes('user')) for (const name of options.files) await take(join(user.folder, name), user);
        // A stranger's folder may not instruct anybody before it is trusted.
        if (context.trusted && context.settingSources.includes('project')) for (const folder of foldersDown(context)) for (const name of options.files) await take(join(folder, name), project);
        return said.length === 0 ? [] : [{ text: `${LEAD}\n\n${said.join('\n\n')}\n`, cacheScope: 'project' }];
      },
    });
  },
});

/** From the root of the project down to the working folder; from a folder elsewhere nothing is taken. */
function foldersDown({ root, cwd }: PromptContext): string[] {
  const parts = isInside(cwd, root) ? relative(root, cwd).split(sep).filter((p) => p !== '') : [];
  return [root, ...parts.map((_, i) => join(root, ...parts.slice(0, i + 1)))];
}

type Hidden = ReturnType<typeof hiddenByRules>;
function createReader({ fs, signal }: PromptContext, limits: { readonly fileBytes: number; readonly totalBytes: number }, hidden: Hidden) {
  const said: string[] = [];
  const seen = new Set<string>();
  let left = limits.totalBytes;

  /** Silent where nothing is; what is there and can't be used is said. `from`: the file that imports it. */
  async function take(path: string, home: Home, from?: string): Promise<void> {
    const leaveOut = (why: string): void => { said.push(`[${path}${from === undefined ? '' : `, imported by ${from},`} is left out: ${why}]`); };
    signal.throwIfAborted();
    try {
      const real = await fs.realpath(path);
      if (seen.has(real)) return; // a link to what was read, or imported twice
      seen.add(real);
      if (!home.linksOut && !isInside(real, await fs.realpath(home.folder))) return leaveOut(`it leads out of ${home.folder}`);
      if (hidden(path, real)) return leaveOut('a permission rule keeps it from being read');
      if (left === 0) return leaveOut(`there is room for ${limits.totalBytes} bytes of instructions, and those before it fill them`);
      const { bytes, size, cut } = await readBounded(fs, real, Math.min(limits.fileBytes, left));
      left -= bytes.length;
      const text = (await decodeText(bytes, { cut }))?.text.replace(/\r\n?/g, '\n').trim();
      if (text === undefined) return leaveOut('it is not text');
      const note = `${from === undefined ? home.note : `imported by ${from}`}${cut ? `, only the first ${bytes.length} of its ${size} bytes` : ''}`;
      if (text !== '') said.push(`Contents of ${path} (${note}):\n\n${text}`);
      if (from === undefined) await takeImports(text, path, home);
    } catch (e) {
      if (signal.aborted) throw e;
      if (isAbsence(e) ? from !== undefined && looksLikeFile(path) : from === undefined || codeOf(e) !== 'EISDIR') leaveOut(isAbsence(e) ? 'it is not there' : messageOf(e));
    }
  }
  async function takeImports(text: string, from: string, home: Home): Promise<void> {
    const names = imports(text);
    for (const name of names.slice(0, MAX_IMPORTS)) {
      const path = resolve(dirname(from), name);
      if (isInside(path, home.folder) && !name.startsWith('~')) await take(path, home, from);
      else if (looksLikeFile(name)) said.push(`[${name}, imported by ${from}, is left out: only what lies in ${home.folder} can be imported]`);
    }
    if (names.length > MAX_IMPORTS) said.push(`[${from} imports ${names.length} files; those after the first ${MAX_IMPORTS} are left out]`);
  }
  return { said, take };
}

/** Many a word behind an `@` is a person's or a package's name. */
const looksLikeFile = (name: string): boolean => /\.(?:md|mdc|txt|rst|adoc)$/i.test(name);

/** Names behind an `@` at the start of a word, but not in code. */
function imports(text: string): string[] {
  const names = new Set<string>();
  let fence: string | null = null;
  for (const line of text.split('\n')) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark !== undefined && (fence === null || mark.startsWith(fence))) { fence = fence === null ? mark : null; continue; }
    if (fence !== null) continue;
    const prose = line.split(/`+/).filter((_, i) => i % 2 === 0).join(' ');
    for (const [, name = ''] of prose.matchAll(/(?<=^|[\s(])@([^\s@"'<>|]{1,500})/g)) names.add(name.replace(/[.,;:!?)\]]+$/, ''));
  }
  names.delete('');
  return [...names];
}
