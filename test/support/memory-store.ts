/** A store of sessions in memory, whose appends and syncs can be held up or made to fail. */
import { definePlugin } from 'tappet/kernel';
import type { Plugin } from 'tappet/kernel';
import type { Line, LineDraft, SessionLog, SessionStore } from '../../schemas/index.ts';

export interface MemoryStore {
  readonly plugin: Plugin<any>;
  /** All lines in the order in which they were written. */
  readonly lines: LineDraft[];
  readonly closed: string[];
  /** Called before each line is written; what it throws the writer gets. */
  before: ((line: LineDraft) => Promise<void> | void) | null;
  beforeSync: (() => Promise<void>) | null;
  beforeCreate: (() => void) | null;
  /** These lines cannot be read any more. */
  forget(which: (line: LineDraft) => boolean): void;
}

export function memoryStore(folder: string): MemoryStore {
  const kept = new Map<string, LineDraft[]>();
  const made: MemoryStore = { plugin: undefined as never, lines: [], closed: [], before: null, beforeSync: null, beforeCreate: null, forget: (which) => { for (const [id, list] of kept) kept.set(id, list.filter((l) => !which(l))); } };
  const log = (sessionId: string): SessionLog => ({
    sessionId,
    async append(line) { await made.before?.(line); made.lines.push(line); kept.get(sessionId)!.push(line); },
    async sync() { await made.beforeSync?.(); },
    async close() { made.closed.push(sessionId); },
    outputFolder: async () => folder,
  });
  const read = (id: string) => ({ lines: kept.get(id) as readonly Line[], notices: [] });
  const store: SessionStore = {
    async create({ sessionId }) { made.beforeCreate?.(); kept.set(sessionId, []); return log(sessionId); },
    open: async ({ sessionId }) => ({ ...read(sessionId), log: log(sessionId) }),
    read: async ({ sessionId }) => read(sessionId),
    list: async () => [],
    latest: async () => null,
  };
  return Object.assign(made, { plugin: definePlugin({ name: 'test/store', api: 1, apply: ({ services }) => { services.provide('stores.sessions', store); } }) });
}
