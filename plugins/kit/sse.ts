/** Server-sent events from pieces of bytes, however they are cut. */
import { createParser } from 'eventsource-parser';
import { trouble } from './http-fault.ts';

export interface SseEvent { /** `null`: the stream named none. */ readonly event: string | null; readonly data: string; readonly id?: string | undefined }

/** Characters of one event; more is no event but a server gone wrong. */
const MAX_EVENT_CHARS = 64 * 1024 * 1024;

/** Comments are swallowed. What is left at a clean end counts as an event even without its blank line: some servers forget it. */
export async function* sseEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<SseEvent, void, void> {
  let ready: SseEvent[] = [];
  let broken: Error | undefined;
  const parser = createParser({
    maxBufferSize: MAX_EVENT_CHARS,
    onEvent: (e) => { ready.push({ event: e.event ?? null, data: e.data, ...(e.id === undefined ? {} : { id: e.id }) }); },
    // Unknown fields and odd `retry` values are to be ignored, says the standard.
    onError: (e) => { if (e.type === 'max-buffer-size-exceeded') broken = trouble(`sends an event without end: more than ${MAX_EVENT_CHARS / 1024 / 1024} million characters`, false, e); },
  });
  const decoder = new TextDecoder();
  function* drain(): Generator<SseEvent, void, void> {
    const now = ready;
    ready = [];
    yield* now;
  }
  for await (const chunk of chunks) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    if (ready.length > 0) yield* drain();
    if (broken !== undefined) throw broken;
  }
  parser.feed(`${decoder.decode()}\n\n`);
  yield* drain();
}
