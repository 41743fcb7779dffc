/** One host and its session: opened as soon as it is known how, shown until it is closed. */
import { randomUUID } from 'node:crypto';
import { asTappetError, messageOf, NO_USAGE, printError } from 'tappet/kernel';
import type { FlagLayer, Invocation, Io, Open, Prompt, Scope, Session, SessionEvent, Uuid } from 'tappet/kernel';
import { openOptions } from 'tappet/kit';
import { createChannel } from './channel.ts';
import type { Channel } from './channel.ts';
import { createFacts } from './facts.ts';
import type { Facts } from './facts.ts';
import { createHost } from './host.ts';
import type { ClientHost } from './host.ts';
import { createProjection } from './projection.ts';
import type { Projection } from './projection.ts';
import { lineOf } from './protocol.ts';
import type { Fields, Initialize } from './protocol.ts';

export interface Opened {
  readonly session: Session;
  readonly projection: Projection;
  /** Settles when the last event is out. */
  readonly shown: Promise<void>;
  /** Prompts whose turn is not over. */
  readonly submitted: ReadonlySet<Uuid>;
  /** False: a message with this id was there before. */
  submit(prompt: Prompt, o?: Parameters<Session['submit']>[1]): boolean;
}
export interface Client {
  readonly channel: Channel;
  readonly host: ClientHost;
  readonly facts: Facts;
  readonly opened: Opened | undefined;
  /** Resolves where events can't be shown any more; `shown` says why. */
  readonly stuck: Promise<void>;
  write(line: Fields): void;
  report(text: string): void;
  /** The first call opens; what `initialize` says counts only there. Where that fails, the host is told by a result. */
  open(given?: Initialize): Promise<Opened>;
}

export function createClient(scope: Pick<Scope, 'registries' | 'services' | 'folders' | 'env'>, open: Open, i: Invocation, io: Io): Client {
  const write = (line: Fields): void => io.out(lineOf(line));
  const report = (text: string): void => io.err(`stream-json: ${text}\n`);
  const channel = createChannel(write);
  const facts = createFacts(scope);
  const { permissionPromptTool: asked } = i;
  if (asked !== null && asked !== 'stdio') report(`--permission-prompt-tool ${asked}: only \`stdio\` can be asked here; what would ask is denied`);
  let opening: Promise<Opened> | undefined;
  let opened: Opened | undefined;
  let transcript = '';
  let stick!: () => void;
  const stuck = new Promise<void>((resolve) => { stick = resolve; });

  /** The file is made with the first line of the session. A hook that is not told where it is can still be asked. */
  async function transcriptPath(): Promise<string> {
    if (transcript !== '' || !i.persist) return transcript;
    try {
      const newest = await scope.services.get('stores.sessions')?.list({ root: scope.folders.root, limit: 5 });
      transcript = newest?.find((s) => s.sessionId === opened?.session.id)?.file ?? '';
    } catch (e) {
      report(`the transcript was not found: ${messageOf(e)}`);
    }
    return transcript;
  }
  const host = createHost({
    channel, report,
    canAsk: i.inputFormat === 'stream-json' && asked === 'stdio',
    facts: async () => ({ transcriptPath: await transcriptPath(), promptId: opened?.projection.promptId }),
  });

  async function openNow(given: Initialize | undefined): Promise<Opened> {
    if (given !== undefined) host.bring(given);
    const session = await open(openOptions(i, host.host, overlayOf(i, given))).catch((e: unknown) => { write(failedStart(e, i)); throw e; });
    const projection = createProjection({
      sessionId: session.id, partial: i.includePartialMessages, replay: i.replayUserMessages, states: io.env['CLAUDE_CODE_SDK_READS_SESSION_STATE'] === '1',
      init: (turn) => facts.init(turn, session.state.get()), window: facts.window,
    });
    const known = new Set<string>();
    for await (const m of session.history()) known.add(m.uuid);
    const submitted = new Set<Uuid>();
    const shown = show(session, projection);
    shown.catch(stick); // whoever ends the run awaits it, and hears why
    opened = {
      session, projection, shown, submitted,
      submit(prompt, o = {}) {
        const id = o.id ?? randomUUID();
        if (known.has(id)) return false;
        known.add(id);
        submitted.add(id);
        void session.submit(prompt, { ...o, id }).turn.then(() => submitted.delete(id));
        return true;
      },
    };
    if (given?.title !== undefined) await session.set({ title: given.title });
    return opened;
  }

  async function show(session: Session, projection: Projection): Promise<void> {
    for await (const event of session.events({ from: 'start', tree: true })) {
      for (const line of projection.lines(event)) write(line);
      serve(session, event);
    }
  }
  function serve(session: Session, event: SessionEvent): void {
    if (event.type === 'ask') host.ask(event, (answer) => { session.answer(event.requestId as Uuid, answer); });
    if (event.type === 'ask_settled' && event.by !== 'person') host.settled(event.requestId);
    if (event.type === 'turn.ended') host.turnEnded(event.agentId);
    // Who only sees that the process failed finds the cause here.
    if (event.type === 'turn.ended' && event.agentId === null && event.end.isError) for (const text of event.end.errors) io.err(`${text}\n`);
  }

  return { channel, host, facts, stuck, write, report, get opened() { return opened; }, open: (given) => (opening ??= openNow(given)) };
}

function overlayOf(i: Invocation, given: Initialize | undefined): FlagLayer {
  if (given === undefined) return {};
  const { systemPrompt, appendSystemPrompt, disallowedTools } = given;
  return {
    ...(systemPrompt === undefined ? {} : { systemPrompt: typeof systemPrompt === 'string' ? systemPrompt : systemPrompt.join('\n\n') }),
    ...(appendSystemPrompt === undefined ? {} : { appendSystemPrompt }),
    ...(disallowedTools === undefined ? {} : { deny: [...i.disallowedTools, ...disallowedTools] }),
  };
}

const failedStart = (e: unknown, i: Invocation): Fields => ({
  type: 'result', subtype: 'error_during_execution', is_error: true, errors: [printError(asTappetError(e))], num_turns: 0, duration_ms: 0, duration_api_ms: 0, stop_reason: null, total_cost_usd: 0,
  usage: NO_USAGE, modelUsage: {}, permission_denials: [], terminal_reason: 'turn_setup_failed', session_id: i.resume ?? i.sessionId ?? randomUUID(), uuid: randomUUID(),
});
