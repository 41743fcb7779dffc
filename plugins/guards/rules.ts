/** Judges a call by the permission rules of all layers. What policy says of a call it says here, in policy's own name. */
import { definePlugin } from 'tappet/kernel';
import { fitsStars, matchPath, meansTool, ruleBase, toolNameOf } from 'tappet/kit';
import { compareLayers, place, ruleText } from 'tappet/schemas';
import type { JudgedCall, Match, MatchPlace, Said, SourcedRule, Subject } from 'tappet/schemas';

/** The fields that a tool's own content form is about; a parameter rule may not name them. */
const MAIN_FIELDS: ReadonlySet<string> = new Set(['command', 'file_path', 'path', 'notebook_path', 'url']);

export default definePlugin({
  name: 'guards/rules',
  api: 1,
  apply({ registries }) {
    registries.guards.add({
      name: 'rules',
      judge: (call) => [
        // The highest layer first: of equal opinions the first is the one that people read.
        ...call.rules.toSorted((a, b) => compareLayers(b.origin.layer, a.origin.layer)).flatMap((rule) => forbid(rule, call)),
        ...allow(call),
      ],
    });
  },
});

function forbid(rule: SourcedRule, call: JudgedCall): Said[] {
  if (rule.behavior === 'allow') return [];
  const hit = hits(rule, call);
  if (hit === 'no') return [];
  const stamp = { origin: rule.origin, reason: { kind: 'rule' as const, rule: ruleText(rule), source: rule.source } };
  const where = `${place(rule.origin)} (${rule.origin.layer})`;
  if (rule.behavior === 'ask') return [{ behavior: 'ask', until: 'person', message: `${ruleText(rule)} is asked about by ${where}`, ...stamp }];
  if (hit === 'yes') return [{ behavior: 'deny', message: `${ruleText(rule)} is denied by ${where}`, ...stamp }];
  return [{ behavior: 'ask', until: 'person', message: `${ruleText(rule)} is denied by ${where}, and whether this call is one is not known before it runs`, ...stamp }];
}

/** Does a deny or ask rule meet any part of the call? */
function hits(rule: SourcedRule, call: JudgedCall): Match {
  const named = meansTool(rule, call.tool);
  const files = call.subjects.filter((s) => concerns(rule, s));
  const spec = rule.ruleContent;
  if (spec === undefined) return named || files.length > 0 ? 'yes' : 'no';
  const matches = isFileRule(rule) ? files.map((s) => ask(() => matchPath(s, spec, placeOf(rule, call)))) : named ? call.subjects.map((s) => ask(() => call.matches(s, spec, placeOf(rule, call)))) : [];
  if (named) matches.push(parameter(spec, call));
  return matches.includes('yes') ? 'yes' : matches.includes('maybe') ? 'maybe' : 'no';
}

/** `Agent(model:opus)`: a field of the input, compared as the model wrote it. A field that was left out is never met. */
function parameter(spec: string, call: JudgedCall): Match {
  const colon = spec.indexOf(':');
  const field = spec.slice(0, colon).trim();
  const value = colon < 0 || MAIN_FIELDS.has(field) ? undefined : call.input[field];
  return (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') && fitsStars(spec.slice(colon + 1).trim(), String(value)) ? 'yes' : 'no';
}

/** One opinion, and only where every part of the call is covered by some rule. */
function allow(call: JudgedCall): Said[] {
  const rules = call.rules.filter((r) => r.behavior === 'allow');
  const whole = rules.find((r) => coversAll(r, call));
  const used = whole !== undefined ? [whole] : call.subjects.map((s) => rules.find((r) => covers(r, s, call)));
  if (used.length === 0 || !used.every((r) => r !== undefined)) return [];
  // Where several layers had to speak together, the words have the rank of the lowest of them.
  const [lowest] = used.toSorted((a, b) => compareLayers(a.origin.layer, b.origin.layer));
  return lowest === undefined ? [] : [{ behavior: 'allow', origin: lowest.origin, reason: { kind: 'rule', rule: [...new Set(used.map(ruleText))].join(' + '), source: lowest.source } }];
}

const coversAll = (rule: SourcedRule, call: JudgedCall): boolean =>
  call.subjects.length === 0 ? rule.ruleContent === undefined && meansTool(rule, call.tool) : call.subjects.every((s) => covers(rule, s, call));

function covers(rule: SourcedRule, subject: Subject, call: JudgedCall): boolean {
  if (subject.kind === 'opaque') return false; // nobody can have meant what nobody understands
  const spec = rule.ruleContent;
  if (spec === undefined) return meansTool(rule, call.tool);
  if (isFileRule(rule)) return concerns(rule, subject) && ask(() => matchPath(subject, spec, placeOf(rule, call))) === 'yes';
  return meansTool(rule, call.tool) && ask(() => call.matches(subject, spec, placeOf(rule, call))) === 'yes';
}

const isFileRule = (rule: SourcedRule): boolean => ['Edit', 'Read'].includes(toolNameOf(rule.toolName));

/** `Edit` is about every write and `Read` about every read, whatever tool does it. Who may not read may not write either; who may write may read. */
function concerns(rule: SourcedRule, subject: Subject): boolean {
  if (subject.kind !== 'path') return false;
  if (toolNameOf(rule.toolName) === 'Edit') return subject.access === 'write' || rule.behavior === 'allow';
  return toolNameOf(rule.toolName) === 'Read' && (subject.access === 'read' || rule.behavior === 'deny');
}

/** A matcher that fails or talks nonsense has not said no. */
function ask(matcher: () => Match): Match {
  try {
    const said = matcher();
    return said === 'yes' || said === 'no' ? said : 'maybe';
  } catch {
    return 'maybe';
  }
}

const placeOf = (rule: SourcedRule, { cwd, home }: JudgedCall): MatchPlace => ({ cwd, home, base: ruleBase(rule.origin, cwd), behavior: rule.behavior });
