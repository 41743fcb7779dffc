/** How the transport fails: a plain error that carries the fault by name. The kit knows no kernel; a provider throws `faultError(error.fault, error)`. */
import type { FaultKind, ModelFault } from '../../schemas/index.ts';

export interface TransportError extends Error { readonly fault: ModelFault }
export type TransportKind = Extract<FaultKind, 'connection' | 'timeout_first_byte' | 'timeout_between_bytes' | 'aborted' | 'broken_stream'>;

export const transportError = (fault: ModelFault & { readonly kind: TransportKind }, cause?: unknown): TransportError =>
  Object.assign(new Error(fault.message, cause === undefined ? undefined : { cause }), { name: 'TransportError', fault });
/** The fault of an error that the transport threw; `null` for any other error. */
export const transportFault = (e: unknown): ModelFault | null => (e instanceof Error && e.name === 'TransportError' ? (e as TransportError).fault : null);

/** An error of the transport's own making, in words for people. */
export const trouble = (message: string, transient: boolean, cause?: unknown): Error => Object.assign(new Error(message, cause === undefined ? undefined : { cause }), { transient });

/** What went wrong below HTTP, in words: without addresses' credentials, with what to do where that is known. */
export function connectionTrouble(e: unknown, where: string): { readonly message: string; readonly transient: boolean } {
  const { code = '', message = '', transient } = (e ?? {}) as { code?: string; message?: string; transient?: boolean };
  if (transient !== undefined) return { message, transient };
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return { message: `${where} shows the certificate of another host (${code}): check the base URL, and who answers there`, transient: false };
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_')) return { message: `what answers at ${where} does not speak TLS (${code}): check whether the base URL is http or https, and the proxy`, transient: false };
  if (code === 'ERR_INVALID_CHAR') return { message: `a header holds a character that none may hold (${/\["([\w-]+)"\]/.exec(message)?.[1] ?? 'which one is not known'}): check the key and providers.NAME.headers`, transient: false };
  if (code === 'HPE_HEADER_OVERFLOW') return { message: `the head of the answer of ${where} has no end (${code})`, transient: false };
  if (/CERT|SELF_SIGNED|ISSUER|ERR_TLS|UNABLE_TO_VERIFY/.test(code)) return { message: `${where} shows a certificate that cannot be trusted (${code}); behind a company proxy, set providers.NAME.caFile`, transient: false };
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return { message: `the name of ${where} cannot be resolved (${code})`, transient: true };
  if (code === 'ECONNREFUSED') return { message: `nothing listens at ${where} (${code})`, transient: true };
  if (code === 'ECONNRESET' || code === 'EPIPE') return { message: `${where} closed the connection before it answered (${code})`, transient: true };
  if (code.startsWith('HPE_')) return { message: `what answers at ${where} does not speak HTTP (${code})`, transient: false };
  // What Node refuses by itself (`ERR_…`, a bad certificate file) it refuses again.
  return { message: `no connection to ${where}: ${[code, message].filter((s) => s !== '').join(' ') || 'unknown cause'}`, transient: /^E(?!RR_)/.test(code) };
}
