/** Writes one value back into a file: comments and order stay, under a lock, old or new and never half. */
import { readFile, realpath, stat } from 'node:fs/promises';
import { isAbsolute, relative } from 'node:path';
import type { Document } from 'yaml';
import { isTappetError, messageOf, TappetError } from '../errors.ts';
import { replaceFile, withLock } from './lock.ts';

export interface WriteOptions {
  /** The key of the file below which our words stand (`agent` of package.json). */
  readonly below?: string | undefined;
  /** A link must not lead out of this folder: what a project says must not end in a file of somebody else's. */
  readonly within?: string | undefined;
  /** Throws where the file would be wrong afterwards; `before` is its text now. */
  check(text: string, before: string): Promise<void>;
}

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

/** `change` gets the value that stands there now; `undefined` takes the key out. @throws E_CONFIG_WRITE, and what `check` throws */
export async function changeValue(file: string, path: string, change: (now: unknown) => unknown, o: WriteOptions): Promise<void> {
  const fail = (message: string): TappetError => new TappetError('E_CONFIG_WRITE', { key: path, file, message, where: file });
  try {
    const target = await targetOf(file, o.within);
    await withLock(`${target}.lock`, async () => {
      const before = await readFile(target, 'utf8').catch((e: NodeJS.ErrnoException) => { if (e.code === 'ENOENT') return null; throw e; });
      const bom = before?.startsWith('\ufeff') === true ? '\ufeff' : '';
      const source = before?.slice(bom.length) ?? '';
      const steps = [...(o.below === undefined ? [] : [o.below]), ...pathSteps(path)];
      const plain = target.endsWith('.json') || source.trimStart().startsWith('{') ? asJson(source) : undefined;
      let text = plain === undefined ? await changeYaml(source, steps, change) : changeJson(source, plain, steps, change);
      if (source.includes('\r\n')) text = text.replace(/\r?\n/g, '\r\n');
      await o.check(text, source);
      await replaceFile(target, bom + text, before === null ? null : (await stat(target)).mode & 0o777);
    });
  } catch (e) {
    throw isTappetError(e) ? e : fail(messageOf(e));
  }
}

/** Behind all links: replacing a link would cut the file off from where it is kept. */
async function targetOf(file: string, within: string | undefined): Promise<string> {
  const target = await realpath(file).catch((e: NodeJS.ErrnoException) => { if (e.code === 'ENOENT') return file; throw e; });
  if (target === file || within === undefined) return target;
  const inside = relative(await realpath(within), target);
  if (inside.startsWith('..') || isAbsolute(inside)) throw new Error(`it is a link to ${target}, which is outside of the project`);
  return target;
}

async function changeYaml(source: string, steps: readonly string[], change: (now: unknown) => unknown): Promise<string> {
  const { isCollection, isScalar, parseDocument } = await import('yaml');
  const doc = parseDocument(source, { uniqueKeys: true });
  if (doc.errors.length > 0) throw new Error(`it does not parse as it is (line ${doc.errors[0]!.linePos?.[0].line ?? 1})`);
  const node = doc.getIn(steps, false);
  const value = change(isCollection(node) ? node.toJSON() : node);
  if (value === undefined) doc.deleteIn(steps);
  else if (doc.contents === null || (isScalar(doc.contents) && doc.contents.value === null)) doc.contents = doc.createNode(steps.reduceRight<unknown>((inner, step) => ({ [step]: inner }), value)) as never;
  else doc.setIn(steps, isCollection(node) && Array.isArray(value) ? mergeList(node, value, doc) : value);
  return doc.toString({ lineWidth: 0 });
}
/** Adds and takes out items of a list without making the others anew, so that their comments stay. */
function mergeList(node: unknown, wanted: readonly unknown[], doc: Document): unknown {
  const seq = node as { items: unknown[] };
  const plain = (item: unknown): string => JSON.stringify(typeof (item as { toJSON?: () => unknown } | null)?.toJSON === 'function' ? (item as { toJSON(): unknown }).toJSON() : item);
  const left = wanted.map((w) => JSON.stringify(w));
  seq.items = seq.items.filter((item) => { const i = left.indexOf(plain(item)); if (i < 0) return false; left.splice(i, 1); return true; });
  for (const text of left) seq.items.push(doc.createNode(JSON.parse(text)));
  return node;
}

/** Undefined: YAML that only begins like JSON. */
function asJson(source: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = source.trim() === '' ? {} : JSON.parse(source);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch { return undefined; }
}
function changeJson(source: string, root: Record<string, unknown>, steps: readonly string[], change: (now: unknown) => unknown): string {
  const last = steps.at(-1)!;
  let map = root;
  for (const step of steps.slice(0, -1)) {
    const inner = Object.hasOwn(map, step) ? map[step] : (map[step] = {});
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) throw new Error(`${step} is no map there`);
    map = inner as Record<string, unknown>;
  }
  const value = change(Object.hasOwn(map, last) ? map[last] : undefined);
  if (value === undefined) delete map[last]; else map[last] = value;
  const indent = /^([ \t]+)"/m.exec(source)?.[1] ?? '  ';
  return `${JSON.stringify(root, null, indent)}${source === '' || source.endsWith('\n') ? '\n' : ''}`;
}
