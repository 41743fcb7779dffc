/** A lean HTTP client for streamed model answers: one server, kept connections, limits on silence. All failures are `TransportError`s. */
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { ModelFault } from '../../schemas/index.ts';
import { connectionTrouble, transportError, trouble } from './http-fault.ts';
import type { TransportError, TransportKind } from './http-fault.ts';
import { openLane } from './http-lane.ts';
import type { Lane, LaneOptions } from './http-lane.ts';
import { nestsTooDeep } from './json-depth.ts';
import { sseEvents } from './sse.ts';
import type { SseEvent } from './sse.ts';

export interface HttpClientOptions extends LaneOptions {
  /** Named in faults. */
  readonly provider: string;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Milliseconds until the head of an answer; 120 s. */
  readonly firstByteMs?: number | undefined;
  /** Milliseconds between two events; comments and pings are none; 90 s. */
  readonly betweenBytesMs?: number | undefined;
  /** Bytes of one answer, decompressed; 512 MiB. The longest answers, each word in an event of its own, have a tenth of it. */
  readonly mostBytes?: number | undefined;
}
export interface HttpRequest {
  readonly method?: string | undefined;
  /** Behind the base URL; begins with a slash, may have a query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: readonly Uint8Array[] | undefined;
  readonly signal: AbortSignal;
  /** Named in faults. */
  readonly model: string;
  /** Events that only say "still here": swallowed, and no sign of life. */
  readonly isPing?: ((e: SseEvent) => boolean) | undefined;
}
export interface HttpAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Once, instead of `text`. */
  readonly events: AsyncIterable<SseEvent>;
  /** The body, cut behind `cap` bytes (64 KiB: an error's text needs no more). */
  text(cap?: number): Promise<string>;
  /** The body as JSON; `undefined` where it is none, or longer than `cap` bytes (64 MiB). */
  json(cap?: number): Promise<unknown>;
}
export interface HttpClient {
  stream(o: HttpRequest): Promise<HttpAnswer>;
  /** `body` is `undefined` where the text is no JSON. */
  json(o: HttpRequest): Promise<{ readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly text: string; readonly body: unknown }>;
  close(): void;
}

const ERROR_TEXT_BYTES = 64 * 1024;
const JSON_BYTES = 64 * 1024 * 1024;
/** A connection whose reader left early may finish its answer for so long, and be used again. */
const GRACE_MS = 250;

export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { provider, firstByteMs = 120_000, betweenBytesMs = 90_000, mostBytes = 512 * 1024 * 1024 } = options;
  let opened: Promise<Lane> | undefined;
  const lane = (): Promise<Lane> => (opened ??= openLane(options).catch((e: unknown) => { opened = undefined; throw e; }));
  const where = URL.canParse(options.baseUrl) ? new URL(options.baseUrl).host : 'the base URL';

  const stream = async (o: HttpRequest): Promise<HttpAnswer> => {
    const fail = (kind: TransportKind, message: string, cause?: unknown, transient = kind !== 'aborted'): TransportError => transportError({ kind, message, provider, model: o.model, transient } satisfies ModelFault, cause);
    const aborted = (): TransportError => fail('aborted', 'the request was stopped');
    if (o.signal.aborted) throw aborted();
    const cut = new AbortController();
    let stopped: TransportError | undefined;
    let req: ClientRequest | undefined;
    let res: IncomingMessage | undefined;
    const stop = (why: TransportError): void => {
      stopped ??= why;
      res?.destroy(stopped);
      req?.destroy(stopped);
      cut.abort();
    };
    const onAbort = (): void => stop(aborted());
    o.signal.addEventListener('abort', onAbort, { once: true });
    const release = (): void => o.signal.removeEventListener('abort', onAbort);
    const first = setTimeout(() => stop(fail('timeout_first_byte', `${where} did not begin to answer in ${seconds(firstByteMs)} s`)), firstByteMs);
    try {
      const way = await lane();
      const body = Buffer.concat(o.body ?? []);
      const method = o.method ?? 'POST';
      const headers = { 'accept-encoding': 'identity', 'user-agent': 'tappet', ...options.headers, ...o.headers, ...(method === 'GET' ? {} : { 'content-length': String(body.length) }) };
      for (let again = false; res === undefined; again = true) {
        if (stopped !== undefined) throw stopped;
        req = way.request({ method, path: o.path, headers, cut: cut.signal });
        const got = await answerOf(req, body);
        if (got.res !== undefined) res = got.res;
        else if (stopped !== undefined) throw stopped;
        // The server had closed a kept connection while we took it: nothing was begun there.
        else if (got.stale && !again) way.dropIdle();
        else throw got.error;
      }
    } catch (e) {
      release();
      if (stopped !== undefined) throw stopped;
      const { message, transient } = connectionTrouble(e, where);
      throw fail('connection', message, e, transient);
    } finally {
      clearTimeout(first);
    }
    const answer = res;
    answer.once('close', release);
    const broken = (e: unknown): TransportError => {
      answer.destroy();
      if (stopped !== undefined) return stopped;
      const { code, message, transient } = e as { code?: string; message: string; transient?: boolean };
      return transient === undefined ? fail('broken_stream', `${where} broke off in the middle of its answer (${code ?? message})`, e) : fail('broken_stream', `${where} ${message}`, e, transient);
    };
    const silent = (): void => stop(fail('timeout_between_bytes', `${where} went silent in the middle of its answer for ${seconds(betweenBytesMs)} s`));
    const slow = (): void => stop(fail('timeout_between_bytes', `${where} did not come to the end of its answer in ${seconds(betweenBytesMs)} s`));

    async function* events(): AsyncGenerator<SseEvent, void, void> {
      let content: Readable | undefined;
      let timer = setTimeout(silent, betweenBytesMs);
      try {
        content = await decoded(answer);
        for await (const e of sseEvents(measured(content.iterator({ destroyOnReturn: false }), mostBytes))) {
          if (stopped !== undefined) throw stopped;
          if (o.isPing === undefined ? e.event === 'ping' : o.isPing(e)) continue;
          clearTimeout(timer);
          yield e;
          timer = setTimeout(silent, betweenBytesMs);
        }
        if (stopped !== undefined) throw stopped;
      } catch (e) {
        throw broken(e);
      } finally {
        clearTimeout(timer);
        if (content !== undefined && !content.readableEnded && !content.destroyed) {
          setTimeout(() => answer.destroy(), GRACE_MS).unref();
          content.on('error', () => { /* nobody reads it any more */ }).resume();
        }
      }
    }
    /** One limit for the whole: who sends a byte now and then is not waited for. */
    async function text(cap: number): Promise<string> {
      const timer = setTimeout(slow, betweenBytesMs);
      const parts: Buffer[] = [];
      let size = 0;
      try {
        for await (const chunk of await decoded(answer)) {
          parts.push(chunk as Buffer);
          size += (chunk as Buffer).length;
          if (size >= cap) break;
        }
        if (stopped !== undefined) throw stopped;
      } catch (e) {
        throw broken(e);
      } finally {
        clearTimeout(timer);
      }
      return Buffer.concat(parts).subarray(0, cap).toString('utf8');
    }
    return {
      status: answer.statusCode ?? 0,
      headers: Object.fromEntries(Object.entries(answer.headers).map(([k, v]) => [k, Array.isArray(v) ? v.join(', ') : (v ?? '')])),
      events: { [Symbol.asyncIterator]: events },
      text: (cap = ERROR_TEXT_BYTES) => text(cap),
      json: async (cap = JSON_BYTES) => parsed(await text(cap)),
    };
  };

  return {
    stream,
    async json(o) {
      const { status, headers, text } = await stream(o);
      const said = await text(JSON_BYTES);
      return { status, headers, text: said, body: parsed(said) };
    },
    close() { void opened?.then((l) => l.close(), () => { /* never opened */ }); },
  };
}

function parsed(text: string): unknown {
  if (nestsTooDeep(text)) return undefined;
  try { return JSON.parse(text); } catch { return undefined; }
}

async function* measured(chunks: AsyncIterable<Uint8Array>, most: number): AsyncGenerator<Uint8Array, void, void> {
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > most) throw trouble(`sends an answer without end: more than ${most} bytes`, false);
    yield chunk;
  }
}

const seconds = (ms: number): string => String(Math.round(ms / 100) / 10);

/** Settles at the head of the answer or at the first error. `stale`: a kept connection was closed before any byte of an answer. */
function answerOf(req: ClientRequest, body: Buffer): Promise<{ res: IncomingMessage } | { res?: undefined; error: NodeJS.ErrnoException; stale: boolean }> {
  return new Promise((resolve) => {
    let before = 0;
    req.once('socket', (s) => { before = s.bytesRead; });
    req.once('response', (res) => resolve({ res }));
    // Stays: a later error of the connection reaches the reader through the answer itself.
    req.on('error', (error: NodeJS.ErrnoException) => resolve({ error, stale: req.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE') && (req.socket?.bytesRead ?? 0) === before }));
    req.end(body);
  });
}

/** The bytes as they were before the server compressed them. */
async function decoded(res: IncomingMessage): Promise<Readable> {
  const coding = (res.headers['content-encoding'] ?? '').trim().toLowerCase();
  if (coding === '' || coding === 'identity') return res;
  const { createBrotliDecompress, createGunzip, createInflate, constants } = await import('node:zlib');
  const flush = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH };
  const decoder = coding === 'gzip' || coding === 'x-gzip' ? createGunzip(flush) : coding === 'deflate' ? createInflate(flush)
    : coding === 'br' ? createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH, finishFlush: constants.BROTLI_OPERATION_FLUSH }) : null;
  if (decoder === null) throw trouble(`compresses its answer in a way that nobody asked for: ${coding.slice(0, 40)}`, false);
  const { pipeline } = await import('node:stream');
  return pipeline(res, decoder, () => { /* the reader of the decoder sees the error */ });
}
