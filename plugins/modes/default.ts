/** The mode that a session starts in: mere reading runs, everything else that no rule allows is asked about. */
import { definePlugin } from 'tappet/kernel';
import { onlyReads } from 'tappet/kit';

export default definePlugin({
  name: 'modes/default',
  api: 1,
  apply({ registries }) {
    registries.permissionModes.add({
      name: 'default',
      title: 'Default',
      judge: (call, soFar) => ({ behavior: soFar.behavior === 'passthrough' && onlyReads(call) ? 'allow' : 'passthrough' }),
    });
  },
});
