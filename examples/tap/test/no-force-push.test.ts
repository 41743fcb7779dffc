/** A tap needs a kernel that fires its event: a whole program is opened in a folder of its own, with a model that says what the test tells it to. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createTappet } from 'tappet';

const plugin = fileURLToPath(new URL('../plugins/no-force-push.ts', import.meta.url));

/** What became of a command that a model wants to run, where the mode lets everything pass. */
async function run(t: TestContext, command: string): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'no-force-push-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  // One more layer of configuration, as `--settings` gives it: the plugin, and the script that the model plays.
  const settings = JSON.stringify({
    plugins: { 'acme/no-force-push': { use: plugin }, 'models/scripted': { with: { script: { steps: [{ call: { Bash: { command } } }, { say: 'done' }] } } } },
  });
  // Nothing of the person who runs the test: their configuration, sessions and trust lie below their home.
  const tappet = createTappet({ settings, home: folder, env: { PATH: process.env['PATH'] } });
  const session = await tappet.open({ cwd: folder, host: { asks: [] }, ephemeral: true, overlay: { model: 'scripted/script', mode: 'bypassPermissions' } });
  const end = await session.submit('go').turn;
  await session.close();
  await tappet.close();
  return end.denials.map((d) => d.message);
}

for (const command of ['git push --force', 'git push origin main -f', 'cd x && git push --force-with-lease', 'git push origin +main']) {
  test(`refuses ${command}`, async (t) => assert.match((await run(t, command)).join(), /no force pushes here/));
}
for (const command of ['echo git push', 'echo push -f', 'true']) {
  test(`has nothing to say of ${command}`, async (t) => assert.deepEqual(await run(t, command), []));
}
