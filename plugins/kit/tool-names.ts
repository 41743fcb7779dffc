/** Which tools a rule's name means: old names, MCP servers, globs. */
import type { PermissionRule } from '../../schemas/index.ts';

/** Names that tools had before; people's rules still hold them. */
const OLD_NAMES: ReadonlyMap<string, string> = new Map([
  ['Task', 'Agent'], ['KillShell', 'TaskStop'], ['KillBash', 'TaskStop'], ['ListPeers', 'ListAgents'], ['Brief', 'SendUserMessage'], ['ProposeGoal', 'SetGoal'],
  ['ListMcpResources', 'ListMcpResourcesTool'], ['ReadMcpResource', 'ReadMcpResourceTool'], ['ReadMcpResourceDir', 'ReadMcpResourceDirTool'],
]);

/** The name that a tool has today. */
export const toolNameOf = (name: string): string => OLD_NAMES.get(name) ?? name;

/**
 * Does the name in a rule mean this tool? `mcp__srv` is every tool of that server. A glob counts in deny and ask rules; in an allow rule only behind a
 * server that is written out, because a glob would also allow what is installed later.
 */
export function meansTool(rule: Pick<PermissionRule, 'toolName' | 'behavior'>, tool: string): boolean {
  const name = toolNameOf(rule.toolName);
  const today = toolNameOf(tool);
  if (name === today) return true;
  if (/^mcp__/.test(name) && !name.includes('*')) return !name.includes('__', 5) && today.startsWith(`${name}__`);
  if (!name.includes('*') || (rule.behavior === 'allow' && !/^mcp__[^*]+?__/.test(name))) return false;
  return fitsStars(name, today);
}

/** Does the whole text fit a pattern whose only sign is `*`? It goes back to the last star only, so that a stranger's pattern can't take for ever. */
export function fitsStars(pattern: string, text: string): boolean {
  let p = 0;
  let t = 0;
  let star = -1;
  let from = 0;
  while (t < text.length) {
    if (pattern[p] === '*') { star = p++; from = t; continue; }
    if (p < pattern.length && pattern[p] === text[t]) { p++; t++; continue; }
    if (star < 0) return false;
    p = star + 1;
    t = ++from;
  }
  while (pattern[p] === '*') p++;
  return p === pattern.length;
}
