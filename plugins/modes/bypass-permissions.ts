/** Asks nothing that a mode may answer. Denies, ask rules and everything that policy says stand. */
import { definePlugin } from 'tappet/kernel';
import type { Opinion } from 'tappet/schemas';

export default definePlugin({
  name: 'modes/bypass-permissions',
  api: 1,
  apply({ registries }) {
    registries.permissionModes.add({
      name: 'bypassPermissions',
      title: 'Bypass permissions',
      judge: (_call, soFar) => ({ behavior: mayAnswer(soFar) ? 'allow' : 'passthrough' }),
    });
  },
});

/** The kernel would not let it lift more; that it does not claim to keeps the record true. */
function mayAnswer(soFar: Opinion): boolean {
  if (soFar.behavior === 'ask') return soFar.until !== 'person' && soFar.origin.layer !== 'policy';
  return soFar.behavior === 'passthrough' || soFar.behavior === 'allow';
}
