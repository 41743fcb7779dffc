/** How the API refuses, as a fault by name with the numbers that it gives. */
import { elsewhere, isRecord, plainWords, retryAfter, textOf, waits } from 'tappet/kit';
import type { FaultKind, ModelFault } from 'tappet/schemas';

type Headers = Readonly<Record<string, string>>;
export type Fault = Omit<ModelFault, 'provider' | 'model'>;
interface Said { readonly status: number | undefined; readonly type: string; readonly message: string; readonly code: string; readonly requestId: string | undefined; readonly headers: Headers }

/** An answer whose status is no success. */
export function faultOfAnswer(status: number, headers: Headers, text: string, now: number = Date.now()): Fault {
  let body: unknown;
  try { body = JSON.parse(text); } catch { body = undefined; }
  return faultOf(read(isRecord(body) ? body : { error: { message: plainWords(text) } }, status, headers), now);
}
/** An error that comes inside the stream. */
export const faultOfEvent = (event: Readonly<Record<string, unknown>>, headers: Headers, now: number = Date.now()): Fault => faultOf(read(event, undefined, headers), now);

function read(body: Readonly<Record<string, unknown>>, status: number | undefined, headers: Headers): Said {
  const error = isRecord(body.error) ? body.error : body;
  const details = isRecord(error.details) ? error.details : {};
  return {
    status, headers, type: textOf(error.type) ?? '', code: textOf(details.error_code) ?? '', requestId: textOf(body.request_id) ?? headers['request-id'] ?? headers['x-request-id'],
    message: (textOf(error.message) ?? textOf(body.message) ?? textOf(body.error) ?? 'the server did not say why').slice(0, 2_000),
  };
}

const NO_MONEY = /credit balance is too low|spend(?:ing)? limit|usage limits?\b|billing|out of (?:extra )?(?:usage|credits?)/i;
const numbers = (m: RegExpExecArray | null): number[] => (m === null ? [] : m.slice(1).map((n) => Number(n.replaceAll(',', ''))));

function faultOf(s: Said, now: number): Fault {
  const { status, type, message, headers } = s;
  const advice = headers['x-should-retry'];
  const fault = (kind: FaultKind, transient: boolean, more: Partial<Fault> = {}): Fault => ({
    kind, message, transient: advice === 'true' || (advice !== 'false' && transient),
    ...(status === undefined ? {} : { status }), ...(s.requestId === undefined ? {} : { requestId: s.requestId }), ...more,
  });
  if (status !== undefined && status >= 300 && status < 400) return fault('connection', false, { message: elsewhere('anthropic', status, headers) });
  const room = numbers(/prompt is too long:? ([\d,]+) tokens? > ([\d,]+)/i.exec(message));
  const sum = numbers(/exceed context limit: ([\d,]+) \+ [\d,]+ > ([\d,]+)/i.exec(message));
  const [sent, limit] = room.length > 0 ? room : sum;
  if (limit !== undefined) return fault('context_too_long', false, { tokens: { sent, limit } });
  if (status === 413 || type === 'request_too_large' || /(?:prompt|input|request) is too long|context (?:window|length) exceeded|exceeds? the (?:model's )?(?:maximum )?context/i.test(message)) return fault('context_too_long', false);
  if (status === 402 || type === 'billing_error' || s.code === 'enforced_spend_limit_reached' || ((status === 400 || status === 403 || status === 429) && NO_MONEY.test(message))) return fault('quota', false, lifted(message));
  if (status === 429 || type === 'rate_limit_error') return fault('rate_limit', true, waitOf(headers, now));
  if (status === 401 || type === 'authentication_error') return fault('auth', false);
  if (status === 403 || type === 'permission_error') return fault('auth', false);
  if (status === 404 || type === 'not_found_error') return fault('not_found', false);
  if (status === 529 || status === 503 || type === 'overloaded_error') return fault('overloaded', true, waitOf(headers, now));
  if (status === 408 || status === 409 || (status ?? 0) >= 500 || type === 'api_error' || type === 'timeout_error') return fault('server_error', true, retryAfter(headers, now));
  if (type === 'invalid_request_error' || status !== undefined) {
    const field = /^([a-z_]+(?:\.\w+)*):/i.exec(message)?.[1];
    return fault('invalid_request', false, field === undefined ? {} : { field });
  }
  return fault('server_error', true);
}

/** The server's own wait; else when the limit that is used up is filled again. */
function waitOf(headers: Headers, now: number): Partial<Fault> {
  const told = retryAfter(headers, now);
  if (told.retryAfterMs !== undefined) return told;
  const resets = Object.entries(headers).flatMap(([name, value]) => {
    const [, which] = /^anthropic-ratelimit-(.+)-reset$/.exec(name) ?? [];
    // The limits of a subscription give seconds since 1970, the others a date.
    const at = which === undefined ? NaN : /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value);
    return at > now ? [{ ms: at - now, empty: headers[`anthropic-ratelimit-${which}-remaining`]?.trim() === '0' || headers[`anthropic-ratelimit-${which}-status`] === 'rejected' }] : [];
  });
  const used = resets.filter((r) => r.empty);
  return used.length === 0 ? {} : waits(Math.max(...used.map((r) => r.ms)), now);
}

function lifted(message: string): Partial<Fault> {
  const [, day, time] = /(?:regain access|resets?|available again) on (\d{4}-\d{2}-\d{2})(?: at (\d{2}:\d{2}))?/i.exec(message) ?? [];
  return day === undefined ? {} : { resetAt: `${day}T${time ?? '00:00'}:00.000Z` };
}
