/** Makes the ToolUseContext of one call: its one channel to the environment. */
import type { AppState, EventBody, ToolUseBlock, ToolUseContext } from '../schemas/index.ts';
import type { Conversation } from './conversation.ts';
import { TappetError } from './errors.ts';

export interface CallPlace { readonly turnId: string; readonly use: ToolUseBlock; readonly abort: AbortController; readonly cwd: string; readonly model: string; /** Its result is there: what it says later is not heard. */ readonly isOver?: () => boolean; readonly readjudicate: NonNullable<ToolUseContext['readjudicate']> }

export function createContext(c: Conversation, p: CallPlace): ToolUseContext {
  const target = c.target();
  const isFork = c.agentId !== null;
  const set = (update: (s: AppState) => AppState): void => c.state.set(update);
  const envelope = { toolUseId: p.use.id, toolName: p.use.name };
  return {
    options: { model: p.model, tools: c.tools().map((t) => t.name), mcpClients: c.state.get().mcp.connections.map((m) => m.name), mode: c.mode().name, env: c.kernel.settings().env, isInteractive: c.canAsk('permission') },
    getAppState: () => c.state.get(),
    setAppState: isFork ? () => {} : set,
    setAppStateForTasks: (update) => c.rootState.set(update),
    readFileState: c.files,
    fileReadState: c.files,
    messages: c.messages(),
    abortController: p.abort,
    signal: p.abort.signal,
    agentId: c.agentId ?? undefined,
    agentType: c.agentType ?? undefined,
    contentReplacementState: c.replacements.state(),
    notifications: [],
    cwd: p.cwd,
    roots: c.roots(),
    root: c.kernel.root,
    home: c.kernel.places.home,
    emit: (body) => { if (p.isOver?.() !== true) c.emit({ ...body, ...envelope } as EventBody); },
    executionTarget: target,
    fs: c.fs(),
    process: {
      spawn: (request) => {
        // A missing target is a refusal, never a fall back to the host.
        if (target === undefined) throw new TappetError('E_INTERNAL', { message: 'no execution target is there to run a program', do: 'switch the plugin targets/host on' });
        return target.spawn(request);
      },
    },
    outputFolder: () => c.outputFolder(),
    readjudicate: p.readjudicate,
    registerResource: c.registerResource,
    searchAggregator: c.search,
    toolCallId: p.use.id,
    transcript: () => c.messages(),
    turnId: p.turnId,
    adjudicationAncestors: c.ancestors,
  };
}
