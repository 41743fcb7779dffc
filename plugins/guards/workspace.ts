/** What lies outside the working folders is asked about, until a rule allows it. */
import { definePlugin } from 'tappet/kernel';
import { isInside } from 'tappet/kit';
import type { JudgedCall, Said, Subject } from 'tappet/schemas';

export default definePlugin({
  name: 'guards/workspace',
  api: 1,
  apply({ registries }) {
    registries.guards.add({ name: 'workspace', judge: (call) => call.subjects.flatMap((s) => (s.kind === 'path' ? leaving(s, call) : [])) });
  },
});

/** A link may lead out, and a path may be spelled as if it lay outside: both count. */
function leaving({ path, real, access }: Subject & { kind: 'path' }, { roots }: JudgedCall): Said[] {
  const inside = (p: string): boolean => roots.some((root) => isInside(p, root));
  if (inside(path) && real !== null && inside(real)) return [];
  const what = !inside(path) ? `${path} lies outside` : real === null ? `${path} can't be followed to where it really is, so it counts as lying outside` : `${path} leads to ${real}, which lies outside`;
  return [{
    behavior: 'ask',
    until: 'rule',
    message: `${what} of the working folders (${roots.join(', ') || 'there are none'}); to ${access} it without a question, add its folder to \`directories\` or allow it by a rule`,
    reason: { kind: 'workingDir', path: real ?? path },
  }];
}
