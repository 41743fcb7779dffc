/** Finds or boots the kernel of a project root, opens a session in it; a kernel closes with its last session. */
import { randomUUID } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Open, OpenOptions, Session, SessionLog, Uuid } from '../schemas/index.ts';
import type { BootOptions } from './boot.ts';
import { boot } from './boot.ts';
import { findRoot } from './config/places.ts';
import { TappetError } from './errors.ts';
import type { Kernel } from './kernel.ts';
import type { SessionParts } from './session.ts';
import { adjudicatorsFor, createSession } from './session.ts';
import { restore } from './transcript.ts';

export interface Opener {
  readonly open: Open;
  /** The kernel of a folder, booted at need; it stays until `close`, whatever sessions do. */
  kernel(cwd: string): Promise<Kernel>;
  close(): Promise<void>;
}

export function createOpener(base: Omit<BootOptions, 'cwd'>, first?: { readonly cwd: string; readonly kernel: Kernel }): Opener {
  const kernels = new Map<string, { booted: Promise<Kernel>; sessions: number; held: boolean }>();
  const entry = (cwd: string) => {
    const root = findRoot(cwd);
    let e = kernels.get(root);
    if (e === undefined) {
      const given = first !== undefined && findRoot(first.cwd) === root ? first.kernel : undefined;
      if (given !== undefined) first = undefined; // once: it closes with its last session
      kernels.set(root, (e = { booted: given === undefined ? boot({ ...base, cwd }) : Promise.resolve(given), sessions: 0, held: false }));
      void e.booted.then((k) => { k.open = open; }, () => kernels.delete(root));
    }
    return { root, e };
  };
  const open: Open = async (o) => {
    const cwd = resolve(o.cwd);
    const { root, e } = entry(cwd);
    e.sessions++; // before the wait: the kernel must not close with the last session of another
    const kernel = await e.booted;
    const release = async (): Promise<void> => {
      if (--e.sessions > 0 || e.held) return;
      if (kernels.get(root) === e) kernels.delete(root);
      await kernel.dispose();
    };
    try {
      return await openIn(kernel, { ...o, cwd }, release);
    } catch (error) {
      await release();
      throw error;
    }
  };
  return {
    open,
    async kernel(cwd) { const { e } = entry(resolve(cwd)); e.held = true; return e.booted; },
    async close() {
      const all = [...kernels.values()];
      kernels.clear();
      for (const { booted } of all) await booted.then((k) => k.dispose(), () => {});
    },
  };
}

async function openIn(kernel: Kernel, o: OpenOptions, release: () => Promise<void>): Promise<Session> {
  const store = o.ephemeral === true ? undefined : kernel.services.get('stores.sessions');
  if (store === undefined && o.ephemeral !== true) kernel.log({ level: 'warning', name: 'session', text: 'no plugin keeps sessions; this one cannot be resumed' });
  const root = real(kernel.root);
  const fork = (f: Parameters<SessionParts['fork']>[0]): Promise<Session> => forkSession(kernel, f);
  const common = { kernel, overlay: o.overlay ?? {}, host: o.host, setup: o.setup, fork, onClose: release };
  if (o.resume === undefined) {
    const id = o.id ?? randomUUID();
    const log = store === undefined ? null : lazyLog(() => store.create({ sessionId: id, cwd: o.cwd, root }), id);
    return createSession({ ...common, id, cwd: o.cwd, log, source: 'startup', restored: null });
  }
  if (store === undefined) throw new TappetError('E_SESSION_UNKNOWN', { id: o.resume, cause: 'sessions are not kept here' });
  const wanted = o.resume === 'latest' ? await store.latest({ root }) : o.resume;
  if (wanted === null) throw new TappetError('E_SESSION_UNKNOWN', { id: 'to continue', cause: `no session was kept for ${root}` });
  if (o.fork === true) {
    const read = await store.read({ sessionId: wanted, root });
    const restored = restoredOrThrow(read.lines, o.at, wanted);
    const id = o.id ?? randomUUID();
    const log = await copyInto(await store.create({ sessionId: id, cwd: o.cwd, root }), restored.messages, o.cwd, wanted);
    say(kernel, read.notices);
    return createSession({ ...common, id, cwd: o.cwd, log, source: 'resume', restored });
  }
  const opened = await store.open({ sessionId: wanted, root });
  try {
    say(kernel, opened.notices);
    return await createSession({ ...common, id: wanted, cwd: o.cwd, log: opened.log, source: 'resume', restored: restoredOrThrow(opened.lines, o.at, wanted) });
  } catch (e) {
    await opened.log.close();
    throw e;
  }
}

async function forkSession(kernel: Kernel, f: Parameters<SessionParts['fork']>[0]): Promise<Session> {
  const { conversation: parent, events, parts } = f.from;
  const messages = parent.messages();
  const cut = f.at === undefined ? messages.length : messages.findIndex((m) => m.uuid === f.at) + 1;
  if (cut === 0 && f.at !== undefined) throw new TappetError('E_SESSION_UNKNOWN', { id: f.at, cause: 'the session has no such message' });
  const id = randomUUID();
  const cwd = f.cwd ?? parent.cwd();
  const store = parts.log === null ? undefined : kernel.services.get('stores.sessions');
  const snapshot = messages.slice(0, cut);
  const log = store === undefined ? null : await copyInto(await store.create({ sessionId: id, cwd, root: real(kernel.root) }), snapshot, cwd, parent.id);
  const child = await createSession({
    ...parts, overlay: parent.overlay, id, cwd, log, source: 'fork', setup: undefined, host: { asks: [] },
    restored: { messages: snapshot, leaf: snapshot.at(-1)?.uuid ?? null, mode: parent.mode().name, model: null, title: null, deferred: [], repairs: [] },
    parent: { conversation: parent, desk: parent.desk, budget: parent.budget, events, ancestors: adjudicatorsFor(parent), replacements: parent.replacements.clone(), agentType: f.agent ?? null },
    onClose: async () => { f.from.children.delete(child); },
  });
  f.from.children.add(child);
  return child;
}

/** The copied messages keep their ids, so that later branches can be traced. */
async function copyInto(log: SessionLog, messages: readonly { readonly uuid: Uuid }[], cwd: string, from: Uuid): Promise<SessionLog> {
  let parentUuid: string | null = null;
  try {
    for (const m of messages) {
      await log.append({ ...m, parentUuid, cwd, isSidechain: false, forkedFrom: { sessionId: from, messageUuid: m.uuid } } as never);
      parentUuid = m.uuid;
    }
    await log.sync();
  } catch (e) {
    await log.close();
    throw e;
  }
  return log;
}
function restoredOrThrow(lines: Parameters<typeof restore>[0], at: Uuid | undefined, id: string) {
  const restored = restore(lines, at);
  if (restored === null) throw new TappetError('E_SESSION_UNKNOWN', { id: at ?? id, cause: `the session ${id} has no such message` });
  return restored;
}
function say(kernel: Kernel, notices: readonly string[]): void {
  for (const text of notices) kernel.log({ level: 'warning', name: 'session', text });
}

/** A session that nobody speaks in leaves no file. */
function lazyLog(make: () => Promise<SessionLog>, sessionId: Uuid): SessionLog {
  let made: Promise<SessionLog> | undefined;
  // Where it could not be made (a full disk) the next line tries again.
  const log = (): Promise<SessionLog> => (made ??= make().catch((e: unknown) => { made = undefined; throw e; }));
  return { sessionId, append: async (line) => (await log()).append(line), sync: async () => { if (made !== undefined) await (await made).sync(); }, close: async () => { if (made !== undefined) await (await made.catch(() => undefined))?.close(); }, outputFolder: async () => (await log()).outputFolder() };
}
const real = (dir: string): string => { try { return realpathSync(dir); } catch { return resolve(dir); } };
