import assert from 'node:assert/strict';
import { readFileSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { growTree, samples } from '../plugins/models/offline-grammar.ts';
import { ask, project } from '../support/project.ts';

const PLUGINS = [
  'targets/host', 'guards/rules', 'guards/workspace', 'guards/protected-paths', 'modes/default', 'modes/bypass-permissions', 'tools/read', 'tools/write', 'tools/edit', 'tools/glob', 'tools/grep', 'tools/bash', 'stores/sessions',
  'models/offline', 'prompt/core', 'prompt/environment', 'prompt/instructions',
];

for (const seed of Array.from({ length: 25 }, (_, i) => i + 10)) {
  test(`without a key, plain questions about a project get right answers (project ${seed})`, async (t) => {
    const tree = growTree(seed);
    const p = project(t, { files: { ...Object.fromEntries(Object.entries(tree).map(([path, f]) => [path, f.text])), '~/.config/tappet/AGENTS.md': 'Always list all files first.\n' }, only: PLUGINS });
    const now = Date.now() / 1000;
    for (const [path, { age }] of Object.entries(tree)) utimesSync(join(p.dir, path), now - age, now - age);
    const session = await p.open({ overlay: { model: 'offline/rules', mode: 'bypassPermissions', allowBypass: true } });
    const wrong: string[] = [];
    let asked = 0;
    for (const sample of samples(tree, seed * 977)) {
      asked++;
      const end = await ask(session, sample.prompt);
      const complaint = end.reason === 'answered' ? sample.check(end.text) : `the turn ended: ${end.reason}`;
      const files = Object.entries(sample.after ?? {}).filter(([path, text]) => readOrNull(join(p.dir, path)) !== text).map(([path, text]) => `${path} should hold ${JSON.stringify(text)}, and holds ${JSON.stringify(readOrNull(join(p.dir, path)))}`);
      if (complaint !== null || files.length > 0) wrong.push(`${sample.kind}: ${sample.prompt}\n  ${[complaint, ...files].filter(Boolean).join('\n  ')}\n  answer: ${end.text.slice(0, 1500)}`);
    }
    assert.ok(asked >= 40, `${asked} prompts`);
    assert.deepEqual(wrong, []);
  });
}

test('what is refused is reported with its reason, and not tried another way', async (t) => {
  const p = project(t, { files: { 'a.txt': 'x\n' }, only: PLUGINS });
  const session = await p.open({ overlay: { model: 'offline/rules' } });
  const ran = await ask(session, 'run `rm a.txt`');
  assert.match(ran.text, /The command was not run\. Refused: /);
  assert.equal(ran.numTurns, 2);
  const wrote = await ask(session, 'create b.txt with "x"');
  assert.match(wrote.text, /Writing b\.txt did not succeed\. Write said: Refused: /);
  assert.equal(readOrNull(join(p.dir, 'b.txt')), null);
  assert.equal(readFileSync(join(p.dir, 'a.txt'), 'utf8'), 'x\n');
});

test('a session that is opened again goes on where it was', async (t) => {
  const p = project(t, { files: { 'a.txt': 'one\ntwo\n' }, only: PLUGINS });
  const first = await p.open({ overlay: { model: 'offline/rules' } });
  assert.match((await ask(first, 'read a.txt')).text, /stand-in[\s\S]*one\ntwo/);
  const { id } = first;
  await first.close();
  const again = await p.open({ resume: id, overlay: { model: 'offline/rules' } });
  const end = await ask(again, 'how many lines does it have?');
  assert.equal(end.text, 'a.txt has 2 lines.', 'it knows which file, and does not introduce itself twice');
});

function readOrNull(path: string): string | null {
  try { return readFileSync(path, 'utf8'); } catch { return null; }
}
