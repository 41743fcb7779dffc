/** One prompt, headless: the answer on stdout, everything else on stderr. Nobody is asked; what would be asked is denied. */
import { randomUUID } from 'node:crypto';
import { asTappetError, definePlugin, NO_USAGE, printError, TappetError } from 'tappet/kernel';
import type { CodeRow, ExitCode, Invocation, Io, Open, Session, SessionEvent, TurnEnd, TurnEndReason } from 'tappet/kernel';
import { cleanLine, cleanText, givenPrompt, jsonLine, openOptions, SIGNAL_EXITS, turnExit, turnRecord } from 'tappet/kit';

const CODES: Readonly<Record<string, CodeRow>> = {
  E_PRINT_ENDED: { sentence: '{message}', do: 'ask again; `tappet -p --continue` goes on from here', exit: 1 },
};
const ADVICE: Partial<Record<TurnEndReason, string>> = {
  max_turns: 'raise --max-turns, or ask for less at once',
  budget: 'raise --max-budget-usd or the limits of the configuration, or ask for less at once',
  timeout: 'raise --timeout, or ask for less at once',
  blocked: 'change the prompt, or the hook that blocks it',
  hook_stopped: 'see what the hook wants, or change it',
  refused: 'ask in another way, or choose another model with --model',
  max_output_tokens: 'ask for a shorter answer, or for less at once',
};

export default definePlugin({
  name: 'frontends/print',
  api: 1,
  codes: CODES,
  apply: ({ registries }) => registries.frontends.add({
    name: 'print',
    matches: (i) => i.command === null && i.print && i.outputFormat !== 'stream-json' && i.inputFormat === 'text',
    run,
  }),
});

async function run(open: Open, i: Invocation, io: Io): Promise<ExitCode> {
  if (i.resume === '') {
    throw new TappetError('E_USAGE', { message: '--resume needs the id of a session here: nobody can choose one from a list', do: '`tappet sessions list` shows the ids; --continue takes the newest' });
  }
  const given = await givenPrompt(i, io);
  if ('problem' in given) throw new TappetError('E_FRONTEND', { message: given.problem });

  if (i.permissionPromptTool !== null) io.err(`note: --permission-prompt-tool ${i.permissionPromptTool}: nobody can be asked in plain printing; what would ask is denied\n`);
  const asJson = i.outputFormat === 'json';
  let session: Session | undefined;
  let signal: keyof typeof SIGNAL_EXITS | undefined;
  const off = io.onInterrupt((told) => {
    signal ??= told;
    void session?.interrupt({ reason: told, queued: 'drop' });
  });
  try {
    session = await open(openOptions(i, { asks: [] })).catch((e: unknown) => {
      if (asJson) io.out(`${jsonLine(failedStart(e, i))}\n`);
      throw e;
    });
    const heard = listen(session, io, asJson);
    if (signal === undefined) session.submit(given.prompt);
    await session.close({ drain: true });
    const ends = await heard;
    const last = ends.at(-1);
    const cost = ends.reduce((sum, end) => sum + end.costUSD, 0);
    if (asJson && last !== undefined) io.out(`${jsonLine({ ...turnRecord(last), result: last.text, total_cost_usd: cost, session_id: session.id, uuid: randomUUID() })}\n`);
    return signal !== undefined ? SIGNAL_EXITS[signal] : last === undefined ? 1 : turnExit(last);
  } finally {
    off();
  }
}

/** How the turns of the session ended: hooks may have brought more than the one that was asked for. */
async function listen(session: Session, io: Io, asJson: boolean): Promise<readonly TurnEnd[]> {
  const ends: TurnEnd[] = [];
  for await (const event of session.events({ from: 'start' })) {
    if (event.type !== 'turn.ended') { tell(event, io); continue; }
    ends.push(event.end);
    report(event.end, io, asJson);
  }
  return ends;
}

function tell(event: SessionEvent, io: Io): void {
  if (event.type === 'notice') io.err(`${event.level === 'info' ? 'note' : event.level}: ${cleanText(event.text)}\n`);
  if (event.type === 'message' && event.message.type === 'system' && event.message.format === 'api_retry') io.err(`note: ${cleanText(String(event.message.content))}\n`);
}

function report(end: TurnEnd, io: Io, asJson: boolean): void {
  // An answer that was cut off is still what there is of one.
  const hasText = end.reason === 'answered' || end.reason === 'tool_deferred' || (end.reason === 'max_output_tokens' && !end.errors.includes(end.text));
  if (hasText && !asJson) {
    // A program gets the very bytes; a terminal only what cannot drive it.
    const text = io.isTTY ? cleanText(end.text) : end.text;
    io.out(text.endsWith('\n') ? text : `${text}\n`);
  }
  for (const d of end.denials) {
    io.err(`denied  ${cleanLine(d.toolName)}: ${cleanText(d.message)}\n`);
    if (d.wouldAllow !== undefined) io.err(`  allow   ${cleanLine(d.wouldAllow)}${d.wouldAllow.startsWith('--') ? '' : '  (--allowedTools, or permissions.allow in agent.config.yaml)'}\n`);
  }
  if (end.reason === 'answered' || end.reason === 'tool_deferred') return;
  for (const text of end.errors.length > 0 ? end.errors : [end.text]) {
    const isPrinted = /^E_[A-Z_]+ {2}/.test(text);
    io.err(`${cleanText(isPrinted ? text : printError(new TappetError('E_PRINT_ENDED', { message: text, do: ADVICE[end.reason] }, CODES)))}\n`);
  }
}

/** For programs that read the one object; the error itself goes on to stderr and the exit code. */
const failedStart = (e: unknown, i: Invocation) => {
  const error = asTappetError(e);
  return {
    type: 'result', subtype: 'error_during_execution', is_error: true, result: error.message, errors: [printError(error)], num_turns: 0, duration_ms: 0, duration_api_ms: 0, stop_reason: null, total_cost_usd: 0,
    usage: NO_USAGE, permission_denials: [], terminal_reason: 'turn_setup_failed', session_id: i.sessionId ?? i.resume, uuid: randomUUID(),
  };
};
