/** The command line as an object. */
export interface Invocation {
  readonly cwd: string;
  /** The words of a sub-command, or null. */
  readonly command: readonly string[] | null;
  readonly prompt: string | null;
  readonly print: boolean;
  readonly outputFormat: 'text' | 'json' | 'stream-json';
  readonly inputFormat: 'text' | 'stream-json';
  readonly includePartialMessages: boolean;
  readonly replayUserMessages: boolean;
  readonly model: string | null;
  readonly fallbackModel: string | null;
  readonly mode: string | null;
  readonly allowBypass: boolean;
  readonly permissionPromptTool: string | null;
  readonly allowedTools: readonly string[];
  readonly disallowedTools: readonly string[];
  /** The base set of tools; null: all. */
  readonly tools: readonly string[] | null;
  readonly addDirs: readonly string[];
  readonly systemPrompt: string | null;
  readonly appendSystemPrompt: string | null;
  readonly effort: string | null;
  readonly thinking: 'adaptive' | false | number | null;
  readonly continue: boolean;
  /** An id, or '' for a choice. */
  readonly resume: string | null;
  readonly forkSession: boolean;
  readonly sessionId: string | null;
  readonly persist: boolean;
  readonly maxTurns: number | null;
  readonly maxBudgetUsd: number | null;
  readonly timeoutMs: number | null;
  readonly setup: 'init' | 'maintenance' | null;
  readonly requireTrust: boolean;
  readonly verbose: boolean;
  readonly debug: boolean;
  readonly color: boolean;
  readonly json: boolean;
}
