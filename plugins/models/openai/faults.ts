/** How a server refuses, as a fault by name with the numbers that it gives. */
import { countOf, elsewhere, isRecord, plainWords, retryAfter, textOf, waits } from 'tappet/kit';
import type { FaultKind, ModelFault } from 'tappet/schemas';
import type { Failing } from './stream.ts';

/** What a server said, whichever of the many forms it used. */
export interface Refusal { readonly status: number | undefined; readonly message: string; readonly code: string; readonly type: string; readonly param: string | undefined; readonly error: Readonly<Record<string, unknown>>; readonly headers: Readonly<Record<string, string>> }

export function refusalOf(status: number, headers: Readonly<Record<string, string>>, text: string): Refusal {
  let body: unknown;
  try { body = JSON.parse(text); } catch { return refusalIn({ message: plainWords(text) }, status, headers); }
  if (Array.isArray(body)) body = body[0];
  const inner = isRecord(body) ? body.error ?? body : body;
  return refusalIn(inner, status, headers);
}
/** An error as it stands in a body or in a frame of the stream. */
export function refusalIn(said: unknown, status?: number, headers: Readonly<Record<string, string>> = {}): Refusal {
  const error = isRecord(said) ? said : { message: said };
  // OpenRouter puts what its upstream said here.
  const upstream = isRecord(error.metadata) ? textOf(error.metadata.raw) : undefined;
  const message = [textOf(error.message) ?? textOf(error.detail) ?? details(error.detail) ?? textOf(error.error), upstream].filter((m) => m !== undefined && m !== '').join(': ');
  const code = error.code;
  return {
    status: status ?? (typeof code === 'number' && code >= 400 && code < 600 ? code : undefined),
    message: message === '' ? 'the server did not say why' : message.slice(0, 2_000),
    code: typeof code === 'string' ? code : '', type: textOf(error.type) ?? '', param: textOf(error.param) ?? located(error.detail), error, headers,
  };
}
/** FastAPI's list of what does not fit. */
const details = (detail: unknown): string | undefined =>
  Array.isArray(detail) ? detail.flatMap((d) => (isRecord(d) ? [`${Array.isArray(d.loc) ? `${d.loc.join('.')}: ` : ''}${textOf(d.msg) ?? ''}`] : [])).join('; ') : undefined;
const located = (detail: unknown): string | undefined => {
  const first: unknown = Array.isArray(detail) ? detail[0] : undefined;
  return isRecord(first) && Array.isArray(first.loc) ? first.loc.filter((l) => l !== 'body').join('.') : undefined;
};

const tokens = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text.replace(/[,_ ]/g, '')));
const LIMITS = [/maximum context length (?:is|of) ([\d,]+)/i, /context (?:size|window|length)[^\d]{0,40}?([\d,]{3,}) tokens/i, /> ([\d,]+) maximum/i, /\bLimit:? ([\d,]+)/];
const SENT = [/(?:resulted in|requested(?: about)?|contains?(?: at least)?|prompt has|has) ([\d,]+) (?:input )?tokens/i, /too long: ([\d,]+)/i, /\bRequested:? ([\d,]+)/, /\(([\d,]+) tokens\)/];
const first = (patterns: readonly RegExp[], text: string): number | undefined => tokens(patterns.map((p) => p.exec(text)?.[1]).find((m) => m !== undefined));

const TOO_LONG = /maximum context length|context[_ ](?:length|window|size)[^.]{0,30}exceed|exceed[^.]{0,40}context|input (?:length )?exceeds|prompt is too long|too many tokens|reduce the length|Request too large|greater than the context length|larger than the context/i;

/** @param now for tests */
export function faultFor(r: Refusal, now: number = Date.now()): Failing {
  const { status, headers, error } = r;
  const said = `${r.code} ${r.type} ${r.message}`;
  const requestId = headers['x-request-id'] || headers['apim-request-id'] || undefined;
  const fault = (kind: FaultKind, transient: boolean, message = r.message, more: Partial<ModelFault> = {}): Failing => ({
    kind, message, transient, ...(status === undefined ? {} : { status }), ...(requestId === undefined ? {} : { requestId }), ...more,
  });
  if (r.code === 'context_length_exceeded' || r.type === 'exceed_context_size_error' || (status !== 401 && status !== 403 && TOO_LONG.test(said))) {
    const limit = countOf(error.n_ctx) || first(LIMITS, r.message);
    const sent = countOf(error.n_prompt_tokens) || first(SENT, r.message);
    // A rate limit that the request alone exceeds never lifts by waiting.
    if (status !== 429 || /Request too large/i.test(r.message)) return fault('context_too_long', false, r.message, limit === undefined && sent === undefined ? {} : { tokens: { sent, limit } });
  }
  if (/insufficient_quota|billing_hard_limit|billing_not_active|insufficient_balance|insufficient credits|exceeded your current quota/i.test(said) || status === 402) return fault('quota', false);
  if (status === 429 || /rate_limit_exceeded|rate_limit_error|too_many_requests/i.test(said)) return fault('rate_limit', true, r.message, waitOf(r, now));
  if (/content_filter|content_policy|ResponsibleAIPolicyViolation|cyber_policy|bio_policy/i.test(`${r.code} ${r.type} ${String(isRecord(error.innererror) ? error.innererror.code : '')}`) || r.code === 'invalid_prompt') return fault('content_filter', false);
  if (status === 401 || /invalid_api_key|authentication_error/i.test(said)) return fault('auth', false);
  if (r.code === 'model_not_found' || r.code === 'DeploymentNotFound') return fault('not_found', false);
  if (status === 403) return fault('auth', false);
  if (status === 404) return fault('not_found', false, r.message === 'the server did not say why' ? 'there is no such address or model' : r.message);
  if (status === 503 || status === 529 || /overloaded|server_is_overloaded|slow_down|at capacity|no slot/i.test(said)) return fault('overloaded', true, r.message, retryAfter(headers, now));
  if (status === 408 || status === 409 || (status !== undefined && status >= 500) || /server_error|internal_error/i.test(`${r.code} ${r.type}`)) return fault('server_error', true, r.message, retryAfter(headers, now));
  if (status === 400 || status === 413 || status === 422 || /invalid_request/i.test(said)) return fault('invalid_request', false, r.message, r.param === undefined ? {} : { field: r.param });
  if (status !== undefined && status < 400) return fault('connection', false, elsewhere('NAME', status, headers));
  if (status !== undefined) return fault('invalid_request', false, `the server answers ${status}: ${r.message}`);
  return fault('server_error', true);
}

/** The server's own wait; else when the limit that is used up is filled again; else what the sentence says. */
function waitOf(r: Refusal, now: number): Partial<ModelFault> {
  const { headers } = r;
  const told = retryAfter(headers, now);
  if (told.retryAfterMs !== undefined) return told;
  const resets = ['requests', 'tokens'].flatMap((what) => {
    const ms = duration(headers[`x-ratelimit-reset-${what}`]);
    return ms === null ? [] : [{ ms, empty: headers[`x-ratelimit-remaining-${what}`]?.trim() === '0' }];
  });
  const empty = resets.filter((x) => x.empty);
  const wait = empty.length > 0 ? Math.max(...empty.map((x) => x.ms)) : resets.length > 0 ? Math.max(...resets.map((x) => x.ms)) : duration(/try again in ((?:[\d.]+(?:ms|[dhms]))+)/i.exec(r.message)?.[1]);
  return wait === null ? {} : waits(wait, now);
}
/** `1h2m3.5s`, `20ms`: milliseconds. */
export function duration(text: string | undefined): number | null {
  const all = text?.trim() ?? '';
  if (!/^(?:\d+(?:\.\d+)?(?:ms|[dhms]))+$/.test(all)) return null;
  const unit = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 } as const;
  return [...all.matchAll(/(\d+(?:\.\d+)?)(ms|[dhms])/g)].reduce((sum, [, n, u]) => sum + Number(n) * unit[u as keyof typeof unit], 0);
}
