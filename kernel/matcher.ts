/** Which calls a tap wants to hear of: a name, a list, a glob, `Tool(content)`; anchored, compiled once. */
import picomatch from 'picomatch';
import { parseRule } from '../schemas/permissions.ts';
import type { JudgedCall } from '../schemas/index.ts';

export type Matcher = (name: string, call: Partial<JudgedCall>) => boolean;

/** @throws a sentence where the words would never match, or turn themselves inside out */
export function compileMatcher(text: string): Matcher {
  if (typeof text !== 'string') throw new Error(`a matcher is text, not ${typeof text}`);
  const parts = splitList(text).filter((p) => p !== '').map((p) => compileOne(p, text));
  return parts.length === 0 ? () => true : (name, call) => parts.some((p) => p(name, call));
}

function compileOne(text: string, whole: string): Matcher {
  if (text === '*') return () => true;
  if (text.startsWith('!')) throw new Error(`the matcher "${whole}" begins with !, which would turn it inside out`);
  if (/^[\w*-]*[()]/.test(text)) {
    const rule = parseRule(text);
    if (rule === null) throw new Error(`the matcher "${whole}" is neither a name nor Tool(content)`);
    const tool = compileOne(rule.toolName, whole);
    return rule.ruleContent === undefined ? tool : withContent(tool, rule.ruleContent);
  }
  if (!/[*?[\]{}]/.test(text)) return (n) => n === text;
  const glob = picomatch(text, { dot: true });
  return (n) => glob(n);
}
function withContent(tool: Matcher, spec: string): Matcher {
  return (name, call) => {
    if (!tool(name, call)) return false;
    const { matches, subjects, cwd = '', home = '' } = call;
    if (matches === undefined || subjects === undefined || subjects.length === 0) return true; // a call that can't be looked into is heard of
    return subjects.some((s) => {
      try { return matches(s, spec, { cwd, home, base: cwd, behavior: 'tap' }) !== 'no'; } catch { return true; } // nor is one whose tool fails to look
    });
  };
}

/** Splits at `|` and `,` outside of brackets. */
export function splitList(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let part = '';
  for (const c of text) {
    if ('([{'.includes(c)) depth++;
    if (')]}'.includes(c)) depth = Math.max(0, depth - 1);
    if (depth === 0 && (c === '|' || c === ',')) { parts.push(part.trim()); part = ''; } else part += c;
  }
  parts.push(part.trim());
  return parts;
}
