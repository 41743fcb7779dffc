/** What a host may want to know of us: models, commands, agents, servers, how full the context is. */
import type { AppState, ModelInfo, Scope, SessionEvent } from 'tappet/kernel';
import type { Fields } from './protocol.ts';
import type { Projection } from './projection.ts';

/** Hosts choose what they send by this number. It is the level of the protocol that is spoken here, not a version of Tappet. */
const PROTOCOL_LEVEL = '2.1.332';
/** The protocol's own models go by their bare ids in it. */
const HOME_PROVIDER = 'anthropic/';
/** How long a provider is asked whether it can be used, before its models are left out of a list. */
const ASK_MS = 1000;
const STYLE = 'default';

export interface Facts {
  init(turn: Extract<SessionEvent, { type: 'turn.started' }>, state: AppState): Fields;
  /** The answer to `initialize`. */
  welcome(state: AppState): Promise<Fields>;
  models(): Promise<readonly Fields[]>;
  servers(state: AppState): readonly Fields[];
  settings(state: AppState): Fields;
  context(state: AppState, last: Projection['lastAnswer']): Fields;
  window(model: string): { readonly contextWindow: number; readonly maxOutputTokens: number };
}

export function createFacts({ registries, env }: Pick<Scope, 'registries' | 'env'>): Facts {
  const keySource = env['ANTHROPIC_API_KEY'] === undefined || env['ANTHROPIC_API_KEY'] === '' ? 'none' : 'ANTHROPIC_API_KEY';
  const infoOf = (model: string): ModelInfo | undefined => registries.modelProviders.all().flatMap((p) => p.models().filter((m) => m.id === model || `${p.name}/${m.id}` === model))[0];
  const window = (model: string) => ({ contextWindow: infoOf(model)?.contextWindow ?? 0, maxOutputTokens: infoOf(model)?.maxOutputTokens ?? 0 });

  async function models(): Promise<readonly Fields[]> {
    const lists = await Promise.all(registries.modelProviders.all().map(async (p) => ((await withinTime(p.available())) ? p.models().map((m) => modelRow(p.name, m)) : [])));
    return [{ value: 'default', displayName: 'Default', description: 'the model of the configuration, or the first that can be used' }, ...lists.flat()];
  }
  const agents = () => registries.agents.all().map((a) => ({ name: a.agentType, description: a.whenToUse, ...(a.model === undefined ? {} : { model: a.model }) }));
  const servers = (state: AppState) => state.mcp.connections.map((c) => ({ name: c.name, status: c.status, ...(c.error === undefined ? {} : { error: c.error }) }));

  return {
    models, servers, window,
    init: (turn, state) => ({
      model: bare(turn.model), mcp_servers: servers(state), slash_commands: registries.commands.all().map((c) => c.name), apiKeySource: keySource, claude_code_version: PROTOCOL_LEVEL, output_style: STYLE,
      agents: agents().map((a) => a.name), skills: registries.skills.all().map((s) => s.name), plugins: [], capabilities: ['interrupt_receipt_v1', 'interrupt_cancel_queued_v1'],
    }),
    welcome: async (state) => ({
      commands: registries.commands.all().map((c) => ({ name: c.name, description: c.title, argumentHint: '' })), agents: agents(), models: await models(), output_style: STYLE, available_output_styles: [STYLE],
      account: { apiKeySource: keySource }, hook_on_failure_supported: true, claude_code_version: PROTOCOL_LEVEL, current_permission_mode: state.toolPermissionContext.mode,
    }),
    settings: (state) => ({
      effective: { model: bare(state.mainLoopModel), permissions: { ...state.settings.permissions, defaultMode: state.settings.mode, additionalDirectories: state.toolPermissionContext.additionalDirectories } },
      sources: [],
      applied: { model: bare(state.mainLoopModel), effort: state.settings.effort ?? null },
    }),
    context(state, last) {
      const max = window(last?.model ?? state.mainLoopModel).contextWindow;
      const used = last === null ? 0 : last.usage.input_tokens + last.usage.cache_read_input_tokens + last.usage.cache_creation_input_tokens + last.usage.output_tokens;
      return {
        categories: [{ id: 'messages', name: 'Messages', tokens: used, color: 'inactive', kind: 'used' }, { id: 'free_space', name: 'Free space', tokens: Math.max(0, max - used), color: 'inactive', kind: 'free' }],
        totalTokens: used, maxTokens: max, rawMaxTokens: max, percentage: max === 0 ? 0 : Math.round((100 * used) / max), gridRows: [], model: bare(state.mainLoopModel), memoryFiles: [], mcpTools: [], agents: [],
        isAutoCompactEnabled: false,
      };
    },
  };
}

const bare = (model: string): string => (model.startsWith(HOME_PROVIDER) ? model.slice(HOME_PROVIDER.length) : model);
const modelRow = (provider: string, m: ModelInfo): Fields => ({
  value: bare(`${provider}/${m.id}`), displayName: m.id, description: `${provider}, ${m.contextWindow} tokens`, ...(m.can?.includes('effort') === true ? { supportsEffort: true } : {}),
});

async function withinTime(available: Promise<string | null>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => { timer = setTimeout(() => resolve('no answer in time'), ASK_MS); });
  try {
    return (await Promise.race([available, late])) === null;
  } catch {
    return false; // a provider that fails can't be used; it says so itself when it is chosen
  } finally {
    clearTimeout(timer);
  }
}
