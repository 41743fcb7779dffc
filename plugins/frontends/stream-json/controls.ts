/** The host's control requests: each gets exactly one answer, whatever is asked. */
import { messageOf } from 'tappet/kernel';
import type { Session, SessionChange, Uuid } from 'tappet/kernel';
import type { Facts } from './facts.ts';
import type { Fields } from './protocol.ts';
import type { ClientHost } from './host.ts';
import type { Projection } from './projection.ts';

export interface ControlParts {
  readonly session: Session;
  readonly facts: Facts;
  readonly host: ClientHost;
  readonly projection: Projection;
  /** Prompts whose turn is not over. */
  readonly submitted: ReadonlySet<Uuid>;
}
type Control = (p: ControlParts, request: Fields) => Promise<Fields | void> | Fields | void;

const CONTROLS: Readonly<Record<string, Control>> = {
  async interrupt({ session, submitted }, { cancel_queued }) {
    const cancelled = cancel_queued === true ? [...submitted].filter((id) => session.withdraw(id)) : undefined;
    const { stillQueued } = await session.interrupt({ reason: 'interrupt', queued: cancelled === undefined ? 'keep' : 'drop' });
    return { still_queued: stillQueued, ...(cancelled === undefined ? {} : { cancelled }) };
  },
  async set_permission_mode({ session }, { mode }) {
    await change(session, { mode: text(mode, 'mode') });
    return { mode: session.state.get().toolPermissionContext.mode };
  },
  async set_model({ session }, { model }) {
    await change(session, { model: model === undefined || model === null || model === 'default' ? null : text(model, 'model') });
    return {};
  },
  async set_max_thinking_tokens({ session }, { max_thinking_tokens: tokens }) {
    if (tokens !== undefined && tokens !== null && !(typeof tokens === 'number' && Number.isInteger(tokens) && tokens >= 0)) throw new Error('max_thinking_tokens: a whole number, or null');
    await change(session, { thinking: tokens ?? null });
  },
  async rename_session({ session }, { title, session_id }) {
    if (typeof session_id === 'string' && session_id !== session.id) throw new Error(`this is the session ${session.id}`);
    await change(session, { title: text(title, 'title') });
  },
  cancel_async_message: ({ session }, { message_uuid }) => ({ cancelled: session.withdraw(text(message_uuid, 'message_uuid') as Uuid) }),
  mcp_status: ({ session, facts }) => ({ mcpServers: facts.servers(session.state.get()) }),
  mcp_message({ host }, { server_name, message }) {
    if (!host.hear(text(server_name, 'server_name'), message)) throw new Error(`no MCP server of the host is named ${String(server_name)}`);
  },
  get_settings: ({ session, facts }) => facts.settings(session.state.get()),
  get_context_usage: ({ session, facts, projection }) => facts.context(session.state.get(), projection.lastAnswer),
  list_models: async ({ facts }) => ({ models: await facts.models() }),
};
/** What comes behind one of these must find it done. */
export const isOrdered = (subtype: string): boolean => subtype.startsWith('set_');

/** The whole line that answers. */
export async function answerControl(p: ControlParts, id: string, request: Fields & { readonly subtype: string }): Promise<Fields> {
  if (!Object.hasOwn(CONTROLS, request.subtype)) return failed(id, `the request "${request.subtype}" is not known here`);
  try {
    return succeeded(id, (await CONTROLS[request.subtype]!(p, request)) ?? undefined);
  } catch (e) {
    return failed(id, messageOf(e));
  }
}
export const succeeded = (id: string, response?: Fields): Fields => ({ type: 'control_response', response: { subtype: 'success', request_id: id, ...(response === undefined ? {} : { response }) } });
export const failed = (id: string, error: string): Fields => ({ type: 'control_response', response: { subtype: 'error', request_id: id, error } });

async function change(session: Session, to: SessionChange): Promise<void> {
  const done = await session.set(to);
  if ('refused' in done) throw new Error(done.refused);
}
function text(value: unknown, name: string): string {
  if (typeof value !== 'string' || value === '') throw new Error(`${name}: a text is needed`);
  return value;
}
