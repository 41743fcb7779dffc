/** A program that uses Tappet: it asks one prompt in a folder, prints the answer as it comes, and puts every question of the permissions to whoever sits at the terminal. */
import { resolve } from 'node:path';
import { env, argv, stdin, stderr, stdout } from 'node:process';
import { createInterface } from 'node:readline';
import { createTappet } from 'tappet';
import type { Answer, ModelEvent, Session, SessionEvent, Uuid } from 'tappet';

const [folder, ...words] = argv.slice(2);
if (folder === undefined || words.length === 0) {
  stderr.write('usage: main.ts FOLDER PROMPT…\n');
  process.exit(2);
}
const cwd = resolve(folder);

// One per program: each project that is opened gets a kernel of its own. The environment is handed in, because nothing inside reads the process's.
const tappet = createTappet({ env });
// What was left out of the configuration, and why. Without this a broken file would be silent here.
const kernel = await tappet.kernel(cwd);
kernel.onLog((line) => { if (line.level !== 'info') stderr.write(`${line.text}\n`); });

// What a host cannot ask is denied at once. This one can ask for permission.
const session = await tappet.open({ cwd, host: { asks: ['permission'] } });
const typed = createInterface({ input: stdin })[Symbol.asyncIterator]();
// Any number of readers may follow a session; none of them can hold it up.
const watching = watch(session);
const end = await session.submit(words.join(' ')).turn;
await session.close();
await watching;
await tappet.close();
await typed.return?.();
if (end.isError) stderr.write(`${end.errors.join('\n')}\n`);
stderr.write(`${end.numTurns} requests, ${end.costUSD.toFixed(4)} USD, ${end.reason}\n`);
process.exitCode = end.isError ? 1 : 0;

async function watch(s: Session): Promise<void> {
  for await (const event of s.events({ from: 'start' })) {
    if (event.type === 'model.event') say(event.event);
    if (event.type === 'tool.started') stderr.write(`\n[${event.toolName} ${JSON.stringify(event.input)}]\n`);
    // The turn waits for the answer; `false` would mean that the question is not open any more.
    if (event.type === 'ask') s.answer(event.requestId as Uuid, await answerTo(event));
  }
}

/** Text comes in pieces; the block that ends is whole. */
function say(event: ModelEvent): void {
  if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') stdout.write(event.delta.text);
  if (event.type === 'content_block_stop' && event.block.type === 'text') stdout.write('\n');
}

async function answerTo(ask: Extract<SessionEvent, { type: 'ask' }>): Promise<Answer> {
  stderr.write(`\n${ask.message}\nAllow it? y: this once, a: and the like from now on, anything else: no  `);
  const { value, done } = await typed.next();
  // Nobody there is nobody who says yes.
  if (done === true || !/^[ya]$/i.test(value.trim())) return { behavior: 'deny', message: 'the person at the terminal said no' };
  return { behavior: 'allow', ...(value.trim().toLowerCase() === 'a' ? { updatedPermissions: ask.suggestions } : {}) };
}
