import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer as createPlainServer } from 'node:http';
import { createServer } from 'node:https';
import type { ServerOptions } from 'node:https';
import { connect } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { createHttpClient } from '../../../plugins/kit/http.ts';
import type { HttpClientOptions } from '../../../plugins/kit/http.ts';
import { transportFault } from '../../../plugins/kit/http-fault.ts';

const file = (name: string): string => fileURLToPath(new URL(`../../support/tls/${name}`, import.meta.url));
const caFile = file('ca.pem');
const listen = async (t: TestContext, server: Server): Promise<number> => {
  await new Promise<void>((done) => { server.listen(0, '127.0.0.1', done); });
  t.after(() => { (server as { closeAllConnections?: () => void }).closeAllConnections?.(); server.close(); });
  return (server.address() as AddressInfo).port;
};
async function secure(t: TestContext, o: ServerOptions = {}): Promise<{ url: string; port: number; connections: () => number }> {
  let connections = 0;
  const server = createServer({ cert: readFileSync(file('server.pem')), key: readFileSync(file('server.key')), ...o }, (req, res) => {
    req.resume();
    const peer = (req.socket as TLSSocket).getPeerCertificate();
    res.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${peer.subject?.CN ?? 'nobody'}\n\n`);
  });
  server.on('secureConnection', () => { connections++; });
  const port = await listen(t, server);
  return { url: `https://127.0.0.1:${port}`, port, connections: () => connections };
}
async function read(t: TestContext, o: Partial<HttpClientOptions> & { baseUrl: string }, times = 1): Promise<string[]> {
  const client = createHttpClient({ provider: 'p', env: {}, ...o });
  t.after(() => client.close());
  const seen: string[] = [];
  for (let i = 0; i < times; i++) {
    for await (const e of (await client.stream({ path: '/', model: 'm', signal: new AbortController().signal })).events) seen.push(e.data);
    await new Promise((done) => { setImmediate(done); });
  }
  return seen;
}

test('an authority of one\'s own is trusted, one connection serves several requests', async (t) => {
  const { url, connections } = await secure(t);
  assert.deepEqual(await read(t, { baseUrl: url, caFile }, 3), ['nobody', 'nobody', 'nobody']);
  assert.equal(connections(), 1);
});

test('an unknown authority is a fault that waiting does not mend, and says what to set', async (t) => {
  const { url } = await secure(t);
  await assert.rejects(read(t, { baseUrl: url }), (e) => { const f = transportFault(e); return f?.kind === 'connection' && !f.transient && /caFile/.test(f.message); });
});

test('an authority of one\'s own stands beside the usual ones: those stay trusted, and no other client comes to trust it', async (t) => {
  const { url } = await secure(t);
  assert.deepEqual(await read(t, { baseUrl: url, caFile }), ['nobody']);
  await assert.rejects(read(t, { baseUrl: url }), (e) => transportFault(e)?.kind === 'connection');
  // A process to which the test authority is a usual one, and that is given another file.
  const code = `const { createHttpClient } = await import(${JSON.stringify(new URL('../../../plugins/kit/http.ts', import.meta.url).href)});
    const c = createHttpClient({ provider: 'p', env: process.env, baseUrl: ${JSON.stringify(url)}, caFile: ${JSON.stringify(file('client.pem'))} });
    for await (const e of (await c.stream({ path: '/', model: 'm', signal: new AbortController().signal })).events) console.log(e.data);
    c.close();`;
  const said = await new Promise<string>((done, fail) => {
    execFile(process.execPath, ['--conditions=tappet-src', '--import', 'tsx', '--input-type=module', '-e', code], { env: { ...process.env, NODE_EXTRA_CA_CERTS: caFile } }, (error, stdout) => { if (error === null) done(stdout); else fail(error); });
  });
  assert.equal(said.trim(), 'nobody');
});

test('a client shows its certificate', async (t) => {
  const { url } = await secure(t, { requestCert: true, ca: readFileSync(caFile) });
  assert.deepEqual(await read(t, { baseUrl: url, caFile, certFile: file('client.pem'), keyFile: file('client.key') }), ['client']);
});

test('a certificate file that is not there, or is none, is named', async (t) => {
  const { url } = await secure(t);
  await assert.rejects(read(t, { baseUrl: url, caFile: file('README.md') }), (e) => { const f = transportFault(e); return f?.kind === 'connection' && !f.transient && /caFile is no PEM file.*README\.md/.test(f.message); });
  await assert.rejects(read(t, { baseUrl: url, caFile: '/nowhere/ca.pem' }), (e) => { const f = transportFault(e); return f?.kind === 'connection' && !f.transient && /caFile.*\/nowhere\/ca\.pem/.test(f.message); });
});

test('through a proxy the tunnel carries TLS to the real name, and is used again', async (t) => {
  const { port, connections } = await secure(t);
  const asked: string[] = [];
  const proxy = createPlainServer();
  proxy.on('connect', (req, socket: Socket, head: Buffer) => {
    asked.push(`${req.url} ${req.headers['proxy-authorization'] ?? ''}`.trim());
    const to = connect(port, '127.0.0.1', () => { socket.write('HTTP/1.1 200 OK\r\n\r\n'); to.write(head); to.pipe(socket).pipe(to); });
    for (const s of [to, socket]) s.on('error', () => { to.destroy(); socket.destroy(); });
  });
  const at = await listen(t, proxy);
  assert.deepEqual(await read(t, { baseUrl: 'https://api.test', caFile, env: { HTTPS_PROXY: `http://me:x@127.0.0.1:${at}` } }, 2), ['nobody', 'nobody']);
  assert.deepEqual(asked, ['api.test:443 Basic bWU6eA==']);
  assert.equal(connections(), 1);
});
