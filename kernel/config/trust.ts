/** Whether a folder's own words may act: asked once per content, kept outside of the folder. */
import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { messageOf, TappetError } from '../errors.ts';

interface TrustFile { readonly v: 1; readonly folders: Readonly<Record<string, { readonly files: Readonly<Record<string, string>>; readonly at: string }>> }
export interface TrustState { readonly trusted: boolean; readonly why: string | null }

export const fileHash = (bytes: string | Uint8Array): string => `sha256-${createHash('sha256').update(bytes).digest('hex')}`;
const trustFile = (state: string): string => join(state, 'trust.json');

/** `files`: what would act, by path, with the hash of each; none means nothing waits for trust. */
export async function readTrust(state: string, root: string, files: Readonly<Record<string, string>>): Promise<TrustState> {
  const names = Object.keys(files);
  if (names.length === 0) return { trusted: true, why: null };
  const kept = (await load(state)).folders[root];
  if (kept === undefined) return { trusted: false, why: 'nobody has trusted it yet' };
  const changed = names.filter((f) => kept.files[f] !== files[f]);
  if (changed.length === 0) return { trusted: true, why: null };
  return { trusted: false, why: `changed since it was trusted: ${changed.join(', ')}` };
}
export async function writeTrust(state: string, root: string, files: Readonly<Record<string, string>> | null, now: Date): Promise<void> {
  const before = await load(state);
  const folders = { ...before.folders };
  if (files === null) delete folders[root]; else folders[root] = { files, at: now.toISOString() };
  await mkdir(state, { recursive: true, mode: 0o700 });
  await replaceFile(trustFile(state), `${JSON.stringify({ v: 1, folders } satisfies TrustFile, null, 2)}\n`, 0o600);
}
async function load(state: string): Promise<TrustFile> {
  let text: string;
  try { text = await readFile(trustFile(state), 'utf8'); } catch (e) {
    if ((e as NodeJS.ErrnoException).code === 'ENOENT') return { v: 1, folders: {} };
    throw new TappetError('E_CONFIG_READ', { file: trustFile(state), message: messageOf(e), where: trustFile(state) });
  }
  try {
    const value = JSON.parse(text) as TrustFile;
    if (value.v === 1 && typeof value.folders === 'object' && value.folders !== null) return value;
  } catch { /* said below */ }
  throw new TappetError('E_CONFIG_READ', { file: trustFile(state), message: 'it is damaged', where: trustFile(state), do: 'move it away and trust your folders again' });
}

/** Old or new, never half: a temporary file beside it takes its place. */
export async function replaceFile(file: string, text: string, mode: number): Promise<void> {
  const temp = join(dirname(file), `.${process.pid}.${createHash('sha256').update(file + Math.random()).digest('hex').slice(0, 8)}.tmp`);
  try {
    await writeFile(temp, text, { mode, flag: 'wx', flush: true });
    await rename(temp, file);
  } catch (e) {
    await unlink(temp).catch(() => {});
    throw e;
  }
}
