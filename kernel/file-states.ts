/** What a session knows of the files it read: bounded, the least recently used goes first. */
import type { FileReadState, FileReadStates } from '../schemas/index.ts';
import { LRUCache } from 'lru-cache';

const MAX_FILE_STATES = 5000;
export function createFileStates(): FileReadStates {
  const cache = new LRUCache<string, FileReadState>({ max: MAX_FILE_STATES });
  return { get: (path) => cache.get(path), set: (path, state) => { cache.set(path, state); }, delete: (path) => cache.delete(path), has: (path) => cache.has(path) };
}
