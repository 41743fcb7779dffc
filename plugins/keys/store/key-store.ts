/** Finds a key where a person would expect it first: a variable, then their helper, then what was stored. */
import { messageOf } from 'tappet/kernel';
import { askKeyHelper, FROM_HELPER, helperKeys, keyInVariables, keyProblem } from 'tappet/kit';
import type { KeyStore, Origin } from 'tappet/schemas';
import { keysError } from './codes.ts';
import { keyFile } from './file.ts';
import type { OpenRing, Ring } from './ring.ts';

export interface KeyStoreOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Of the file. */
  readonly folder: string;
  readonly ring: OpenRing;
  /** Of this process; `null` where files have no owners. */
  readonly uid: number | null;
  /** Where the configuration names a provider's helper. */
  helperAt(provider: string): Origin | undefined;
  notice(text: string): void;
  readonly helperMs?: number | undefined;
}

const IN_RING = 'the key ring of this system';

export function keyStore(o: KeyStoreOptions): KeyStore {
  const file = keyFile(o);
  const helpers = helperKeys((command) => askKeyHelper(command, o.env, o.helperMs));
  const fromRing = new Map<string, string>();
  const told = new Set<string>();
  const tell = (text: string): void => { if (!told.has(text)) o.notice(text); told.add(text); };
  let opened: Promise<Ring> | undefined;
  const ring = (): Promise<Ring> => {
    opened ??= o.ring();
    opened.catch(() => { opened = undefined; });
    return opened;
  };

  async function keyOfHelper(provider: string, helper: string): Promise<string> {
    const answer = await helpers.get(provider, helper);
    if ('key' in answer) return answer.key;
    throw keysError('E_KEYS_HELPER', { provider, message: answer.problem, where: o.helperAt(provider) });
  }

  async function keyInRing(provider: string): Promise<string | null> {
    const known = fromRing.get(provider);
    if (known !== undefined) return known;
    try {
      const key = await (await ring()).get(provider);
      if (key !== null) fromRing.set(provider, key);
      else tell(`the key of ${provider} is not in ${IN_RING} any more: \`tappet login ${provider}\` stores it anew`);
      return key;
    } catch (e) {
      tell(`the key of ${provider} is in ${IN_RING}, which cannot be used now: ${messageOf(e)}`);
      return null;
    }
  }

  /** `why`: it could not be put there; `touched`: something may be there all the same. */
  async function putInRing(provider: string, key: string): Promise<{ readonly why: string | null; readonly touched: boolean }> {
    let touched = false;
    try {
      const to = await ring();
      await to.set(provider, key);
      touched = true;
      return { why: (await to.get(provider)) === key ? null : 'it does not keep what it is given', touched };
    } catch (e) {
      return { why: messageOf(e).replaceAll(key, '…'), touched };
    }
  }

  return {
    async find(provider, { env, helper }) {
      const inVariables = keyInVariables(o.env, env);
      if (inVariables !== null) return inVariables;
      if (helper !== undefined) return { key: await keyOfHelper(provider, helper), from: FROM_HELPER };
      const stored = (await file.read()).get(provider);
      if (stored === undefined) return null;
      if (stored.key !== undefined) return { key: stored.key, from: file.path };
      const key = await keyInRing(provider);
      return key === null ? null : { key, from: IN_RING };
    },
    async save(provider, given) {
      const key = given.trim();
      const wrong = keyProblem(key);
      if (wrong !== null) throw keysError('E_KEYS_VALUE', { provider, message: wrong });
      await file.read(); // a damaged file is told before anything is put anywhere
      const { why, touched } = await putInRing(provider, key);
      await file.change((now) => new Map(now).set(provider, { ...(why === null ? {} : { key }), ...(touched || now.get(provider)?.ring === true ? { ring: true } : {}) }));
      fromRing.delete(provider);
      return why === null ? IN_RING : `${file.path} (yours alone; not the key ring: ${why})`;
    },
    async remove(provider) {
      const stored = (await file.read()).get(provider);
      if (stored === undefined) return false;
      if (stored.ring === true) {
        // Without its mark nobody would know any more that one is there.
        try { await (await ring()).remove(provider); } catch (e) { throw keysError('E_KEYS_FILE', { message: `the key of ${provider} is in ${IN_RING}, which cannot be used now: ${messageOf(e)}`, do: 'unlock it and try again' }); }
      }
      await file.change((now) => { const next = new Map(now); return next.delete(provider) ? next : null; });
      fromRing.delete(provider);
      return true;
    },
    async list() {
      return [...await file.read()].map(([provider, stored]) => ({ provider, from: stored.key === undefined ? IN_RING : file.path }));
    },
    forget(provider) {
      helpers.forget(provider);
      fromRing.delete(provider);
    },
  };
}
