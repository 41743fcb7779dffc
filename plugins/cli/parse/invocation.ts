/** What was written, checked value by value and against each other, as an Invocation. */
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { messageOf } from 'tappet/kernel';
import type { Invocation } from 'tappet/schemas';
import { EFFORTS } from './flags.ts';
import { oneOf, usage } from './usage.ts';
import { amount, duration, rulesOf, UUID, whole } from './values.ts';

export type Values = Readonly<Record<string, string | boolean | readonly string[]>>;
export interface Surroundings { readonly cwd: string; readonly stdinIsTTY: boolean; readonly stdoutIsTTY: boolean; /** Empty: not known. */ readonly modes: readonly string[]; /** Those that are switched on. */ readonly tools: readonly string[] }

/** @throws E_USAGE */
export async function toInvocation(words: readonly string[], values: Values, o: Surroundings): Promise<Invocation> {
  const text = (key: string): string | null => (typeof values[key] === 'string' ? values[key] : null);
  const flag = (key: string): boolean => values[key] === true;
  const list = (key: string): readonly string[] => (Array.isArray(values[key]) ? (values[key] as readonly string[]) : []);
  const given = <T>(key: string, name: string, check: (name: string, value: string) => T): T | null => { const value = text(key); return value === null ? null : check(name, value); };
  const together = (a: boolean, b: boolean, names: string, why: string): void => { if (a && b) throw usage(`${names} cannot be together: ${why}`, 'leave one of them out'); };

  const outputFormat = flag('json') ? 'json' : oneOf('--output-format', text('outputFormat') ?? 'text', ['text', 'json', 'stream-json']);
  const inputFormat = oneOf('--input-format', text('inputFormat') ?? 'text', ['text', 'stream-json']);
  together(flag('json'), text('outputFormat') !== null && text('outputFormat') !== 'json', `--json and --output-format ${text('outputFormat')}`, 'both say how the answer is printed');
  const resume = values['resume'] === true ? '' : text('resume');
  const isDangerous = flag('dangerouslySkipPermissions');
  const mode = text('permissionMode');
  if (mode !== null && o.modes.length > 0) oneOf('--permission-mode', mode, o.modes);
  const thinkingTokens = given('maxThinkingTokens', '--max-thinking-tokens', (name, v) => whole(name, v, 0));
  const thinking = given('thinking', '--thinking', (name, v) => oneOf(name, v, ['adaptive', 'disabled']));
  const prompt = promptOf(words, values);
  const isHeadless = 'print' in values || inputFormat === 'stream-json' || prompt === '-' || !o.stdinIsTTY || !o.stdoutIsTTY;

  together(flag('continue'), resume !== null, '-c and -r', 'both say which session goes on');
  together(text('sessionId') !== null, (flag('continue') || resume !== null) && !flag('forkSession'), '--session-id and -c or -r', 'a session that goes on keeps its id; a copy (--fork-session) takes a new one');
  together(isDangerous, mode !== null && mode !== 'bypassPermissions', `--dangerously-skip-permissions and --permission-mode ${mode}`, 'both say the mode');
  together(thinking !== null, thinkingTokens !== null, '--thinking and --max-thinking-tokens', 'both say how much the model thinks');
  together(flag('init'), flag('maintenance'), '--init and --maintenance', 'a session starts in one way');
  together(text('systemPrompt') !== null, text('systemPromptFile') !== null, '--system-prompt and --system-prompt-file', 'there is one system prompt');
  together(text('appendSystemPrompt') !== null, text('appendSystemPromptFile') !== null, '--append-system-prompt and --append-system-prompt-file', 'there is one text behind the system prompt');
  together(text('model') !== null, text('fallbackModel') === text('model'), '--model and --fallback-model of one name', 'the second is for when the first fails');
  together(text('permissionPrompts') === 'none', text('permissionPromptTool') !== null, '--permission-prompts none and --permission-prompt-tool', 'either somebody is asked or nobody');
  given('permissionPrompts', '--permission-prompts', (name, v) => oneOf(name, v, ['host', 'none']));
  if (flag('forkSession') && !flag('continue') && resume === null) throw usage('--fork-session copies a session, and none was named', 'add -c or -r ID');
  if (inputFormat === 'stream-json' && outputFormat !== 'stream-json') throw usage('--input-format stream-json needs --output-format stream-json', 'add it');
  if (flag('includePartialMessages') && outputFormat !== 'stream-json') throw usage('--include-partial-messages needs --output-format stream-json', 'add it');
  if (flag('replayUserMessages') && inputFormat !== 'stream-json') throw usage('--replay-user-messages needs --input-format stream-json and --output-format stream-json', 'add them');
  if (inputFormat === 'stream-json' && prompt !== null) throw usage('with --input-format stream-json prompts come on stdin, not as an argument', 'take the prompt out, or the flag');
  if (outputFormat !== 'text' && !isHeadless) throw usage(`${flag('json') ? '--json' : `--output-format ${outputFormat}`} is for answers without a terminal`, 'add -p');
  if (resume === '' && isHeadless) throw usage('--resume needs the id of a session where there is no terminal to choose in', '`tappet sessions list` shows them; -c takes the latest');
  if (prompt === '') throw usage('the prompt is empty', 'write one, or leave it out and pipe it in');

  return {
    cwd: o.cwd, command: null, prompt: prompt === '-' ? null : prompt, print: isHeadless, outputFormat, inputFormat,
    includePartialMessages: flag('includePartialMessages'), replayUserMessages: flag('replayUserMessages'),
    model: text('model'), fallbackModel: text('fallbackModel'), mode: isDangerous ? 'bypassPermissions' : mode, allowBypass: isDangerous || flag('allowDangerouslySkipPermissions'),
    permissionPromptTool: text('permissionPromptTool'),
    allowedTools: rulesOf('--allowed-tools', list('allowedTools'), o.tools), disallowedTools: rulesOf('--disallowed-tools', list('disallowedTools'), o.tools), tools: toolsOf('tools' in values ? rulesOf('--tools', list('tools'), [...o.tools, 'default']) : null),
    addDirs: await Promise.all(list('addDir').map((d) => folder('--add-dir', resolve(o.cwd, d)))),
    systemPrompt: text('systemPrompt') ?? (await given('systemPromptFile', '--system-prompt-file', (name, f) => fileText(name, resolve(o.cwd, f)))),
    appendSystemPrompt: text('appendSystemPrompt') ?? (await given('appendSystemPromptFile', '--append-system-prompt-file', (name, f) => fileText(name, resolve(o.cwd, f)))),
    effort: given('effort', '--effort', (name, v) => oneOf(name, v, EFFORTS)),
    thinking: thinking === 'adaptive' ? 'adaptive' : thinking === 'disabled' || thinkingTokens === 0 ? false : thinkingTokens,
    continue: flag('continue'), resume, forkSession: flag('forkSession'), sessionId: given('sessionId', '--session-id', uuid), persist: values['sessionPersistence'] !== false,
    maxTurns: given('maxTurns', '--max-turns', (name, v) => whole(name, v, 1)), maxBudgetUsd: given('maxBudgetUsd', '--max-budget-usd', amount), timeoutMs: given('timeout', '--timeout', duration),
    setup: flag('init') ? 'init' : flag('maintenance') ? 'maintenance' : null,
    requireTrust: flag('requireTrust'), verbose: flag('verbose'), debug: flag('debug'), color: values['color'] !== false, json: outputFormat === 'json',
  };
}

function promptOf(words: readonly string[], values: Values): string | null {
  const prompts = [...(typeof values['print'] === 'string' ? [values['print']] : []), ...words];
  if (prompts.length > 1) throw usage(`there is one prompt, and here are ${prompts.length}: ${prompts.map((p) => `"${p.slice(0, 40)}"`).join(', ')}`, 'put the prompt in quotes; lists are separated by commas');
  return prompts[0] ?? null;
}
const toolsOf = (names: readonly string[] | null): readonly string[] | null => (names?.length === 1 && names[0] === 'default' ? null : names);
const uuid = (name: string, value: string): string => {
  if (!UUID.test(value)) throw usage(`${name}: "${value}" is no UUID`, 'write 8-4-4-4-12 hexadecimal digits, or leave it out');
  return value.toLowerCase();
};
async function folder(name: string, path: string): Promise<string> {
  if ((await stat(path).catch(() => null))?.isDirectory() !== true) throw usage(`${name}: there is no folder ${path}`, 'name a folder that exists');
  return path;
}
async function fileText(name: string, path: string): Promise<string> {
  try { return await readFile(path, 'utf8'); } catch (e) { throw usage(`${name}: cannot read ${path}: ${messageOf(e)}`, 'name a file that can be read'); }
}
