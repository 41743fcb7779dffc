/** Requests to the host and their answers: each is answered once, withdrawn, or fails when the host is gone. */
import { randomUUID } from 'node:crypto';
import type { Fields } from './protocol.ts';

export interface Channel {
  /** The payload of the answer. Rejects where the host answers with an error, and where it is gone. */
  request(body: Fields, signal: AbortSignal, id?: string): Promise<unknown>;
  /** An answer has come; one that nobody waits for is ignored. */
  settle(answer: { readonly request_id: string; readonly subtype: string; readonly response?: unknown; readonly error?: string | undefined }): void;
  /** Nothing will be answered any more. */
  leave(): void;
  readonly isGone: boolean;
}

export function createChannel(write: (line: Fields) => void): Channel {
  const waiting = new Map<string, { resolve(payload: unknown): void; reject(error: Error): void }>();
  let isGone = false;
  return {
    get isGone() { return isGone; },
    request(body, signal, id = randomUUID()) {
      if (isGone) return Promise.reject(new Error(GONE));
      if (signal.aborted) return Promise.reject(new Error('withdrawn'));
      return new Promise((resolve, reject) => {
        const withdraw = (): void => {
          done();
          write({ type: 'control_cancel_request', request_id: id });
          reject(new Error('withdrawn'));
        };
        const done = (): void => { waiting.delete(id); signal.removeEventListener('abort', withdraw); };
        signal.addEventListener('abort', withdraw, { once: true });
        waiting.set(id, { resolve: (payload) => { done(); resolve(payload); }, reject: (error) => { done(); reject(error); } });
        write({ type: 'control_request', request_id: id, request: body });
      });
    },
    settle({ request_id, subtype, response, error }) {
      const open = waiting.get(request_id);
      if (subtype === 'success') open?.resolve(response); else open?.reject(new Error(error ?? 'the host answered with an error'));
    },
    leave() {
      isGone = true;
      for (const open of [...waiting.values()]) open.reject(new Error(GONE));
    },
  };
}
const GONE = 'the host has closed its input';
