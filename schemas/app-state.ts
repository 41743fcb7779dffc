/** A view of a session for frontends and commands: data, never the source of truth of something persistent. */
import type { SourcedRule } from './permissions.ts';
import type { RuntimeTaskState } from './runtime.ts';
import type { Settings } from './config.ts';

export type DeepReadonly<T> = T extends (...args: never[]) => unknown ? T : T extends readonly (infer U)[] ? readonly DeepReadonly<U>[] : T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

export interface ToolPermissionContext {
  mode: string;
  rules: readonly SourcedRule[];
  additionalDirectories: readonly string[];
}
interface PureState {
  settings: Settings;
  cwd: string;
  toolPermissionContext: ToolPermissionContext;
  plugins: { enabled: readonly string[]; disabled: readonly string[]; errors: readonly { name: string; message: string }[] };
  agentDefinitions: { all: readonly { agentType: string; whenToUse: string }[]; failures: readonly { file: string; message: string }[] };
  speculation: { status: 'idle' } | { status: 'active'; id: string };
  mainLoopModel: string;
  title: string | null;
  turn: 'idle' | 'running' | 'asking';
}
/** Fields that hold functions stand outside the deeply readonly part. */
export type AppState = DeepReadonly<PureState> & {
  readonly tasks: Readonly<Record<string, RuntimeTaskState>>;
  readonly mcp: { readonly connections: readonly McpConnectionView[]; readonly tools: readonly string[]; readonly commands: readonly string[]; readonly resources: readonly string[] };
};
/** Five states, never a boolean. */
export interface McpConnectionView { readonly name: string; readonly status: 'connected' | 'failed' | 'needs-auth' | 'pending' | 'disabled'; readonly error?: string | undefined; readonly cleanup?: (() => Promise<void>) | undefined }
