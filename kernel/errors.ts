/** The one table of errors, and the five facts of which each is made: code, sentence, where, cause, what to do. */
import type { ModelFault, Origin } from '../schemas/index.ts';
import { place } from '../schemas/origin.ts';

export interface CodeRow { /** `{name}` is filled from the facts. */ readonly sentence: string; readonly do: string; /** The process's exit code where it ends with this. */ readonly exit?: number }

export const CODES = {
  E_USAGE: { sentence: '{message}', do: 'run `tappet --help`', exit: 2 },
  E_INTERNAL: { sentence: 'something in Tappet itself went wrong: {message}', do: 'run again with --debug and report what it prints', exit: 1 },
  E_CONFIG_READ: { sentence: 'cannot read {file}: {message}', do: 'make it a readable file, or take it away', exit: 2 },
  E_CONFIG_SYNTAX: { sentence: '{message}', do: 'correct the YAML at this place', exit: 2 },
  E_CONFIG_KEY: { sentence: 'unknown key "{key}"', do: 'take the key out', exit: 2 },
  E_CONFIG_VALUE: { sentence: '{key}: {message}', do: 'correct the value', exit: 2 },
  E_CONFIG_VAR: { sentence: '{key}: the environment variable {name} is not set', do: 'set it, or write ${{name}:-default}', exit: 2 },
  E_CONFIG_RULE: { sentence: 'this is no permission rule: {rule}', do: 'write Tool or Tool(content), for example Bash(npm test)', exit: 2 },
  E_CONFIG_BOUND: { sentence: '{key} = {value} is not allowed here', do: 'choose one of: {allowed}', exit: 3 },
  E_CONFIG_WRITE: { sentence: 'cannot write {key} into {file}: {message}', do: 'correct the file by hand', exit: 2 },
  E_POLICY_BROKEN: { sentence: 'the policy cannot be used: {message}', do: 'ask the administrator of this machine; nothing starts without it', exit: 3 },
  E_POLICY_UNENFORCED: { sentence: 'policy uses "{key}", but {plugin}, which enforces it, is {state}', do: 'switch {plugin} on again', exit: 3 },
  E_PLUGIN_UNKNOWN: { sentence: 'there is no plugin "{name}"', do: 'correct the name, or say where it is: { use: ./path.ts }', exit: 2 },
  E_PLUGIN_LOAD: { sentence: '{name} could not be loaded: {message}', do: 'mend the plugin, or switch it off: plugins: { {name}: false }', exit: 2 },
  E_PLUGIN_SHAPE: { sentence: '{name} is no plugin: {message}', do: 'author: export default definePlugin({ name, api: 1, apply })', exit: 2 },
  E_PLUGIN_API: { sentence: '{name} was made for plugin API {wants}; this is {has}', do: 'take a version of the plugin that fits', exit: 2 },
  E_PLUGIN_OPTIONS: { sentence: '{name}: {message}', do: 'correct the options in `with:`', exit: 2 },
  E_PLUGIN_SCHEMA: { sentence: 'the {what} of {name} cannot describe itself: {message}', do: "author: import { z } from 'tappet/kernel', or zod 4.2 or newer, or give { jsonSchema, check }", exit: 2 },
  E_PLUGIN_NEEDS: { sentence: '{name} needs {needs}', do: 'switch on what it needs, or switch it off', exit: 2 },
  E_PLUGIN_APPLY: { sentence: '{name} failed in apply(): {message}', do: 'mend the plugin, or switch it off: plugins: { {name}: false }', exit: 2 },
  E_PLUGIN_TIMEOUT: { sentence: '{name} did not finish {what} in {seconds} s', do: 'author: connect at first use; you: plugins: { {name}: false }', exit: 2 },
  E_PLUGIN_FORBIDDEN: { sentence: '{name} may not run here', do: 'take it out of the configuration', exit: 3 },
  E_PLUGIN_UNTRUSTED: { sentence: '{name} waits: {message}', do: 'run `tappet trust` to see what it would bring, and to allow it', exit: 3 },
  E_PLUGIN_EVENT: { sentence: '{name} taps {event}, which nobody declares', do: 'correct the name of the event', exit: 2 },
  E_PLUGIN_REQUIRED: { sentence: 'policy requires {name}, and it is not running: {message}', do: 'mend or install it; nothing starts without it', exit: 3 },
  E_NAME_TAKEN: { sentence: 'two {kind} are named "{name}" in one layer; both are withheld', do: 'rename one, or switch one of the plugins off', exit: 2 },
  E_KERNEL_SEALED: { sentence: '{name} tried to {what} after the start was finished', do: 'author: do it in apply(), or take a source() or a reserved prefix there', exit: 1 },
  E_HOOK_TIMEOUT: { sentence: '{name} did not answer {event} in {ms} ms', do: 'mend the plugin, raise its timeoutMs, or switch it off: plugins: { {name}: false }', exit: 1 },
  E_HOOK_OUTPUT: { sentence: '{name} said nonsense on {event}: {message}', do: 'author: return only the fields of the event', exit: 1 },
  E_HOOK_THROW: { sentence: '{name} failed on {event}: {message}', do: 'mend the plugin, or switch it off: plugins: { {name}: false }', exit: 1 },
  E_MODE_UNKNOWN: { sentence: 'there is no permission mode "{mode}"', do: 'choose one of: {known}', exit: 2 },
  E_MODEL_UNKNOWN: { sentence: 'no provider is named "{provider}"', do: 'choose a model of: {known}', exit: 2 },
  E_MODEL_UNAVAILABLE: { sentence: 'no model can be used: {message}', do: 'set a key (for example ANTHROPIC_API_KEY), or use the model offline/rules', exit: 4 },
  E_MODEL: { sentence: '{provider}/{model}: {message}', do: '{hint}', exit: 1 },
  E_SESSION_UNKNOWN: { sentence: 'there is no session {id} here', do: '`tappet sessions list` shows those that there are', exit: 2 },
  E_SESSION_BUSY: { sentence: 'session {id} is open in another process ({owner})', do: 'close it there, or take a copy: --fork-session', exit: 2 },
  E_SESSION_STORE: { sentence: 'the session cannot be kept: {message}', do: 'make room or rights there, or run with --no-session-persistence', exit: 1 },
  E_SESSION_CLOSED: { sentence: 'this session is closed', do: 'open it again', exit: 1 },
  E_SET_REFUSED: { sentence: '{message}', do: 'choose another value', exit: 3 },
  E_TRUST_REQUIRED: { sentence: 'this folder is not trusted: {message}', do: 'run `tappet trust` here first', exit: 3 },
  E_CONTROL_UNKNOWN: { sentence: 'there is no control "{name}"', do: 'ask for one of: {known}', exit: 2 },
  E_FRONTEND: { sentence: '{message}', do: 'give a prompt with -p, or pipe one in', exit: 2 },
} satisfies Record<string, CodeRow>;
export type Code = keyof typeof CODES;

export interface ErrorFacts { readonly where?: Origin | string | undefined; readonly cause?: string | undefined; /** Replaces the table's advice. */ readonly do?: string | undefined; readonly fault?: ModelFault | undefined; readonly [fact: string]: unknown }

const BRAND = Symbol.for('tappet.error');

export class TappetError extends Error {
  readonly code: string;
  readonly facts: ErrorFacts;
  readonly row: CodeRow;
  readonly [BRAND] = true;
  constructor(code: Code | (string & {}), facts: ErrorFacts = {}, rows: Readonly<Record<string, CodeRow>> = CODES, options?: ErrorOptions) {
    const row = rows[code] ?? CODES[code as Code] ?? CODES.E_INTERNAL;
    super(fill(row.sentence, facts), options);
    this.name = 'TappetError';
    this.code = code;
    this.facts = facts;
    this.row = row;
  }
  get where(): string | null {
    const w = this.facts.where;
    return w === undefined ? null : typeof w === 'string' ? w : `${place(w)} (${w.layer})`;
  }
  get exit(): number { return this.row.exit ?? 1; }
}

/** Known by its brand: two copies of this file may live in one process. */
export const isTappetError = (e: unknown): e is TappetError => typeof e === 'object' && e !== null && (e as Record<symbol, unknown>)[BRAND] === true;

export const messageOf = (e: unknown): string => (e instanceof Error ? e.message : typeof e === 'object' && e !== null && 'message' in e ? String((e as { message: unknown }).message) : String(e));

/** Anything thrown, as one of ours. */
export const asTappetError = (e: unknown): TappetError => (isTappetError(e) ? e : new TappetError('E_INTERNAL', { message: messageOf(e) }, CODES, { cause: e }));

/** The five facts as lines. */
export function printError(e: TappetError): string {
  const lines = [`${e.code}  ${e.message}`];
  if (e.where !== null) lines.push(`  where   ${e.where}`);
  if (e.facts.cause !== undefined) lines.push(`  cause   ${e.facts.cause}`);
  lines.push(`  do      ${e.facts.do ?? fill(e.row.do, e.facts)}`);
  lines.push(`  more    docs/errors.md#${e.code.toLowerCase()}`);
  return lines.join('\n');
}

const HINTS: Readonly<Record<string, string>> = {
  auth: 'check the key: `tappet doctor` shows which one is used',
  quota: 'the account has no credit left; add some, or choose another model',
  rate_limit: 'wait, or choose another model with --model',
  overloaded: 'wait, or choose another model with --model',
  context_too_long: 'start a new session, or ask for less at once',
  not_found: 'check the name of the model: `tappet models list`',
  connection: 'check the network, the base URL and the proxy: `tappet doctor`',
};
/** What a provider throws when a request fails. */
export const faultError = (fault: ModelFault, cause?: unknown): TappetError =>
  new TappetError('E_MODEL', { provider: fault.provider, model: fault.model, message: fault.message, hint: HINTS[fault.kind] ?? 'try again, or choose another model with --model', fault }, CODES, cause === undefined ? undefined : { cause });
export const faultOf = (e: unknown): ModelFault | null => (isTappetError(e) && e.facts.fault !== undefined ? e.facts.fault : null);

function fill(template: string, facts: ErrorFacts): string {
  return template.replace(/\{(\w+)\}/g, (all, name: string) => (facts[name] === undefined ? all : String(facts[name])));
}

/** The known word nearest to a mistyped one, or null when none is near. */
export function nearest(word: string, known: Iterable<string>): string | null {
  let best: string | null = null;
  let least = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const k of known) {
    const d = distance(word.toLowerCase(), k.toLowerCase());
    if (d < least) { least = d; best = k; }
  }
  return best;
}

/** Edits (insert, delete, replace, swap of neighbours) from one word to another. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let d = Math.min(row[j - 1]! + 1, last[j]! + 1, last[j - 1]! + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) d = Math.min(d, before[j - 2]! + 1);
      row.push(d);
    }
    before = last;
    last = row;
  }
  return last[b.length]!;
}
