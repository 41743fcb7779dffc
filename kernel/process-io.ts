/** The process's streams and signals as an Io. Piped output is whole; a reader that went away ends it quietly. */
import type { Io } from '../schemas/index.ts';
import { messageOf, printError, TappetError } from './errors.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
export const SIGNAL_EXIT = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** Names, paths and messages of others end here: but for our own colours nothing may drive the terminal. */
const harmless = (text: string): string => text.replace(/\x1b\[[\d;]*m|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g, (c) => (c.length > 1 ? c : '\ufffd'));

export function processIo(p: NodeJS.Process, leave: (code: number) => void): Io {
  const env = { ...p.env };
  const listeners = new Set<(signal: (typeof SIGNALS)[number]) => void>();
  let heard = 0;
  for (const signal of SIGNALS) p.on(signal, () => {
    // Twice ends, whatever is still going on.
    if (listeners.size === 0 || ++heard > 1) { leave(SIGNAL_EXIT[signal]); return; }
    for (const fn of [...listeners]) fn(signal);
  });
  const gone = (e: NodeJS.ErrnoException): void => {
    if (e.code === 'EPIPE' || e.code === 'EIO' || e.code === 'ERR_STREAM_DESTROYED') { leave(0); return; }
    const error = new TappetError('E_FRONTEND', { message: `the answer cannot be written: ${messageOf(e)}`, where: 'stdout', do: 'make room, or send it elsewhere' });
    p.stderr.write(`${printError(error)}\n`);
    leave(error.exit);
  };
  p.stdout.on('error', gone);
  p.stderr.on('error', () => {}); // nobody is left to be told
  const drain = (stream: NodeJS.WriteStream): Promise<void> => new Promise((resolve) => { if (stream.writableLength === 0) resolve(); else stream.write('', () => resolve()); });
  const isTTY = p.stdout.isTTY === true;
  return {
    get stdin() { return p.stdin; }, // touched only by who reads it: opening it holds the process
    out: (text) => { try { p.stdout.write(text); } catch (e) { gone(e as NodeJS.ErrnoException); } }, // a stream to a file throws at once
    err: (text) => { p.stderr.write(harmless(text)); },
    isTTY,
    columns: p.stdout.columns ?? 80,
    color: env['NO_COLOR'] === undefined || env['NO_COLOR'] === '' ? env['FORCE_COLOR'] !== undefined && env['FORCE_COLOR'] !== '0' ? true : isTTY && env['TERM'] !== 'dumb' : false,
    flush: async () => {
      await drain(p.stdout);
      await drain(p.stderr);
      if (p.stdout.errored != null) gone(p.stdout.errored); // the end may come before the event
    },
    env,
    onInterrupt(fn) { listeners.add(fn); return () => listeners.delete(fn); },
  };
}
