/** How a turn ended, for programs: the record that headless output ends with, and the exit code. */
import type { TurnEnd, TurnEndReason } from '../../schemas/index.ts';

/** By reason: the record's subtype (`success` with `is_error` is an answer that the API refused), why in the record's own words, and the exit code. */
const ENDS: Readonly<Record<TurnEndReason, readonly [subtype: string, terminal: string, exit: number]>> = {
  answered: ['success', 'completed', 0],
  tool_deferred: ['success', 'tool_deferred', 0],
  blocked: ['success', 'hook_stopped', 3],
  hook_stopped: ['error_during_execution', 'hook_stopped', 3],
  interrupted: ['error_during_execution', 'aborted_streaming', 130],
  timeout: ['error_during_execution', 'aborted_streaming', 5],
  internal_error: ['error_during_execution', 'turn_setup_failed', 1],
  max_turns: ['error_max_turns', 'max_turns', 1],
  budget: ['error_max_budget_usd', 'budget_exhausted', 1],
  model_error: ['success', 'api_error', 1],
  refused: ['success', 'model_error', 1],
  max_output_tokens: ['success', 'model_error', 1],
};
export const SIGNAL_EXITS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

export interface TurnRecord {
  readonly type: 'result';
  readonly subtype: string;
  readonly is_error: boolean;
  /** Only where the subtype is `success`: the answer, or what the API said instead of one. */
  readonly result?: string;
  /** Only where it is another. */
  readonly errors?: readonly string[];
  readonly [field: string]: unknown;
}

export function turnRecord(end: TurnEnd): TurnRecord {
  const [subtype, terminal] = ENDS[end.reason];
  return {
    type: 'result', subtype, is_error: end.isError,
    ...(subtype === 'success' ? { result: end.reason === 'blocked' ? '' : end.text } : { errors: end.errors.length > 0 ? end.errors : [end.text] }),
    num_turns: end.numTurns, duration_ms: end.durationMs, duration_api_ms: end.durationApiMs, stop_reason: end.stopReason, total_cost_usd: end.costUSD, usage: end.usage,
    permission_denials: end.denials.map((d) => ({ tool_name: d.toolName, tool_use_id: d.toolUseId, tool_input: d.input, message: d.message, ...(d.wouldAllow === undefined ? {} : { would_allow: d.wouldAllow }) })),
    terminal_reason: end.fault?.kind === 'context_too_long' ? 'prompt_too_long' : terminal,
    ...(end.reason === 'model_error' ? { api_error_status: end.fault?.status ?? null } : {}),
  };
}

/** 4: a service that is needed was not reached. 2: what was asked for does not exist. */
export function turnExit(end: TurnEnd): number {
  const { kind } = end.fault ?? {};
  if (kind === 'connection' || kind === 'timeout_first_byte') return 4;
  if (end.code === 'E_MODEL_UNAVAILABLE') return 4;
  if (end.code === 'E_MODEL_UNKNOWN') return 2;
  return ENDS[end.reason][2];
}
