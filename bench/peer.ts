/** A model server that costs nothing: it answers by the number of results in a request, and notes when each request came and when its answer left. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { frame, framesOf } from '../test/support/mock-anthropic.ts';
import type { MockStep } from '../test/support/mock-anthropic.ts';

/** Milliseconds of the monotonic clock, comparable between processes. */
export const clock = (): number => Number(process.hrtime.bigint()) / 1e6;
export interface Visit { readonly came: number; left: number; readonly bytes: number }
export interface Peer { readonly url: string; readonly visits: Visit[]; plan: (results: number) => MockStep; close(): Promise<void> }

export async function startPeer(tls?: { key: string; cert: string }): Promise<Peer> {
  const peer: Peer = { url: '', visits: [], plan: () => ({ blocks: [{ text: 'ok' }] }), close: () => new Promise((resolve) => { server.close(() => resolve()); server.closeAllConnections(); }) };
  const handler = (req: import('node:http').IncomingMessage, res: import('node:http').ServerResponse): void => {
    const came = clock();
    let bytes = 0;
    let results = 0;
    let tail = '';
    req.on('data', (d: Buffer) => {
      bytes += d.length;
      const text = tail + d.toString('latin1');
      results += text.split('"type":"tool_result"').length - 1;
      tail = text.slice(-22);
      if (tail.includes('"type":"tool_result"')) tail = '';
    });
    req.on('end', () => {
      const visit: Visit = { came, left: 0, bytes };
      peer.visits.push(visit);
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.end(framesOf(peer.plan(results), 'mock', peer.visits.length).map(frame).join(''), () => { visit.left = clock(); });
    });
  };
  const server = tls === undefined ? createServer(handler) : createTlsServer({ key: readFileSync(tls.key), cert: readFileSync(tls.cert) }, handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(peer, { url: `http${tls === undefined ? '' : 's'}://127.0.0.1:${(server.address() as AddressInfo).port}` });
}
