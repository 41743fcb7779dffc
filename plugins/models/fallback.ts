/** A model that is several: the next of a list answers where the one before cannot. */
import { definePlugin, faultError, faultOf, isTappetError, TappetError, z } from 'tappet/kernel';
import type { CodeRow, FaultKind, ModelEvent, ModelFault, ModelInfo, ModelProvider, ModelRequest, ScopeRegistry } from 'tappet/kernel';
import { findModel, reEncoder } from 'tappet/kit';

const PROVIDER = 'fallback';
const MAX_SESSIONS = 500;
const CODES = {
  E_FALLBACK_LIST: { sentence: '"{list}" is no list of models: {message}', do: 'write provider/model, separated by commas: fallback/anthropic/sonnet,openai/mini', exit: 2 },
} satisfies Record<string, CodeRow>;

/** Why another model may do better, as the notice says it. All other faults are thrown: the request itself is at fault, or the answer has begun. */
const WORDS: Partial<Record<FaultKind, string>> = {
  overloaded: 'is overloaded', rate_limit: 'is rate limited', quota: 'has no credit left', auth: 'cannot be used', not_found: 'is not there', refusal: 'refused', content_filter: 'refused',
  connection: 'cannot be reached', timeout_first_byte: 'does not answer', server_error: 'has an error of its own',
};
const REFUSED = ['refusal', 'content_filter'];

const options = () => z.strictObject({
  stay: z.number().int().min(0).default(10).describe('requests of a session that go to another model, once it has stepped in, before the first is tried again'),
  patienceMs: z.number().int().min(0).default(20_000).describe('milliseconds; a rate limit that is over sooner is thrown instead of handed on to the next model'),
});

interface Candidate { readonly name: string; readonly provider: ModelProvider; readonly model: string; readonly info: ModelInfo | undefined }
interface Failure { readonly name: string; readonly fault: ModelFault; readonly error: unknown }
/** What a session has learnt; runtime only. */
interface Session { /** Who answered last. */ at: number; /** Requests that still go to it first. */ left: number }

export default definePlugin({
  name: 'models/fallback',
  api: 1,
  options,
  codes: CODES,
  apply({ options: { stay, patienceMs }, registries: { modelProviders } }) {
    const sessions = new Map<string, Session>();
    const reEncode = reEncoder();

    async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, void, void> {
      const names = readList(request.model);
      const session = sessionOf(sessions, `${request.sessionId} ${request.model}`);
      const before = session.at;
      const first = session.left > 0 ? session.at : 0;
      session.left = Math.max(0, session.left - 1);
      const failures: Failure[] = [];
      for (let tried = 0; tried < names.length; tried++) {
        const at = (first + tried) % names.length;
        const last = failures.at(-1);
        if (last !== undefined) yield { type: 'notice', code: 'fallback', text: `${last.name} ${inWords(last.fault)}; ${names[at]} is asked instead` };
        const failure = yield* attempt(names[at]!, request, signal, () => {
          if (tried > 0) session.left = at === 0 ? 0 : stay;
          session.at = at;
          return at === 0 && before > 0 ? [{ type: 'notice', code: 'fallback', text: `${names[0]} answers again` }] : [];
        });
        if (failure === null) return;
        failures.push(failure);
      }
      throw failures.length === 1 ? failures[0]!.error : faultError(summed(request, failures), failures[0]!.error);
    }

    /** Null when the model has answered; events are held back until the answer has begun, since nothing can be taken back. */
    async function* attempt(name: string, request: ModelRequest, signal: AbortSignal, begun: () => ModelEvent[]): AsyncGenerator<ModelEvent, Failure | null, void> {
      const held: ModelEvent[] = [];
      let out = false;
      try {
        const candidate = resolve(modelProviders, name);
        for await (const event of candidate.provider.stream(fit(request, candidate, reEncode), signal)) {
          if (out || event.type === 'notice') { yield event; continue; }
          if (event.type === 'message_delta' && REFUSED.includes(event.stop_reason)) throw faultError(faultOfName(name, 'refusal', 'it answered nothing'));
          held.push(event);
          if (event.type === 'message_start' || event.type === 'content_block_start') continue;
          out = true;
          yield* begun();
          yield* held;
        }
        if (!out) throw faultError({ ...faultOfName(name, 'empty_answer', 'the stream ended before the answer began'), transient: true });
        return null;
      } catch (error) {
        const fault = faultOf(error) ?? unavailable(error, name);
        if (out || signal.aborted || fault === null || !mayStepIn(fault, patienceMs)) throw error;
        return { name, fault, error };
      }
    }

    modelProviders.add({
      name: PROVIDER,
      chains: true,
      models: () => [],
      available: async () => 'no models are given: name them as fallback/PROVIDER/MODEL,PROVIDER/MODEL',
      // Who answers is not known yet: each model of the list encodes for itself. These bytes only say how much there is.
      encode: (message) => new TextEncoder().encode(JSON.stringify(message)),
      stream,
    });
  },
});

/** @throws E_FALLBACK_LIST */
function readList(list: string): readonly string[] {
  const names = [...new Set(list.split(',').map((name) => name.trim()).filter((name) => name !== ''))];
  const message = names.length === 0 ? 'it is empty' : names.some((name) => name === PROVIDER || name.startsWith(`${PROVIDER}/`)) ? 'a list may not name another list' : null;
  if (message === null) return names;
  throw new TappetError('E_FALLBACK_LIST', { list, message }, CODES);
}

/** @throws E_MODEL, as `not_found` */
function resolve(providers: ScopeRegistry<ModelProvider>, name: string): Candidate {
  const slash = name.indexOf('/');
  if (slash < 0) {
    for (const provider of providers.all()) {
      const info = findModel(provider.models(), name);
      if (info !== undefined) return { name, provider, model: info.id, info };
    }
    throw faultError(faultOfName(name, 'not_found', 'no provider knows this name'));
  }
  const provider = providers.get(name.slice(0, slash));
  if (provider === undefined) throw faultError(faultOfName(name, 'not_found', `no provider is named "${name.slice(0, slash)}"`));
  const model = name.slice(slash + 1);
  const info = findModel(provider.models(), model);
  return { name, provider, model: info?.id ?? model, info };
}

/** What was asked of the first model, cut down to what this one can. */
function fit(request: ModelRequest, { provider, model, info }: Candidate, reEncode: ReturnType<typeof reEncoder>): ModelRequest {
  const can = (what: 'thinking' | 'effort'): boolean => info?.can === undefined || info.can.includes(what);
  return {
    ...request, model, messages: reEncode(provider, request.messages),
    maxOutputTokens: request.maxOutputTokens === undefined || info === undefined ? request.maxOutputTokens : Math.min(request.maxOutputTokens, info.maxOutputTokens),
    thinking: can('thinking') ? request.thinking : undefined,
    effort: can('effort') ? request.effort : undefined,
  };
}

/** A wait that the server does not name counts as too long. */
const mayStepIn = (fault: ModelFault, patienceMs: number): boolean => WORDS[fault.kind] !== undefined && !(fault.kind === 'rate_limit' && (fault.retryAfterMs ?? Infinity) <= patienceMs);

const inWords = (fault: ModelFault): string => `${WORDS[fault.kind] ?? fault.kind} (${fault.message})`;

function unavailable(error: unknown, name: string): ModelFault | null {
  return isTappetError(error) && (error.code === 'E_MODEL_UNAVAILABLE' || error.code === 'E_MODEL_UNKNOWN') ? faultOfName(name, 'auth', error.message) : null;
}

function faultOfName(name: string, kind: FaultKind, message: string): ModelFault {
  const slash = name.indexOf('/');
  return { kind, message, provider: slash < 0 ? PROVIDER : name.slice(0, slash), model: name.slice(slash + 1), transient: false };
}

/** Where waiting may help one of them it may help the list. */
function summed(request: ModelRequest, failures: readonly Failure[]): ModelFault {
  const { fault } = failures.find((f) => f.fault.transient) ?? failures[0]!;
  const waits = failures.flatMap((f) => (f.fault.transient && f.fault.retryAfterMs !== undefined ? [f.fault.retryAfterMs] : []));
  return {
    kind: fault.kind, provider: PROVIDER, model: request.model, transient: fault.transient,
    message: `none of the models answers: ${failures.map((f) => `${f.name} ${inWords(f.fault)}`).join('; ')}`,
    ...(fault.status === undefined ? {} : { status: fault.status }),
    ...(waits.length === 0 ? {} : { retryAfterMs: Math.min(...waits) }),
  };
}

function sessionOf(sessions: Map<string, Session>, key: string): Session {
  const session = sessions.get(key) ?? { at: 0, left: 0 };
  sessions.delete(key);
  sessions.set(key, session);
  if (sessions.size > MAX_SESSIONS) sessions.delete(sessions.keys().next().value!);
  return session;
}
