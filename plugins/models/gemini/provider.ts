/** The provider: where the vendor is, a request, a second try without what it refuses, answers as events. */
import { faultError, TappetError } from 'tappet/kernel';
import { callIdsIn, clientOptions, countOf, createHttpClient, findModel, isRecord, mergeModels, plainWords, providerAccess, shownUrl, transportFault } from 'tappet/kit';
import type { FoundKey, HttpAnswer, SseEvent } from 'tappet/kit';
import type { KeyStore, ModelEvent, ModelInfo, ModelProvider, ModelRequest, Origin, Settings } from 'tappet/schemas';
import { geminiEvents } from './answer.ts';
import type { Answering } from './answer.ts';
import { bodiesWith } from './bodies.ts';
import { faultFor, refusalIn, refusalOf } from './faults.ts';
import type { Failing } from './faults.ts';
import { PROVIDER } from './request.ts';
import { MODELS, UNKNOWN } from './table.ts';

const VENDOR_URL = 'https://generativelanguage.googleapis.com/v1beta';
const OPTIONS = ['body'];

export interface Surroundings {
  readonly settings: Settings;
  readonly env: Readonly<Record<string, string | undefined>>;
  origin(path: string): Origin | null;
  keys(): KeyStore | undefined;
}
export function geminiProvider({ settings, env, origin, keys }: Surroundings): { readonly provider: ModelProvider & Required<Pick<ModelProvider, 'countTokens'>>; close(): void } {
  const mine = settings.providers.gemini;
  const wrong = (path: string, message: string): TappetError => {
    const key = `providers.gemini.${path}`;
    return new TappetError('E_CONFIG_VALUE', { key, message, where: origin(key) ?? origin('providers.gemini') ?? undefined });
  };
  for (const name of Object.keys(mine?.options ?? {})) if (!OPTIONS.includes(name)) throw wrong(`options.${name}`, `there is no such option; known here: ${OPTIONS.join(', ')}`);
  const more = mine?.options?.body ?? {};
  if (!isRecord(more)) throw wrong('options.body', 'it must be a map');
  const given = mine?.baseUrl ?? (env.GEMINI_BASE_URL?.trim() || env.GOOGLE_GEMINI_BASE_URL?.trim() || VENDOR_URL);
  if (!/^https?:\/\//.test(given) || !URL.canParse(given)) throw wrong('baseUrl', `this is no http or https address${mine?.baseUrl === undefined ? ' (it comes from GEMINI_BASE_URL or GOOGLE_GEMINI_BASE_URL)' : ''}`);
  const url = new URL(given);
  if (url.pathname === '/') url.pathname = '/v1beta';
  const baseUrl = url.href.replace(/\/+$/, '');
  const client = createHttpClient(clientOptions({ provider: PROVIDER, settings: mine, baseUrl, env }));
  const access = providerAccess({ provider: PROVIDER, settings: mine, env, keys, needed: mine?.apiKeyEnv !== undefined || url.hostname.endsWith('.googleapis.com') });
  const models = mergeModels(PROVIDER, MODELS, settings.models, UNKNOWN);
  const infoOf = (model: string): ModelInfo => findModel(models, model.replace(/^models\//, '')) ?? { id: model.replace(/^models\//, ''), ...UNKNOWN };

  const bodies = bodiesWith(more);
  /** Models that refused to be told how much to think. */
  const unmeasured = new Set<string>();
  const bodyOf = (request: ModelRequest, info: ModelInfo): Uint8Array[] => bodies.make(request, info, !unmeasured.has(info.id));

  /** The vendor may repeat the key in its complaints. */
  const fail = (fault: Failing, model: string, cause?: unknown): Error => faultError({ provider: PROVIDER, model, ...fault, message: access.hide(fault.message) }, cause);
  const authorised = async (model: string, signal: AbortSignal): Promise<{ readonly shown: FoundKey | null; readonly headers: Readonly<Record<string, string>> }> => {
    const key = await access.key(signal);
    if ('fault' in key) throw fail(key.fault, model);
    return { shown: key.found, headers: { 'content-type': 'application/json', ...(key.found === null ? {} : { 'x-goog-api-key': key.found.key }) } };
  };
  const asOurs = (e: unknown): unknown => {
    const fault = transportFault(e);
    return fault === null ? e : fail(fault, fault.model, e);
  };

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, void, void> {
    const info = infoOf(request.model);
    const model = info.id;
    let answer: HttpAnswer;
    let askedAgain = false;
    let unsigned = false;
    const notices: string[] = [];
    for (;;) {
      const { shown, headers } = await authorised(model, signal);
      answer = await client.stream({ path: `/models/${encodeURIComponent(model)}:streamGenerateContent?alt=sse`, headers, body: bodyOf(request, info), signal, model });
      if (answer.status >= 200 && answer.status < 300) break;
      const fault = faultFor(refusalOf(answer.status, answer.headers, await answer.text()));
      if (fault.kind === 'auth' && !askedAgain && await access.another(shown, signal)) askedAgain = true;
      else if (fault.status === 400 && /thought.?signature/i.test(fault.message) && !unsigned) {
        // Signed by another model, key or route: the conversation can go on without.
        unsigned = true;
        bodies.forget(request.messages);
        notices.push('the vendor does not take the signatures of earlier thoughts any more; they were left out');
      } else if (fault.status === 400 && /thinking.?(?:level|budget|config)/i.test(fault.message) && !unmeasured.has(model)) {
        unmeasured.add(model);
        notices.push('the model does not know this effort; its own counts');
      } else throw fail(fault, model);
    }
    for (const text of notices) yield { type: 'notice', code: 'left_out', text };
    const context: Answering = { model, takenIds: () => callIdsIn(request), fail: (fault) => fail(fault, model), failAs: (error) => fail(faultFor(refusalIn(error, undefined, answer.headers)), model) };
    const kind = answer.headers['content-type'] ?? '';
    if (/text\/html/i.test(kind)) throw fail({ kind: 'connection', message: `what answers at ${shownUrl(baseUrl)} is a web page and no model: check the base URL (it says "${plainWords(await answer.text())}")`, transient: false }, model);
    yield* geminiEvents(/application\/json/i.test(kind) ? whole(answer, context) : answer.events, context);
  }

  return {
    close: () => client.close(),
    provider: {
      name: PROVIDER,
      models: () => models,
      available: () => access.missing(),
      encode: bodies.encode,
      async *stream(request, signal) {
        try {
          for await (const event of stream(request, signal)) {
            if (signal.aborted) throw fail({ kind: 'aborted', message: 'the request was stopped', transient: false }, request.model);
            yield event;
          }
        } catch (e) {
          throw asOurs(e);
        }
      },
      async countTokens(request, signal) {
        const info = infoOf(request.model);
        try {
          const [head, ...rest] = bodyOf({ ...request, maxOutputTokens: undefined, thinking: undefined, effort: undefined }, info);
          const inner = Buffer.concat([Buffer.from(`{"generateContentRequest":{"model":${JSON.stringify(`models/${info.id}`)},`), head!.subarray(1), ...rest, Buffer.from('}')]);
          const { status, headers: said, text, body } = await client.json({ path: `/models/${encodeURIComponent(info.id)}:countTokens`, headers: (await authorised(info.id, signal)).headers, body: [inner], signal, model: info.id });
          if (status >= 300) throw fail(faultFor(refusalOf(status, said, text)), info.id);
          if (!isRecord(body) || typeof body.totalTokens !== 'number') throw fail({ kind: 'server_error', message: 'the server gave no number of tokens', transient: false }, info.id);
          return countOf(body.totalTokens);
        } catch (e) {
          throw asOurs(e);
        }
      },
    },
  };
}

/** A server that does not stream answers with one object, or with a list of them. */
async function* whole(answer: HttpAnswer, o: Answering): AsyncGenerator<SseEvent, void, void> {
  const body = await answer.json();
  if (body === undefined) throw o.fail({ kind: 'broken_stream', message: 'the answer is neither a stream nor JSON', transient: true });
  for (const part of Array.isArray(body) ? body as unknown[] : [body]) yield { event: null, data: JSON.stringify(part) };
}
