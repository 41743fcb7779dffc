/** `keys.json`: which keys are stored, and those that no key ring holds. Its owner's alone from the first instant; old or new, never half; what is damaged is never written over. */
import fs from 'node:fs/promises';
import { join } from 'node:path';
import { isTappetError, messageOf } from 'tappet/kernel';
import { codeOf, hashOf, isRecord, keyProblem, openRegular, takeLock, writeWhole } from 'tappet/kit';
import type { Lock } from 'tappet/kit';
import { keysError } from './codes.ts';

/** `ring`: one is in the key ring; it counts where no `key` stands here, which is then the newer one. */
export interface Stored { readonly key?: string; readonly ring?: true }
export type StoredKeys = ReadonlyMap<string, Stored>;
export interface KeyFile {
  readonly path: string;
  /** @throws E_KEYS_FILE */
  read(): Promise<StoredKeys>;
  /** `null`: nothing is to be changed. @throws E_KEYS_FILE */
  change(fn: (now: StoredKeys) => StoredKeys | null): Promise<void>;
}
export interface KeyFileOptions {
  readonly folder: string;
  /** Of this process; `null` where files have no owners. */
  readonly uid: number | null;
  notice(text: string): void;
}

const VERSION = 1;
const MOST_BYTES = 1 << 20;
const LOCK_TRIES = 200;
const LOCK_PAUSE_MS = 25;

export function keyFile({ folder, uid, notice }: KeyFileOptions): KeyFile {
  const path = join(folder, 'keys.json');
  const fail = (message: string, todo?: string) => keysError('E_KEYS_FILE', { message, where: path, ...(todo === undefined ? {} : { do: todo }) });
  const asOurs = (e: unknown) => (isTappetError(e) ? e : fail(trouble(e)));

  async function readText(real: string): Promise<string> {
    const { handle, stat } = await openRegular(fs, real, real);
    try {
      if (uid !== null && stat.uid !== uid) throw fail(`it belongs to another user (number ${stat.uid})`, 'find out who put it there; then take it away');
      if (uid !== null && (stat.mode & 0o077) !== 0) {
        await handle.chmod(0o600);
        notice(`${path} could be opened by others (mode ${(stat.mode & 0o777).toString(8)}); it is yours alone now. Keys in it may have been seen`);
      }
      if (stat.size > MOST_BYTES) throw fail(`it is larger than ${MOST_BYTES} bytes`);
      return await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  }
  /** `null`: there is no file. */
  const textAt = async (real: string): Promise<string | null> => readText(real).catch((e: unknown) => { if (codeOf(e) === 'ENOENT') return null; throw e; });

  /** Never quotes the text, nor an error that might. */
  function parse(text: string): Map<string, Stored> {
    if (text === '') return new Map(); // made, and not yet written
    let said: unknown;
    try { said = JSON.parse(text); } catch { throw fail('it is damaged: this is no JSON'); }
    if (!isRecord(said) || typeof said.version !== 'number' || !isRecord(said.keys)) throw fail('it is damaged: it must be { "version": 1, "keys": { … } }');
    if (said.version !== VERSION) throw fail(`it has version ${said.version}, and this is a program for version ${VERSION}`, 'use the version of Tappet that wrote it, or take it away');
    return new Map(Object.entries(said.keys).map(([provider, stored]) => {
      const { key, ring } = isRecord(stored) ? stored : {};
      const isWell = (key !== undefined || ring !== undefined) && (key === undefined || (typeof key === 'string' && keyProblem(key) === null)) && (ring === undefined || ring === true);
      if (isWell) return [provider, stored as Stored];
      throw fail(`it is damaged: what stands for ${/^[\w-]{1,24}$/.test(provider) ? provider : 'one of the providers'} is neither { "key": … } nor { "ring": true }`);
    }));
  }

  async function lock(file: string): Promise<Lock> {
    for (let tries = 1; ; tries++) {
      const answer = await takeLock(file);
      if ('lock' in answer) return answer.lock;
      if (tries < LOCK_TRIES) { await new Promise((resolve) => setTimeout(resolve, LOCK_PAUSE_MS)); continue; }
      throw fail(`another process${answer.owner === null ? '' : ` (${answer.owner.pid}${answer.isElsewhere ? `, on ${answer.owner.host}` : ''})`} is changing it and does not come to an end`, `end it; if there is none, take away ${file}`);
    }
  }

  return {
    path,
    async read() {
      try {
        const real = await fs.realpath(folder).catch((e: unknown) => { if (codeOf(e) === 'ENOENT') return null; throw e; });
        return parse((real === null ? null : await textAt(join(real, 'keys.json'))) ?? '');
      } catch (e) {
        throw asOurs(e);
      }
    },
    async change(fn) {
      try {
        await fs.mkdir(folder, { recursive: true, mode: 0o700 });
        const real = join(await fs.realpath(folder), 'keys.json');
        const held = await lock(`${real}.lock`);
        try {
          const before = await textAt(real);
          const next = fn(parse(before ?? ''));
          if (next === null) return;
          // A replacement has the mode of what it replaces: the first one finds an empty file with the right one.
          if (before === null) await (await fs.open(real, 'wx', 0o600)).close();
          const old = Buffer.from(before ?? '');
          const keys = Object.fromEntries([...next].sort(([a], [b]) => (a < b ? -1 : 1)));
          await writeWhole(fs, real, Buffer.from(`${JSON.stringify({ version: VERSION, keys }, null, 2)}\n`), { expect: { size: old.length, hash: hashOf(old) } });
        } finally {
          held.release();
        }
      } catch (e) {
        throw asOurs(e);
      }
    },
  };
}

/** In words; errors of the file system carry paths, never contents. */
function trouble(e: unknown): string {
  switch (codeOf(e)) {
    case 'E_FILE_MOVED': return 'it is a link, or was exchanged just now';
    case 'E_FILE_CHANGED': case 'EEXIST': return 'somebody else has changed it just now';
    case 'EISDIR': case 'E_FILE_SPECIAL': return 'it is no file';
    default: return messageOf(e);
  }
}
