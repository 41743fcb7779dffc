/** The provider: where the vendor is, requests from cached parts, answers as events. */
import { faultError, messageOf, TappetError } from 'tappet/kernel';
import { callIdsIn, clientOptions, countOf, createHttpClient, findModel, isRecord, keySource, mergeModels, transportFault, wireJson } from 'tappet/kit';
import type { HttpAnswer, SseEvent } from 'tappet/kit';
import type { EncodedMessage, ModelEvent, ModelInfo, ModelProvider, ModelRequest, NormalizedMessage, Origin, Settings, ToolSpec } from 'tappet/schemas';
import { geminiEvents } from './answer.ts';
import type { Answering } from './answer.ts';
import { faultFor, refusalIn, refusalOf } from './faults.ts';
import type { Failing } from './faults.ts';
import { ALONE, contentsOf, frameOf, PROVIDER, toolsJson } from './request.ts';
import type { Around } from './request.ts';
import { isThirdOrLater, MODELS, UNKNOWN } from './table.ts';

const VENDOR_URL = 'https://generativelanguage.googleapis.com/v1beta';
const COMMA = Buffer.from(',');
const OPTIONS = ['body'];

export function geminiProvider(settings: Settings, env: Readonly<Record<string, string | undefined>>, origin: (path: string) => Origin | null): { readonly provider: ModelProvider & Required<Pick<ModelProvider, 'countTokens'>>; close(): void } {
  const mine = settings.providers.gemini;
  const wrong = (path: string, message: string): TappetError => {
    const key = `providers.gemini.${path}`;
    return new TappetError('E_CONFIG_VALUE', { key, message, where: origin(key) ?? origin('providers.gemini') ?? undefined });
  };
  for (const name of Object.keys(mine?.options ?? {})) if (!OPTIONS.includes(name)) throw wrong(`options.${name}`, `there is no such option; known here: ${OPTIONS.join(', ')}`);
  const more = mine?.options?.body ?? {};
  if (!isRecord(more)) throw wrong('options.body', 'it must be a map');
  const given = mine?.baseUrl ?? (env.GEMINI_BASE_URL?.trim() || env.GOOGLE_GEMINI_BASE_URL?.trim() || VENDOR_URL);
  if (!/^https?:\/\//.test(given) || !URL.canParse(given)) throw wrong('baseUrl', `this is no http or https address: ${given}`);
  const url = new URL(given);
  if (url.pathname === '/') url.pathname = '/v1beta';
  const baseUrl = url.href.replace(/\/+$/, '');
  const keyNeeded = mine?.apiKeyEnv !== undefined || url.hostname.endsWith('.googleapis.com');

  const client = createHttpClient(clientOptions({ provider: PROVIDER, settings: mine, baseUrl, env }));
  const key = keySource(mine, env, ['GEMINI_API_KEY', 'GOOGLE_API_KEY']);
  const models = mergeModels(PROVIDER, MODELS, settings.models, UNKNOWN);
  const infoOf = (model: string): ModelInfo => findModel(models, model.replace(/^models\//, '')) ?? { id: model.replace(/^models\//, ''), ...UNKNOWN };

  const own = new WeakSet<Uint8Array>();
  const surrounded = new WeakMap<NormalizedMessage, Map<string, Uint8Array>>();
  const toolsMade = new WeakMap<readonly ToolSpec[], string>();
  /** Models that refused to be told how much to think. */
  const unmeasured = new Set<string>();
  /** Messages whose signatures the vendor does not take any more. */
  const stale = new WeakSet<NormalizedMessage>();

  const write = (message: NormalizedMessage, around: Around): Uint8Array => Buffer.from(contentsOf(message, around).map((c) => wireJson(c)).join(','));
  /** As encoded, unless it needs to know what stands around it: results their functions' names, foreign calls a signature. */
  const bytesOf = ({ message, bytes }: EncodedMessage, before: EncodedMessage | undefined, third: boolean): Uint8Array => {
    const results = message.content.some((b) => b.type === 'tool_result');
    const calls = message.content.some((b) => b.type === 'tool_use');
    const signatures = !stale.has(message);
    const mustSign = third && calls;
    if (!results && !mustSign && signatures && own.has(bytes)) return bytes;
    const how = `${mustSign} ${signatures}`;
    const known = surrounded.get(message) ?? new Map<string, Uint8Array>();
    surrounded.set(message, known);
    const made = known.get(how) ?? write(message, { names: results ? namesIn(before?.message) : ALONE.names, mustSign, signatures });
    known.set(how, made);
    return made;
  };
  const bodyOf = (request: ModelRequest, info: ModelInfo): Uint8Array[] => {
    const tools = toolsMade.get(request.tools) ?? toolsJson(request.tools);
    toolsMade.set(request.tools, tools);
    const third = isThirdOrLater(info.id);
    const parts = request.messages.map((m, i) => bytesOf(m, request.messages[i - 1], third)).filter((p) => p.length > 0);
    return [Buffer.from(frameOf(request, info, more, tools, !unmeasured.has(info.id))), ...parts.flatMap((p, i) => (i === 0 ? [p] : [COMMA, p])), Buffer.from(']}')];
  };

  /** A key among the configured headers counts before any other. */
  const ownKey = Object.keys(mine?.headers ?? {}).some((h) => /^(?:authorization|x-goog-api-key)$/i.test(h));
  let secret: string | null = null;
  /** The vendor may repeat the key in its complaints. */
  const fail = (fault: Failing, model: string, cause?: unknown): Error =>
    faultError({ provider: PROVIDER, model, ...fault, message: secret === null || secret.length < 6 ? fault.message : fault.message.replaceAll(secret, '…') }, cause);
  const headers = async (model: string): Promise<Record<string, string>> => {
    if (ownKey) return { 'content-type': 'application/json' };
    try { secret = await key.get(); } catch (e) { throw fail({ kind: 'auth', message: messageOf(e), transient: false }, model, e); }
    if (secret === null && keyNeeded) throw fail({ kind: 'auth', message: key.missing() ?? 'there is no key', transient: false }, model);
    return { 'content-type': 'application/json', ...(secret === null ? {} : { 'x-goog-api-key': secret }) };
  };
  const asOurs = (e: unknown): unknown => {
    const fault = transportFault(e);
    return fault === null ? e : faultError(fault, e);
  };

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, void, void> {
    const info = infoOf(request.model);
    const model = info.id;
    let answer: HttpAnswer;
    let askedAgain = false;
    let unsigned = false;
    const notices: string[] = [];
    for (;;) {
      answer = await client.stream({ path: `/models/${encodeURIComponent(model)}:streamGenerateContent?alt=sse`, headers: await headers(model), body: bodyOf(request, info), signal, model });
      if (answer.status >= 200 && answer.status < 300) break;
      const fault = faultFor(refusalOf(answer.status, answer.headers, await answer.text()));
      if (fault.kind === 'auth' && mine?.keyHelper !== undefined && !askedAgain) {
        askedAgain = true;
        key.forget();
      } else if (fault.status === 400 && /thought.?signature/i.test(fault.message) && !unsigned) {
        // Signed by another model, key or route: the conversation can go on without.
        unsigned = true;
        for (const { message } of request.messages) stale.add(message);
        notices.push('the vendor does not take the signatures of earlier thoughts any more; they were left out');
      } else if (fault.status === 400 && /thinking.?(?:level|budget|config)/i.test(fault.message) && !unmeasured.has(model)) {
        unmeasured.add(model);
        notices.push('the model does not know this effort; its own counts');
      } else throw fail(fault, model);
    }
    for (const text of notices) yield { type: 'notice', code: 'left_out', text };
    const context: Answering = { model, takenIds: () => callIdsIn(request), fail: (fault) => fail(fault, model), failAs: (error) => fail(faultFor(refusalIn(error, undefined, answer.headers)), model) };
    const kind = answer.headers['content-type'] ?? '';
    if (/text\/html/i.test(kind)) throw fail({ kind: 'connection', message: `what answers at ${baseUrl} is a web page and no model: check the base URL`, transient: false }, model);
    yield* geminiEvents(/application\/json/i.test(kind) ? whole(answer, context) : answer.events, context);
  }

  return {
    close: () => client.close(),
    provider: {
      name: PROVIDER,
      models: () => models,
      available: async () => (keyNeeded && !ownKey ? key.missing() : null),
      encode(message) {
        const bytes = write(message, ALONE);
        own.add(bytes);
        return bytes;
      },
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
          const { status, headers: said, text, body } = await client.json({ path: `/models/${encodeURIComponent(info.id)}:countTokens`, headers: await headers(info.id), body: [inner], signal, model: info.id });
          if (status >= 300 || !isRecord(body)) throw fail(faultFor(refusalOf(status, said, text)), info.id);
          return countOf(body.totalTokens);
        } catch (e) {
          throw asOurs(e);
        }
      },
    },
  };
}

const namesIn = (message: NormalizedMessage | undefined): ReadonlyMap<string, string> => new Map((message?.content ?? []).flatMap((b) => (b.type === 'tool_use' ? [[b.id, b.name] as const] : [])));

/** A server that does not stream answers with one object, or with a list of them. */
async function* whole(answer: HttpAnswer, o: Answering): AsyncGenerator<SseEvent, void, void> {
  const text = await answer.text(Number.MAX_SAFE_INTEGER);
  let body: unknown;
  try { body = JSON.parse(text); } catch { throw o.fail({ kind: 'broken_stream', message: 'the answer is neither a stream nor JSON', transient: true }); }
  for (const part of Array.isArray(body) ? body as unknown[] : [body]) yield { event: null, data: JSON.stringify(part) };
}
