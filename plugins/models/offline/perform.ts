/** From the talk so far to the next step: calls, or the answer. A pure function; what was done is read in the conversation. */
import { IT } from './intents.ts';
import type { Intent } from './intents.ts';
import { add, replace, run, script, write } from './changes.ts';
import { exists, extreme, files, folders, them } from './files.ts';
import { parsePrompt } from './grammar.ts';
import type { Parsed } from './grammar.ts';
import { Impossible, play } from './job.ts';
import type { Call, Context, Job } from './job.ts';
import { explainFile, project } from './project.ts';
import { lines, read, search, textSize } from './text.ts';
import type { Talk } from './conversation.ts';

/** Who answers; the first answer of a conversation begins with it. */
export const WHO = "This is Tappet's offline stand-in: fixed rules, no language model.";
const MAX_CALLS = 200;
const CHANGES: ReadonlySet<Intent['do']> = new Set(['run', 'script', 'write', 'add', 'replace']);

export type NextStep = { readonly say: string; readonly calls: readonly Call[] };

export function nextStep(talk: Talk, o: { readonly tools: ReadonlySet<string>; readonly cwd: string | null }): NextStep {
  const ctx: Context = { ...o, files: talk.earlierFiles.slice(-1) };
  const parsed = talk.prompts.flatMap(parsePrompt);
  const greeting = talk.isFirst ? `${WHO}\n\n` : '';
  if (parsed.every((p) => p.intent === null)) return { say: notUnderstood(parsed), calls: [] };
  const step = play(all(ctx, parsed), talk.outcomes);
  if ('done' in step) return { say: `${greeting}${step.done}`, calls: [] };
  if (talk.calls + step.next.length > MAX_CALLS) return { say: `${greeting}This takes more than ${MAX_CALLS} calls, so I stop here. Ask for less at once.`, calls: [] };
  return { say: talk.calls === 0 ? plan(parsed) : '', calls: step.next };
}

function* all(ctx: Context, parsed: readonly Parsed[]): Job<string> {
  const answers: string[] = [];
  let broken = false;
  for (const { clause, intent } of parsed) {
    if (intent === null) { answers.push(`I did not understand "${shortened(clause)}".`); broken = true; continue; }
    // Who asks for steps asks for their order: what changes something is not done on top of a step that failed.
    if (broken && CHANGES.has(intent.do)) { answers.push(`Not done, because a step before it was not: ${shortened(clause)}`); continue; }
    try {
      const said = one(ctx, intent);
      answers.push(typeof said === 'string' ? said : yield* said);
    } catch (e) {
      if (!(e instanceof Impossible)) throw e;
      answers.push(e.message);
      broken = true;
    }
  }
  if (parsed.some((p) => p.intent === null)) answers.push(WHAT);
  return answers.join('\n\n');
}

function one(ctx: Context, intent: Intent): Job<string> | string {
  switch (intent.do) {
    case 'help': return intent.greets ? `Hello. ${WHAT}` : WHAT;
    case 'unclear': throw new Impossible(intent.why);
    case 'run': return run(ctx, intent);
    case 'script': return script(ctx, intent);
    case 'write': return write(ctx, intent);
    case 'add': return add(ctx, intent);
    case 'replace': return replace(ctx, intent);
    case 'exists': return exists(ctx, intent);
    case 'files': return files(ctx, intent);
    case 'folders': return folders(ctx, intent);
    case 'them': return them(ctx, intent);
    case 'lines': return lines(ctx, intent);
    case 'text size': return textSize(ctx, intent);
    case 'search': return search(ctx, intent);
    case 'extreme': return extreme(ctx, intent);
    case 'read': return read(ctx, intent);
    case 'explain file': return intent.file === IT && ctx.files.length === 0 ? project(ctx, { do: 'project', about: 'all' }) : explainFile(ctx, intent);
    case 'project': return project(ctx, intent);
  }
}

const WHAT = `What I can do, for example:
- list the TypeScript files in src; find files named config.yaml; how many *.md files are there
- read README.md; show lines 10-20 of src/main.ts; how many lines does it have
- search for "TODO" in src; which files mention parseConfig; how many times does "foo" occur in docs
- create notes.txt with "hello"; replace "a" with "b" in notes.txt; add the line "x" to notes.txt
- run \`npm test\`; does package.json exist; what is the largest file in src
- what is this project
Several steps can be joined by "and then". For anything else a language model is needed: set a key (for example ANTHROPIC_API_KEY), or choose a model with --model.`;

const notUnderstood = (parsed: readonly Parsed[]): string =>
  `${WHO}\n\n${parsed.length === 0 ? 'There was no question that I could see.' : `I did not understand ${parsed.slice(0, 3).map((p) => `"${shortened(p.clause)}"`).join(' or ')}.`} ${WHAT}`;
const shortened = (text: string): string => { const line = text.replace(/\s+/g, ' '); return line.length > 120 ? `${line.slice(0, 120)}…` : line; };
const STEPS: Readonly<Record<Intent['do'], string>> = {
  help: 'help', unclear: 'what is not clear', run: 'run a command', script: "run the project's own command", write: 'write a file', add: 'add to a file', replace: 'replace text in a file', exists: 'look whether it is there', files: 'look for files',
  folders: 'look for folders', them: 'those files', lines: 'count lines', 'text size': 'measure a file', search: 'search in files', extreme: 'compare files', read: 'read', 'explain file': 'look into a file', project: 'look at the project',
};
const plan = (parsed: readonly Parsed[]): string => `Offline rules; I take this as: ${parsed.flatMap((p) => (p.intent === null ? [] : [STEPS[p.intent.do]])).join(', then ')}.`;
