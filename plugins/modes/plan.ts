/** Looks and thinks, changes nothing: what does more than read is denied, whoever allowed it. */
import { definePlugin } from 'tappet/kernel';
import { changesNothing, onlyReads } from 'tappet/kit';

export default definePlugin({
  name: 'modes/plan',
  api: 1,
  apply({ registries }) {
    registries.permissionModes.add({
      name: 'plan',
      title: 'Plan',
      judge(call, soFar) {
        if (!changesNothing(call)) return { behavior: 'deny', message: `${call.tool} would do more than read, and this is plan mode: nothing is changed until a person ends it. Read what you need, then write the plan as your answer.` };
        return { behavior: soFar.behavior === 'passthrough' && onlyReads(call) ? 'allow' : 'passthrough' };
      },
    });
  },
});
