/** Servers and proxies that mean no good, or are none. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import { createServer } from 'node:http';
import { connect, createServer as createNetServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createGzip } from 'node:zlib';
import { createHttpClient } from '../../../plugins/kit/http.ts';
import type { HttpAnswer, HttpClient, HttpClientOptions } from '../../../plugins/kit/http.ts';
import { transportFault } from '../../../plugins/kit/http-fault.ts';
import type { ModelFault } from 'tappet/schemas';

const tls = (name: string): string => fileURLToPath(new URL(`../../support/tls/${name}`, import.meta.url));
async function listen(t: TestContext, server: Server, host = '127.0.0.1'): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (s: Socket) => { sockets.add(s); s.on('error', () => { /* the client left */ }); });
  await new Promise<void>((done, fail) => { server.once('error', fail).listen(0, host, done); });
  t.after(() => { for (const s of sockets) s.destroy(); server.close(); });
  return (server.address() as AddressInfo).port;
}
/** A server that writes what it likes once the head of a request is here. */
const raw = async (t: TestContext, on: (socket: Socket) => void): Promise<string> => `http://127.0.0.1:${await listen(t, createNetServer((s) => { s.once('data', () => on(s)); }))}`;
function client(t: TestContext, o: Partial<HttpClientOptions> & { baseUrl: string }): HttpClient {
  const c = createHttpClient({ provider: 'p', env: {}, firstByteMs: 5_000, betweenBytesMs: 5_000, ...o });
  t.after(() => c.close());
  return c;
}
const ask = (c: HttpClient): Promise<HttpAnswer> => c.stream({ path: '/x', model: 'm', signal: new AbortController().signal });
const read = async (c: HttpClient): Promise<string[]> => { const seen: string[] = []; for await (const e of (await ask(c)).events) seen.push(e.data); return seen; };
async function fault(work: Promise<unknown>): Promise<ModelFault> {
  const e: unknown = await work.then(() => null, (error: unknown) => error);
  const f = transportFault(e);
  assert.ok(f !== null, `no fault of the transport: ${String(e)}`);
  return f;
}
/** Writes the same again and again until the other side has enough. */
const forEver = (s: Socket, text: string | Buffer, pauseMs?: number): void => {
  const timer = pauseMs === undefined ? undefined : setInterval(() => s.write(text), pauseMs);
  s.once('close', () => clearInterval(timer));
  if (timer !== undefined) return;
  const go = (): void => { while (!s.destroyed && s.write(text)); };
  s.on('drain', go);
  go();
};
const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n';

test('a head without end is refused, and one that drips runs into the limit for the first byte', async (t) => {
  const endless = await fault(ask(client(t, { baseUrl: await raw(t, (s) => { s.write('HTTP/1.1 200 OK\r\nx: '); forEver(s, 'a'.repeat(4096)); }) })));
  assert.deepEqual([endless.kind, endless.transient], ['connection', false]);
  assert.match(endless.message, /head of the answer.*no end/);
  const dripping = await fault(ask(client(t, { baseUrl: await raw(t, (s) => { s.write('HTTP/1.1 200 OK\r\nx: '); forEver(s, 'a', 5); }), firstByteMs: 60 })));
  assert.equal(dripping.kind, 'timeout_first_byte');
});

test('words before the answer (100, 103) are passed over; nothing but such words is no answer', async (t) => {
  const before = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n';
  assert.deepEqual(await read(client(t, { baseUrl: await raw(t, (s) => s.end(`${before}${HEAD}connection: close\r\n\r\ndata: ok\n\n`)) })), ['ok']);
  assert.equal((await fault(ask(client(t, { baseUrl: await raw(t, (s) => forEver(s, before, 5)), firstByteMs: 60 })))).kind, 'timeout_first_byte');
});

test('what speaks no HTTP, or hangs up at once, is a fault of the connection', async (t) => {
  const ssh = await fault(ask(client(t, { baseUrl: await raw(t, (s) => s.end('SSH-2.0-OpenSSH_9.6\r\n')) })));
  assert.deepEqual([ssh.kind, ssh.transient], ['connection', false]);
  assert.match(ssh.message, /does not speak HTTP/);
  const mute = await fault(ask(client(t, { baseUrl: `http://127.0.0.1:${await listen(t, createNetServer((s) => s.destroy()))}` })));
  assert.deepEqual([mute.kind, mute.transient], ['connection', true]);
});

test('204 is an answer without events, and a redirect is an answer: nobody else is asked', async (t) => {
  let asked = 0;
  const other = createServer((_req, res) => { asked++; res.end(); });
  const to = await listen(t, other);
  const none = await ask(client(t, { baseUrl: await raw(t, (s) => s.end('HTTP/1.1 204 No Content\r\n\r\n')) }));
  assert.equal(none.status, 204);
  for await (const _ of none.events) assert.fail('there is an event');
  for (const status of [301, 302, 307, 308]) {
    const answer = await ask(client(t, { baseUrl: await raw(t, (s) => s.end(`HTTP/1.1 ${status} Elsewhere\r\nlocation: http://127.0.0.1:${to}/x\r\ncontent-length: 0\r\n\r\n`)) }));
    assert.equal(answer.status, status);
    assert.equal(await answer.text(), '');
  }
  assert.equal(asked, 0);
});

test('one line without end is given up, long before the memory is', async (t) => {
  const url = await raw(t, (s) => { s.write(`${HEAD}\r\ndata: `); forEver(s, 'a'.repeat(1 << 20)); });
  const f = await fault(read(client(t, { baseUrl: url })));
  assert.deepEqual([f.kind, f.transient], ['broken_stream', false]);
  assert.match(f.message, /event without end/);
});

test('an answer without end is given up at its limit, also when it is small on the wire', async (t) => {
  const many = await fault(read(client(t, { baseUrl: await raw(t, (s) => { s.write(`${HEAD}\r\n`); forEver(s, 'data: and so on\n\n'.repeat(1000)); }), mostBytes: 1 << 20 })));
  assert.deepEqual([many.kind, many.transient], ['broken_stream', false]);
  assert.match(many.message, /answer without end/);
  const bomb = createServer((_req, res) => {
    const gzip = createGzip();
    gzip.pipe(res.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' }));
    const comments = Buffer.from(': nothing at all\n'.repeat(4096));
    const go = (): void => { while (!res.destroyed && gzip.write(comments)); };
    gzip.on('drain', go);
    res.once('close', () => gzip.destroy());
    go();
  });
  const baseUrl = `http://127.0.0.1:${await listen(t, bomb)}`;
  assert.match((await fault(read(client(t, { baseUrl, mostBytes: 8 << 20 })))).message, /answer without end/);
  assert.equal((await (await ask(client(t, { baseUrl }))).text()).length, 64 * 1024, 'and an error is as long as any other');
});

test('an error that drips, and one without end, are not waited for', async (t) => {
  const head = 'HTTP/1.1 500 No\r\n\r\n';
  const drip = await ask(client(t, { baseUrl: await raw(t, (s) => { s.write(head); forEver(s, 'a', 5); }), betweenBytesMs: 60 }));
  const f = await fault(drip.text());
  assert.equal(f.kind, 'timeout_between_bytes');
  assert.match(f.message, /did not come to the end/);
  const endless = await ask(client(t, { baseUrl: await raw(t, (s) => { s.write(head); forEver(s, 'a'.repeat(4096)); }) }));
  assert.equal((await endless.text()).length, 64 * 1024);
});

test('chunks without end run into the limit for silence, and broken ones are a broken stream', async (t) => {
  const chunked = `${HEAD}transfer-encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n`;
  assert.equal((await fault(read(client(t, { baseUrl: await raw(t, (s) => { s.write(chunked); forEver(s, '3\r\n: \n\r\n', 5); }), betweenBytesMs: 60 })))).kind, 'timeout_between_bytes');
  for (const rest of ['nonsense\r\n', 'ffffffffffffffff1\r\n', '-5\r\n']) assert.equal((await fault(read(client(t, { baseUrl: await raw(t, (s) => s.end(chunked + rest)) })))).kind, 'broken_stream', rest);
});

test('an unknown way to compress is a fault of the transport, for events too, and the connection is closed', async (t) => {
  let closed: Promise<unknown> | undefined;
  const url = await raw(t, (s) => { closed = new Promise((done) => { s.once('close', done); }); s.write(`${HEAD}content-encoding: zstd\r\n\r\ndata: x\n\n`); });
  const f = await fault(read(client(t, { baseUrl: url })));
  assert.deepEqual([f.kind, f.transient], ['broken_stream', false]);
  assert.match(f.message, /zstd/);
  await closed;
});

test('JSON that is nested too deep is none', async (t) => {
  for (const [text, good] of [['['.repeat(100_000), false], [`${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`, false], [`${'['.repeat(200)}"${'[{'.repeat(999)}\\"["${']'.repeat(200)}`, true]] as const) {
    const answer = await ask(client(t, { baseUrl: await raw(t, (s) => s.end(`HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}`)) }));
    assert.equal(await answer.json() !== undefined, good, text.slice(0, 20));
  }
});

test('a server at ::1 is reached by its address and, where names go there, by localhost', async (t) => {
  const server = createServer((req, res) => { res.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${req.headers.host} ${req.url}\n\n`); });
  const port = await listen(t, server, '::1').catch(() => null);
  if (port === null) return t.skip('this machine has no IPv6');
  assert.deepEqual(await read(client(t, { baseUrl: `http://[::1]:${port}/v1/` })), [`[::1]:${port} /v1/x`]);
});

test('a certificate of another host is told as such, whoever shows it', async (t) => {
  const server = createTlsServer({ cert: readFileSync(tls('server.pem')), key: readFileSync(tls('server.key')) }, (_req, res) => { res.end(); });
  const port = await listen(t, server);
  // A proxy that leads elsewhere than it was told, to somebody whose certificate is good.
  const proxy = createServer();
  proxy.on('connect', (_req, socket: Socket) => { const to = connect(port, '127.0.0.1', () => { socket.write('HTTP/1.1 200 OK\r\n\r\n'); to.pipe(socket).pipe(to); }); to.on('error', () => socket.destroy()); });
  const at = `http://127.0.0.1:${await listen(t, proxy)}`;
  const f = await fault(ask(client(t, { baseUrl: 'https://bank.test', proxy: at, caFile: tls('ca.pem') })));
  assert.deepEqual([f.kind, f.transient], ['connection', false]);
  assert.match(f.message, /bank\.test shows the certificate of another host/);
});

test('a proxy that lies is found out: it opens no tunnel, or one to nowhere', async (t) => {
  const open = async (on: (s: Socket) => void): Promise<string> => { const p = createServer(); p.on('connect', (_req, s: Socket) => on(s)); return `http://127.0.0.1:${await listen(t, p)}`; };
  const garbage = await fault(ask(client(t, { baseUrl: 'https://api.test', proxy: await open((s) => s.write('HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\nwelcome')) })));
  assert.deepEqual([garbage.kind, garbage.transient], ['connection', false]);
  assert.match(garbage.message, /does not speak TLS/);
  const silent = await fault(ask(client(t, { baseUrl: 'https://api.test', proxy: await open((s) => s.write('HTTP/1.1 200 OK\r\n\r\n')), firstByteMs: 80 })));
  assert.equal(silent.kind, 'timeout_first_byte');
  const gone = await fault(ask(client(t, { baseUrl: 'https://api.test', proxy: await open((s) => s.end('HTTP/1.1 200 OK\r\n\r\n')) })));
  assert.deepEqual([gone.kind, gone.transient], ['connection', true]);
  const endless = await fault(ask(client(t, { baseUrl: 'https://api.test', proxy: await raw(t, (s) => { s.write('HTTP/1.1 200 OK\r\nx: '); forEver(s, 'a'.repeat(4096)); }) })));
  assert.equal(endless.kind, 'connection');
  const plain = await fault(ask(client(t, { baseUrl: 'http://api.test', proxy: await raw(t, (s) => s.end('not HTTP\r\n\r\n')) })));
  assert.equal(plain.kind, 'connection');
});

test('https where only http is spoken is told', async (t) => {
  const port = await listen(t, createServer((_req, res) => { res.end(); }));
  const f = await fault(ask(client(t, { baseUrl: `https://127.0.0.1:${port}` })));
  assert.match(f.message, /does not speak TLS.*http or https/);
  assert.equal(f.transient, false);
});

test('no error repeats a key, wherever it was put', async (t) => {
  const secret = 'sk-very-secret-0123';
  const url = await raw(t, (s) => s.end('HTTP/1.1 200 OK\r\n\r\n'));
  const said = async (o: Partial<HttpClientOptions> & { baseUrl: string }): Promise<string> => {
    const e: unknown = await ask(client(t, o)).then(() => null, (error: unknown) => error);
    const texts = [String((e as Error).stack), String((e as Error).cause instanceof Error ? ((e as Error).cause as Error).stack : ''), JSON.stringify(transportFault(e))].join();
    assert.ok(!texts.includes(secret), texts);
    return transportFault(e)?.message ?? '';
  };
  assert.match(await said({ baseUrl: url, headers: { authorization: `Bearer ${secret}\n` } }), /header holds a character.*authorization/);
  assert.match(await said({ baseUrl: url.replace('http://', `http://me:${secret}@`) }), /name or a password/);
  assert.match(await said({ baseUrl: 'http://api.test', proxy: `http://me:${secret}@127.0.0.1:1` }), /proxy|nothing listens/);
  assert.match(await said({ baseUrl: `${(await raw(t, (s) => s.destroy()))}/v1?key=${secret}` }), /closed the connection/);
});
