/** Writes the frames of an event stream the way real networks deliver them: cut anywhere, compressed, with comments between, breaking off, going silent. */
import type { ServerResponse } from 'node:http';
import { createGzip } from 'node:zlib';
import type { PeerPieces } from '../contracts/model-provider.ts';

export interface FramesOptions {
  readonly pieces?: PeerPieces | undefined;
  readonly ending?: 'whole' | 'cut' | 'silent' | undefined;
  /** The vendor's own sign of life, as a frame. */
  readonly ping?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Frames end with a blank line. Resolves when all is written; a silent stream goes on until the client leaves. */
export async function writeFrames(res: ServerResponse, frames: readonly string[], o: FramesOptions = {}): Promise<void> {
  const { pieces = {}, ending = 'whole', ping } = o;
  const gzip = pieces.gzip === true ? createGzip() : null;
  res.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache', ...(gzip === null ? {} : { 'content-encoding': 'gzip' }), ...o.headers });
  res.flushHeaders();
  gzip?.pipe(res);
  const write = (bytes: Uint8Array): Promise<void> => new Promise((done) => {
    if (res.destroyed) return done();
    if (gzip === null) return void res.write(bytes, () => done());
    gzip.write(bytes);
    gzip.flush(() => done());
  });
  const between = `${pieces.comments === true ? ': still here\n\n' : ''}${pieces.pings === true && ping !== undefined ? ping : ''}`;
  const send = async (text: string): Promise<void> => {
    const bytes = Buffer.from(pieces.crlf === true ? text.replaceAll('\n', '\r\n') : text);
    const size = pieces.size ?? bytes.length;
    for (let at = 0; at < bytes.length && !res.destroyed; at += size) await write(bytes.subarray(at, at + size));
  };
  for (const [i, frame] of frames.entries()) {
    if (ending === 'cut' && i === frames.length - 1) {
      await send(frame.slice(0, Math.floor(frame.length / 2)));
      res.socket?.destroy();
      return;
    }
    await send(between + frame);
  }
  if (ending !== 'silent') return void (gzip ?? res).end();
  const still = setInterval(() => void send(between), 5);
  res.once('close', () => clearInterval(still));
}
