/** Never interrupts: what would be asked about is denied. */
import { definePlugin } from 'tappet/kernel';
import { onlyReads } from 'tappet/kit';

export default definePlugin({
  name: 'modes/dont-ask',
  api: 1,
  apply({ registries }) {
    registries.permissionModes.add({
      name: 'dontAsk',
      title: "Don't ask",
      judge(call, soFar) {
        if (soFar.behavior === 'allow' || soFar.behavior === 'deny') return { behavior: 'passthrough' };
        if (soFar.behavior === 'passthrough' && onlyReads(call)) return { behavior: 'allow' };
        const why = soFar.behavior !== 'passthrough' && soFar.message !== undefined ? soFar.message : 'no rule allows it';
        return { behavior: 'deny', message: `${call.tool} would need a person's word (${why}), and in the mode dontAsk nobody is asked. Do it another way, or say what you would have needed.` };
      },
    });
  },
});
