/** Anthropic's Messages API as a provider: one request, a second try without what the server refuses, the answer as events. */
import { faultError, messageOf } from 'tappet/kernel';
import type { TappetError } from 'tappet/kernel';
import { callIdsIn, clientOptions, createHttpClient, findModel, isRecord, mergeModels, plainWords, providerAccess, transportFault } from 'tappet/kit';
import type { FoundKey, HttpClient, ProviderAccess } from 'tappet/kit';
import type { KeyStore, ModelEvent, ModelFault, ModelInfo, ModelProvider, ModelRequest, NormalizedMessage, ProviderSettings, Settings, ToolSpec } from 'tappet/schemas';
import { bodyOf, toolsJson, withoutThinking } from './body.ts';
import type { Body } from './body.ts';
import { askCloud, missingSdk, openCloud, viaOf } from './clouds.ts';
import type { Cloud } from './clouds.ts';
import { encode, PROVIDER } from './encode.ts';
import { faultOfAnswer, faultOfEvent } from './faults.ts';
import type { Fault } from './faults.ts';
import { keyHeaders } from './key.ts';
import { remedyFor } from './relief.ts';
import type { Relief, Remedy } from './relief.ts';
import { answerEvents, answerObjects } from './stream.ts';
import { MODELS, UNKNOWN } from './table.ts';

type Json = Record<string, unknown>;
const VENDOR_URL = 'https://api.anthropic.com';
const VERSION = '2023-06-01';
const FIRST_BYTE_MS = 120_000;
const BETWEEN_BYTES_MS = 90_000;
/** For so long pings count as life while the model thinks without showing its thoughts. */
const SILENT_THINKING_MS = 10 * 60_000;

/** Whom requests go to, as the configuration has it; made anew when that changes. */
interface Side { readonly said: ProviderSettings | undefined; readonly access: ProviderAccess; readonly http: HttpClient; cloud: Promise<Cloud> | undefined }
/** What a model's server was found to refuse. */
interface Learnt { readonly without: Set<Relief>; most: number | undefined; /** Notices that people have seen. */ readonly told: Set<string> }
type Opened = { readonly events: AsyncIterable<Json>; readonly headers: Readonly<Record<string, string>> } | { readonly fault: Fault };

export interface Surroundings {
  settings(): Pick<Settings, 'providers' | 'models'>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly configFolder: string;
  keys(): KeyStore | undefined;
}
export function createProvider(o: Surroundings): { readonly provider: ModelProvider; close(): void } {
  const sides: Side[] = [];
  const learnt = new Map<string, Learnt>();
  const staleThinking = new WeakMap<NormalizedMessage, Uint8Array>();
  const toolsMade = new WeakMap<readonly ToolSpec[], [string?, string?]>();
  let table: { readonly said: Settings['models']; readonly models: readonly ModelInfo[] } | undefined;

  const side = (): Side => {
    const said = o.settings().providers[PROVIDER];
    const last = sides.at(-1);
    if (last !== undefined && last.said === said) return last;
    const baseUrl = said?.baseUrl ?? (o.env.ANTHROPIC_BASE_URL?.trim() || VENDOR_URL);
    const usual = { ...said, timeouts: { firstByteMs: FIRST_BYTE_MS, betweenBytesMs: BETWEEN_BYTES_MS, ...said?.timeouts } };
    const made: Side = {
      said, access: providerAccess({ provider: PROVIDER, settings: said, env: o.env, keys: o.keys, needed: true }),
      http: createHttpClient(clientOptions({ provider: PROVIDER, settings: usual, baseUrl, env: o.env })), cloud: undefined,
    };
    sides.push(made);
    return made;
  };
  const models = (): readonly ModelInfo[] => {
    const said = o.settings().models;
    if (table?.said !== said) table = { said, models: mergeModels(PROVIDER, MODELS, said, UNKNOWN) };
    return table.models;
  };
  /** A dated id, or a cloud's form of one, is sent as it is, with the facts of its plain one. */
  const infoOf = (model: string): { readonly id: string; readonly info: ModelInfo } => {
    const known = findModel(models(), model);
    if (known !== undefined) return { id: known.id, info: known };
    const plain = /claude-[a-z]+-\d(?:-\d(?!\d))?/.exec(model)?.[0];
    const like = plain === undefined ? undefined : findModel(models(), plain);
    return { id: model, info: like ?? { id: model, ...UNKNOWN } };
  };
  const lessonsOf = (model: string): Learnt => {
    const known = learnt.get(model) ?? { without: new Set<Relief>(), most: undefined, told: new Set<string>() };
    learnt.set(model, known);
    return known;
  };
  const tools = (list: readonly ToolSpec[], marked: boolean): string => {
    const made = toolsMade.get(list) ?? [];
    toolsMade.set(list, made);
    return (made[marked ? 1 : 0] ??= toolsJson(list, marked));
  };

  /** All that is needed to send requests for one model; errors leave with their secrets hidden. */
  const openLine = (request: ModelRequest, signal: AbortSignal) => {
    const to = side();
    const { id, info } = infoOf(request.model);
    const lessons = lessonsOf(id);
    let shown: FoundKey | null = null;
    const fail = (fault: Fault, cause?: unknown): TappetError => faultError({ provider: PROVIDER, model: id, ...fault, message: to.access.hide(fault.message) }, cause);
    const headers = async (body: Body): Promise<Record<string, string>> => {
      const key = await to.access.key(signal);
      if ('fault' in key) throw fail(key.fault);
      shown = key.found;
      const own = Object.entries(to.said?.headers ?? {}).flatMap(([k, v]) => (k.toLowerCase() === 'anthropic-beta' ? [v] : []));
      const betas = [...new Set([...own, ...(to.said?.betas ?? []), ...body.betas])].join(',');
      return { ...(shown === null ? {} : keyHeaders(shown, to.said)), 'anthropic-version': VERSION, 'content-type': 'application/json', ...(betas === '' ? {} : { 'anthropic-beta': betas }) };
    };
    const anotherKey = (): Promise<boolean> => to.access.another(shown, signal);
    const body = (without: ReadonlySet<Relief>, most: number | undefined, counting = false): Body => bodyOf({ request, model: id, info, without, mostTokens: most, staleThinking, tools, counting });
    return { to, id, lessons, fail, headers, anotherKey, body, asOurs: (e: unknown): unknown => { const fault = transportFault(e); return fault === null ? e : fail(fault, e); }, signal };
  };
  type Line = ReturnType<typeof openLine>;

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, void, void> {
    const line = openLine(request, signal);
    const { lessons, fail } = line;
    // What needs a header of its own is not for an SDK to carry.
    const without = new Set<Relief>([...lessons.without, ...(viaOf(line.to.said) === null ? [] : ['binding' as const])]);
    const notices = new Set<string>();
    const pulse = { thinking: false, since: 0 };
    const tried = new Set<Remedy['kind'] | 'key'>();
    let { most } = lessons;
    try {
      let opened: Opened;
      for (;;) {
        const body = line.body(without, most);
        for (const n of body.notices) notices.add(n);
        opened = viaOf(line.to.said) === null ? await viaHttp(line, body, pulse) : await viaCloud(line, body);
        if (!('fault' in opened)) break;
        const fault: ModelFault = { provider: PROVIDER, model: line.id, ...opened.fault };
        if (fault.status === 401 && !tried.has('key')) {
          tried.add('key');
          if (await line.anotherKey()) continue;
        }
        const remedy = remedyFor(fault, body.fields, tried as ReadonlySet<Remedy['kind']>);
        if (remedy === null) throw fail(opened.fault);
        tried.add(remedy.kind);
        if (remedy.notice !== '') notices.add(remedy.notice);
        if (remedy.kind === 'most') {
          most = remedy.most;
          if (remedy.always) lessons.most = most;
        } else if (remedy.kind === 'leave') {
          without.add(remedy.part);
          lessons.without.add(remedy.part);
        } else {
          without.add('thinking');
          for (const m of request.messages) { const bytes = withoutThinking(m); if (bytes !== null) staleThinking.set(m.message, bytes); }
        }
      }
      for (const text of notices) {
        if (lessons.told.has(text)) continue;
        lessons.told.add(text);
        yield { type: 'notice', code: 'left_out', text };
      }
      const { events, headers } = opened;
      yield* answerEvents(events, {
        model: line.id, takenIds: () => callIdsIn(request), fail, failAs: (event) => fail(faultOfEvent(event, headers)),
        thinks(open) { pulse.thinking = open; pulse.since = Date.now(); },
      });
    } catch (e) {
      throw line.asOurs(e);
    }
  }

  async function viaHttp({ to, id, headers, signal }: Line, body: Body, pulse: { thinking: boolean; since: number }): Promise<Opened> {
    const answer = await to.http.stream({
      path: '/v1/messages', headers: { ...await headers(body), accept: 'text/event-stream' }, body: body.parts, signal, model: id,
      isPing: (e) => e.event === 'ping' && !(pulse.thinking && Date.now() - pulse.since < SILENT_THINKING_MS),
    });
    if (answer.status < 200 || answer.status >= 300) return { fault: faultOfAnswer(answer.status, answer.headers, await answer.text()) };
    const kind = answer.headers['content-type'] ?? '';
    if (kind !== '' && !/event-stream/i.test(kind)) {
      const said = await answer.text();
      // Some gateways put an error into a success.
      if (/^\s*\{\s*"(?:type"\s*:\s*"error"|error"\s*:)/.test(said)) return { fault: faultOfAnswer(answer.status, answer.headers, said) };
      return { fault: { kind: 'broken_stream', status: answer.status, transient: false, message: `what answers is no stream of events but ${kind}: check the base URL (it says "${plainWords(said)}")` } };
    }
    return { events: answerObjects(answer.events), headers: answer.headers };
  }

  async function viaCloud({ to, fail, signal }: Line, body: Body): Promise<Opened> {
    const via = viaOf(to.said)!;
    to.cloud ??= openCloud(via, o.configFolder, to.said);
    to.cloud.catch(() => { to.cloud = undefined; });
    const answer = await askCloud(await to.cloud, {
      via, signal, fail, timeout: to.said?.timeouts?.firstByteMs ?? FIRST_BYTE_MS, body: JSON.parse(Buffer.concat(body.parts).toString('utf8')) as Json, betweenBytesMs: to.said?.timeouts?.betweenBytesMs ?? BETWEEN_BYTES_MS,
      headers: to.said?.betas === undefined ? {} : { 'anthropic-beta': to.said.betas.join(',') },
    });
    return 'fault' in answer ? answer : { events: answer.events, headers: {} };
  }

  const provider: ModelProvider = {
    name: PROVIDER,
    models,
    async available() {
      try {
        const { said, access } = side();
        const via = viaOf(said);
        return via === null ? await access.missing() : missingSdk(via, o.configFolder);
      } catch (e) {
        return messageOf(e);
      }
    },
    encode: (message) => encode(message),
    stream,
    async countTokens(request, signal) {
      const line = openLine(request, signal);
      if (viaOf(line.to.said) !== null) throw line.fail({ kind: 'not_found', message: 'tokens are counted by the vendor\'s own API only', transient: false });
      const body = line.body(line.lessons.without, line.lessons.most, true);
      try {
        const { status, headers, text, body: said } = await line.to.http.json({ path: '/v1/messages/count_tokens', headers: await line.headers(body), body: body.parts, signal, model: line.id });
        if (status < 200 || status >= 300) throw line.fail(faultOfAnswer(status, headers, text));
        const count = isRecord(said) ? said.input_tokens : undefined;
        if (typeof count !== 'number') throw line.fail({ kind: 'server_error', message: 'the server gave no number of tokens', transient: false });
        return count;
      } catch (e) {
        throw line.asOurs(e);
      }
    },
  };
  return { provider, close: () => { for (const s of sides) s.http.close(); } };
}
