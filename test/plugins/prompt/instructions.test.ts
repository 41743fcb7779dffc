import assert from 'node:assert/strict';
import { mkdir, symlink } from 'node:fs/promises';
import { test } from 'node:test';
import { join } from 'node:path';
import { parseRule } from 'tappet/schemas';
import type { FsLike, PromptContext } from 'tappet/schemas';
import plugin from '../../../plugins/prompt/instructions.ts';
import { collect } from '../../contracts/collect.ts';
import { promptContext, promptPartContract, readOnlyFs } from '../../contracts/prompt-part.ts';
import { folderWith } from './folder.ts';

promptPartContract(plugin, { context: async () => ({ root: join(import.meta.dirname, '../../..'), cwd: import.meta.dirname }) });

type Files = Readonly<Record<string, string | Uint8Array>>;
type T = Parameters<typeof folderWith>[0];
async function setUp(t: T, files: Files, options: Record<string, unknown> = {}, permissions: { deny?: string[]; ask?: string[] } = {}): Promise<{ base: string; render(over?: Partial<PromptContext>): Promise<string> }> {
  const base = await folderWith(t, { 'project/.keep': '', 'config/.keep': '', ...files });
  const [part] = (await collect(plugin, { options, folders: { config: join(base, 'config') }, })).promptParts;
  const root = join(base, 'project');
  const rules = (['deny', 'ask'] as const).flatMap((behavior) => (permissions[behavior] ?? []).map((text) => ({ ...parseRule(text)!, behavior, source: 'projectSettings' as const, origin: { layer: 'project' as const, file: join(root, 'agent.config.yaml'), line: 1, column: 1 } })));
  return {
    base,
    async render(over = {}) {
      const blocks = await part!.render(promptContext({ root, cwd: root, rules, ...over }));
      assert.ok(blocks.length <= 1);
      assert.ok(blocks.every((b) => b.cacheScope === 'project'));
      return (blocks[0]?.text ?? '').replaceAll(base, '~');
    },
  };
}
const inOrder = (text: string, words: readonly string[]): void => {
  let from = 0;
  for (const word of words) {
    const at = text.indexOf(word, from);
    assert.ok(at >= 0, `"${word}" is missing, or too early, in:\n${text}`);
    from = at + word.length;
  }
};

test('gives nothing where nothing is written', async (t) => assert.equal(await (await setUp(t, {})).render(), ''));

test('goes from the person’s folder over the root down to the working folder, and names each file', async (t) => {
  const { base, render } = await setUp(t, { 'config/AGENTS.md': 'one', 'config/CLAUDE.md': 'two', 'project/AGENTS.md': 'three', 'project/CLAUDE.md': 'four', 'project/a/CLAUDE.md': 'five', 'project/a/b/AGENTS.md': 'six', 'project/other/AGENTS.md': 'never' });
  const text = await render({ cwd: join(base, 'project/a/b') });
  inOrder(text, ['Where two contradict', '~/config/AGENTS.md (instructions of the person', 'one', '~/config/CLAUDE.md', 'two', '~/project/AGENTS.md (instructions of the project', 'three', '~/project/CLAUDE.md', 'four', '~/project/a/CLAUDE.md', 'five', '~/project/a/b/AGENTS.md', 'six']);
  assert.doesNotMatch(text, /never/);
});
test('takes the root’s alone where one works elsewhere', async (t) => {
  const { base, render } = await setUp(t, { 'project/AGENTS.md': 'root', 'elsewhere/AGENTS.md': 'never' });
  const text = await render({ cwd: join(base, 'elsewhere') });
  assert.match(text, /root/);
  assert.doesNotMatch(text, /never/);
});
test('reads a file once, whatever links to it', async (t) => {
  const { base, render } = await setUp(t, { 'project/AGENTS.md': 'only once' });
  await symlink(join(base, 'project/AGENTS.md'), join(base, 'project/CLAUDE.md'));
  assert.equal((await render()).split('only once').length, 2);
});
test('does not mind byte order marks and line ends of other systems', async (t) => {
  const text = await (await setUp(t, { 'project/AGENTS.md': '\ufefffirst\r\nsecond\rthird' })).render();
  assert.match(text, /:\n\nfirst\nsecond\nthird\n/);
});
test('cuts what is too large, at a whole character, and says so', async (t) => {
  const text = await (await setUp(t, { 'project/AGENTS.md': 'äöü'.repeat(10) }, { fileBytes: 9 })).render();
  assert.match(text, /AGENTS\.md \(instructions of the project, only the first 9 of its 60 bytes\):\n\näöüä\n/);
});
test('leaves out what does not fit into the whole, and says so', async (t) => {
  const text = await (await setUp(t, { 'project/AGENTS.md': 'aaaa', 'project/CLAUDE.md': 'bbbb' }, { totalBytes: 4 })).render();
  assert.match(text, /aaaa/);
  assert.match(text, /CLAUDE\.md is left out: there is room for 4 bytes/);
});
test('says of what cannot be read why, and goes on', async (t) => {
  const { base, render } = await setUp(t, { 'project/AGENTS.md': 'secret', 'project/CLAUDE.md': 'fine' });
  const fs: FsLike = new Proxy(readOnlyFs, { get: (real, name) => (name === 'open' ? async (path: string, flags: number) => { if (path.endsWith('AGENTS.md')) throw Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' }); return real.open(path, flags); } : real[name as keyof FsLike]) });
  const text = await render({ fs, root: join(base, 'project') });
  assert.match(text, /\[~\/project\/AGENTS\.md is left out: EACCES: permission denied\]/);
  assert.match(text, /fine/);
});
test('takes no folder, no bytes, and nothing to which a link leads out of the project', async (t) => {
  const { base, render } = await setUp(t, { 'secret.txt': 'the key', 'project/a/CLAUDE.md': new Uint8Array([1, 0, 2]) });
  await mkdir(join(base, 'project/AGENTS.md'));
  await symlink(join(base, 'secret.txt'), join(base, 'project/CLAUDE.md'));
  const text = await render({ cwd: join(base, 'project/a') });
  assert.match(text, /project\/AGENTS\.md is left out: .*AGENTS\.md is a folder/);
  assert.match(text, /project\/CLAUDE\.md is left out: it leads out of ~\/project/);
  assert.match(text, /a\/CLAUDE\.md is left out: it is not text/);
  assert.doesNotMatch(text, /the key/);
});
test('a person may keep their own file elsewhere', async (t) => {
  const { base, render } = await setUp(t, { 'dotfiles/agents.md': 'mine' });
  await symlink(join(base, 'dotfiles/agents.md'), join(base, 'config/AGENTS.md'));
  assert.match(await render(), /mine/);
});
test('takes imports inside the project, one level deep, once', async (t) => {
  const text = await (await setUp(t, {
    'project/CLAUDE.md': 'See @AGENTS.md and (@docs/style.md), also @./docs/style.md.', 'project/AGENTS.md': 'base', 'project/docs/style.md': 'tabs, see @deeper.md', 'project/docs/deeper.md': 'never',
  })).render();
  inOrder(text, ['base', 'See @AGENTS.md', '~/project/docs/style.md (imported by ~/project/CLAUDE.md):\n\ntabs']);
  assert.equal(text.split('\nbase').length, 2);
  assert.equal(text.split('\ntabs').length, 2);
  assert.doesNotMatch(text, /never/);
});
test('imports nothing from elsewhere, and says so', async (t) => {
  const { base, render } = await setUp(t, { 'project/CLAUDE.md': '@../outside.md @~/x.md @/etc/hosts.txt @docs/link.md @docs/none.md', 'outside.md': 'never', 'project/docs/x': '' });
  await symlink(join(base, 'outside.md'), join(base, 'project/docs/link.md'));
  const text = await render();
  for (const why of [/\[\.\.\/outside\.md, imported by .* only what lies in ~\/project can be imported\]/, /\[~\/x\.md, imported/, /\[\/etc\/hosts\.txt, imported/, /docs\/link\.md, imported by .*, is left out: it leads out/, /docs\/none\.md, imported by .*, is left out: it is not there/]) assert.match(text, why);
  assert.doesNotMatch(text, /never/);
});
test('takes no word for an import that is a person, a package, an address, or code', async (t) => {
  const text = await (await setUp(t, { 'project/AGENTS.md': 'Ask @ann, use @types/node, mail a@b.md, `@docs/x.md`, and\n\n```\n@docs/x.md\n~~~\n```\n\n~~~ts\n@docs/x.md\n~~~\n', 'project/docs/x.md': 'never' })).render();
  assert.doesNotMatch(text, /left out|\nnever/);
});
test('takes fifty imports of a file and says how many there are', async (t) => {
  const text = await (await setUp(t, { 'project/AGENTS.md': Array.from({ length: 60 }, (_, i) => `@d/${i}.md`).join(' ') })).render();
  assert.match(text, /imports 60 files; those after the first 50 are left out/);
});
test('takes nothing that a rule keeps from being read, not by a link either', async (t) => {
  const { base, render } = await setUp(t, { 'project/AGENTS.md': '@a.md @b.md @c/d.md @e.md @link.md', 'project/a.md': 'never', 'project/b.md': 'never', 'project/c/d.md': 'never', 'project/e.md': 'fine' }, {}, { deny: ['Read(a.md)', 'Read(/c/**)', 'Edit(e.md)', 'Bash'], ask: ['Read(b.md)'] });
  await symlink(join(base, 'project/a.md'), join(base, 'project/link.md'));
  const text = await render();
  assert.equal(text.split('a permission rule keeps it from being read').length, 4);
  assert.match(text, /fine/);
  assert.doesNotMatch(text, /never/);
});
test('takes nothing of a folder that is not trusted, but what the person wrote', async (t) => {
  const text = await (await setUp(t, { 'project/AGENTS.md': 'a stranger', 'config/AGENTS.md': 'the person' })).render({ trusted: false });
  assert.match(text, /the person/);
  assert.doesNotMatch(text, /a stranger/);
});
test('looks for the names that the options give', async (t) => {
  const text = await (await setUp(t, { 'project/GEMINI.md': 'gemini', 'project/.claude/CLAUDE.md': 'inner', 'project/AGENTS.md': 'never' }, { files: ['GEMINI.md', '.claude/CLAUDE.md'] })).render();
  inOrder(text, ['gemini', 'inner']);
  assert.doesNotMatch(text, /never/);
});
test('refuses names that lead out of the folder or are no texts', async () => {
  for (const name of ['../x.md', 'a/../../x.md', '/etc/x.md', 'config.yaml', '..\\x.md', '']) await assert.rejects(collect(plugin, { options: { files: [name] } }), name);
});
test('stops when the turn is interrupted', async (t) => {
  const { render } = await setUp(t, { 'project/AGENTS.md': 'x' });
  await assert.rejects(render({ signal: AbortSignal.abort(new Error('stop')) }), /stop/);
});
