/** A server on this machine that nobody had to configure: looked for where the usual ones listen, when somebody asks whether it can be used. */
import { faultError, faultOf, messageOf, TappetError } from 'tappet/kernel';
import { clientOptions, createHttpClient, findModel, mergeModels, providerAccess } from 'tappet/kit';
import type { FoundKey, HttpAnswer } from 'tappet/kit';
import type { KeyStore, ModelInfo, ModelProvider, Origin, ProviderSettings, Settings } from 'tappet/schemas';
import { providerFor } from './provider.ts';
import { servedModels } from './served.ts';
import { isLoopback, serverOf } from './server.ts';
import { KNOWN_SERVERS, UNKNOWN_LOCAL } from './table.ts';

export const LOCAL = 'local';
/** For all of them together. Who does not listen says so at once; who needs longer is no server of models, or busy. */
const LOOK_MS = 250;
/** Of a list of models; more is something else. */
const LIST_BYTES = 1 << 20;
/** In this order: the first that answers counts. */
export const USUAL_PLACES: readonly string[] = ['ollama', 'lmstudio', 'llamacpp', 'vllm', 'jan'].map((name) => KNOWN_SERVERS[name]!.baseUrl);

export interface LocalParts {
  settings(): Pick<Settings, 'providers' | 'models'>;
  readonly env: Readonly<Record<string, string | undefined>>;
  origin(path: string): Origin | null;
  keys(): KeyStore | undefined;
}
interface Found { readonly provider: ModelProvider; close(): void }
/** What was found is kept for as long as the configuration stays the same; nothing is kept of a look in vain. */
interface State {
  readonly said: ProviderSettings | undefined;
  readonly models: Settings['models'];
  readonly places: readonly string[];
  /** Speaks before anybody was asked. */
  readonly blank: Found;
  /** What is wrong in a configuration that was changed. */
  readonly problem: string | null;
  found: Found | undefined;
  looking: Promise<Found | string> | undefined;
}

export function localProvider(o: LocalParts): { readonly provider: ModelProvider; close(): void } {
  const closers: (() => void)[] = [];
  let state: State | undefined;
  const now = (): State => {
    const { providers: { [LOCAL]: said }, models } = o.settings();
    if (state !== undefined && state.said === said && state.models === models) return state;
    try {
      const places = placesOf(said, o.origin);
      state = { said, models, places, blank: at(said, models, places[0] ?? USUAL_PLACES[0]!, []), problem: null, found: undefined, looking: undefined };
    } catch (e) {
      if (state === undefined) throw e;
      state = { ...state, said, models, problem: messageOf(e), found: undefined, looking: undefined };
    }
    return state;
  };
  const at = (said: ProviderSettings | undefined, models: Settings['models'], baseUrl: string, served: readonly ModelInfo[]): Found => {
    const { servers: _, ...options } = said?.options ?? {};
    const configured = mergeModels(LOCAL, served, models, UNKNOWN_LOCAL);
    // As the server lists them: its first is the default, whatever the configuration says about another.
    const first = served.map((m) => findModel(configured, m.id) ?? m);
    const made = providerFor({
      server: serverOf(LOCAL, { ...said, baseUrl, options }, o.env, o.origin), models: [...first, ...configured.filter((m) => !first.includes(m))], unknown: UNKNOWN_LOCAL, env: o.env, keys: o.keys,
    });
    closers.push(made.close);
    return made;
  };

  /** The server, or why there is none. */
  async function find(): Promise<Found | string> {
    const mine = now();
    if (mine.problem !== null) return mine.problem;
    if (mine.found !== undefined) return mine.found;
    mine.looking ??= look(mine).then((said) => {
      mine.looking = undefined;
      if (typeof said !== 'string') mine.found = said;
      return said;
    });
    return mine.looking;
  }
  async function look({ said, models, places }: State): Promise<Found | string> {
    if (places.length === 0) return 'no server is looked for (providers.local.options.servers is false)';
    const key = await providerAccess({ provider: LOCAL, settings: said, env: o.env, keys: o.keys, needed: said?.apiKeyEnv !== undefined }).key(new AbortController().signal);
    if ('fault' in key) return key.fault.message;
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), LOOK_MS);
    const asked = places.map((baseUrl) => ask(baseUrl, said, key.found, stop.signal));
    const why: string[] = [];
    try {
      for (const [i, answer] of asked.entries()) {
        const served = await answer;
        const host = new URL(places[i]!).host;
        if (served === 'refused') why.push(`the one at ${host} wants a key (providers.local.apiKeyEnv)`);
        else if (served?.length === 0) why.push(`the one at ${host} has no model`);
        else if (served !== null) return at(said, models, places[i]!, served);
      }
    } finally {
      clearTimeout(timer);
      stop.abort();
    }
    return why.length > 0 ? `no server of this machine can be used: ${why.join('; ')}` : `no server of models answers on this machine (${places.map((p) => new URL(p).host).join(', ')})`;
  }
  /** `null`: nobody is there, or somebody else. The key is shown only to who wants one. */
  async function ask(baseUrl: string, said: ProviderSettings | undefined, key: FoundKey | null, signal: AbortSignal): Promise<readonly ModelInfo[] | 'refused' | null> {
    const client = createHttpClient(clientOptions({ provider: LOCAL, settings: said, baseUrl, env: o.env }));
    const list = (headers: Readonly<Record<string, string>>) => client.stream({ method: 'GET', path: '/models', headers, signal, model: '' });
    const refuses = ({ status }: HttpAnswer): boolean => status === 401 || status === 403;
    try {
      let answer = await list({});
      if (refuses(answer) && key !== null) answer = await list({ authorization: `Bearer ${key.key}` });
      if (refuses(answer)) return 'refused';
      return answer.status === 200 ? servedModels(await answer.json(LIST_BYTES), UNKNOWN_LOCAL) : null;
    } catch {
      return null;
    } finally {
      client.close();
    }
  }

  const provider: ModelProvider = {
    name: LOCAL,
    kind: 'local',
    models: () => { const { found, blank } = now(); return (found ?? blank).provider.models(); },
    async available() {
      const said = await find();
      return typeof said === 'string' ? said : null;
    },
    encode: (message) => { const { found, blank } = now(); return (found ?? blank).provider.encode(message); },
    async *stream(request, signal) {
      const said = await find();
      if (typeof said === 'string') throw faultError({ kind: 'connection', provider: LOCAL, model: request.model, message: said, transient: true });
      try {
        yield* said.provider.stream(request, signal);
      } catch (e) {
        // It may come back elsewhere.
        if (faultOf(e)?.kind === 'connection') now().found = undefined;
        throw e;
      }
    },
  };
  now(); // what is wrong in the configuration is told at the start
  return { provider, close: () => { for (const close of closers) close(); } };
}

/** @throws E_CONFIG_VALUE */
function placesOf(said: ProviderSettings | undefined, origin: (path: string) => Origin | null): readonly string[] {
  const wrong = (path: string, message: string): TappetError => new TappetError('E_CONFIG_VALUE', { key: `providers.local.${path}`, message, where: origin(`providers.local.${path}`) ?? origin('providers.local') ?? undefined });
  const place = (given: unknown, path: string): string => {
    const url = Number.isInteger(given) && Number(given) > 0 && Number(given) < 65_536 ? `http://127.0.0.1:${Number(given)}/v1` : typeof given === 'string' && /^https?:\/\//.test(given) && URL.canParse(given) ? given : null;
    if (url === null) throw wrong(path, 'each must be a port, or an address such as http://127.0.0.1:8080');
    const { hostname, pathname, origin: root } = new URL(url);
    if (!isLoopback(hostname)) throw wrong(path, `${hostname} is not this machine: give that server an entry of its own, with options: { compatible: openai }`);
    return `${root}${pathname === '/' ? '/v1' : pathname.replace(/\/+$/, '')}`;
  };
  const servers = said?.options?.servers;
  if (servers === false) return [];
  if (servers === undefined) return said?.baseUrl === undefined ? USUAL_PLACES : [place(said.baseUrl, 'baseUrl')];
  if (!Array.isArray(servers)) throw wrong('options.servers', 'it must be false, or a list of ports or addresses');
  return (servers as unknown[]).map((s) => place(s, 'options.servers'));
}
