/** What a file tool was judged by is what it touches: a link may be pointed elsewhere between the two. */
import type { FsLike } from '../../schemas/index.ts';
import { realPath } from './paths.ts';
import type { PathSubject } from './subjects.ts';

/** One for each tool: it is told the subject of an input, and asked for it when the input is run. */
export interface JudgedPaths {
  note(input: object, subject: PathSubject): readonly [PathSubject];
  /** The real path of `path` now, which is the judged one; or a sentence on why there is none. */
  find(input: object, fs: FsLike, path: string): Promise<{ readonly real: string } | { readonly wrong: string }>;
}
export function judgedPaths(): JudgedPaths {
  const judged = new WeakMap<object, string | null>();
  return {
    note: (input, subject) => {
      judged.set(input, subject.real);
      return [subject];
    },
    find: async (input, fs, path) => {
      const real = await realPath(fs, path);
      if (real === null) return { wrong: `${JSON.stringify(path)} can't be reached: it is no name for a file, its links go in a circle, or a folder on the way may not be entered` };
      const before = judged.get(input);
      return before === undefined || before === real ? { real } : { wrong: `${path} leads to another place than a moment ago; nothing was done` };
    },
  };
}
