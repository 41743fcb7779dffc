/** What the rooms of one turn share of a session: its facts, its messages, its way out. Nothing below it calls up. */
import type {
  AppState, EventBody, ExecutionTarget, FactLine, FileReadStates, FlagLayer, FsLike, Host, JudgedCall, Message, ParentAdjudicator, PermissionMode, SearchAggregator, SourcedRule, Tool, ToolUseContext, Uuid,
} from '../schemas/index.ts';
import type { Budget } from './budget.ts';
import type { Desk } from './asks.ts';
import type { EventName, Folded, In, Out } from './hooks.ts';
import type { Kernel } from './kernel.ts';
import type { ReplacementStore } from './replacement.ts';
import type { Store } from './store.ts';

export interface Conversation {
  readonly id: Uuid;
  readonly kernel: Kernel;
  readonly agentId: string | null;
  readonly agentType: string | null;
  readonly overlay: FlagLayer;
  readonly state: Store<AppState>;
  readonly rootState: Store<AppState>;
  readonly desk: Desk;
  readonly budget: Budget;
  /** Adjudicators from near to far; empty on the main thread. */
  readonly ancestors: readonly ParentAdjudicator[];
  readonly files: FileReadStates;
  readonly replacements: ReplacementStore;
  readonly search: SearchAggregator | undefined;
  messages(): readonly Message[];
  cwd(): string;
  /** Moves the working folder; fires CwdChanged. */
  moveTo(cwd: string): void;
  /** Real paths; the project's first. */
  roots(): readonly string[];
  rules(): readonly SourcedRule[];
  mode(): PermissionMode;
  /** Adds a message: written, then emitted. */
  append(message: Message): Promise<void>;
  fact(line: FactLine): Promise<void>;
  /** Resolves when all that was written is on the disk. */
  sync(): Promise<void>;
  outputFolder(): Promise<string>;
  emit(body: EventBody): void;
  fire<N extends EventName>(name: N, event: Omit<In<N>, 'sessionId' | 'cwd' | 'agentId' | 'agentType' | 'mode'>, o: { signal: AbortSignal; refine?: (event: In<N>) => Promise<In<N>> }): Promise<Folded<In<N>, Out<N>>>;
  /** What clients of this session can be asked. */
  canAsk(kind: Host['asks'][number]): boolean;
  target(): ExecutionTarget | undefined;
  fs(): FsLike;
  tools(): readonly Tool[];
  tool(name: string): Tool | undefined;
  /** Applies what a person's answer changes. */
  update(updates: readonly import('../schemas/index.ts').PermissionUpdate[]): Promise<void>;
  registerResource: NonNullable<ToolUseContext['registerResource']>;
  /** Facts of a call for guards, modes and taps. */
  judged(call: Omit<JudgedCall, 'agentId' | 'cwd' | 'roots' | 'home' | 'mode' | 'rules'>, cwd: string): JudgedCall;
}
