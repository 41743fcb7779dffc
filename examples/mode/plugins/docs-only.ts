/** A permission mode: Markdown files of the project may be edited without a question, everything else is as in `default`. */
import { extname } from 'node:path';
import { definePlugin } from 'tappet/kernel';
import type { JudgedCall } from 'tappet/kernel';
import { isInside, onlyReads } from 'tappet/kit';

export default definePlugin({
  name: 'acme/docs-only',
  api: 1,
  apply({ registries }) {
    registries.permissionModes.add({
      name: 'docsOnly',
      title: 'Edit Markdown only',
      // Asked once per call, after all opinions. `soFar` is the strictest of them: a mode answers where nobody has spoken (passthrough). It could also lift an ask until a
      // mode; a deny, an ask until a person and what policy said stand whatever it says.
      judge(call, soFar) {
        if (soFar.behavior === 'passthrough' && (onlyReads(call) || onlyMarkdownInside(call))) return { behavior: 'allow' };
        return { behavior: 'passthrough' };
      },
    });
  },
});

/** All that the call is about, under each of its names. A call about nothing is not harmless: nobody knows what it does. */
const onlyMarkdownInside = ({ subjects, roots }: JudgedCall): boolean => subjects.length > 0 && subjects.every((s) =>
  s.kind === 'path' && [s.path, s.real].every((path) => path !== null && extname(path) === '.md' && roots.some((root) => isInside(path, root))));
