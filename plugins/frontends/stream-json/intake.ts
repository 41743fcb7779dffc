/** Lines of stdin as they come, whatever is going on meanwhile. What is no JSON object is said and skipped. */
import type { Io } from 'tappet/kernel';
import { jsonlParser } from 'tappet/kit';
import type { Fields } from './protocol.ts';

export interface Intake {
  /** Resolves at the end of the input; what was read by then has been handed on. */
  readonly ended: Promise<void>;
  stop(): void;
}

export function readLines(stdin: Io['stdin'], onLine: (line: Fields) => void, report: (text: string) => void): Intake {
  let told = 0;
  const parser = jsonlParser((line) => { onLine(line); });
  const tell = (): void => {
    for (const n of parser.notices.slice(told)) report(`a line of the input is skipped: ${n.why} (byte ${n.offset}, ${n.bytes} bytes)`);
    told = parser.notices.length;
  };
  const onData = (chunk: Buffer | string): void => { parser.feed(Buffer.from(chunk as Buffer)); tell(); };
  let stop!: () => void;
  const ended = new Promise<void>((resolve) => {
    const onEnd = (): void => { stop(); parser.end(); tell(); resolve(); };
    const onError = (e: Error): void => { report(`the input broke off: ${e.message}`); onEnd(); };
    stop = () => {
      stdin.off('data', onData).off('end', onEnd).off('close', onEnd).off('error', onError);
      stdin.pause();
    };
    stdin.on('data', onData).on('end', onEnd).on('close', onEnd).on('error', onError);
  });
  return { ended, stop: () => stop() };
}
