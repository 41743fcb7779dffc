/**
 * A strict, scripted stand-in for Anthropic's Messages API on loopback: it refuses what the real one refuses, and streams as awkwardly as it is told to.
 * Alone: `node --import tsx test/support/mock-anthropic.ts [steps.json]` prints its address and answers "ok", or plays the steps.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pathToFileURL } from 'node:url';
import type { PeerBlock, PeerRefusal, PeerStep } from '../contracts/model-provider.ts';
import { brokenLaw, signatureOf } from './messages-law.ts';
import { writeFrames } from './peer-stream.ts';

type Json = Record<string, unknown>;
/** A block as the API would stream it whole: server tools, redacted thoughts, whatever comes next. */
export type MockBlock = PeerBlock | { readonly block: Json; /** Streamed as the block's input. */ readonly input?: Json };
export interface MockStep extends Omit<PeerStep, 'blocks'> {
  readonly blocks?: readonly MockBlock[] | undefined;
  readonly stop_reason?: string | undefined;
  readonly stop_details?: Json | undefined;
  readonly usage?: Json | undefined;
  /** Instead of all else: the frames, as objects (their `type` names the event) or as raw text. */
  readonly frames?: readonly (Json | string)[] | undefined;
  /** An answer of one's own, with `body` as it stands. */
  readonly status?: number | undefined;
  readonly body?: string | Json | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}
export interface MockRequest { readonly path: string; readonly headers: IncomingMessage['headers']; readonly text: string; readonly body: Json; readonly model: string; /** Why it was refused. */ readonly refused: string | null }
export interface MockAnthropic {
  readonly url: string;
  /** Those for answers; counts of tokens are in `counted`. */
  readonly requests: MockRequest[];
  readonly counted: MockRequest[];
  /** How many connections were made. */
  connections(): number;
  gone(): Promise<void>;
  close(): Promise<void>;
}
/** A list plays one step for each request that keeps the law, the last again and again. */
export type MockScript = readonly MockStep[] | ((request: MockRequest, nth: number) => MockStep | Promise<MockStep>);

const REFUSALS: Record<PeerRefusal, readonly [number, string, string]> = {
  rate_limit: [429, 'rate_limit_error', "This request would exceed your organization's rate limit of 50 requests per minute."],
  overloaded: [529, 'overloaded_error', 'Overloaded'],
  context_too_long: [400, 'invalid_request_error', 'prompt is too long: 208310 tokens > 200000 maximum'],
  invalid_request: [400, 'invalid_request_error', 'messages.0.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels'],
  auth: [401, 'authentication_error', 'invalid x-api-key'],
  quota: [400, 'invalid_request_error', 'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.'],
  not_found: [404, 'not_found_error', 'model: no-such-model'],
  server_error: [500, 'api_error', 'Internal server error'],
};

export async function startMockAnthropic(script: MockScript = [{ blocks: [{ text: 'ok' }] }]): Promise<MockAnthropic> {
  const requests: MockRequest[] = [];
  const counted: MockRequest[] = [];
  let served = 0;
  let connections = 0;
  let waiting: (() => void)[] = [];
  const stepFor = async (request: MockRequest, nth: number): Promise<MockStep> => (typeof script === 'function' ? script(request, nth) : script[Math.min(nth, script.length - 1)] ?? {});
  const server = createServer((req, res) => void answer(req, res).catch((e: unknown) => { res.destroy(e as Error); }));
  server.on('connection', () => { connections++; });

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const id = `req_mock_${requests.length + counted.length + 1}`;
    res.once('close', () => { if (!res.writableFinished) { for (const f of waiting) f(); waiting = []; } });
    res.on('error', () => { /* the client left */ });
    const parts: Buffer[] = [];
    for await (const part of req) parts.push(part as Buffer);
    const text = Buffer.concat(parts).toString('utf8');
    const refuse = (status: number, type: string, message: string, headers: Readonly<Record<string, string>> = {}): void => {
      res.writeHead(status, { 'content-type': 'application/json', 'request-id': id, ...headers });
      res.end(JSON.stringify({ type: 'error', error: { type, message }, request_id: id }));
    };
    const path = new URL(req.url ?? '/', 'http://x').pathname;
    const counting = path === '/v1/messages/count_tokens';
    if (req.method !== 'POST' || (path !== '/v1/messages' && !counting)) return refuse(404, 'not_found_error', 'Not Found');
    const broken = brokenLaw(text, req.headers, { counting });
    const body = parsed(text);
    const request: MockRequest = { path, headers: req.headers, text, body, model: String(body.model), refused: broken?.message ?? null };
    (counting ? counted : requests).push(request);
    if (broken !== null) return refuse(broken.status, broken.type, broken.message);
    if (counting) return void res.writeHead(200, { 'content-type': 'application/json', 'request-id': id }).end(JSON.stringify({ input_tokens: Math.ceil(text.length / 4) }));

    const step = await stepFor(request, served++);
    const headers = { 'request-id': id, ...(step.retryAfter === undefined ? {} : { 'retry-after': step.retryAfter }), ...step.headers };
    if (step.mute === true) return;
    if (step.refuse !== undefined) return refuse(...REFUSALS[step.refuse], headers);
    if (step.status !== undefined) return void res.writeHead(step.status, { 'content-type': 'application/json', ...headers }).end(typeof step.body === 'string' ? step.body : JSON.stringify(step.body ?? {}));
    const frames = (step.frames ?? framesOf(step, request.model, served)).map((f) => (typeof f === 'string' ? f : frame(f)));
    const { ending } = step;
    await writeFrames(res, frames, { pieces: step.pieces, ping: frame({ type: 'ping' }), headers, ending: ending === 'cut' || ending === 'silent' ? ending : 'whole' });
  }

  await new Promise<void>((done) => { server.listen(0, '127.0.0.1', done); });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, counted,
    connections: () => connections,
    gone: () => new Promise((done) => { waiting.push(done); }),
    close: () => new Promise((done) => { server.closeAllConnections(); server.close(() => done()); }),
  };
}

const parsed = (text: string): Json => { try { return JSON.parse(text) as Json; } catch { return {}; } };
export const frame = (event: Json): string => `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`;
const pieces = (text: string, size: number): string[] => { const all = [...text]; return Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size).join('')); };

/** All frames of one answer. */
export function framesOf(step: MockStep, model: string, nth: number): Json[] {
  const blocks = step.blocks ?? [];
  const usage = { input_tokens: 100, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 20, ...step.usage };
  const out: Json[] = [{ type: 'message_start', message: { id: `msg_mock_${nth}`, type: 'message', role: 'assistant', model, content: [], stop_reason: null, stop_sequence: null, usage: { ...usage, output_tokens: 1 } } }, { type: 'ping' }];
  blocks.forEach((b, index) => {
    const delta = (d: Json): void => { out.push({ type: 'content_block_delta', index, delta: d }); };
    const start = (content_block: Json): void => { out.push({ type: 'content_block_start', index, content_block }); };
    if ('text' in b) {
      start({ type: 'text', text: '' });
      pieces(b.text, 7).forEach((text, i) => { if (i === 1 && step.odd === true) delta({ type: 'text_delta', text: 42 }); delta({ type: 'text_delta', text }); });
      if (step.odd === true && [...b.text].length <= 7) delta({ type: 'text_delta', text: 42 });
    } else if ('thinking' in b) {
      start({ type: 'thinking', thinking: '', signature: '' });
      for (const thinking of pieces(b.thinking, 9)) delta({ type: 'thinking_delta', thinking });
      delta({ type: 'signature_delta', signature: signatureOf(b.thinking) });
    } else if ('call' in b) {
      start({ type: 'tool_use', id: `toolu_mock_${nth}_${index}`, name: b.call, input: {} });
      delta({ type: 'input_json_delta', partial_json: '' });
      for (const partial_json of pieces(typeof b.input === 'string' ? b.input : JSON.stringify(b.input), 11)) delta({ type: 'input_json_delta', partial_json });
    } else {
      start(b.block);
      if (b.input !== undefined) for (const partial_json of pieces(JSON.stringify(b.input), 11)) delta({ type: 'input_json_delta', partial_json });
    }
    if (step.ending !== 'silent' || index < blocks.length - 1) out.push({ type: 'content_block_stop', index });
  });
  if (step.ending === 'silent' || step.ending === 'unfinished') return out;
  if (step.ending === 'error') return [...out, { type: 'error', error: { type: 'overloaded_error', message: 'the peer broke down in the middle' } }];
  const called = blocks.some((b) => 'call' in b);
  const stop = step.stop === undefined ? (called ? 'tool_use' : 'end_turn') : { end: 'end_turn', calls: 'tool_use', length: 'max_tokens' }[step.stop];
  return [...out, { type: 'message_delta', delta: { stop_reason: step.stop_reason ?? stop, stop_sequence: null, ...(step.stop_details === undefined ? {} : { stop_details: step.stop_details }) }, usage: { output_tokens: usage.output_tokens } }, { type: 'message_stop' }];
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const file = process.argv[2];
  const mock = await startMockAnthropic(file === undefined ? undefined : JSON.parse(readFileSync(file, 'utf8')) as MockStep[]);
  process.stdout.write(`${mock.url}\n`);
}
