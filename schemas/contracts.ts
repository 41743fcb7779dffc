/** The interfaces of what plugins add, and of the session that drives it all. Types only. */
import type { ChildProcess } from 'node:child_process';
import type { AppState } from './app-state.ts';
import type { Settings } from './config.ts';
import type { EventBody, SessionEvent } from './events.ts';
import type { HookEvent, MomentName } from './hooks.ts';
import type { Invocation } from './invocation.ts';
import type { AssistantMessage, Block, CompactSummary, ImageBlock, DocumentBlock, Message, PromptSlot, SystemPromptBlock, TextBlock } from './message.ts';
import type { ModelInfo, ModelProvider } from './model.ts';
import type { Layer, Origin } from './origin.ts';
import type { Awaitable, Decision, JudgedCall, Match, MatchPlace, Opinion, PermissionResult, PermissionUpdate, Said, SourcedRule, Subject } from './permissions.ts';
import type { Problem, QuerySettlement, QueryState, Transition, TurnEnd, Uuid } from './query.ts';
import type { ToolResult, ToolSpec } from './tool.ts';
import type { FactLine, Line, MessageLine } from './transcript.ts';

// ---- schemas at the border -------------------------------------------------------------------------------------------------

/** Any schema that can say its own JSON Schema: zod from 4.2, others; or the plain pair. */
export interface StandardSchema<Out = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Awaitable<{ readonly value: Out; readonly issues?: undefined } | { readonly issues: readonly { readonly message: string; readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined }[] }>;
    readonly types?: { readonly input: unknown; readonly output: Out } | undefined;
  };
}
export interface PlainSchema<Out = unknown> { readonly jsonSchema: Readonly<Record<string, unknown>>; readonly check: (value: unknown) => { readonly value: Out } | { readonly problems: readonly string[] } }
export type Schema<Out = unknown> = StandardSchema<Out> | PlainSchema<Out>;
export type OutputOf<S> = S extends PlainSchema<infer O> ? O : S extends { readonly '~standard': { readonly types?: { readonly output: infer O } | undefined } } ? O : unknown;
/** A thunk is called at first use; ours are thunks. */
export type Lazy<T> = T | (() => T);
/** A schema as the kernel uses it: known to be able to describe itself. */
export interface CheckedSchema<Out = Record<string, unknown>> {
  readonly jsonSchema: Readonly<Record<string, unknown>>;
  /** Problems read `file_path: expected string`. */
  check(value: unknown): Awaitable<{ readonly value: Out } | { readonly problems: readonly string[] }>;
}

// ---- the world of a call ---------------------------------------------------------------------------------------------------

/** What tools may do with files: a subset of node:fs/promises, with the same meanings. */
export type FsLike = Pick<typeof import('node:fs/promises'), 'readFile' | 'writeFile' | 'stat' | 'lstat' | 'readdir' | 'realpath' | 'mkdir' | 'rename' | 'unlink' | 'open' | 'chmod' | 'readlink' | 'rm'>;

export interface SpawnRequest {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment of the child. */
  readonly env: Readonly<Record<string, string>>;
  readonly stdin?: 'ignore' | 'pipe' | undefined;
}
/** Where a call runs. A call whose target is missing is denied; it never falls back to the host. */
export interface ExecutionTarget {
  readonly name: string;
  readonly fs: FsLike;
  /** Starts a process in a group of its own. */
  spawn(request: SpawnRequest): ChildProcess;
  covers(requirement: string): boolean;
  available(): Awaitable<string | null>;
}

/** What a session knows of a file that was read or written. */
export interface FileReadState { readonly mtimeMs: number; readonly size: number; readonly hash: string; /** Only a part was shown. */ readonly partial: boolean }
/** Bounded; the least recently used goes first. */
export interface FileReadStates { get(path: string): FileReadState | undefined; set(path: string, state: FileReadState): void; delete(path: string): boolean; has(path: string): boolean }

export interface SearchAggregator { sample(turnId: string, query: string, hits: number): string | null }
export interface MemoryWriteContext { before(path: string, content: string): Awaitable<{ deny: string } | { content: string }>; after(path: string): Awaitable<string | null> }
export interface ContentReplacementState { readonly replaced: ReadonlyMap<string, { readonly file: string; readonly size: number; readonly stub: string }> }
export type GateDecision = { readonly behavior: 'allow' } | { readonly behavior: 'deny'; readonly message: string };

/** The one channel of a call to its environment. */
export interface ToolUseContext {
  /** Fixed for a query. */
  readonly options: { readonly model: string; readonly tools: readonly string[]; readonly mcpClients: readonly string[]; readonly mode: string; readonly env: Readonly<Record<string, string>>; readonly isInteractive: boolean };
  getAppState(): AppState;
  /** A fork's is a no-op. */
  setAppState(update: (state: AppState) => AppState): void;
  /** Always the root's. */
  setAppStateForTasks(update: (state: AppState) => AppState): void;
  readonly readFileState: FileReadStates;
  /** The same object as `readFileState`. */
  readonly fileReadState: FileReadStates;
  readonly messages: readonly Message[];
  readonly abortController: AbortController;
  readonly signal: AbortSignal;
  readonly agentId?: string | undefined;
  readonly agentType?: string | undefined;
  readonly contentReplacementState?: ContentReplacementState | undefined;
  readonly notifications: readonly string[];
  readonly cwd: string;
  /** Real paths of the folders that calls may work in; the first is the project's. */
  readonly roots: readonly string[];
  /** The root of the project. */
  readonly root: string;
  readonly home: string;
  /** `tool.progress` and `tool.output.delta`; the envelope is added. */
  emit(body: Extract<EventBody, { type: 'tool.progress' | 'tool.output.delta' }> | { readonly type: 'tool.progress'; readonly data: unknown } | { readonly type: 'tool.output.delta'; readonly stream: 'stdout' | 'stderr'; readonly text: string }): void;
  readonly executionTarget?: ExecutionTarget | undefined;
  readonly fs: FsLike;
  /** Starts a process at the call's target. */
  readonly process: { spawn(request: SpawnRequest): ChildProcess };
  /** A folder of the session's for outputs that are too large; made at first use. */
  outputFolder(): Promise<string>;
  readonly memoryWrite?: MemoryWriteContext | undefined;
  /** A target that appears mid-call is judged again: guards only; an ask counts as deny. */
  readjudicate?(args: Readonly<Record<string, unknown>>): Promise<GateDecision>;
  registerResource?(work: Promise<QuerySettlement>): void;
  readonly searchAggregator?: SearchAggregator | undefined;
  readonly toolCallId?: string | undefined;
  transcript?(): readonly Message[];
  readonly turnId?: string | undefined;
  readonly adjudicationAncestors?: readonly ParentAdjudicator[] | undefined;
}

// ---- what plugins add ------------------------------------------------------------------------------------------------------

export type CanUseTool = (tool: string, input: Readonly<Record<string, unknown>>) => Promise<GateDecision>;
export interface Tool<Input = Record<string, unknown>, Output = unknown, Progress = unknown> {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly inputSchema: () => CheckedSchema<Input>;
  description(input: Input | null, options: { readonly mode: string; readonly tools: readonly string[] }): Promise<string>;
  call(args: Input, context: ToolUseContext, canUseTool: CanUseTool, parentMessage: AssistantMessage, onProgress?: (data: Progress) => void): Promise<ToolResult<Output>>;
  checkPermissions(input: Input, context: ToolUseContext): Awaitable<PermissionResult>;
  isConcurrencySafe(input: Input): boolean;
  isReadOnly(input: Input): boolean;
  /** Characters; what is longer goes to a file. */
  readonly maxResultSizeChars: number;
  /** What the call is about; asked once per input. */
  subjects(input: Input, context: SubjectContext): Awaitable<readonly Subject[]>;
  matches(subject: Subject, spec: string, place: MatchPlace): Match;
  /** The result as the model sees it. */
  render(data: Output, input: Input): string | readonly (TextBlock | ImageBlock | DocumentBlock)[];
  /** The input that a rule's content stands for: `explain 'Bash(git push)'`. */
  fromSpec(spec: string): Readonly<Record<string, unknown>> | null;
  /** The narrowest rules that would have let this call through. */
  suggest(input: Input, subjects: readonly Subject[], place: MatchPlace): readonly PermissionUpdate[];
  /** Nobody but a person may answer. */
  readonly requiresUserInteraction: boolean;
}
export interface SubjectContext { readonly cwd: string; readonly roots: readonly string[]; readonly home: string; readonly fs: FsLike; readonly env: Readonly<Record<string, string>> }

/** Pure and synchronous: all facts are in the call. All guards are asked, none is shadowed. */
export interface Guard { readonly name: string; judge(call: JudgedCall): Said | readonly Said[] }

export interface PermissionMode { readonly name: string; readonly title: string; judge(call: JudgedCall, soFar: Opinion, context: ModeContext): Awaitable<Said> }
export interface ModeContext { readonly signal: AbortSignal; transcript(): readonly Message[]; classify?(call: JudgedCall): Promise<Opinion>; readonly adjudicators: readonly ParentAdjudicator[] }
export interface ParentAdjudicator { readonly agentId: string | null; adjudicate(call: JudgedCall, o: { signal: AbortSignal }): Promise<Opinion | { readonly behavior: 'escalate' }> }

export interface PromptContext { readonly cwd: string; readonly root: string; readonly model: string; readonly mode: string; readonly tools: readonly string[]; readonly fs: FsLike; readonly now: Date; readonly signal: AbortSignal; /** The rules in force: what a `Read` deny covers is not quoted. */ readonly rules: readonly SourcedRule[]; /** Files of the folder itself may speak. */ readonly trusted: boolean; /** Which of user, project and local are read in this run. */ readonly settingSources: readonly Layer[] }
export interface PromptPart { readonly name: string; readonly slot: PromptSlot; render(context: PromptContext): Awaitable<readonly SystemPromptBlock[]> }

export interface CompactContext { readonly keep: number; cutBefore(index: number): number; summarize(messages: readonly Message[], focus: readonly string[]): Promise<Message>; readonly signal: AbortSignal }
export interface Compactor { readonly name: string; compact(messages: readonly Message[], context: CompactContext): Promise<readonly Message[]> }
export interface Recovery { readonly name: string; on(problem: Problem, state: QueryState): Awaitable<Transition | undefined> }

export interface TaskHandle { readonly id: string; readonly done: Promise<void>; kill(): Promise<void> }
export interface TaskRunner { readonly name: string; start(task: Readonly<Record<string, unknown>>, context: ToolUseContext): Promise<TaskHandle> }

/** A connection to an MCP server; structural, so that no SDK type stands here. */
export interface Wire { start(): Promise<void>; send(message: unknown): Promise<void>; close(): Promise<void>; onmessage?: ((message: unknown) => void) | undefined; onclose?: (() => void) | undefined; onerror?: ((error: Error) => void) | undefined }
export interface Transport { readonly name: string; readonly config: Lazy<Schema>; connect(config: unknown): Awaitable<Wire> }

export interface Io { readonly stdin: NodeJS.ReadStream; out(text: string): void; err(text: string): void; readonly isTTY: boolean; readonly columns: number; readonly color: boolean; /** Resolves when all that was written has left. */ flush(): Promise<void>; /** Called when the process is told to stop; while somebody listens the process itself does not end. */ onInterrupt(fn: (signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP') => void): () => void; readonly env: Readonly<Record<string, string | undefined>> }
export type ExitCode = number;
export interface Frontend { readonly name: string; matches(invocation: Invocation): boolean; run(open: Open, invocation: Invocation, io: Io): Promise<ExitCode> }

export interface CommandOption { readonly flags: string; readonly description: string; readonly choices?: readonly string[] | undefined }
/** `config`: runs even when the configuration is broken. Help comes from `verbs` and `options`. */
export interface Subcommand {
  readonly name: string;
  readonly summary: string;
  readonly needs: 'nothing' | 'config' | 'kernel';
  /** `['list', 'get KEY', 'set KEY VALUE']`; empty where the command has no verbs. */
  readonly verbs: readonly { readonly usage: string; readonly summary: string }[];
  readonly options?: readonly CommandOption[] | undefined;
  readonly usage?: string | undefined;
  /** `args` without the command's own name; throws an `E_USAGE` error for wrong words. */
  run(context: SubcommandContext): Promise<ExitCode>;
}
export interface SubcommandContext {
  readonly verb: string | null;
  readonly args: readonly string[];
  readonly options: Readonly<Record<string, string | boolean | readonly string[]>>;
  readonly json: boolean;
  readonly io: Io;
  readonly cwd: string;
  /** The configuration as it is; its errors are in it. */
  readonly config: ConfigView;
  /** Boots what is needed; only where `needs` is `kernel`. */
  readonly kernel: KernelView | null;
  /** Starts a kernel for a look at it, where `needs` is less. @throws what stops a start */
  boot(): Promise<KernelView>;
}

export interface SlashCommand { readonly name: string; readonly title: string; run(args: string, session: Session): Awaitable<string | void> }
export interface Control<In = unknown, Out = unknown> { readonly name: string; readonly input: Lazy<Schema<In>>; readonly output?: Lazy<Schema<Out>> | undefined; run(session: Session, input: In): Awaitable<Out> }
export interface Skill { readonly name: string; readonly description: string; load(): Promise<string> }
export interface AgentDefinition {
  readonly agentType: string;
  readonly whenToUse: string;
  readonly tools?: readonly string[] | undefined;
  readonly disallowedTools?: readonly string[] | undefined;
  readonly model?: string | undefined;
  readonly permissionMode?: string | undefined;
  readonly isolation?: 'worktree' | 'remote' | undefined;
  readonly source: Layer;
  getSystemPrompt(): string;
}
export interface Source { readonly name: string; readonly files: readonly string[]; translate(text: string, file: string): unknown }

/** What each registry holds. */
export interface RegistryItems {
  tools: Tool<any, any, any>;
  guards: Guard;
  permissionModes: PermissionMode;
  agents: AgentDefinition & { readonly name: string };
  promptParts: PromptPart;
  compactors: Compactor;
  recoveries: Recovery;
  modelProviders: ModelProvider;
  transports: Transport;
  taskRunners: TaskRunner;
  executionTargets: ExecutionTarget;
  frontends: Frontend;
  subcommands: Subcommand;
  commands: SlashCommand;
  controls: Control<any, any>;
  skills: Skill;
  sources: Source;
}
export const REGISTRY_NAMES = {
  tools: 1, guards: 1, permissionModes: 1, agents: 1, promptParts: 1, compactors: 1, recoveries: 1, modelProviders: 1, transports: 1, taskRunners: 1, executionTargets: 1,
  frontends: 1, subcommands: 1, commands: 1, controls: 1, skills: 1, sources: 1,
} satisfies Record<keyof RegistryItems, 1>;
export type RegistryName = keyof RegistryItems;

/** Who stands behind a name, and what it beat. */
export interface RegistryEntry<T> { readonly name: string; readonly item: T; readonly owner: string; readonly origin: Origin; readonly status: 'counts' | 'shadowed' | 'forbidden' | 'withheld'; readonly reason?: string | undefined }

// ---- stores ----------------------------------------------------------------------------------------------------------------

export type LineDraft = (Omit<MessageLine, never> | FactLine);
/** The open log of one session; only one process holds it. */
export interface SessionLog {
  readonly sessionId: string;
  /** Resolves when the line is written (not yet on the disk). */
  append(line: LineDraft): Promise<void>;
  /** Resolves when all that was appended is on the disk. */
  sync(): Promise<void>;
  close(): Promise<void>;
  /** A folder of the session's own for outputs; made at first use. */
  outputFolder(): Promise<string>;
}
export interface SessionInfo { readonly sessionId: string; readonly cwd: string; readonly file: string; /** Milliseconds since 1970. */ readonly modified: number; readonly created: string | null; readonly title: string | null; readonly firstPrompt: string | null; readonly size: number; readonly messages: number | null }
export interface SessionRead { readonly lines: readonly Line[]; /** Torn or foreign lines, with their place. */ readonly notices: readonly string[] }
export interface SessionStore {
  create(o: { sessionId: Uuid; cwd: string; root: string }): Promise<SessionLog>;
  /** Takes the session over for writing: `E_SESSION_BUSY` where another process has it, `E_SESSION_UNKNOWN`. */
  open(o: { sessionId: Uuid; root: string }): Promise<SessionRead & { readonly log: SessionLog }>;
  read(o: { sessionId: Uuid; root: string }): Promise<SessionRead>;
  /** Newest first; without reading whole files. */
  list(o: { root: string | null; limit?: number }): Promise<readonly SessionInfo[]>;
  latest(o: { root: string }): Promise<Uuid | null>;
}
/** Typed by declaration merging in the providing plugin's own file. */
export interface Services { 'stores.sessions': SessionStore; searchAggregator: () => SearchAggregator; arguments: ArgumentParser; keys: KeyStore }

/** Where the keys of model providers are. A key is never in a config file, a log, a transcript or an error. */
export interface KeyStore {
  /** `env`: names of variables to look at first, in order. `null`: none is known. `from` says where it was found, never the key. */
  find(provider: string, o: { readonly env: readonly string[]; readonly helper?: string | undefined }): Promise<{ readonly key: string; readonly from: string; readonly variable?: string | undefined } | null>;
  /** The server refused it: ask anew. */
  forget(provider: string): void;
  /** Says where it was put. */
  save(provider: string, key: string): Promise<string>;
  /** False where there was none. */
  remove(provider: string): Promise<boolean>;
  /** Providers with a stored key. */
  list(): Promise<readonly { readonly provider: string; readonly from: string }[]>;
}

/** Reads the command line. Both throw `E_USAGE` with the nearest known word; `help` is to be printed. */
export interface ArgumentParser {
  /** Without the program's name. `subcommands` are for help and suggestions. */
  parse(argv: readonly string[], o: { readonly cwd: string; readonly subcommands: readonly Subcommand[]; readonly stdinIsTTY: boolean; readonly stdoutIsTTY: boolean; readonly env: Readonly<Record<string, string | undefined>> }): Promise<Invocation | { readonly help: string }>;
  /** The words behind the sub-command's own. */
  parseCommand(command: Subcommand, argv: readonly string[]): Promise<{ readonly verb: string | null; readonly args: readonly string[]; readonly options: SubcommandContext['options']; readonly json: boolean } | { readonly help: string }>;
}

// ---- the session port ------------------------------------------------------------------------------------------------------

export type AskKind = 'permission' | 'elicitation' | 'question' | 'plan';
export type HookHandler = (event: unknown, context: { readonly signal: AbortSignal; readonly toolUseId?: string | undefined }) => Awaitable<unknown>;
export interface Terminal { spawn(request: SpawnRequest): ChildProcess }
/** What a client brings to one session. */
export interface Host {
  /** Anything else is denied at once. */
  readonly asks: readonly AskKind[];
  readonly hooks?: readonly { readonly event: HookEvent | MomentName; readonly matcher?: string | undefined; readonly timeoutMs?: number | undefined; readonly onFailure?: 'continue' | 'block' | undefined; readonly run: HookHandler }[] | undefined;
  readonly mcp?: Readonly<Record<string, () => Wire>> | undefined;
  readonly fs?: FsLike | undefined;
  readonly terminal?: Terminal | undefined;
}
export type Prompt = string | readonly Block[];
export interface Receipt { readonly id: Uuid; /** Several receipts may share one turn. */ readonly turn: Promise<TurnEnd> }
/** Grows by declaration merging. */
export interface Controls {}
export type Answer =
  | { readonly behavior: 'allow'; readonly updatedInput?: Readonly<Record<string, unknown>> | undefined; readonly updatedPermissions?: readonly PermissionUpdate[] | undefined }
  | { readonly behavior: 'deny'; readonly message?: string | undefined; readonly interrupt?: boolean | undefined };
export interface SessionChange { readonly model?: string | null | undefined; readonly mode?: string | undefined; readonly effort?: string | undefined; readonly thinking?: number | null | undefined; readonly title?: string | undefined; readonly directories?: readonly string[] | undefined }
/** Everything that drives an agent holds this and nothing else. */
export interface Session {
  readonly id: Uuid;
  readonly state: { get(): AppState; subscribe<S>(select: (s: AppState) => S, fn: (s: S) => void): () => void };
  /** Any number of readers, in order, numbered; a slow one is told what it missed and never holds the turn. */
  events(o?: { from?: 'now' | 'start'; tree?: boolean }): AsyncIterable<SessionEvent>;
  history(): AsyncIterable<Message>;
  submit(prompt: Prompt, o?: { id?: Uuid; priority?: 'now' | 'next' | 'later'; query?: boolean; verbatim?: boolean; origin?: string }): Receipt;
  /** Still queued? Then gone. */
  withdraw(promptId: Uuid): boolean;
  /** One desk per tree of sessions; false: not open any more. */
  answer(requestId: Uuid, answer: Answer): boolean;
  /** Settles before the turn's last event. */
  interrupt(o: { reason: string; queued?: 'keep' | 'drop' }): Promise<{ stillQueued: readonly Uuid[] }>;
  set(change: SessionChange): Promise<{ applied: unknown } | { refused: string; by: Origin }>;
  control<K extends keyof Controls>(name: K, input: Controls[K] extends { input: infer I } ? I : never): Promise<Controls[K] extends { output: infer O } ? O : never>;
  /** May come again: replaces what the same host brought. */
  attach(host: Host): Promise<() => void>;
  fork(o: { at?: Uuid; agent?: string; cwd?: string; isolation?: 'worktree' | 'remote' }): Promise<Session>;
  /** `drain`: finish what was read. */
  close(o?: { drain?: boolean }): Promise<void>;
}
/** What a flag or a host adds to one session's configuration. Only tightening and values; origins are flags. */
export interface FlagLayer {
  readonly model?: string | undefined;
  readonly fallbackModel?: string | undefined;
  readonly mode?: string | undefined;
  readonly allow?: readonly string[] | undefined;
  readonly deny?: readonly string[] | undefined;
  readonly tools?: readonly string[] | null | undefined;
  readonly directories?: readonly string[] | undefined;
  readonly maxTurns?: number | undefined;
  readonly costUsd?: number | undefined;
  readonly timeMs?: number | undefined;
  readonly systemPrompt?: string | undefined;
  readonly appendSystemPrompt?: string | undefined;
  readonly effort?: string | undefined;
  readonly thinking?: 'adaptive' | false | number | undefined;
  /** Bypassing may be chosen later in the session. */
  readonly allowBypass?: boolean | undefined;
}
export interface OpenOptions {
  readonly cwd: string;
  readonly resume?: Uuid | 'latest' | undefined;
  readonly at?: Uuid | undefined;
  readonly fork?: boolean | undefined;
  readonly id?: Uuid | undefined;
  readonly agent?: string | undefined;
  readonly ephemeral?: boolean | undefined;
  readonly overlay?: FlagLayer | undefined;
  readonly setup?: 'init' | 'maintenance' | undefined;
  readonly host: Host;
}
/** Finds or boots the kernel of that project root and opens a session in it. */
export type Open = (o: OpenOptions) => Promise<Session>;

// ---- views for commands ----------------------------------------------------------------------------------------------------

export interface ChainLink { readonly origin: Origin; readonly value: unknown; readonly status: 'counts' | 'shadowed' | 'set aside' | 'bound'; readonly reason?: string | undefined }
export interface ConfigProblem { readonly code: string; readonly text: string; readonly origin: Origin | null; readonly fatal: boolean; /** The five facts, as lines. */ readonly printed: string }
export interface PluginReport { readonly name: string; readonly state: 'running' | 'off' | 'untrusted' | 'forbidden' | 'failed' | 'shadowed'; readonly origin: Origin; readonly from: string; readonly hash: string | null; readonly error?: string | undefined; readonly adds: readonly string[]; readonly ms: number }
export interface TrustView { readonly root: string; readonly trusted: boolean; /** Why not: never asked, or which files changed. */ readonly why: string | null; readonly waits: readonly { readonly what: string; readonly origin: Origin }[]; readonly files: Readonly<Record<string, string>> }
export interface ConfigView {
  readonly root: string;
  readonly settings: Settings;
  readonly problems: readonly ConfigProblem[];
  readonly layers: readonly { readonly layer: Layer; readonly file: string; readonly state: 'counts' | 'absent' | 'broken' | 'unreadable'; readonly why?: string | undefined }[];
  readonly trust: TrustView;
  /** Every place that speaks of a key, highest first; a dotted path. */
  chain(path: string): readonly ChainLink[];
  keys(): readonly string[];
  /** All rules that count, each with where it is written. */
  readonly rules: readonly SourcedRule[];
  /** Reads all layers again. */
  reload(): Promise<ConfigView>;
  /** Writes one value into a user, project or local file; comments stay. `undefined` takes it out. */
  write(layer: 'user' | 'project' | 'local', path: string, value: unknown): Promise<{ readonly file: string }>;
  grantTrust(): Promise<void>;
  revokeTrust(): Promise<void>;
}
/** Which model answers. `id` as the provider knows it, `name` as it is configured. */
export interface ModelChoice { readonly provider: ModelProvider; readonly id: string; readonly name: string; readonly info: ModelInfo | undefined }
export interface KernelView {
  readonly config: ConfigView;
  readonly plugins: readonly PluginReport[];
  registry<K extends RegistryName>(name: K): { all(): readonly RegistryItems[K][]; who(name: string): readonly RegistryEntry<RegistryItems[K]>[]; entries(): readonly RegistryEntry<RegistryItems[K]>[] };
  service<K extends keyof Services>(name: K): Services[K] | undefined;
  /** As a session would choose; left out: where nothing is configured. @throws E_MODEL_UNKNOWN, E_MODEL_UNAVAILABLE */
  chooseModel(wanted?: string): Promise<ModelChoice>;
  readonly open: Open;
  /** What would be said of a call, without making it: guards and mode, no hooks. */
  dryRun(tool: string, input: Readonly<Record<string, unknown>>, o: { cwd: string; mode?: string }): Promise<Decision & { readonly wouldAsk: boolean }>;
}

export interface ToolOptions<S extends Schema, Out> {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly description: string | ((options: { readonly mode: string; readonly tools: readonly string[] }) => Awaitable<string>);
  readonly inputSchema: Lazy<S>;
  /** JSON Schema made at build; left out: made at first use. */
  readonly isReadOnly?: boolean | ((input: OutputOf<S>) => boolean);
  readonly isConcurrencySafe?: boolean | ((input: OutputOf<S>) => boolean);
  readonly maxResultSizeChars?: number;
  readonly requiresUserInteraction?: boolean;
  readonly subjects?: (input: OutputOf<S>, context: SubjectContext) => Awaitable<readonly Subject[]>;
  readonly matches?: (subject: Subject, spec: string, place: MatchPlace) => Match;
  readonly checkPermissions?: (input: OutputOf<S>, context: ToolUseContext) => Awaitable<PermissionResult>;
  readonly fromSpec?: (spec: string) => Readonly<Record<string, unknown>> | null;
  readonly suggest?: (input: OutputOf<S>, subjects: readonly Subject[], place: MatchPlace) => readonly PermissionUpdate[];
  readonly render?: (data: Out, input: OutputOf<S>) => string | readonly (TextBlock | ImageBlock | DocumentBlock)[];
  /** The everyday face: the rest of the full signature arrives in the context. */
  readonly call: (input: OutputOf<S>, context: ToolUseContext & { readonly parentMessage: AssistantMessage; readonly canUseTool: CanUseTool; progress(data: unknown): void }) => Awaitable<ToolResult<Out>>;
}
export type { CompactSummary, ToolSpec };
