/** The one prompt of a headless run: the words on the command line, or what is piped in. */
import type { Invocation, Io } from '../../schemas/index.ts';

const MAX_BYTES = 32 * 1024 * 1024;

/** With words given, stdin is not touched: a pipe that nobody closes must not hold the run. `-` asks for it. */
export async function givenPrompt(i: Invocation, io: Pick<Io, 'stdin'>): Promise<{ readonly prompt: string } | { readonly problem: string }> {
  if (i.prompt !== null && i.prompt !== '-') return i.prompt.trim() === '' ? { problem: 'the prompt is empty' } : { prompt: i.prompt };
  if (i.prompt === null && io.stdin.isTTY === true) return { problem: 'there is no prompt, and nothing is piped in' };
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of io.stdin as AsyncIterable<Buffer | string>) {
    const data = Buffer.from(chunk as Buffer);
    bytes += data.length;
    if (bytes > MAX_BYTES) return { problem: `more than ${MAX_BYTES / 1024 / 1024} MiB were piped in; that is no prompt` };
    chunks.push(data);
  }
  const prompt = new TextDecoder().decode(Buffer.concat(chunks)).replace(/\r?\n$/, ''); // takes a leading byte order mark away
  return prompt.trim() === '' ? { problem: 'there is no prompt: what was piped in is empty' } : { prompt };
}
