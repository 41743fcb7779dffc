/** Writes one value back into a file: comments and order stay, under a lock, old or new and never half. */
import { mkdir, open, readFile, rename, stat, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isTappetError, messageOf, TappetError } from '../errors.ts';
import { replaceFile } from './trust.ts';

/** Dotted; plugin and model names hold slashes, never dots before their first slash. */
export const pathSteps = (path: string): string[] => {
  const [key, ...rest] = path.split('.');
  return key === 'plugins' || key === 'models' || key === 'providers' || key === 'env' ? [key, ...nameThenRest(rest.join('.'))] : [key!, ...rest];
};
function nameThenRest(text: string): string[] {
  if (text === '') return [];
  const inner = /^(.*?)\.(use|with|id|aliases|contextWindow|maxOutputTokens|prices|can|baseUrl|apiKeyEnv|keyHelper|headers|betas|proxy|noProxy|caFile|certFile|keyFile|timeouts|options)(?:\.(.*))?$/.exec(text);
  return inner === null ? [text] : [inner[1]!, inner[2]!, ...(inner[3] === undefined ? [] : inner[3].split('.'))];
}

/** `change` gets the value that stands there now; `undefined` takes the key out. @throws E_CONFIG_WRITE */
export async function changeValue(file: string, path: string, change: (now: unknown) => unknown, check: (text: string) => Promise<void>): Promise<void> {
  const fail = (message: string): TappetError => new TappetError('E_CONFIG_WRITE', { key: path, file, message, where: file });
  await mkdir(dirname(file), { recursive: true }).catch((e: unknown) => { throw fail(messageOf(e)); });
  const release = await lock(`${file}.lock`, fail);
  try {
    const { isCollection, parseDocument } = await import('yaml');
    const before = await readFile(file, 'utf8').catch((e: NodeJS.ErrnoException) => { if (e.code === 'ENOENT') return null; throw fail(messageOf(e)); });
    const bom = before?.startsWith('\ufeff') === true ? '\ufeff' : '';
    const doc = parseDocument((before ?? '').replace(/^\ufeff/, ''), { uniqueKeys: true });
    if (doc.errors.length > 0) throw fail(`it does not parse as it is (line ${doc.errors[0]!.linePos?.[0].line ?? 1})`);
    const steps = pathSteps(path);
    const node = doc.getIn(steps, false);
    const value = change(isCollection(node) ? node.toJSON() : node);
    if (value === undefined) doc.deleteIn(steps);
    else if (doc.contents === null) doc.contents = doc.createNode(steps.reduceRight<unknown>((inner, step) => ({ [step]: inner }), value)) as never;
    else doc.setIn(steps, isCollection(node) && Array.isArray(value) ? merged(node, value, doc) : value);
    let text = doc.toString({ lineWidth: 0 });
    if (before?.includes('\r\n') === true) text = text.replace(/\r?\n/g, '\r\n');
    await check(text);
    const mode = before === null ? 0o644 : (await stat(file)).mode & 0o777;
    await replaceFile(file, bom + text, mode).catch((e: unknown) => { throw fail(messageOf(e)); });
  } catch (e) {
    throw isTappetError(e) ? e : fail(messageOf(e));
  } finally {
    await release();
  }
}

/** Adds and takes out items of a list without making the others anew, so that their comments stay. */
function merged(node: unknown, wanted: readonly unknown[], doc: { createNode(v: unknown): unknown }): unknown {
  const seq = node as { items: { toJSON?(): unknown }[]; toJSON(): unknown };
  const plain = (item: unknown): string => JSON.stringify(typeof (item as { toJSON?: () => unknown })?.toJSON === 'function' ? (item as { toJSON(): unknown }).toJSON() : item);
  const left = wanted.map((w) => JSON.stringify(w));
  seq.items = seq.items.filter((item) => { const i = left.indexOf(plain(item)); if (i < 0) return false; left.splice(i, 1); return true; });
  for (const text of left) seq.items.push(doc.createNode(JSON.parse(text)) as never);
  return node;
}

/** One writer: the lock names its owner; a dead owner's is taken away by whoever renames it first. */
async function lock(file: string, fail: (message: string) => TappetError): Promise<() => Promise<void>> {
  for (let tries = 0; tries < 200; tries++) {
    try {
      const handle = await open(file, 'wx', 0o600);
      await handle.writeFile(String(process.pid));
      await handle.close();
      return () => unlink(file).catch(() => {});
    } catch (e) {
      if ((e as NodeJS.ErrnoException).code !== 'EEXIST') throw fail(messageOf(e));
    }
    const owner = Number(await readFile(file, 'utf8').catch(() => ''));
    if (owner > 0 && !alive(owner)) {
      const aside = `${file}.${owner}.${process.pid}`;
      await rename(file, aside).then(() => unlink(aside)).catch(() => {});
    } else await new Promise((r) => setTimeout(r, 10));
  }
  throw fail(`another process holds ${file}`);
}
function alive(pid: number): boolean {
  try { process.kill(pid, 0); return true; } catch (e) { return (e as NodeJS.ErrnoException).code === 'EPERM'; }
}
