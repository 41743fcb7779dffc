/** The sixteen events and the moments: what a tap gets and what it may say. Output schemas are strict; nonsense is the event's safe outcome. */
import { z } from 'zod';
import { once } from './lazy.ts';
import type { Block, Message } from './message.ts';
import type { DecisionReason, JudgedCall, Opinion, PermissionUpdate, Until, Verdict } from './permissions.ts';
import { permissionUpdate } from './permissions.ts';
import type { TurnEndReason } from './query.ts';

export const HOOK_EVENTS = [
  'PreToolUse', 'PermissionRequest', 'PermissionDenied', 'PostToolUse', 'PostToolUseFailure', 'UserPromptSubmit', 'Stop', 'SessionStart', 'Setup', 'SubagentStart',
  'ElicitationResult', 'Elicitation', 'WorktreeCreate', 'Notification', 'CwdChanged', 'FileChanged',
] as const;
export type HookEvent = (typeof HOOK_EVENTS)[number];
/** What rooms of the kernel fire beyond the sixteen. */
export const MOMENT_NAMES = ['SessionEnd', 'PreCompact', 'PostCompact', 'StopFailure', 'PostToolBatch', 'SubagentStop', 'ConfigChange'] as const;
export type MomentName = (typeof MOMENT_NAMES)[number];

/** What every event carries. */
export interface EventBase { readonly sessionId: string; readonly cwd: string; readonly agentId: string | null; readonly agentType: string | null; readonly mode: string }

export interface CallDraft extends EventBase, Omit<JudgedCall, 'agentId' | 'cwd' | 'mode'> { readonly verdict: Verdict | null }
export interface AskedCall extends EventBase, Omit<JudgedCall, 'agentId' | 'cwd' | 'mode'> { readonly asks: readonly Opinion[]; readonly until: Until; readonly suggestions: readonly PermissionUpdate[] }
export interface DeniedCall extends EventBase { readonly tool: string; readonly toolUseId: string; readonly input: Readonly<Record<string, unknown>>; readonly reason: DecisionReason; readonly message: string; readonly opinions: readonly Opinion[] }
export interface CallResult extends EventBase { readonly tool: string; readonly toolUseId: string; readonly input: Readonly<Record<string, unknown>>; readonly subjects: JudgedCall['subjects']; readonly output: unknown; readonly content: string | readonly Block[]; readonly durationMs: number }
export interface CallFailure extends EventBase { readonly tool: string; readonly toolUseId: string; readonly input: Readonly<Record<string, unknown>>; readonly subjects: JudgedCall['subjects']; readonly error: string; readonly isInterrupt: boolean; readonly durationMs: number }
export interface SubmittedPrompt extends EventBase { readonly prompt: string | readonly Block[]; readonly promptId: string }
export interface Stopping extends EventBase { readonly lastMessage: string; readonly stopHookActive: boolean }
export interface SessionStarting extends EventBase { readonly source: 'startup' | 'resume' | 'clear' | 'compact' | 'fork'; readonly model: string }
export interface SettingUp extends EventBase { readonly trigger: 'init' | 'maintenance' }
export interface SubagentStarting extends EventBase { readonly childId: string; readonly task: string }
export interface ElicitationRequest extends EventBase { readonly serverName: string; readonly message: string; readonly requestedSchema: Readonly<Record<string, unknown>> }
export interface ElicitationSaid extends ElicitationRequest { readonly answer: ElicitationAnswer }
export interface WorktreeRequest extends EventBase { readonly name: string; readonly base: string | null }
export interface Note extends EventBase { readonly kind: string; readonly title?: string | undefined; readonly text: string }
export interface CwdChange extends EventBase { readonly from: string; readonly to: string }
export interface FileChange extends EventBase { readonly path: string; readonly change: 'add' | 'change' | 'unlink' }

export interface SessionEnding extends EventBase { readonly reason: string }
export interface Compaction extends EventBase { readonly trigger: 'manual' | 'auto'; readonly messages: readonly Message[] }
export interface Compacted extends EventBase { readonly trigger: 'manual' | 'auto'; readonly summary: string }
export interface StopFailing extends EventBase { readonly reason: TurnEndReason; readonly error: string }
export interface Batch extends EventBase { readonly calls: readonly { readonly tool: string; readonly toolUseId: string; readonly input: Readonly<Record<string, unknown>>; readonly isError: boolean }[] }
export interface AgentEnd extends EventBase { readonly lastMessage: string; readonly stopHookActive: boolean }
export interface ConfigChange extends EventBase { readonly files: readonly string[] }

const context = { additionalContext: z.string().optional().describe('text that the model is told beside') };
const message = { message: z.string().optional().describe('why; shown to the model and to people') };
const input = { updatedInput: z.record(z.string(), z.unknown()).optional().describe('fields of the input to replace; the others stay') };
export const callSaid = once(() => z.strictObject({ behavior: z.enum(['allow', 'deny', 'ask', 'defer', 'passthrough']).optional(), until: z.enum(['rule', 'mode', 'person']).optional(), ...message, ...input, ...context }));
export const askedSaid = once(() => z.strictObject({ behavior: z.enum(['allow', 'deny']).optional(), ...message, ...input, updatedPermissions: z.array(permissionUpdate()).optional(), interrupt: z.boolean().optional() }));
export const deniedSaid = once(() => z.strictObject({ retry: z.boolean().optional() }));
export const resultSaid = once(() => z.strictObject({ block: z.string().optional().describe('a reason that goes to the model'), updatedOutput: z.union([z.string(), z.array(z.record(z.string(), z.unknown()))]).optional(), ...context }));
export const contextSaid = once(() => z.strictObject({ ...context }));
export const promptSaid = once(() => z.strictObject({ block: z.string().optional().describe('a reason; the prompt goes nowhere'), ...context }));
export const stopSaid = once(() => z.strictObject({ block: z.string().optional().describe('what is still to do: the turn goes on with it'), ...context }));
export const startSaid = once(() => z.strictObject({ ...context, initialUserMessage: z.string().optional(), watchPaths: z.array(z.string()).optional() }));
export const elicitationAnswer = once(() => z.strictObject({ action: z.enum(['accept', 'decline', 'cancel']), content: z.record(z.string(), z.unknown()).optional() }));
export const worktreePath = once(() => z.strictObject({ path: z.string().min(1) }));
export const blockSaid = once(() => z.strictObject({ block: z.string().optional(), ...context }));
export const batchSaid = once(() => z.strictObject({ block: z.string().optional(), ...context, toolUseSummary: z.promise(z.string().nullable()).optional() }));

export type CallSaid = z.infer<ReturnType<typeof callSaid>>;
export type AskedSaid = z.infer<ReturnType<typeof askedSaid>>;
export type DeniedSaid = z.infer<ReturnType<typeof deniedSaid>>;
export type ResultSaid = z.infer<ReturnType<typeof resultSaid>>;
export type ContextSaid = z.infer<ReturnType<typeof contextSaid>>;
export type PromptSaid = z.infer<ReturnType<typeof promptSaid>>;
export type StopSaid = z.infer<ReturnType<typeof stopSaid>>;
export type StartSaid = z.infer<ReturnType<typeof startSaid>>;
export type ElicitationAnswer = z.infer<ReturnType<typeof elicitationAnswer>>;
export type WorktreePath = z.infer<ReturnType<typeof worktreePath>>;
export type BlockSaid = z.infer<ReturnType<typeof blockSaid>>;
export interface BatchSaid { block?: string | undefined; additionalContext?: string | undefined; toolUseSummary?: Promise<string | null> | undefined }

/** What an external script is handed for an event. */
export interface HookContext { readonly event: HookEvent; readonly tool_name?: string; readonly tool_input?: unknown; readonly tool_result?: unknown }
