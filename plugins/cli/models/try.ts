/** One tiny real request: how long until the first byte, what came, what it took; or the fault by its name and what to do. */
import { randomUUID } from 'node:crypto';
import { faultOf, messageOf } from 'tappet/kernel';
import { cleanLine, columns, jsonText, keyVariables, SIGNAL_EXITS } from 'tappet/kit';
import type { FaultKind, ModelChoice, ModelFault, ModelRequest, NormalizedMessage, SubcommandContext, Usage } from 'tappet/schemas';

const PROMPT = 'Answer with the one word "ok".';
/** A limit and no wish: models that think first need some. */
const MOST_TOKENS = 1024;
const ANSWER_CHARS = 200;

/** What to do about each; `PROVIDER` is filled in. */
const ADVICE: Readonly<Record<FaultKind, string>> = {
  auth: 'the key is wrong, or has no right to this model: `tappet models list` shows where it comes from, `tappet login PROVIDER` stores another',
  quota: 'the account has no credit left: add some where you pay for it',
  rate_limit: 'too much was asked in a short time: wait and try again',
  overloaded: 'the provider has too much to do: wait and try again, or take another model',
  not_found: 'check the name: `tappet models list --all` shows what is known; the account may lack this model',
  invalid_request: 'the server does not take such a request: check `models:` and `providers.PROVIDER.options` in the configuration',
  context_too_long: 'not even a word fits: check `contextWindow` and what the server was started with',
  refusal: 'it answers, but would not say this word: the model can be used',
  content_filter: 'it answers, but a filter of the account held the answer back: check its rules there',
  broken_stream: 'the answer was cut off: try again; if it stays so, look for a proxy between here and there',
  empty_answer: 'it answered without a word: try again, or raise `maxOutputTokens` of the model',
  timeout_first_byte: 'nothing came: check that the server runs, or raise `providers.PROVIDER.timeouts.firstByteMs`',
  timeout_between_bytes: 'the answer stopped: try again, or raise `providers.PROVIDER.timeouts.betweenBytesMs`',
  connection: 'check the network, `providers.PROVIDER.baseUrl`, `proxy` and the certificates',
  server_error: 'the server failed: try again later',
  aborted: 'nothing: it was stopped',
};
/** It was not reached at all. */
const UNREACHED: readonly FaultKind[] = ['connection', 'timeout_first_byte', 'timeout_between_bytes'];

interface Answer { readonly firstByteMs: number; readonly totalMs: number; readonly answer: string; readonly stopReason: string | null; readonly usage: Usage | null; readonly notices: readonly string[] }
/** `unusable`: no request was made. */
type Failed = Omit<Partial<ModelFault>, 'kind'> & { readonly kind: FaultKind | 'unusable'; readonly message: string };
type Tried = ({ readonly ok: true } & Answer) | { readonly ok: false; readonly fault: Failed; readonly do: string };

export async function tryModel(c: SubcommandContext): Promise<number> {
  const kernel = c.kernel!;
  const choice = await kernel.chooseModel(c.args[0] ?? kernel.config.settings.model);
  const model = choice.name;
  const why = await choice.provider.available().catch((e: unknown) => messageOf(e));
  if (why !== null) return report(c, model, unusable(c, choice, why), 4);

  const stop = new AbortController();
  let signal: keyof typeof SIGNAL_EXITS | null = null;
  const off = c.io.onInterrupt((which) => { signal = which; stop.abort(new Error(which)); });
  try {
    return report(c, model, { ok: true, ...(await request(choice, stop.signal)) }, 0);
  } catch (e) {
    if (signal !== null) return SIGNAL_EXITS[signal];
    const fault = faultOf(e);
    if (fault === null) throw e;
    return report(c, model, { ok: false, fault, do: ADVICE[fault.kind].replaceAll('PROVIDER', choice.provider.name) }, UNREACHED.includes(fault.kind) ? 4 : 1);
  } finally {
    off();
  }
}

async function request({ provider, id, info }: ModelChoice, signal: AbortSignal): Promise<Answer> {
  const message: NormalizedMessage = { role: 'user', content: [{ type: 'text', text: PROMPT }] };
  const asked: ModelRequest = {
    model: id, system: [], messages: [{ message, bytes: provider.encode(message) }], tools: [], maxOutputTokens: Math.min(MOST_TOKENS, info?.maxOutputTokens ?? MOST_TOKENS), sessionId: randomUUID(), turnId: randomUUID(),
  };
  const started = performance.now();
  let firstByteMs: number | undefined;
  let answer = '';
  let usage: Usage | null = null;
  let stopReason: string | null = null;
  const notices: string[] = [];
  for await (const e of provider.stream(asked, signal)) {
    if (e.type === 'notice') { notices.push(e.text); continue; }
    firstByteMs ??= performance.now() - started;
    if (e.type === 'message_start') ({ usage } = e);
    else if (e.type === 'content_block_stop' && e.block.type === 'text') answer += e.block.text;
    else if (e.type === 'message_delta') { ({ usage } = e); stopReason = e.stop_reason; }
  }
  const totalMs = performance.now() - started;
  return { firstByteMs: Math.round(firstByteMs ?? totalMs), totalMs: Math.round(totalMs), answer, stopReason, usage, notices };
}

function unusable({ config }: SubcommandContext, { provider: { name } }: ModelChoice, why: string): Tried {
  const names = keyVariables(name, config.settings.providers[name]);
  return { ok: false, fault: { kind: 'unusable', message: why }, do: names.length === 0 ? 'mend what is named here, or take another model' : `store a key (\`tappet login ${name}\`), or set ${names[0]}` };
}

function report({ json, io }: SubcommandContext, model: string, tried: Tried, code: number): number {
  if (json) { io.out(`${jsonText({ model, ...tried })}\n`); return code; }
  const width = io.isTTY ? io.columns : undefined;
  if (!tried.ok) {
    const { fault } = tried;
    const more = [fault.status === undefined ? '' : `HTTP ${fault.status}`, fault.requestId === undefined ? '' : `request ${fault.requestId}`, fault.retryAfterMs === undefined ? '' : `again in ${Math.ceil(fault.retryAfterMs / 1000)} s`].filter((t) => t !== '');
    io.err(`${columns([['model', model], ['fault', [fault.kind, ...more].join(', ')], ['because', fault.message], ['do', tried.do]], { width })}\n`);
    return code;
  }
  const { usage, answer } = tried;
  const word = cleanLine(answer.trim());
  io.out(`${columns([
    ['model', model], ['first byte', `${tried.firstByteMs} ms`], ['whole', `${tried.totalMs} ms`],
    ['answer', `${word.length > ANSWER_CHARS ? `${word.slice(0, ANSWER_CHARS - 1)}…` : word || '(no text)'}${tried.stopReason === null || tried.stopReason === 'end_turn' ? '' : ` (${tried.stopReason})`}`],
    ...(usage === null ? [] : [['tokens', `${usage.input_tokens} in, ${usage.output_tokens} out${usage.cache_read_input_tokens > 0 ? `, ${usage.cache_read_input_tokens} from the cache` : ''}`]]),
    ...tried.notices.map((n) => ['note', n]),
  ], { width })}\n`);
  return code;
}
