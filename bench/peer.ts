/** A model server that costs nothing: it answers by the number of results in a request, and notes when each request came and when its answer left. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { PeerStep } from '../test/contracts/model-provider.ts';
import { frame, framesOf } from '../test/support/mock-anthropic.ts';
import { peerReply as geminiReply } from '../test/support/mock-gemini.ts';
import { peerReply as openaiReply } from '../test/support/mock-openai.ts';
import type { Reply } from '../test/support/mock-server.ts';

/** Milliseconds of the monotonic clock, comparable between processes. */
export const clock = (): number => Number(process.hrtime.bigint()) / 1e6;
export interface Visit { readonly came: number; left: number; readonly bytes: number; /** The body, where the peer keeps them. */ readonly text: string }
export interface Peer { readonly url: string; readonly visits: Visit[]; plan: (results: number) => PeerStep; close(): Promise<void> }
export type Wire = 'anthropic' | 'responses' | 'chat' | 'gemini';
interface Language { /** Stands in a request once for each result. */ readonly result: string; answer(step: PeerStep, nth: number): string }
const joined = (reply: Reply): string => ('frames' in reply ? reply.frames.join('') : '');
export const LANGUAGES: Readonly<Record<Wire, Language>> = {
  anthropic: { result: '"type":"tool_result"', answer: (step, nth) => framesOf(step, 'mock', nth).map(frame).join('') },
  responses: { result: '"type":"function_call_output"', answer: (step) => joined(openaiReply(step, 'responses')) },
  chat: { result: '"role":"tool"', answer: (step) => joined(openaiReply(step, 'chat')) },
  gemini: { result: '"functionResponse"', answer: (step) => joined(geminiReply(step)) },
};

export async function startPeer(tls?: { key: string; cert: string }, wire: Wire = 'anthropic', o: { readonly keep?: boolean } = {}): Promise<Peer> {
  const { result, answer } = LANGUAGES[wire];
  const peer: Peer = { url: '', visits: [], plan: () => ({ blocks: [{ text: 'ok' }] }), close: () => new Promise((resolve) => { server.close(() => resolve()); server.closeAllConnections(); }) };
  const handler = (req: import('node:http').IncomingMessage, res: import('node:http').ServerResponse): void => {
    const came = clock();
    let bytes = 0;
    let results = 0;
    let tail = '';
    const kept: Buffer[] = [];
    req.on('data', (d: Buffer) => {
      bytes += d.length;
      if (o.keep === true) kept.push(d);
      const text = tail + d.toString('latin1');
      results += text.split(result).length - 1;
      tail = text.slice(1 - result.length);
    });
    req.on('end', () => {
      const visit: Visit = { came, left: 0, bytes, text: Buffer.concat(kept).toString('utf8') };
      peer.visits.push(visit);
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.end(answer(peer.plan(results), peer.visits.length), () => { visit.left = clock(); });
    });
  };
  const server = tls === undefined ? createServer(handler) : createTlsServer({ key: readFileSync(tls.key), cert: readFileSync(tls.cert) }, handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(peer, { url: `http${tls === undefined ? '' : 's'}://127.0.0.1:${(server.address() as AddressInfo).port}` });
}
