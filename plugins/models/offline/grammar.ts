/** A prompt as what it asks for, clause by clause. */
import type { Intent } from './intents.ts';
import { whereOf } from './phrases.ts';
import { RULES } from './rules.ts';
import { asWritten, clauses, lift, tidy } from './words.ts';
import type { Quotes } from './words.ts';

export interface Parsed { readonly clause: string; readonly intent: Intent | null }

/** Each clause of a prompt with what it asks for; null where that is not known. */
export function parsePrompt(prompt: string): readonly Parsed[] {
  const { text, quotes } = lift(prompt);
  return clauses(text).slice(0, MAX_CLAUSES).flatMap((clause) => (clause.length > MAX_CLAUSE ? [{ clause, intent: null }] : split(clause, quotes))).map(({ clause, intent }) => ({ clause: asWritten(clause, quotes), intent }));
}

/** Longer clauses and prompts with more of them are no orders that these rules were made for; trying would take long. */
const MAX_CLAUSE = 800;
const MAX_CLAUSES = 40;

const VERBS = 'list|show|find|locate|read|open|print|display|cat|search|grep|look|count|create|write|make|save|append|prepend|add|insert|replace|change|rename|run|execute|check|tell|explain|describe|summari[sz]e|give|how|which|what|where|does|is|are';
/** `and` joins two clauses where both sides make sense by themselves. */
function split(clause: string, quotes: Quotes): { clause: string; intent: Intent | null }[] {
  let partly: { clause: string; intent: Intent | null }[] | null = null;
  for (const joint of clause.matchAll(new RegExp(`\\s*(?:,\\s*and|,|\\band(?: also)?)\\s+(?=(?:please\\s+|also\\s+)?(?:${VERBS})\\b)`, 'gi'))) {
    const [left, right] = [tidy(clause.slice(0, joint.index)), tidy(clause.slice(joint.index + joint[0].length))];
    const first = parseClause(left, quotes);
    if (first === null) continue;
    const rest = split(right, quotes);
    if (rest.every((r) => r.intent !== null)) return [{ clause: left, intent: first }, ...rest];
    partly ??= [{ clause: left, intent: first }, ...rest];
  }
  const whole = parseClause(clause, quotes);
  return whole === null && partly !== null ? partly : [{ clause, intent: whole }];
}

function parseClause(clause: string, quotes: Quotes): Intent | null {
  const insensitive = /[\s,(]*\b(?:case[- ]insensitive(?:ly)?|ignoring (?:the )?case|regardless of case|in any case)\)?/i;
  const ignoreCase = insensitive.test(clause);
  const text = tidy(clause.replace(insensitive, ''));
  const moved = /^(?:in|inside|within|under)\s+(.+?),?\s+((?:how|which|what|where|is|are|does|list|find|show|search|grep|count|read|print|replace|change|look|display|give|name)\b.+)$/i.exec(text);
  if (moved !== null && whereOf(moved[1]!, quotes) !== null) {
    const intent = parseClause(`${moved[2]} in ${moved[1]}`, quotes);
    if (intent !== null) return ignoreCase && intent.do === 'search' ? { ...intent, sought: { ...intent.sought, ignoreCase } } : intent;
  }
  for (const [pattern, make] of RULES) {
    const found = pattern.exec(text);
    if (found === null) continue;
    const intent = make(found, quotes);
    if (intent !== null) return intent.do === 'search' && ignoreCase ? { ...intent, sought: { ...intent.sought, ignoreCase } } : intent;
  }
  return null;
}
