/** Where and when the agent works: the day, the folder, the system, the branch. Changes too often to be kept by a provider. */
import { release } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { definePlugin } from 'tappet/kernel';
import { isInside, readBounded } from 'tappet/kit';
import type { PromptContext } from 'tappet/schemas';

/** `.git` and `HEAD` are one line each; what is larger is something else. */
const MAX_BYTES = 4096;

export default definePlugin({
  name: 'prompt/environment',
  api: 1,
  apply({ registries }) {
    registries.promptParts.add({
      name: 'environment',
      slot: 'dynamic',
      async render(context) {
        const { cwd, root, mode, now } = context;
        const branch = await branchOf(context);
        const facts = {
          'Working folder': cwd,
          ...(root === cwd ? {} : { 'Root of the project': root }),
          'Git branch': branch ?? 'none: no git repository, or one that cannot be read',
          System: `${process.platform} ${release()}`,
          Today: day(now),
          'Permission mode': mode,
        };
        return [{ text: `# Environment\n${Object.entries(facts).map(([what, value]) => `- ${what}: ${value.replace(/[\p{Cc}\u2028\u2029]/gu, '?')}\n`).join('')}`, cacheScope: null }];
      },
    });
  },
});

/** The person's own day, not that of Greenwich. */
const day = (d: Date): string => `${d.getFullYear()}-${`${d.getMonth() + 1}`.padStart(2, '0')}-${`${d.getDate()}`.padStart(2, '0')}`;

/** Read from the files, since a git process would cost more than all the rest, and would run what the repository's settings say. */
async function branchOf(context: PromptContext): Promise<string | null> {
  for (let folder = context.cwd; isInside(folder, context.root); folder = dirname(folder)) {
    const head = (await line(context, join(folder, '.git', 'HEAD'))) ?? (await linkedHead(context, folder));
    if (head !== null) return /^ref: refs\/heads\/(.{1,250})$/.exec(head)?.[1] ?? (/^[0-9a-f]{40,64}$/.test(head) ? `none (detached at ${head.slice(0, 12)})` : null);
    if (folder === dirname(folder)) break;
  }
  return null;
}
/** In a worktree or submodule `.git` is a file that says where the rest is. */
async function linkedHead(context: PromptContext, folder: string): Promise<string | null> {
  const elsewhere = /^gitdir: (.+)$/.exec((await line(context, join(folder, '.git'))) ?? '')?.[1];
  // A share would be told who this user is.
  return elsewhere === undefined || /^[\\/]{2}/.test(elsewhere) ? null : line(context, join(resolve(folder, elsewhere), 'HEAD'));
}
/** A repository may hold anything under these names, also what never ends. What can't be read is no branch, and no error. */
async function line({ fs, signal }: PromptContext, path: string): Promise<string | null> {
  signal.throwIfAborted();
  try {
    const { bytes, cut } = await readBounded(fs, await fs.realpath(path), MAX_BYTES);
    return cut ? null : bytes.toString('utf8').trimEnd();
  } catch {
    return null;
  }
}
