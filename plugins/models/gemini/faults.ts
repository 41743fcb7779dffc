/** How the vendor refuses, as a fault by name with the numbers that it gives. */
import { elsewhere, isRecord, plainWords, retryAfter, textOf, waits } from 'tappet/kit';
import type { FaultKind, ModelFault } from 'tappet/schemas';

export type Failing = Omit<ModelFault, 'provider' | 'model'>;
export interface Refusal { readonly status: number | undefined; readonly message: string; readonly state: string; readonly details: readonly Readonly<Record<string, unknown>>[]; readonly headers: Readonly<Record<string, string>> }

export function refusalOf(status: number, headers: Readonly<Record<string, string>>, text: string): Refusal {
  let body: unknown;
  try { body = JSON.parse(text); } catch { return refusalIn({ message: plainWords(text) }, status, headers); }
  if (Array.isArray(body)) body = body[0];
  return refusalIn(isRecord(body) ? body.error ?? body : body, status, headers);
}
/** An error as it stands in a body or in a frame of the stream. */
export function refusalIn(said: unknown, status?: number, headers: Readonly<Record<string, string>> = {}): Refusal {
  const error = isRecord(said) ? said : { message: said };
  return {
    status: status ?? (typeof error.code === 'number' ? error.code : undefined), headers,
    message: (textOf(error.message) ?? 'the server did not say why').slice(0, 2_000), state: textOf(error.status) ?? '',
    details: Array.isArray(error.details) ? error.details.filter(isRecord) : [],
  };
}

const TOO_LONG = /token count[^.]{0,60}exceeds|exceeds the maximum number of tokens|input .{0,40}too long|context window/i;
const number = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text.replaceAll(',', '')));

/** @param now for tests */
export function faultFor(r: Refusal, now: number = Date.now()): Failing {
  const { status, state, message } = r;
  const detail = (type: string): Readonly<Record<string, unknown>> | undefined => r.details.find((d) => typeof d['@type'] === 'string' && d['@type'].endsWith(type));
  const fault = (kind: FaultKind, transient: boolean, more: Partial<ModelFault> = {}): Failing => ({ kind, message, transient, ...(status === undefined ? {} : { status }), ...more });
  const reason = textOf(detail('.ErrorInfo')?.reason) ?? '';
  if (TOO_LONG.test(message) || status === 413 || /payload size exceeds/i.test(message)) {
    const sent = number(/token count \(?([\d,]+)/i.exec(message)?.[1]);
    const limit = number(/tokens allowed \(?([\d,]+)/i.exec(message)?.[1] ?? /maximum[^\d]{0,40}([\d,]+)/i.exec(message)?.[1]);
    return fault('context_too_long', false, sent === undefined ? {} : { tokens: { sent, limit } });
  }
  if (status === 429 || state === 'RESOURCE_EXHAUSTED') {
    const violations = detail('.QuotaFailure')?.violations;
    const quotas = Array.isArray(violations) ? violations.filter(isRecord) : [];
    const none = quotas.some((q) => String(q.quotaValue) === '0') || /limit: 0\b/.test(message);
    if (none || quotas.some((q) => /PerDay|PerMonth/i.test(String(q.quotaId))) || /billing|credits?\b|spending|prepay/i.test(message.replace(/please check your plan and billing details\.?/i, ''))) return fault('quota', false, waitOf(r, now));
    return fault('rate_limit', true, waitOf(r, now));
  }
  if (status === 401 || status === 403 || state === 'UNAUTHENTICATED' || state === 'PERMISSION_DENIED' || /^API_KEY_/.test(reason) || /API key not valid|API key expired/i.test(message)) return fault('auth', false);
  if (status === 404 || state === 'NOT_FOUND') return fault('not_found', false);
  if (status === 503 || state === 'UNAVAILABLE' || /overloaded/i.test(message)) return fault('overloaded', true, waitOf(r, now));
  if ((status !== undefined && status >= 500) || status === 408 || status === 409 || state === 'INTERNAL' || state === 'DEADLINE_EXCEEDED' || state === 'ABORTED') return fault('server_error', true, waitOf(r, now));
  if (status !== undefined && status < 400) return { ...fault('connection', false), message: elsewhere('gemini', status, r.headers) };
  if (status !== undefined || state === 'INVALID_ARGUMENT' || state === 'FAILED_PRECONDITION') {
    const violations = detail('.BadRequest')?.fieldViolations;
    const first = Array.isArray(violations) ? violations.find(isRecord) : undefined;
    const field = textOf(first?.field) ?? /(?:at|on) '([^']+)'/.exec(message)?.[1] ?? /^\* (?:GenerateContentRequest\.)?([\w[\].]+):/.exec(message)?.[1];
    return fault('invalid_request', false, field === undefined ? {} : { field });
  }
  return fault('server_error', true);
}

function waitOf(r: Refusal, now: number): Partial<ModelFault> {
  const info = r.details.find((d) => typeof d['@type'] === 'string' && d['@type'].endsWith('.RetryInfo'));
  const said = /^(\d+(?:\.\d+)?)s$/.exec(textOf(info?.retryDelay) ?? '')?.[1] ?? /retry in (\d+(?:\.\d+)?)s/i.exec(r.message)?.[1];
  return said === undefined ? retryAfter(r.headers, now) : waits(Number(said) * 1_000, now);
}
