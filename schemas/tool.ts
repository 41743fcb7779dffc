/** What a model is told of a tool, and what a tool gives back. */
import type { Message } from './message.ts';
import type { ToolUseContext } from './contracts.ts';

export interface ToolSpec { readonly name: string; readonly description: string; readonly input_schema: Readonly<Record<string, unknown>> }

export interface ToolResult<T = unknown> {
  readonly data: T;
  /** A result that tells the model of a failure (its own mistake, a failing command). */
  readonly isError?: boolean | undefined;
  /** Put into the conversation behind the result. */
  readonly newMessages?: readonly Message[] | undefined;
  /** Changes the context of later calls; counts only for calls that are not concurrency-safe. */
  readonly contextModifier?: ((context: ToolUseContext) => ToolUseContext) | undefined;
  readonly mcpMeta?: { readonly _meta?: unknown; readonly structuredContent?: unknown } | undefined;
}

export const TOOL_NAME = /^[A-Za-z][\w-]{0,127}$/;
export const mcpToolName = (server: string, tool: string): string => `mcp__${server}__${tool}`;
