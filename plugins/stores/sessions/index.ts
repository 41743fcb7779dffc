/** Sessions as files of lines: one writer each, nothing acknowledged is lost, nothing unreadable stands in the way. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, realpath } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { definePlugin, TappetError } from 'tappet/kernel';
import { isAbsence } from 'tappet/kit';
import type { SessionLog, SessionStore, Uuid } from 'tappet/schemas';
import { lockSession, openLog, storeError } from './log.ts';
import type { LogOptions } from './log.ts';
import { readSession } from './lines.ts';
import { listSessions } from './list.ts';

const ID = /^[A-Za-z0-9][\w-]{0,127}$/;

export default definePlugin({
  name: 'stores/sessions',
  api: 1,
  apply({ services, folders, own }) {
    const { store, closeAll } = sessionStore(folders.state);
    services.provide('stores.sessions', store);
    own(closeAll);
  },
});

/** `write` is for tests of full disks. */
export function sessionStore(state: string, o: Pick<LogOptions, 'write'> = {}): { store: SessionStore; closeAll(): Promise<void> } {
  const open = new Set<SessionLog>();
  const start = (options: Omit<LogOptions, 'onClose' | 'write'>): SessionLog => {
    const log = openLog({ ...options, ...o, onClose: () => open.delete(log) });
    open.add(log);
    return log;
  };
  const fileOf = async (root: string, sessionId: string): Promise<string> => join(await sessionsFolder(state, root), `${sessionId}.jsonl`);
  const known = async ({ sessionId, root }: { sessionId: string; root: string }): Promise<string> => {
    const file = ID.test(sessionId) ? await fileOf(root, sessionId) : null;
    if (file === null || !existsSync(file)) throw new TappetError('E_SESSION_UNKNOWN', { id: sessionId });
    return file;
  };
  const reading = (file: string) => readSession(file).catch((e: unknown) => { throw storeError(e, file, 'it cannot be read'); });

  const store: SessionStore = {
    async create({ sessionId, root }) {
      if (!ID.test(sessionId)) throw new TappetError('E_USAGE', { message: `"${sessionId}" cannot be the name of a session`, do: 'use a UUID' });
      const file = await fileOf(root, sessionId);
      await mkdir(dirname(file), { recursive: true, mode: 0o700 }).catch((e: unknown) => { throw storeError(e, file); });
      const lock = await lockSession(file, sessionId);
      try {
        if (existsSync(file)) throw new TappetError('E_SESSION_STORE', { message: `there is a session ${sessionId} already`, where: file, do: `go on with it: --resume ${sessionId}` });
        return start({ file, sessionId, lock, lastSeq: 0, isNew: true });
      } catch (e) {
        lock.release();
        throw e;
      }
    },
    async open({ sessionId, root }) {
      const file = await known({ sessionId, root });
      const lock = await lockSession(file, sessionId);
      try {
        const { lines, notices, lastSeq } = await reading(file);
        return { lines, notices, log: start({ file, sessionId, lock, lastSeq, isNew: false }) };
      } catch (e) {
        lock.release();
        throw e;
      }
    },
    async read(which) {
      const { lines, notices } = await reading(await known(which));
      return { lines, notices };
    },
    async list({ root, limit }) {
      const folders = root === null ? await allFolders(state) : [await sessionsFolder(state, root)];
      return listSessions(folders, limit ?? Infinity).catch((e: unknown) => { throw storeError(e, join(state, 'projects')); });
    },
    latest: async ({ root }) => ((await store.list({ root, limit: 1 }))[0]?.sessionId as Uuid | undefined) ?? null,
  };
  return { store, closeAll: async () => { await Promise.all([...open].map((log) => log.close())); } };
}

/** Readable, and one per real path: two ways to one folder meet in one place. */
async function sessionsFolder(state: string, root: string): Promise<string> {
  const real = await realpath(root).catch(() => resolve(root));
  const words = real.replace(/[^A-Za-z0-9]+/g, '-').replace(/^-|-$/g, '').slice(-60);
  return join(state, 'projects', `${words}-${createHash('sha256').update(real).digest('hex').slice(0, 10)}`, 'sessions');
}
async function allFolders(state: string): Promise<string[]> {
  const projects = await readdir(join(state, 'projects')).catch((e: unknown) => {
    if (isAbsence(e)) return [];
    throw storeError(e, join(state, 'projects'));
  });
  return projects.map((project) => join(state, 'projects', project, 'sessions'));
}
