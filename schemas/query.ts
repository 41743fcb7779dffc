/** Process: what one query carries in, and what changes while it goes round. */
import type { Message, SystemPromptBlock, Usage } from './message.ts';
import type { ToolUseContext } from './contracts.ts';
import type { ModelFault } from './model.ts';

export type Uuid = `${string}-${string}-${string}-${string}-${string}`;

export const TRANSITION_REASONS = ['next_turn', 'reactive_compact_retry', 'token_budget_continuation', 'max_output_tokens_recovery', 'stop_hook_continuation'] as const;
/** Why the loop went round again. */
export type TransitionReason = (typeof TRANSITION_REASONS)[number];

/** How far recovery has gone in this turn; each counter is bounded. */
export interface RecoveryState { readonly continuationAttempts: number; readonly compactAttempts: number; readonly transportAttempts: number }

/** One query's input. */
export interface QueryParams {
  readonly messages: readonly Message[];
  readonly systemPrompt: readonly SystemPromptBlock[];
  /** Goes first, as a user message (project rules). */
  readonly userContext: Readonly<Record<string, string>>;
  /** Goes last in the system prompt, uncached (date, folder). */
  readonly systemContext: Readonly<Record<string, string>>;
  readonly toolUseContext: ToolUseContext;
  readonly fallbackModel?: string | undefined;
  readonly maxOutputTokensOverride?: number | undefined;
  readonly maxTurns?: number | undefined;
}

/** What changes between rounds. */
export interface QueryState {
  readonly messages: readonly Message[];
  readonly toolUseContext: ToolUseContext;
  readonly turnCount: number;
  readonly maxOutputTokensRecoveryCount: number;
  readonly hasAttemptedReactiveCompact: boolean;
  readonly maxOutputTokensOverride: number | undefined;
  /** One line on what the last batch did; emitted when it settles, never waited for. */
  readonly pendingToolUseSummary: Promise<string | null> | null;
  readonly stopHookActive: boolean;
  readonly transition: { readonly reason: TransitionReason } | undefined;
  readonly recovery: RecoveryState;
}

/** How a nested query ended; awaited when the root closes. */
export interface QuerySettlement { readonly outcome: 'done' | 'failed' | 'aborted'; readonly error?: unknown }

/** What a recovery may do about a fault: change what goes round again, or wait first. */
export interface Transition {
  readonly reason: TransitionReason | 'transport_retry';
  readonly messages?: readonly Message[] | undefined;
  readonly maxOutputTokensOverride?: number | undefined;
  readonly model?: string | undefined;
  readonly delayMs?: number | undefined;
}
export type Problem =
  | { readonly kind: 'fault'; readonly fault: ModelFault }
  | { readonly kind: 'max_output_tokens' }
  | { readonly kind: 'token_budget'; readonly used: number; readonly limit: number };

export const TURN_ENDS = [
  'answered', 'interrupted', 'model_error', 'max_turns', 'budget', 'blocked', 'tool_deferred', 'hook_stopped', 'refused', 'max_output_tokens', 'timeout', 'internal_error',
] as const;
export type TurnEndReason = (typeof TURN_ENDS)[number];

/** How a turn ended; sums are over the turn. */
export interface TurnEnd {
  readonly turnId: Uuid;
  readonly reason: TurnEndReason;
  /** The final text: an answer, or what went wrong. */
  readonly text: string;
  readonly isError: boolean;
  readonly stopReason: string | null;
  readonly fault?: ModelFault | undefined;
  /** The code of the error that ended it. */
  readonly code?: string | undefined;
  readonly errors: readonly string[];
  readonly usage: Usage;
  readonly costUSD: number;
  /** Model requests made. */
  readonly numTurns: number;
  readonly durationMs: number;
  readonly durationApiMs: number;
  readonly denials: readonly { readonly toolName: string; readonly toolUseId: string; readonly input: Readonly<Record<string, unknown>>; readonly message: string; readonly wouldAllow?: string | undefined }[];
}
