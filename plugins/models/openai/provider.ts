/** A provider for one server: a request, a second try without what the server refuses, answers as events. */
import { faultError, messageOf } from 'tappet/kernel';
import { callIdsIn, clientOptions, countOf, createHttpClient, findModel, isRecord, plainWords, providerAccess, shownUrl, transportFault } from 'tappet/kit';
import type { FoundKey, HttpAnswer, SseEvent } from 'tappet/kit';
import type { KeyStore, ModelEvent, ModelInfo, ModelProvider, ModelRequest } from 'tappet/schemas';
import { bodiesFor } from './bodies.ts';
import { chatEvents, wholeCompletion } from './chat.ts';
import { faultFor, refusalIn, refusalOf } from './faults.ts';
import { leastNamed, reliefFor } from './relief.ts';
import type { Relief } from './relief.ts';
import { responsesEvents, wholeResponse } from './responses.ts';
import { servedModels } from './served.ts';
import { endpoint } from './server.ts';
import type { Server } from './server.ts';
import { failed } from './stream.ts';
import type { Answering, Failing } from './stream.ts';

/** How long a server of this machine has to say that it is there. */
const PROBE_MS = 2_000;

export interface ProviderParts {
  readonly server: Server;
  readonly models: readonly ModelInfo[];
  /** What is taken of a model that no table knows. */
  readonly unknown: Omit<ModelInfo, 'id'>;
  readonly env: Readonly<Record<string, string | undefined>>;
  keys(): KeyStore | undefined;
}
export function providerFor({ server, models, unknown, env, keys }: ProviderParts): { readonly provider: ModelProvider; close(): void } {
  const { name, wire } = server;
  const client = createHttpClient(clientOptions({ provider: name, settings: server.settings, baseUrl: server.baseUrl, env, headers: server.headers }));
  const access = providerAccess({ provider: name, settings: server.settings, env, keys, needed: server.keyNeeded });
  const bodies = bodiesFor(server);
  const at = shownUrl(server.baseUrl);
  let served: readonly ModelInfo[] = [];

  /** What each model's server was found to refuse. */
  const learnt = new Map<string, Set<Relief>>();

  /** A dated id is sent as it is, with the facts of its plain one; newer models of the vendor all think. */
  const infoOf = (model: string): ModelInfo => findModel(models, model) ?? findModel(served, model) ?? {
    ...unknown, ...(server.vendor && /^(?:o\d|gpt-(?:[5-9]|\d\d))/.test(model) ? { can: [...unknown.can ?? [], 'thinking', 'effort'] } : {}), ...findModel(models, model.replace(/-\d{4}-\d{2}-\d{2}$/, '')), id: model,
  };

  /** Some servers repeat the key in their complaints. */
  const fail = (fault: Failing, model: string, cause?: unknown): Error => faultError({ provider: name, model, ...fault, message: access.hide(fault.message) }, cause);
  const asOurs = (e: unknown): unknown => {
    const fault = transportFault(e);
    return fault === null ? e : fail(fault, fault.model, e);
  };
  const authorised = async (model: string, signal: AbortSignal): Promise<{ readonly shown: FoundKey | null; readonly headers: Readonly<Record<string, string>> }> => {
    const key = await access.key(signal);
    if ('fault' in key) throw fail(key.fault, model);
    const shown = key.found;
    return { shown, headers: shown === null ? {} : server.azure === null ? { authorization: `Bearer ${shown.key}` } : { 'api-key': shown.key } };
  };
  const pathOf = (model: string): string => endpoint(server, wire === 'responses' ? 'responses' : 'chat/completions', model);

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, void, void> {
    const info = infoOf(request.model);
    const without = learnt.get(info.id) ?? new Set<Relief>();
    learnt.set(info.id, without);
    const tried = new Set(without);
    const notices: string[] = [];
    let askedAgain = false;
    let askedLess = false;
    let answer: HttpAnswer;
    for (;;) {
      const body = bodies.make(request, info, without);
      const { shown, headers } = await authorised(info.id, signal);
      answer = await client.stream({
        path: pathOf(info.id), headers: { ...headers, 'content-type': 'application/json', accept: 'text/event-stream' },
        body: body.parts, signal, model: info.id, isPing: (e) => e.event === 'ping' || e.event === 'keepalive',
      });
      if (answer.status >= 200 && answer.status < 300) break;
      const refusal = refusalOf(answer.status, answer.headers, await answer.text());
      const rule = reliefFor(refusal, body.sent(), tried);
      if (rule === null) {
        if (answer.status === 401 && !askedAgain && await access.another(shown, signal)) {
          askedAgain = true;
          continue;
        }
        throw fail(faultFor(refusal), info.id);
      }
      const less = rule.relief === 'effort' && request.thinking === false && !askedLess ? leastNamed(refusal) : undefined;
      if (less !== undefined) {
        askedLess = true;
        bodies.learnLeast(info.id, less);
        continue;
      }
      tried.add(rule.relief);
      if (rule.relief === 'stale_reasoning') bodies.forget(request.messages);
      else without.add(rule.relief);
      if (rule.notice !== '') notices.push(rule.notice);
    }
    for (const text of notices) yield { type: 'notice', code: 'left_out', text };

    const context: Answering = {
      provider: name, model: info.id, tools: request.tools,
      takenIds: () => callIdsIn(request),
      fail: (fault) => fail(fault, info.id),
      failAs: (error) => fail(faultFor(refusalIn(error, undefined, answer.headers)), info.id),
    };
    const kind = answer.headers['content-type'] ?? '';
    if (/text\/html/i.test(kind)) throw context.fail(failed('connection', `what answers at ${at} is a web page and no model: check the base URL (it says "${plainWords(await answer.text())}")`, false));
    const events = /application\/json/i.test(kind) ? whole(answer, context) : answer.events;
    yield* wire === 'responses' ? responsesEvents(events, context) : chatEvents(events, context);
  }

  async function* whole(answer: HttpAnswer, o: Answering): AsyncGenerator<SseEvent, void, void> {
    const body = await answer.json();
    if (body === undefined) throw o.fail(failed('broken_stream', 'the answer is neither a stream nor JSON', true));
    yield* wire === 'responses' ? wholeResponse(body) : wholeCompletion(body);
  }

  const provider: ModelProvider = {
    name,
    kind: server.loopback ? 'local' : 'remote',
    models: () => [...models, ...served.filter((m) => findModel(models, m.id) === undefined)],
    async available() {
      const missing = await access.missing();
      if (missing !== null || !server.loopback) return missing;
      const signal = AbortSignal.timeout(PROBE_MS);
      try {
        const { status, body } = await client.json({ method: 'GET', path: endpoint(server, 'models', ''), headers: (await authorised('', signal)).headers, signal, model: '' });
        if (status < 300) served = servedModels(body, unknown) ?? served;
        return status === 401 || status === 403 ? `the server at ${at} refuses the key` : null;
      } catch (e) {
        return `no server answers at ${at} (${signal.aborted ? `nothing came in ${PROBE_MS / 1000} s` : messageOf(e)})`;
      }
    },
    encode: bodies.encode,
    async *stream(request, signal) {
      try {
        for await (const event of stream(request, signal)) {
          if (signal.aborted) throw fail(failed('aborted', 'the request was stopped', false), request.model);
          yield event;
        }
      } catch (e) {
        throw asOurs(e);
      }
    },
    ...(wire === 'responses' && server.vendor ? {
      async countTokens(request: ModelRequest, signal: AbortSignal): Promise<number> {
        const info = infoOf(request.model);
        const without = new Set<Relief>([...(learnt.get(info.id) ?? []), 'stream', 'store', 'prompt_cache_key', 'max_tokens', 'encrypted', 'summary']);
        try {
          const { status, headers, text, body } = await client.json({
            path: endpoint(server, 'responses/input_tokens', info.id), headers: { ...(await authorised(info.id, signal)).headers, 'content-type': 'application/json' },
            body: bodies.make(request, info, without).parts, signal, model: info.id,
          });
          if (status >= 300) throw fail(faultFor(refusalOf(status, headers, text)), info.id);
          if (!isRecord(body) || typeof body.input_tokens !== 'number') throw fail(failed('server_error', 'the server gave no number of tokens', false), info.id);
          return countOf(body.input_tokens);
        } catch (e) {
          throw asOurs(e);
        }
      },
    } : {}),
  };
  return { provider, close: () => client.close() };
}
