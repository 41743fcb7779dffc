/** Tests a configuration as one tests code: without a key, without a network. The model plays a script, so every run says the same. */
import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createTappet } from 'tappet';
import type { Decision, TurnEnd } from 'tappet';

const here = fileURLToPath(new URL('.', import.meta.url));

interface Played { readonly folder: string; readonly end: TurnEnd; readonly decisions: readonly Decision[] }
/** Runs one prompt in a copy of the configuration. `trusted: false`: as in a folder that nobody has trusted yet. */
async function play(t: TestContext, script: string, o: { readonly trusted?: boolean } = {}): Promise<Played> {
  const home = await mkdtemp(join(tmpdir(), 'agent-test-'));
  t.after(() => rm(home, { recursive: true, force: true }));
  const folder = join(home, 'project');
  await mkdir(folder);
  await cp(join(here, '../agent.config.yaml'), join(folder, 'agent.config.yaml'));
  await cp(join(here, script), join(folder, 'script.yaml'));
  await writeFile(join(folder, '.env'), 'KEY=1\n');

  // A home of its own: the configuration, the sessions and the trust of whoever runs the test stay out of it.
  const options = { home, env: {} };
  if (o.trusted !== false) {
    const before = createTappet(options);
    await (await before.kernel(folder)).config().grantTrust();
    await before.close();
  }
  const tappet = createTappet(options);
  const session = await tappet.open({ cwd: folder, host: { asks: [] }, overlay: { model: 'scripted/script.yaml' } });
  const decisions: Decision[] = [];
  const watching = (async () => { for await (const e of session.events({ from: 'start' })) if (e.type === 'decision') decisions.push(e.decision); })();
  const end = await session.submit('Please tidy the docs.').turn;
  await session.close();
  await watching;
  await tappet.close();
  return { folder, end, decisions };
}

test('documents may be written; the rest of the project and secrets may not', async (t) => {
  const { folder, end, decisions } = await play(t, 'docs.script.yaml');
  assert.equal(end.reason, 'answered', end.errors.join('\n'));
  // Every decision knows which words it rests on: this is what a person would see in `tappet explain`.
  assert.deepEqual(decisions.map((d) => [d.toolName, d.behavior, d.reason.kind === 'rule' ? d.reason.rule : d.by]), [
    ['Read', 'deny', 'Read(**/.env)'],
    ['Write', 'allow', 'Edit(docs/**)'],
    ['Write', 'deny', 'nobody'],
  ]);
  assert.equal(await readFile(join(folder, 'docs/notes.md'), 'utf8'), '# Notes\n');
  await assert.rejects(readFile(join(folder, 'src/index.ts')), { code: 'ENOENT' });
});

test('before the folder is trusted its denies count and its allows do not', async (t) => {
  const { decisions } = await play(t, 'docs.script.yaml', { trusted: false });
  assert.deepEqual(decisions.map((d) => d.behavior), ['deny', 'deny', 'deny']);
});
