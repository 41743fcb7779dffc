/** Whether a folder's own words may act: asked once per content, kept outside of the folder. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, TappetError } from '../errors.ts';
import { replaceFile, withLock } from './lock.ts';

interface TrustFile { readonly v: 1; readonly folders: Readonly<Record<string, { readonly files: Readonly<Record<string, string>>; readonly at: string }>> }
export interface TrustState { readonly trusted: boolean; readonly why: string | null }

export const trustFile = (state: string): string => join(state, 'trust.json');

/** `files`: what would act, by path, with the hash of each; none means nothing waits for trust. */
export async function readTrust(state: string, root: string, files: Readonly<Record<string, string>>): Promise<TrustState> {
  const names = Object.keys(files);
  if (names.length === 0) return { trusted: true, why: null };
  const { folders } = await load(state);
  if (!Object.hasOwn(folders, root)) return { trusted: false, why: 'nobody has trusted it yet' };
  const kept = folders[root]!.files;
  const changed = names.filter((f) => !Object.hasOwn(kept, f) || kept[f] !== files[f]);
  if (changed.length === 0) return { trusted: true, why: null };
  return { trusted: false, why: `changed since it was trusted: ${changed.join(', ')}` };
}

/** `null` takes the trust back. @throws E_CONFIG_READ where the file is damaged: what it held is not thrown away unseen */
export async function writeTrust(state: string, root: string, files: Readonly<Record<string, string>> | null, now: Date): Promise<void> {
  const file = trustFile(state);
  try {
    await withLock(`${file}.lock`, async () => {
      const folders = { ...(await load(state)).folders };
      if (files === null) delete folders[root]; else folders[root] = { files, at: now.toISOString() };
      await replaceFile(file, `${JSON.stringify({ v: 1, folders } satisfies TrustFile, null, 2)}\n`, 0o600);
    });
  } catch (e) {
    throw e instanceof TappetError ? e : new TappetError('E_CONFIG_WRITE', { key: root, file, message: messageOf(e), where: file, do: 'make room or rights there' });
  }
}

async function load(state: string): Promise<TrustFile> {
  const file = trustFile(state);
  let text: string;
  try { text = await readFile(file, 'utf8'); } catch (e) {
    if ((e as NodeJS.ErrnoException).code === 'ENOENT') return { v: 1, folders: {} };
    throw new TappetError('E_CONFIG_READ', { file, message: messageOf(e), where: file });
  }
  try {
    const value = JSON.parse(text) as TrustFile;
    if (value.v === 1 && isMap(value.folders) && Object.values(value.folders).every((f) => isMap(f) && isMap(f.files))) return value;
  } catch { /* said below */ }
  throw new TappetError('E_CONFIG_READ', { file, message: 'it is damaged', where: file, do: 'move it away and trust your folders again' });
}
const isMap = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);
