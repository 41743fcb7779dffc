/** A model that says what a script tells it to say: for tests, examples and demonstrations. */
import { stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { resolve } from 'node:path';
import { definePlugin, faultError, NO_USAGE, z } from 'tappet/kernel';
import type { FaultKind, ModelEvent, ModelFault, ModelRequest, Scope, TappetError } from 'tappet/kernel';
import { blockEvents, roughTokens } from 'tappet/kit';
import { SCRIPT_CODES, scriptError } from './codes.ts';
import { mismatch } from './expect.ts';
import { blocksOf, fails, nextStep } from './position.ts';
import { readScript } from './script.ts';
import type { Script, Step } from './script.ts';
import { readScriptFile, spotOfObject } from './spot.ts';

const PROVIDER = 'scripted';
/** The model that plays the script of the options. */
const OWN = 'script';
const POLL_MS = 10;
const MAX_KEPT = 1000;
const TRANSIENT: readonly FaultKind[] = ['rate_limit', 'overloaded', 'broken_stream', 'empty_answer', 'timeout_first_byte', 'timeout_between_bytes', 'connection', 'server_error'];

const options = () => z.strictObject({
  script: z.union([z.string().min(1), z.record(z.string(), z.unknown())]).optional()
    .describe('what the model `scripted/script` plays: the path of a YAML file, counted from the root of the project, or the script itself'),
});

export default definePlugin({
  name: 'models/scripted',
  api: 1,
  options,
  codes: SCRIPT_CODES,
  apply(scope) {
    const load = loader(scope);
    /** How often a session has been asked for one and the same step: a step that fails leaves no trace in the conversation. */
    const asked = new Map<string, number>();

    async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, void, void> {
      const stop = (): void => { if (signal.aborted) throw fault(request, { kind: 'aborted', message: 'interrupted' }); };
      stop();
      const script = await load(request.model);
      const { step, number } = chooseStep(script, request, asked);
      if (step.expect !== null) {
        const miss = mismatch(step.expect, request);
        if (miss !== null) throw scriptError('E_SCRIPT_EXPECT', { step: number, what: miss.what, where: step.at, cause: `it came: ${miss.got}` });
      }
      if (step.fault !== null && blocksOf(step).length === 0) throw fault(request, step.fault);
      const usage = { ...NO_USAGE, input_tokens: roughTokens(sizeOf(request)), ...step.usage };
      yield { type: 'message_start', id: `msg_script_${number}`, model: `${PROVIDER}/${request.model}`, usage: { ...usage, output_tokens: 0 } };
      const events = blocksOf(step).map((block, i) => blockEvents(block, i));
      const last = events.pop() ?? [];
      const middle = Math.ceil(last.length / 2);
      for (const event of [...events.flat(), ...last.slice(0, middle)]) { stop(); yield event; }
      if (step.delayUntil !== null) await waitFor(step.delayUntil, scope.folders.root, signal);
      stop();
      if (step.cut) throw fault(request, { kind: 'broken_stream', message: 'the script cuts the stream here' });
      for (const event of last.slice(middle)) { stop(); yield event; }
      stop();
      if (step.fault !== null) throw fault(request, step.fault);
      const written = step.say.join('').length + (step.think ?? '').length + step.calls.reduce((n, call) => n + (call.raw ?? JSON.stringify(call.input)).length, 0);
      yield { type: 'message_delta', stop_reason: step.stop, usage: { ...usage, output_tokens: step.usage.output_tokens ?? Math.max(1, roughTokens(written)) } };
      yield { type: 'message_stop' };
    }

    scope.registries.modelProviders.add({
      name: PROVIDER,
      kind: 'stand-in',
      models: () => (scope.options.script === undefined ? [] : [{ id: OWN, contextWindow: 200_000, maxOutputTokens: 32_000, prices: { input: 0, output: 0 }, can: ['tools', 'images', 'documents', 'thinking'] }]),
      available: async () => (scope.options.script === undefined ? 'no script is given: name one as scripted/FILE, or set the option script' : null),
      encode: (message) => new TextEncoder().encode(JSON.stringify(message)),
      stream,
    });
  },
});

/** Scripts by name; a file that has changed is read again. */
function loader({ options: { script }, folders }: Scope<z.infer<ReturnType<typeof options>>>): (model: string) => Promise<Script> {
  const files = new Map<string, { readonly stamp: string; readonly script: Script }>();
  return async (model) => {
    if (model === OWN && typeof script === 'object') return readScript(spotOfObject(script, 'script'));
    const file = resolve(folders.root, model === OWN && script !== undefined ? (script as string) : model);
    const info = await stat(file).catch(() => null); // what is wrong with the file is said when it is read
    const stamp = info === null ? '' : `${info.ino} ${info.size} ${info.mtimeMs}`;
    const kept = files.get(file);
    if (kept !== undefined && kept.stamp === stamp) return kept.script;
    const read = readScript(await readScriptFile(file));
    files.set(file, { stamp, script: read });
    return read;
  };
}

/** Failing steps are played one after the other while the same session asks again; then comes the step that answers. */
function chooseStep(script: Script, request: ModelRequest, asked: Map<string, number>): { readonly step: Step; readonly number: number } {
  const first = nextStep(script, request.messages.map((m) => m.message));
  const key = `${request.sessionId} ${request.model} ${first}`;
  const before = asked.get(key) ?? 0;
  let at = first;
  while (at < first + before && at < script.steps.length && fails(script.steps[at]!)) at++;
  const step = script.steps[at];
  if (step === undefined) throw scriptError('E_SCRIPT_END', { steps: script.steps.length === 1 ? '1 step' : `${script.steps.length} steps`, where: script.steps.at(-1)?.at ?? script.at });
  if (fails(step)) {
    asked.delete(key);
    asked.set(key, before + 1);
    if (asked.size > MAX_KEPT) asked.delete(asked.keys().next().value!);
  }
  return { step, number: at + 1 };
}

async function waitFor(until: 'abort' | { readonly file: string }, root: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    if (until !== 'abort' && (await stat(resolve(root, until.file)).catch(() => null)) !== null) return;
    await sleep(until === 'abort' ? 60_000 : POLL_MS, undefined, { signal }).catch(() => undefined); // an abort ends the wait; the caller looks at the signal
  }
}

const sizeOf = (request: ModelRequest): number =>
  request.messages.reduce((n, m) => n + m.bytes.length, 0) + request.system.reduce((n, b) => n + b.text.length, 0) + request.tools.reduce((n, t) => n + t.description.length, 0);

const fault = (request: ModelRequest, spec: { readonly kind: FaultKind } & Partial<ModelFault>): TappetError =>
  faultError({ message: `the script says: ${spec.kind}`, transient: TRANSIENT.includes(spec.kind), ...spec, provider: PROVIDER, model: request.model });
