import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { createServer as createNetServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { brotliCompressSync, createGzip, deflateSync } from 'node:zlib';
import { createHttpClient } from '../../../plugins/kit/http.ts';
import type { HttpClient, HttpClientOptions } from '../../../plugins/kit/http.ts';
import { transportFault } from '../../../plugins/kit/http-fault.ts';

async function serve(t: TestContext, on: RequestListener): Promise<{ url: string; server: Server }> {
  const server = createServer(on);
  await new Promise<void>((done) => { server.listen(0, '127.0.0.1', done); });
  t.after(() => { server.closeAllConnections(); server.close(); });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}
function client(t: TestContext, o: Partial<HttpClientOptions> & { baseUrl: string }): HttpClient {
  const c = createHttpClient({ provider: 'p', env: {}, ...o });
  t.after(() => c.close());
  return c;
}
const signal = (): AbortSignal => new AbortController().signal;
async function read(c: HttpClient, o: { signal?: AbortSignal } = {}): Promise<string[]> {
  const answer = await c.stream({ path: '/x', model: 'm', signal: signal(), ...o });
  const seen: string[] = [];
  for await (const e of answer.events) seen.push(e.data);
  return seen;
}
const fault = (kind: string) => (e: unknown) => { assert.equal(transportFault(e)?.kind, kind, String(e)); return true; };
const sse = (res: ServerResponse, headers: Record<string, string> = {}): ServerResponse => res.writeHead(200, { 'content-type': 'text/event-stream', ...headers });
const body = async (req: IncomingMessage): Promise<string> => { let s = ''; for await (const c of req) s += String(c); return s; };

test('sends the parts of a body as one, the headers, and the path behind the base', async (t) => {
  const { url } = await serve(t, async (req, res) => { const got = await body(req); sse(res).end(`data: ${JSON.stringify([req.method, req.url, got, req.headers['x-a'], req.headers['x-b'], req.headers['content-length']])}\n\n`); });
  const c = client(t, { baseUrl: `${url}/base/?v=1`, headers: { 'x-a': '1' } });
  const answer = await c.stream({ path: '/x?y=2', headers: { 'x-b': '2' }, body: [Buffer.from('{"é'), Buffer.from('":1}')], model: 'm', signal: signal() });
  for await (const e of answer.events) assert.deepEqual(JSON.parse(e.data), ['POST', '/base/x?y=2&v=1', '{"é":1}', '1', '2', '8']);
  assert.equal(answer.status, 200);
});

test('uses one connection for several requests, also when the reader leaves after the last event', async (t) => {
  const ports = new Set<number>();
  const { url } = await serve(t, (req, res) => { ports.add(req.socket.remotePort!); req.resume(); sse(res).end('data: 1\n\ndata: end\n\n'); });
  const c = client(t, { baseUrl: url });
  for (let i = 0; i < 3; i++) {
    const answer = await c.stream({ path: '/', model: 'm', signal: signal() });
    for await (const e of answer.events) if (e.data === 'end') break;
    await new Promise((done) => { setImmediate(done); });
  }
  assert.equal(ports.size, 1);
});

test('a kept connection that the server had closed costs one silent retry', async (t) => {
  let connections = 0;
  let requests = 0;
  const server = createNetServer((socket) => {
    const mine = ++connections;
    socket.on('error', () => { /* reset by us */ });
    socket.on('data', () => {
      requests++;
      // The first connection answers once and is reset when it is used again.
      if (mine === 1 && requests > 1) return socket.resetAndDestroy();
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 10\r\n\r\ndata: ok\n\n');
    });
  });
  await new Promise<void>((done) => { server.listen(0, '127.0.0.1', done); });
  t.after(() => { server.close(); });
  const c = client(t, { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  assert.deepEqual(await read(c), ['ok']);
  await new Promise((done) => { setImmediate(done); });
  assert.deepEqual(await read(c), ['ok']);
  assert.deepEqual([connections, requests], [2, 3]);
});

test('a fresh connection that is reset is not tried again', async (t) => {
  let requests = 0;
  const { url } = await serve(t, (req) => { requests++; req.socket.resetAndDestroy(); });
  await assert.rejects(read(client(t, { baseUrl: url })), (e) => fault('connection')(e) && transportFault(e)!.transient);
  assert.equal(requests, 1);
});

test('a port where nobody listens is a fault of the connection that names the address', async (t) => {
  const { url, server } = await serve(t, () => { /* never */ });
  await new Promise((done) => { server.close(done); });
  await assert.rejects(read(client(t, { baseUrl: url })), (e) => fault('connection')(e) && (e as Error).message.includes(new URL(url).host));
});

test('a server that never begins to answer runs into the limit for the first byte', async (t) => {
  const { url } = await serve(t, () => { /* silent */ });
  await assert.rejects(read(client(t, { baseUrl: url, firstByteMs: 30 })), fault('timeout_first_byte'));
});

test('comments and pings are no sign of life: the limit counts events', async (t) => {
  let pings: NodeJS.Timeout | undefined;
  t.after(() => { clearInterval(pings); });
  const { url } = await serve(t, (_req, res) => { sse(res).write('data: one\n\n'); pings = setInterval(() => res.write(': ping\n\nevent: ping\ndata: {}\n\n'), 5); });
  const c = client(t, { baseUrl: url, betweenBytesMs: 60 });
  const answer = await c.stream({ path: '/', model: 'm', signal: signal() });
  const seen: string[] = [];
  await assert.rejects(async () => { for await (const e of answer.events) seen.push(e.data); }, fault('timeout_between_bytes'));
  assert.deepEqual(seen, ['one']);
});

test('the time in which the reader is busy is no silence of the server', async (t) => {
  const { url } = await serve(t, (_req, res) => { sse(res).end('data: 1\n\ndata: 2\n\n'); });
  const answer = await client(t, { baseUrl: url, betweenBytesMs: 40 }).stream({ path: '/', model: 'm', signal: signal() });
  const seen: string[] = [];
  for await (const e of answer.events) { seen.push(e.data); await new Promise((done) => { setTimeout(done, 90); }); }
  assert.deepEqual(seen, ['1', '2']);
});

test('an abort before, while waiting for the head, and amid events ends at once and closes the connection', async (t) => {
  let closed: (() => void) | undefined;
  const gone = (): Promise<void> => new Promise((done) => { closed = done; });
  let head = false;
  const { url } = await serve(t, (req, res) => { req.socket.once('close', () => closed?.()); if (head) sse(res).write('data: 1\n\ndata: 2\n\n'); else arrived?.(); });
  let arrived: (() => void) | undefined;
  const c = client(t, { baseUrl: url });
  const early = new AbortController();
  early.abort();
  await assert.rejects(read(c, { signal: early.signal }), fault('aborted'));

  const waiting = new AbortController();
  const first = gone();
  arrived = () => waiting.abort();
  await assert.rejects(read(c, { signal: waiting.signal }), fault('aborted'));
  await first;

  head = true;
  const amid = new AbortController();
  const second = gone();
  const answer = await c.stream({ path: '/', model: 'm', signal: amid.signal });
  const seen: string[] = [];
  await assert.rejects(async () => { for await (const e of answer.events) { seen.push(e.data); amid.abort(); } }, fault('aborted'));
  assert.deepEqual(seen, ['1'], 'the second event, already here, is not handed out any more');
  await second;
});

test('a connection cut inside the answer is a broken stream, in events and in a text', async (t) => {
  const { url } = await serve(t, (_req, res) => { sse(res).write('data: 1\n\ndata: {"ha', () => res.socket!.resetAndDestroy()); });
  const c = client(t, { baseUrl: url });
  await assert.rejects(read(c), fault('broken_stream'));
  await assert.rejects(async () => (await c.stream({ path: '/', model: 'm', signal: signal() })).text(), fault('broken_stream'));
});

test('compressed answers are read, also piece by piece', async (t) => {
  const { url } = await serve(t, (req, res) => {
    const text = 'data: a\n\ndata: b\n\n';
    if (req.url === '/br') return void sse(res, { 'content-encoding': 'br' }).end(brotliCompressSync(text));
    if (req.url === '/deflate') return void sse(res, { 'content-encoding': 'deflate' }).end(deflateSync(text));
    if (req.url === '/odd') return void sse(res, { 'content-encoding': 'odd' }).end(text);
    const gzip = createGzip();
    gzip.pipe(sse(res, { 'content-encoding': 'gzip' }));
    gzip.write('data: a\n\n');
    gzip.flush(() => gzip.end('data: b\n\n'));
  });
  const c = client(t, { baseUrl: url });
  for (const path of ['/gzip', '/br', '/deflate']) {
    const seen: string[] = [];
    for await (const e of (await c.stream({ path, model: 'm', signal: signal() })).events) seen.push(e.data);
    assert.deepEqual(seen, ['a', 'b'], path);
  }
  await assert.rejects(async () => (await c.stream({ path: '/odd', model: 'm', signal: signal() })).text(), fault('broken_stream'));
});

test("an error's text is cut at its cap, and json() reads whole answers", async (t) => {
  const { url } = await serve(t, (req, res) => { if (req.url === '/json') res.writeHead(200).end('{"a":1}'); else res.writeHead(500).end('x'.repeat(200_000)); });
  const c = client(t, { baseUrl: url });
  const bad = await c.stream({ path: '/', model: 'm', signal: signal() });
  assert.equal(bad.status, 500);
  assert.equal((await bad.text()).length, 65536);
  assert.deepEqual((await c.json({ path: '/json', model: 'm', signal: signal() })).body, { a: 1 });
  assert.equal((await c.json({ path: '/', model: 'm', signal: signal() })).body, undefined);
});

test('a plain request goes to a proxy in absolute form, with its credentials, unless the host is excepted', async (t) => {
  const seen: string[] = [];
  const proxy = await serve(t, (req, res) => { seen.push(`${req.url} ${req.headers.host} ${req.headers['proxy-authorization'] ?? ''}`); req.resume(); sse(res).end('data: proxied\n\n'); });
  const target = await serve(t, (req, res) => { req.resume(); sse(res).end('data: direct\n\n'); });
  const at = new URL(proxy.url).host;
  const host = new URL(target.url).host;
  assert.deepEqual(await read(client(t, { baseUrl: target.url, proxy: `http://me:se%20cret@${at}` })), ['proxied']);
  assert.deepEqual(seen, [`${target.url}/x ${host} Basic ${Buffer.from('me:se cret').toString('base64')}`]);
  assert.deepEqual(await read(client(t, { baseUrl: target.url, proxy: proxy.url, noProxy: 'example.com, 127.0.0.0/8' })), ['direct']);
  assert.deepEqual(await read(client(t, { baseUrl: target.url, env: { HTTP_PROXY: proxy.url } })), ['direct'], "the environment's proxy is not for this machine");
  assert.deepEqual(await read(client(t, { baseUrl: 'http://api.test', env: { http_proxy: at } })), ['proxied']);
  await assert.rejects(read(client(t, { baseUrl: 'http://api.test', env: { HTTP_PROXY: 'socks5://127.0.0.1:1' } })), (e) => fault('connection')(e) && /socks5/.test((e as Error).message));
});

test('a proxy that refuses the tunnel is a fault that says so, and hides its credentials', async (t) => {
  const { url } = await serve(t, () => { /* never */ });
  const deny = createServer();
  deny.on('connect', (_req, socket: Socket) => { socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'); });
  await new Promise<void>((done) => { deny.listen(0, '127.0.0.1', done); });
  t.after(() => { deny.closeAllConnections(); deny.close(); });
  const at = `127.0.0.1:${(deny.address() as AddressInfo).port}`;
  await assert.rejects(read(client(t, { baseUrl: url.replace('http:', 'https:'), proxy: `http://me:hidden@${at}` })), (e) => fault('connection')(e) && /refused.*407/.test((e as Error).message) && !/hidden/.test((e as Error).message));
});

test('an abort while the proxy keeps the tunnel waiting lets the proxy go', async (t) => {
  const waiting = new AbortController();
  const slow = createServer();
  const closed = new Promise<void>((done) => { slow.on('connect', (_req, socket: Socket) => { socket.on('end', () => { socket.destroy(); done(); }); socket.on('error', () => done()); socket.resume(); waiting.abort(); }); });
  await new Promise<void>((done) => { slow.listen(0, '127.0.0.1', done); });
  t.after(() => { slow.closeAllConnections(); slow.close(); });
  await assert.rejects(read(client(t, { baseUrl: 'https://api.test', proxy: `http://127.0.0.1:${(slow.address() as AddressInfo).port}` }), { signal: waiting.signal }), fault('aborted'));
  await closed;
});

