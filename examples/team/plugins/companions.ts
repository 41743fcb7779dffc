/** Tells the model what belongs to a file that it has just written: notes that a team would give in a review, given at once. */
import { isAbsolute, resolve } from 'node:path';
import { definePlugin, z } from 'tappet/kernel';
import { isInside } from 'tappet/kit';

export default definePlugin({
  name: 'acme/companions',
  api: 1,
  options: () => z.strictObject({
    notes: z.array(z.strictObject({
      path: z.string().min(1).refine((p) => !isAbsolute(p), 'a path below the project').describe('a file or folder, counted from the root of the project'),
      text: z.string().min(1).describe('what is said once something in it was written'),
    })).describe('what belongs to what'),
  }),
  apply({ hooks, options, folders }) {
    const notes = options.notes.map((n) => ({ text: n.text, folder: resolve(folders.root, n.path) }));
    // After a call that worked. The event carries the subjects, so that it makes no difference which tool wrote the file.
    hooks.PostToolUse.tap('acme/companions', ({ subjects }) => {
      const written = subjects.flatMap((s) => (s.kind === 'path' && s.access === 'write' ? [s.path] : []));
      const due = notes.filter((n) => written.some((path) => isInside(path, n.folder)));
      // The texts of all taps add up; the model reads them behind the result.
      if (due.length > 0) return { additionalContext: due.map((n) => n.text).join('\n') };
    });
  },
});
