/** Which calls a tap wants to hear of: a name, a list, a glob, `Tool(content)`; anchored, compiled once. */
import picomatch from 'picomatch';
import { parseRule } from '../schemas/permissions.ts';
import type { JudgedCall } from '../schemas/index.ts';

export type Matcher = (name: string, call: Partial<JudgedCall>) => boolean;

export function compileMatcher(text: string): Matcher {
  const parts = splitList(text).map(compileOne);
  return (name, call) => parts.some((p) => p(name, call));
}

function compileOne(text: string): Matcher {
  if (text === '' || text === '*') return () => true;
  const rule = text.includes('(') ? parseRule(text) : null;
  if (rule?.ruleContent !== undefined) {
    const spec = rule.ruleContent;
    const toolName = compileOne(rule.toolName);
    return (name, call) => {
      if (!toolName(name, call)) return false;
      const { matches, subjects, cwd = '', home = '' } = call;
      if (matches === undefined || subjects === undefined) return true; // a call that can't be looked into is heard of
      return subjects.length === 0 || subjects.some((s) => matches(s, spec, { cwd, home, base: cwd, behavior: 'tap' }) !== 'no');
    };
  }
  const name = rule?.toolName ?? text;
  if (!/[*?[\]{}]/.test(name)) return (n) => n === name;
  const glob = picomatch(name, { dot: true });
  return (n) => glob(n);
}

/** Splits at `|` and `,` outside of brackets. */
export function splitList(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let part = '';
  for (const c of text) {
    if (c === '(') depth++;
    if (c === ')') depth--;
    if (depth === 0 && (c === '|' || c === ',')) { parts.push(part.trim()); part = ''; } else part += c;
  }
  parts.push(part.trim());
  return parts;
}
