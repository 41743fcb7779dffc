/** Asks for a line that is not shown. Whatever happens, the terminal is as it was. */
import { StringDecoder } from 'node:string_decoder';
import type { Io } from 'tappet/schemas';

type Signal = Parameters<Parameters<Io['onInterrupt']>[0]>[0];
/** `ended`: the person or the system stopped the asking. `null` in it: there will be no more input. */
export type Hidden = { readonly text: string } | { readonly ended: Signal | null };

const MOST_CHARS = 16_384;

/** `null`: this terminal cannot hide what is typed. */
export async function readHidden(io: Pick<Io, 'stdin' | 'err' | 'onInterrupt'>, prompt: string): Promise<Hidden | null> {
  const { stdin } = io;
  if (typeof stdin.setRawMode !== 'function') return null;
  const wasRaw = stdin.isRaw === true;
  const undo: (() => void)[] = [];
  try {
    return await new Promise<Hidden>((resolve) => {
      const listen = (event: string, fn: (...args: never[]) => void): void => { stdin.on(event, fn as () => void); undo.push(() => stdin.off(event, fn as () => void)); };
      const end = (signal: Signal | null) => (): void => resolve({ ended: signal });
      const line = lineReader(resolve);
      listen('data', line);
      for (const event of ['end', 'close', 'error']) listen(event, end(null));
      undo.push(io.onInterrupt((signal) => resolve({ ended: signal })));
      undo.push(() => stdin.pause());
      // Before the prompt: nobody may type into a terminal that still shows it.
      undo.push(() => { stdin.setRawMode(wasRaw); io.err('\n'); });
      stdin.setRawMode(true);
      io.err(prompt);
      stdin.resume();
    });
  } finally {
    const failed: unknown[] = [];
    for (const step of undo.reverse()) {
      try { step(); } catch (e) { failed.push(e); }
    }
    if (failed.length > 0) throw failed[0];
  }
}

/** Keys as a terminal in raw mode sends them. Those that move or edit in ways that cannot be seen here do nothing. */
function lineReader(done: (hidden: Hidden) => void): (chunk: Buffer | string) => void {
  const decoder = new StringDecoder('utf8');
  let typed: string[] = [];
  /** Inside of an escape sequence: after ESC, or after `ESC [`. */
  let escape: 'none' | 'begun' | 'within' = 'none';
  let isDone = false;
  return (chunk) => {
    for (const c of typeof chunk === 'string' ? chunk : decoder.write(chunk)) {
      if (isDone) return;
      if (escape !== 'none' && c >= ' ') {
        escape = escape === 'begun' ? (c === '[' || c === 'O' ? 'within' : 'none') : c >= '@' && c <= '~' ? 'none' : 'within';
        continue;
      }
      escape = c === '\u001b' ? 'begun' : 'none';
      switch (c) {
        case '\r': case '\n': isDone = true; done({ text: typed.join('') }); break;
        case '\u0003': isDone = true; done({ ended: 'SIGINT' }); break;
        case '\u0004': if (typed.length === 0) { isDone = true; done({ ended: null }); } break;
        case '\u007f': case '\b': typed.pop(); break;
        case '\u0015': case '\u0017': typed = []; break;
        default: if (c >= ' ' && typed.length < MOST_CHARS) typed.push(c);
      }
    }
  };
}
