/** A loopback server that remembers what it was asked and answers by a function; for mocks of model vendors. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFrames } from './peer-stream.ts';
import type { FramesOptions } from './peer-stream.ts';

export interface Seen { readonly method: string; readonly path: string; readonly query: URLSearchParams; readonly headers: IncomingMessage['headers']; readonly text: string; readonly body: Record<string, any> }
type Headers = Readonly<Record<string, string>>;
export type Reply =
  | (FramesOptions & { /** Each as it stands on the wire, with its blank line. */ readonly frames: readonly string[] })
  | { readonly status?: number | undefined; readonly headers?: Headers | undefined; readonly json: unknown }
  | { readonly status?: number | undefined; readonly headers?: Headers | undefined; readonly text: string }
  | { readonly mute: true };
export interface MockServer {
  readonly url: string;
  readonly seen: readonly Seen[];
  /** Resolves when a client leaves before its answer is whole. */
  gone(): Promise<void>;
  close(): Promise<void>;
}

export const frame = (data: unknown, event?: string): string => `${event === undefined ? '' : `event: ${event}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;

export async function mockServer(answer: (seen: Seen) => Reply): Promise<MockServer> {
  const seen: Seen[] = [];
  let waiting: (() => void)[] = [];
  const handle = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    res.on('error', () => { /* the client left */ });
    res.once('close', () => {
      if (res.writableFinished) return;
      for (const done of waiting) done();
      waiting = [];
    });
    const chunks: Buffer[] = [];
    for await (const c of req) chunks.push(c as Buffer);
    const text = Buffer.concat(chunks).toString('utf8');
    const url = new URL(req.url ?? '/', 'http://mock');
    let body: Record<string, any> = {};
    try { body = text === '' ? {} : JSON.parse(text) as Record<string, any>; } catch { return reply(res, { status: 400, json: { error: { message: 'the body is no JSON', code: 400 } } }); }
    const one: Seen = { method: req.method ?? '', path: url.pathname, query: url.searchParams, headers: req.headers, text, body };
    seen.push(one);
    await reply(res, answer(one));
  };
  const server = createServer((req, res) => {
    handle(req, res).catch((e: unknown) => { res.writeHead(500, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message: `the mock failed: ${String(e)}` } })); });
  });
  await new Promise<void>((done) => { server.listen(0, '127.0.0.1', done); });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen,
    gone: () => new Promise((done) => { waiting.push(done); }),
    close: () => new Promise((done) => {
      server.close(() => done());
      server.closeAllConnections();
    }),
  };
}

async function reply(res: ServerResponse, r: Reply): Promise<void> {
  if ('mute' in r) return;
  if ('frames' in r) return writeFrames(res, r.frames, r);
  const [type, text] = 'json' in r ? ['application/json', JSON.stringify(r.json)] : ['text/html', r.text];
  res.writeHead(r.status ?? 200, { 'content-type': type, ...r.headers }).end(text);
}
