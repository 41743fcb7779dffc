/** Values of flags: lists of rules, numbers, times. */
import { nearest } from 'tappet/kernel';
import { usage } from './usage.ts';

/** Split at commas and blanks that stand outside of brackets: `Bash(git *, x),Read` is two. */
export function splitRules(text: string): string[] {
  const rules: string[] = [];
  let rule = '';
  let depth = 0;
  for (const c of text) {
    if (c === '(') depth++;
    else if (c === ')') depth = Math.max(0, depth - 1);
    if (depth === 0 && (c === ',' || /\s/.test(c))) { rules.push(rule); rule = ''; } else rule += c;
  }
  return [...rules, rule].filter((r) => r !== '');
}

/** Words of a flag as rules. A tool may come later, from a server or a program; one that is nearly there is a slip, and `--disallowed-tools Bsh` would forbid nothing. */
export function rulesOf(flag: string, words: readonly string[], tools: readonly string[]): string[] {
  const rules = words.flatMap(splitRules);
  for (const rule of rules) {
    const name = /^\w+/.exec(rule)?.[0];
    if (name === undefined || tools.includes(name) || OTHERS.has(name)) continue;
    const near = nearest(name, tools);
    if (near !== null) throw usage(`${flag}: there is no tool "${name}"`, `did you mean ${near}?`);
  }
  return rules;
}
/** Names that rules may have where no tool has them: that of all changes to files, and those of other harnesses. */
const OTHERS = new Set(['Edit', 'LS', 'Task', 'Agent', 'Skill']);

/** A word that can only be meant as a rule: tools begin with a capital letter, those of servers with `mcp__`. */
export const looksLikeRule = (word: string): boolean => /^(?:[A-Z]\w*|mcp__[\w*-]+)(?:\(.*\))?(?:[,\s]|$)/s.test(word);

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;
/** Milliseconds. A bare number could be any unit, so it is none. */
export function duration(flag: string, text: string): number {
  const m = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text);
  if (m === null) throw usage(`${flag}: "${text}" is no time${/^\d+$/.test(text) ? ': a bare number could be seconds or minutes' : ''}`, `say the unit: ${/^\d+$/.test(text) ? `${text}s or ${text}m` : '500ms, 10s, 5m, 1h'}`);
  const ms = Math.round(Number(m[1]) * UNITS[m[2] as keyof typeof UNITS]);
  if (ms < 1 || ms > 2_147_483_647) throw usage(`${flag}: ${text} is ${ms < 1 ? 'no time at all' : 'too long'}`, ms < 1 ? 'give it a moment, or leave it out for no limit' : 'at most 596h; leave it out for no limit');
  return ms;
}

export function whole(flag: string, text: string, least: number): number {
  const n = /^\d+$/.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(n) || n < least) throw usage(`${flag}: "${text}" is no whole number from ${least} on`, `for example ${flag} 10`);
  return n;
}
export function amount(flag: string, text: string): number {
  const n = /^\$?\d*\.?\d+$/.test(text) ? Number(text.replace('$', '')) : NaN;
  if (!Number.isFinite(n) || n <= 0) throw usage(`${flag}: "${text}" is no amount above 0`, `for example ${flag} 2.50`);
  return n;
}

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
