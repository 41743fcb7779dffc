/** What every part of the prompt must do. */
import assert from 'node:assert/strict';
import { constants } from 'node:fs';
import * as nodeFs from 'node:fs/promises';
import { test } from 'node:test';
import type { Plugin } from 'tappet/kernel';
import { PROMPT_SLOTS } from 'tappet/schemas';
import type { FsLike, PromptContext, PromptPart, SystemPromptBlock } from 'tappet/schemas';
import type { CollectOptions } from './collect.ts';
import { collect } from './collect.ts';

const READS = ['readFile', 'stat', 'lstat', 'readdir', 'realpath', 'readlink', 'open'];
const WRITES = constants.O_WRONLY | constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC | constants.O_APPEND;
const fails = (code: string) => async (): Promise<never> => { throw Object.assign(new Error(`${code}: this file system lets nothing be done`), { code }); };
/** Reads are real; what would change something is refused. */
export const readOnlyFs: FsLike = new Proxy(nodeFs as FsLike, {
  get: (fs, name) => (name === 'open' ? (path: string, flags: string | number = 'r') => (flags === 'r' || (typeof flags === 'number' && (flags & WRITES) === 0) ? fs.open(path, flags) : fails('EROFS')()) : READS.includes(String(name)) ? fs[name as keyof FsLike] : fails('EROFS')),
});
export const deadFs: FsLike = new Proxy({} as FsLike, { get: () => fails('EACCES') });
export const promptContext = (over: Partial<PromptContext> = {}): PromptContext => ({
  cwd: '/nowhere/project', root: '/nowhere/project', model: 'scripted/test', mode: 'default', tools: ['Read', 'Bash'], fs: readOnlyFs, now: new Date(2026, 0, 2, 3, 4, 5), signal: new AbortController().signal, rules: [], trusted: true, settingSources: ['user', 'project', 'local'], ...over,
});

/** `context`: a place where the part has something to say. */
export function promptPartContract(plugin: Plugin, o: CollectOptions & { readonly context?: () => Promise<Partial<PromptContext>> } = {}): void {
  const parts = async (): Promise<readonly PromptPart[]> => (await collect(plugin, o)).promptParts;
  const contexts = async (): Promise<PromptContext[]> => {
    const given = (await o.context?.()) ?? {};
    return [promptContext(given), promptContext({ ...given, fs: deadFs }), promptContext({ cwd: '/', root: '/', mode: 'plan', tools: [], now: new Date(2027, 5, 6) })];
  };
  const always = async (law: (blocks: readonly SystemPromptBlock[], part: PromptPart, context: PromptContext) => Promise<void> | void): Promise<void> => {
    for (const part of await parts()) for (const context of await contexts()) await law(await part.render(context), part, context);
  };

  test(`${plugin.name} brings a part with a name, in a slot that there is`, async () => {
    const all = await parts();
    assert.ok(all.length > 0);
    for (const { name, slot } of all) { assert.notEqual(name, ''); assert.ok(PROMPT_SLOTS.includes(slot)); }
  });
  test(`${plugin.name} gives blocks of text, also where no file can be read`, () => always((blocks) => {
    for (const { text, cacheScope } of blocks) {
      assert.equal(typeof text, 'string');
      assert.notEqual(text.trim(), '');
      assert.ok(!text.includes('\0'));
      assert.ok(['global', 'project', 'session', null].includes(cacheScope));
    }
  }));
  test(`${plugin.name} gives the same bytes for the same context, else nothing could be cached`, () => always(async (blocks, part, context) => assert.deepEqual(await part.render(context), blocks)));
  test(`${plugin.name} marks as global only what is the same everywhere`, async () => {
    for (const part of await parts()) {
      const texts = await Promise.all((await contexts()).map(async (c) => (await part.render(c)).filter((b) => b.cacheScope === 'global').map((b) => b.text)));
      for (const text of texts) assert.deepEqual(text, texts[0]);
    }
  });
  test(`${plugin.name} settles when the turn is interrupted`, async () => {
    for (const part of await parts()) await Promise.allSettled([(async () => part.render(promptContext({ ...(await o.context?.()), signal: AbortSignal.abort() })))()]);
  });
}
