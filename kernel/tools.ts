/** Which tools a session offers: a bare deny takes a tool away, a base set narrows, what needs a person is offered only where one can be asked. */
import picomatch from 'picomatch';
import type { SourcedRule, Tool } from '../schemas/index.ts';

export function offered(all: readonly Tool[], rules: readonly SourcedRule[], base: readonly string[] | null, canAsk: boolean): readonly Tool[] {
  const bare = rules.filter((r) => r.behavior === 'deny' && r.ruleContent === undefined).map((r) => r.toolName);
  return all.filter((t) => (base === null || base.includes(t.name) || t.aliases.some((a) => base.includes(a))) && !bare.some((name) => names(t, name)) && (canAsk || !t.requiresUserInteraction));
}
const names = (t: Tool, name: string): boolean => (name.includes('*') ? picomatch.isMatch(t.name, name) : t.name === name || t.aliases.includes(name));
