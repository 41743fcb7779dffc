/** Jobs that change files or run commands. */
import type { Intent } from './intents.ts';
import { ask, askOne, failure, Impossible, need } from './job.ts';
import type { Context, Job } from './job.ts';
import { oneMeant, wholeText } from './text.ts';
import { count, fenced } from './wording.ts';
import { parseJson, readProject } from './project-files.ts';

type Of<K extends Intent['do']> = Extract<Intent, { readonly do: K }>;

export function* write(ctx: Context, { file, content }: Of<'write'>): Job<string> {
  let { failed, text } = yield* askOne(ctx, 'Write', { file_path: file, content });
  let replaced = false;
  // Nobody replaces what they have not seen: the tool wants it read first.
  if (failed && /\bhas not been read\b|\bread it first\b/i.test(text) && ctx.tools.has('Read')) {
    yield* need(ctx, 'Read', { file_path: file }, `reading ${file}`);
    ({ failed, text } = yield* askOne(ctx, 'Write', { file_path: file, content }));
    replaced = true;
  }
  if (failed) throw new Impossible(`Writing ${file} did not succeed. Write said: ${text.trim()}`);
  ctx.files = [file];
  return `${replaced ? 'Replaced' : 'Wrote'} ${file}${content === '' ? ', empty' : ''}. Write said: ${text.trim()}`;
}

export function* add(ctx: Context, { file, content, at }: Of<'add'>): Job<string> {
  const { path, shown } = yield* wholeText(ctx, oneMeant(ctx, file));
  ctx.files = [path];
  if (shown.other !== null || !shown.whole || shown.cutLines) throw new Impossible(`${path} cannot be shown whole, so nothing was added to it.`);
  const added = content.replace(/\n$/, '');
  const where = at === 'end' ? 'the end' : 'the beginning';
  const done = `Added ${count(added.split('\n').length, 'line')} at ${where} of ${path}.`;
  const edge = at === 'end' ? lastUnique(shown.lines) : firstUnique(shown.lines);
  if (ctx.tools.has('Edit') && edge !== null) {
    const outcome = yield* askOne(ctx, 'Edit', { file_path: path, old_string: edge, new_string: at === 'end' ? `${edge}\n${added}` : `${added}\n${edge}` });
    if (outcome.failed) throw new Impossible(failure(outcome, `changing ${path}`));
    return done;
  }
  if (shown.crlf) throw new Impossible(`The lines of ${path} end in CRLF; they would be lost in writing it anew, so nothing was added.`);
  const text = at === 'end' ? [...shown.lines, added] : [added, ...shown.lines];
  const outcome = yield* askOne(ctx, 'Write', { file_path: path, content: `${text.join('\n')}\n` });
  if (outcome.failed) throw new Impossible(failure(outcome, `writing ${path}`));
  return done;
}
/** The shortest end of a text that stands in it once: what Edit can find. */
function lastUnique(lines: readonly string[]): string | null {
  const whole = lines.join('\n');
  for (let n = 1; n <= Math.min(lines.length, 50); n++) { const end = lines.slice(-n).join('\n'); if (end !== '' && whole.indexOf(end) === whole.length - end.length) return end; }
  return null;
}
function firstUnique(lines: readonly string[]): string | null {
  const whole = lines.join('\n');
  for (let n = 1; n <= Math.min(lines.length, 50); n++) { const start = lines.slice(0, n).join('\n'); if (start !== '' && whole.lastIndexOf(start) === 0) return start; }
  return null;
}

export function* replace(ctx: Context, { file, from, to }: Of<'replace'>): Job<string> {
  const { path, shown } = yield* wholeText(ctx, oneMeant(ctx, file));
  ctx.files = [path];
  if (shown.other !== null || !shown.whole || shown.cutLines) throw new Impossible(`${path} cannot be shown whole, so nothing was replaced in it.`);
  if (from === to) return `${JSON.stringify(from)} and ${JSON.stringify(to)} are the same: there is nothing to replace.`;
  const whole = shown.lines.join('\n');
  const times = whole.split(from).length - 1;
  if (from === '' || times === 0) return `${JSON.stringify(from)} does not stand in ${path}: nothing was replaced.`;
  const done = `Replaced ${JSON.stringify(from)} by ${JSON.stringify(to)} in ${path}, ${count(times, 'time')}.`;
  if (ctx.tools.has('Edit')) {
    const outcome = yield* askOne(ctx, 'Edit', { file_path: path, old_string: from, new_string: to, ...(times > 1 ? { replace_all: true } : {}) });
    if (outcome.failed) throw new Impossible(failure(outcome, `changing ${path}`));
    return done;
  }
  if (shown.crlf) throw new Impossible(`The lines of ${path} end in CRLF; they would be lost in writing it anew, so nothing was replaced.`);
  const outcome = yield* askOne(ctx, 'Write', { file_path: path, content: `${whole.split(from).join(to)}\n` });
  if (outcome.failed) throw new Impossible(failure(outcome, `writing ${path}`));
  return done;
}

export function* run(ctx: Context, { command }: { readonly command: string }): Job<string> {
  const [outcome] = yield* ask(ctx, { name: 'Bash', input: { command } });
  const { failed, text } = outcome!;
  if (failed && /^Refused: /.test(text)) throw new Impossible(`The command was not run. ${text.trim()}`);
  const told = `: ${command.includes('\n') ? `\n${fenced(command)}\n` : `\`${command}\``}\n${fenced(text.replace(/\n+$/, ''))}`;
  if (failed) throw new Impossible(`The command failed (${/^Exit code \d+/m.exec(text)?.[0]?.toLowerCase() ?? 'with an error'})${told}`);
  return `The command ran${told}`;
}

/** `run the tests`: how, the project itself says. */
export function* script(ctx: Context, { script: name }: Of<'script'>): Job<string> {
  const project = yield* readProject(ctx, ['package.json', 'Makefile', 'Cargo.toml', 'go.mod', 'pyproject.toml']);
  const scripts = parseJson(project.files.get('package.json'))?.['scripts'] as Record<string, unknown> | undefined;
  if (typeof scripts?.[name] === 'string') return yield* run(ctx, { command: name === 'test' ? 'npm test' : `npm run ${name}` });
  if (new RegExp(`^${name.replace(/\W/g, '\\$&')}\\s*:(?!=)`, 'm').test(project.files.get('Makefile') ?? '')) return yield* run(ctx, { command: `make ${name}` });
  const usual = project.files.has('Cargo.toml') ? { test: 'cargo test', build: 'cargo build', lint: 'cargo clippy' } : project.files.has('go.mod') ? { test: 'go test ./...', build: 'go build ./...', lint: 'go vet ./...' } : {};
  const command = (usual as Record<string, string>)[name];
  if (command !== undefined) return yield* run(ctx, { command });
  const known = Object.keys(scripts ?? {});
  throw new Impossible(`This project does not say how to run "${name}"${known.length > 0 ? `: its package.json has the scripts ${known.join(', ')}` : ' (in package.json, a Makefile, Cargo.toml or go.mod)'}. Name the command: run \`…\`.`);
}
