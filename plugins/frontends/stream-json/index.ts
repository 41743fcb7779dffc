/** Lines of JSON both ways: how an SDK or another program drives a session. Nothing else is written to stdout. */
import { asTappetError, definePlugin, messageOf, printError, TappetError } from 'tappet/kernel';
import type { Block, ExitCode, Invocation, Io, Open, Scope, Uuid } from 'tappet/kernel';
import { givenPrompt, SIGNAL_EXITS, turnExit } from 'tappet/kit';
import { createClient } from './client.ts';
import type { Client } from './client.ts';
import { answerControl, failed, isOrdered, succeeded } from './controls.ts';
import { readLines } from './intake.ts';
import { controlRequestLine, controlResponseLine, initialize, userLine } from './protocol.ts';
import type { Fields } from './protocol.ts';

export default definePlugin({
  name: 'frontends/stream-json',
  api: 1,
  apply: (scope) => scope.registries.frontends.add({
    name: 'stream-json',
    matches: (i) => i.command === null && i.outputFormat === 'stream-json',
    async run(open, i, io) {
      if (i.resume === '') {
        throw new TappetError('E_USAGE', { message: '--resume needs the id of a session here: nobody can choose one from a list', do: '`tappet sessions list` shows the ids; --continue takes the newest' });
      }
      return i.inputFormat === 'stream-json' ? converse(scope, open, i, io) : answer(scope, open, i, io);
    },
  }),
});

type Parts = Pick<Scope, 'registries' | 'services' | 'folders' | 'env'>;

/** One prompt, as in plain printing; only what comes out is lines. */
async function answer(scope: Parts, open: Open, i: Invocation, io: Io): Promise<ExitCode> {
  const given = await givenPrompt(i, io);
  if ('problem' in given) throw new TappetError('E_FRONTEND', { message: given.problem });
  const client = createClient(scope, open, i, io);
  const stopping = onSignal(client, io);
  try {
    const opened = await client.open();
    if (stopping.signal === undefined) opened.submit(given.prompt);
    await finish(client);
    const end = opened.projection.lastEnd;
    return stopping.exit ?? (end === null ? 1 : turnExit(end));
  } finally {
    stopping.off();
  }
}

/** A host speaks until it closes its end; what it said by then is still answered. */
async function converse(scope: Parts, open: Open, i: Invocation, io: Io): Promise<ExitCode> {
  if (i.prompt !== null && i.prompt !== '') {
    const line = '{"type":"user","message":{"role":"user","content":"…"}}';
    throw new TappetError('E_USAGE', { message: 'with --input-format stream-json a prompt comes as a line on stdin', do: `write ${line} to stdin, or leave the flag out` });
  }
  const client = createClient(scope, open, i, io);
  const stopping = onSignal(client, io);
  let broken: unknown;
  let fail!: () => void;
  const failing = new Promise<void>((resolve) => { fail = resolve; });
  let work = Promise.resolve();
  const inOrder = (step: () => Promise<void>): void => {
    work = work.then(() => (stopping.signal === undefined && broken === undefined ? step() : undefined)).catch((e: unknown) => { broken ??= e; fail(); });
  };
  const intake = readLines(io.stdin, (line) => {
    // Answers are never behind anything: what they let go on may be what is waited for.
    if (line['type'] === 'control_response') settle(client, line);
    if (line['type'] === 'control_request') inOrder(() => control(client, line));
    if (line['type'] === 'user') inOrder(() => say(client, line));
  }, client.report);
  try {
    await Promise.race([intake.ended, stopping.told, failing, client.stuck]);
    client.channel.leave();
    // Who wants to go on with a session hears that there is none, even with nothing to say to it.
    if (i.resume !== null || i.continue) inOrder(async () => { await client.open(); });
    await work;
    await finish(client);
    if (broken !== undefined) io.err(`${printError(asTappetError(broken))}\n`);
    return stopping.exit ?? (broken !== undefined || client.opened?.projection.lastEnd?.isError === true ? 1 : 0);
  } finally {
    intake.stop();
    stopping.off();
  }
}

/** All that was submitted is brought to its end, and shown. */
async function finish({ opened }: Client): Promise<void> {
  await opened?.session.close({ drain: true });
  await opened?.shown;
}

/** Told to stop: nobody is asked any more, and the turn ends where it is. */
function onSignal(client: Client, io: Io) {
  let signal: keyof typeof SIGNAL_EXITS | undefined;
  let tell!: () => void;
  const told = new Promise<void>((resolve) => { tell = resolve; });
  const off = io.onInterrupt((heard) => {
    signal ??= heard;
    client.channel.leave();
    void client.opened?.session.interrupt({ reason: heard, queued: 'drop' });
    tell();
  });
  return { told, off, get signal() { return signal; }, get exit() { return signal === undefined ? undefined : SIGNAL_EXITS[signal]; } };
}

function settle(client: Client, line: Fields): void {
  const read = controlResponseLine().safeParse(line);
  if (read.success) client.channel.settle(read.data.response);
  else client.report('an answer is skipped: it has no request_id');
}

async function say(client: Client, line: Fields): Promise<void> {
  const read = userLine().safeParse(line);
  if (!read.success) { client.report(`a message is skipped: ${problems(read.error)}`); return; }
  const { message, uuid, priority, shouldQuery, isSynthetic, client_composed } = read.data;
  const { submit } = await client.open();
  const isNew = submit(message.content as string | readonly Block[], {
    ...(uuid === undefined ? {} : { id: uuid as Uuid }), ...(priority === undefined ? {} : { priority }), ...(shouldQuery === false ? { query: false } : {}),
    ...(isSynthetic === true ? { origin: 'host' } : {}), ...(client_composed === true ? { verbatim: true } : {}),
  });
  if (!isNew) client.report(`a message is skipped: ${uuid} was there before`);
}

async function control(client: Client, line: Fields): Promise<void> {
  const read = controlRequestLine().safeParse(line);
  if (!read.success) {
    if (typeof line['request_id'] === 'string') client.write(failed(line['request_id'], problems(read.error)));
    else client.report(`a request is skipped: ${problems(read.error)}`);
    return;
  }
  const { request_id: id, request } = read.data;
  if (request.subtype === 'initialize') return welcome(client, id, request);
  const opened = await client.open().catch((e: unknown) => { client.write(failed(id, messageOf(e))); throw e; });
  const answered = answerControl({ ...opened, facts: client.facts, host: client.host }, id, request).then(client.write);
  if (isOrdered(request.subtype)) await answered;
}

async function welcome(client: Client, id: string, request: Fields): Promise<void> {
  const read = initialize().safeParse(request);
  if (!read.success) {
    client.write(failed(id, problems(read.error)));
    // Not one step without the gates that it may have held.
    if (client.opened === undefined) throw new TappetError('E_USAGE', { message: `the host's initialize cannot be read: ${problems(read.error)}`, do: 'correct it; the fields are those of the Agent SDK' });
    return;
  }
  const again = client.opened;
  try {
    const { session } = await client.open(read.data);
    if (again !== undefined) {
      client.host.bring(read.data);
      await session.attach(client.host.host);
    }
    client.write(succeeded(id, { ...(await client.facts.welcome(session.state.get())), ...applied(request, again === undefined) }));
  } catch (e) {
    client.write(failed(id, messageOf(e)));
    throw e;
  }
}

/** What a host delivers in `initialize`, and the word by which it hears what became of it: without one it does not go on. */
const DELIVERED = {
  hooks: 'hooks_applied', disallowedTools: 'disallowed_tools_applied', mcpServers: 'mcp_servers_applied', plugins: 'plugins_applied', managedSettings: 'managed_settings_applied', settings: 'settings_applied',
};
function applied(request: Fields, first: boolean): Fields {
  const given = Object.entries(DELIVERED).filter(([field]) => request[field] !== undefined);
  return Object.fromEntries(given.map(([field, word]) => [word, field === 'hooks' || (field === 'disallowedTools' && first)]));
}

interface Issue { readonly path: readonly PropertyKey[]; readonly message: string }
const problems = ({ issues }: { readonly issues: readonly Issue[] }): string => issues.map((x) => `${x.path.map(String).join('.') || 'the line'}: ${x.message}`).join('; ');
