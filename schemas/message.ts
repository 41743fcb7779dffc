/** Content: what was said and done in a conversation. Messages are never changed, only added. */
import type { Uuid } from './query.ts';

export interface CacheMark { readonly cache_control?: { readonly type: 'ephemeral'; readonly ttl?: string | undefined } | undefined }
export interface TextBlock { readonly type: 'text'; readonly text: string; readonly citations?: unknown }
export interface ImageBlock { readonly type: 'image'; readonly source: Readonly<Record<string, unknown>> }
export interface DocumentBlock { readonly type: 'document'; readonly source: Readonly<Record<string, unknown>>; readonly title?: string | undefined }
export interface ThinkingBlock { readonly type: 'thinking'; readonly thinking: string; readonly signature?: string | undefined; /** Whose signature it is: other vendors must not be sent it. */ readonly provider?: string | undefined }
export interface RedactedThinkingBlock { readonly type: 'redacted_thinking'; readonly data: string; readonly provider?: string | undefined }
export interface ToolUseBlock {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** What came instead of JSON, if the input did not parse: such a call is never run. */
  readonly inputError?: { readonly why: string; readonly raw: string } | undefined;
  /** The vendor's own signature that must go back with the call. */
  readonly signature?: string | undefined;
}
export interface ToolResultBlock {
  readonly type: 'tool_result';
  readonly tool_use_id: string;
  readonly content: string | readonly (TextBlock | ImageBlock | DocumentBlock)[];
  readonly is_error?: boolean | undefined;
}
/** A block of a vendor's own (server tools, reasoning items): kept and sent back, byte for byte, to that vendor only. */
export interface VendorBlock { readonly type: 'vendor'; readonly provider: string; readonly block: Readonly<Record<string, unknown>> }
export type Block = TextBlock | ImageBlock | DocumentBlock | ThinkingBlock | RedactedThinkingBlock | ToolUseBlock | ToolResultBlock | VendorBlock;

/** Tokens. */
export interface Usage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly cache_read_input_tokens: number;
}
export const NO_USAGE: Usage = { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
export const addUsage = (a: Usage, b: Usage): Usage => ({
  input_tokens: a.input_tokens + b.input_tokens,
  output_tokens: a.output_tokens + b.output_tokens,
  cache_creation_input_tokens: a.cache_creation_input_tokens + b.cache_creation_input_tokens,
  cache_read_input_tokens: a.cache_read_input_tokens + b.cache_read_input_tokens,
});

interface Base {
  readonly uuid: Uuid;
  /** ISO 8601. */
  readonly timestamp: string;
  readonly turnId?: Uuid | undefined;
  readonly agentId?: string | undefined;
}
export interface UserMessage extends Base {
  readonly type: 'user';
  readonly message: { readonly role: 'user'; readonly content: string | readonly Block[] };
  /** Said by the harness, not by a person. */
  readonly isMeta?: boolean | undefined;
  readonly isCompactSummary?: boolean | undefined;
  readonly toolUseResult?: { readonly toolUseID: string; readonly toolName: string; readonly output: unknown } | undefined;
  readonly mcpMeta?: { readonly _meta?: unknown; readonly structuredContent?: unknown } | undefined;
}
/** One finished block of a model's message; those of one message share `message.id`. */
export interface AssistantMessage extends Base {
  readonly type: 'assistant';
  readonly message: {
    readonly id: string;
    readonly role: 'assistant';
    readonly model: string;
    readonly content: readonly Block[];
    readonly stop_reason: string | null;
    readonly usage: Usage;
  };
  readonly usage?: Usage | undefined;
  readonly costUSD?: number | undefined;
  /** The named fault, where the message stands for a failed request. */
  readonly error?: string | undefined;
}
export const SYSTEM_FORMATS = [
  'informational', 'api_error', 'api_retry', 'compact_boundary', 'stub_boundary', 'agent_killed', 'hook_error', 'stop_hook_summary',
  'permission_denied', 'mode_changed', 'model_changed', 'local_command', 'scheduled_task_fired', 'memory_saved',
] as const;
export type SystemFormat = (typeof SYSTEM_FORMATS)[number];
/** For people and logs only; never sent to a model. */
export interface SystemMessage extends Base {
  readonly type: 'system';
  readonly format: SystemFormat;
  readonly level: 'info' | 'warning' | 'error';
  readonly content: string;
  readonly data?: Readonly<Record<string, unknown>> | undefined;
}
export interface ProgressMessage extends Base { readonly type: 'progress'; readonly toolUseID: string; readonly data: unknown }
/** Text that the harness adds beside a prompt: what hooks say, files that were mentioned. */
export interface AttachmentMessage extends Base { readonly type: 'attachment'; readonly attachment: { readonly kind: string; readonly text: string; readonly source?: string | undefined } }
export type Message = UserMessage | AssistantMessage | SystemMessage | ProgressMessage | AttachmentMessage;

/** What one `normalize()` makes of messages right before a request: roles alternate, every tool use has one result. */
export interface NormalizedMessage { readonly role: 'user' | 'assistant'; readonly content: readonly Block[] }
/** A normalised message and the bytes that its provider made of it, once. */
export interface EncodedMessage { readonly message: NormalizedMessage; readonly bytes: Uint8Array }

export interface CompactSummary { readonly taskOverview: string; readonly currentState: string; readonly keyDecisions: readonly string[]; readonly nextSteps: readonly string[] }

/** How long a part of the prompt stays the same; `null` is not worth a cache entry. */
export type CacheScope = 'global' | 'project' | 'session' | null;
export interface SystemPromptBlock { readonly text: string; readonly cacheScope: CacheScope }
export const PROMPT_SLOTS = ['core', 'tools', 'skills', 'memory', 'instructions', 'dynamic'] as const;
export type PromptSlot = (typeof PROMPT_SLOTS)[number];
/** The parts of a prompt, kept apart until the last step. */
export type PromptParts = Readonly<Record<PromptSlot, readonly SystemPromptBlock[]>>;
