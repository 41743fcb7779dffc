/** The words between the loop and a model provider: requests, events, faults, models as data. */
import type { Block, EncodedMessage, NormalizedMessage, SystemPromptBlock, Usage } from './message.ts';
import type { ToolSpec } from './tool.ts';

/** Prices in US dollars for a million tokens. */
export interface ModelPrices { readonly input: number; readonly output: number; readonly cacheRead?: number | undefined; readonly cacheWrite?: number | undefined }
export interface ModelInfo {
  /** As the vendor's API spells it. */
  readonly id: string;
  readonly aliases?: readonly string[] | undefined;
  /** Tokens. */
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
  readonly prices?: ModelPrices | undefined;
  readonly can?: readonly ('tools' | 'images' | 'documents' | 'thinking' | 'cache' | 'effort')[] | undefined;
}

export interface ModelRequest {
  /** The id without the provider's name before it. */
  readonly model: string;
  readonly system: readonly SystemPromptBlock[];
  /** Oldest first; `bytes` is what this provider's `encode` made of each, once. */
  readonly messages: readonly EncodedMessage[];
  /** The same array while the tools are the same: providers may key a cache on it. */
  readonly tools: readonly ToolSpec[];
  readonly maxOutputTokens?: number | undefined;
  /** `false`: not at all, where it can be told; left out: as the vendor has it. */
  readonly thinking?: { readonly budgetTokens: number } | 'adaptive' | false | undefined;
  readonly effort?: string | undefined;
  readonly toolChoice?: 'auto' | 'any' | 'none' | { readonly name: string } | undefined;
  readonly sessionId: string;
  readonly turnId: string;
}

export type BlockDelta =
  | { readonly type: 'text_delta'; readonly text: string }
  | { readonly type: 'thinking_delta'; readonly thinking: string }
  | { readonly type: 'signature_delta'; readonly signature: string }
  | { readonly type: 'input_json_delta'; readonly partial_json: string };

/** One shape for all vendors. Blocks come one after another; `content_block_stop` carries the whole block. */
export type ModelEvent =
  | { readonly type: 'message_start'; readonly id: string; readonly model: string; readonly usage: Usage }
  | { readonly type: 'content_block_start'; readonly index: number; readonly block: Block }
  | { readonly type: 'content_block_delta'; readonly index: number; readonly delta: BlockDelta }
  | { readonly type: 'content_block_stop'; readonly index: number; readonly block: Block }
  /** `usage` replaces what `message_start` said. */
  | { readonly type: 'message_delta'; readonly stop_reason: string; readonly stop_sequence?: string | null | undefined; readonly usage: Usage }
  | { readonly type: 'message_stop' }
  /** Something for people, not for the conversation: another model answers, a field was skipped. */
  | { readonly type: 'notice'; readonly code: string; readonly text: string };

/** Every way in which a request can fail, by name. */
export const FAULT_KINDS = [
  'rate_limit', 'overloaded', 'context_too_long', 'invalid_request', 'auth', 'quota', 'not_found', 'refusal', 'content_filter', 'broken_stream', 'empty_answer',
  'timeout_first_byte', 'timeout_between_bytes', 'connection', 'server_error', 'aborted',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];
export interface ModelFault {
  readonly kind: FaultKind;
  readonly message: string;
  readonly provider: string;
  readonly model: string;
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  /** Milliseconds to wait, as the server said. */
  readonly retryAfterMs?: number | undefined;
  /** When the limit is lifted, ISO 8601. */
  readonly resetAt?: string | undefined;
  /** Tokens sent and allowed, where the server names them. */
  readonly tokens?: { readonly sent?: number | undefined; readonly limit?: number | undefined } | undefined;
  /** The field that the server refuses. */
  readonly field?: string | undefined;
  /** True where trying again may help. */
  readonly transient: boolean;
}

export interface ModelProvider {
  /** The word before the slash in `anthropic/sonnet`. */
  readonly name: string;
  models(): readonly ModelInfo[];
  /** Can it be used as things are (a key is there, a server answers)? `null`: yes; else why not. */
  available(): Promise<string | null>;
  /** Serialises one message once, without cache markers; the loop keeps the bytes. */
  encode(message: NormalizedMessage): Uint8Array;
  /** Ends after `message_stop`; throws a `ModelFaultError` (`E_MODEL`) otherwise. An aborted signal ends it at once. */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
  /** Where nothing is configured remote ones with a key are taken first, then a server on this machine, then a stand-in. Left out: remote. */
  readonly kind?: 'remote' | 'local' | 'stand-in' | undefined;
  /** Its models are lists of others' (`a/x,b/y`): it tries the next when one fails. */
  readonly chains?: true | undefined;
  /** The vendor's own count, where it has one. */
  countTokens?(request: ModelRequest, signal: AbortSignal): Promise<number>;
}
