/** Like default, and edits of files inside the working folders run without a question. */
import { definePlugin } from 'tappet/kernel';
import { isInside, onlyReads } from 'tappet/kit';
import type { JudgedCall } from 'tappet/schemas';

export default definePlugin({
  name: 'modes/accept-edits',
  api: 1,
  apply({ registries }) {
    registries.permissionModes.add({
      name: 'acceptEdits',
      title: 'Accept edits',
      judge: (call, soFar) => ({ behavior: soFar.behavior === 'passthrough' && (onlyReads(call) || onlyFilesInside(call)) ? 'allow' : 'passthrough' }),
    });
  },
});

/** Asked here as well as by guards/workspace: that guard may be switched off, and this mode promises it. */
const onlyFilesInside = ({ subjects, roots }: JudgedCall): boolean =>
  subjects.length > 0 && subjects.every((s) => s.kind === 'path' && [s.path, s.real].every((p) => p !== null && roots.some((root) => isInside(p, root))));
