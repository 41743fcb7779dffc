/** Trust: what a folder says acts only after somebody has seen it, and only as long as it is what he saw. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readTrust, writeTrust } from '../../../kernel/config/trust.ts';
import { configIn, trust } from '../../support/layers.ts';
import { project } from '../../support/project.ts';
import type { Project } from '../../support/project.ts';

const CONFIG = 'permissions: { allow: ["Read(a)"] }\nplugins:\n  acme/x: { use: ./x.ts }\n';
const FILES = { 'agent.config.yaml': CONFIG, 'x.ts': "import { y } from './lib/y.ts';\nexport default y;\n", 'lib/y.ts': "export * from './z.js';\n", 'lib/z.ts': 'export const y = 1;\n' };
const isTrusted = async (p: Project): Promise<boolean> => (await configIn(p)).trust.trusted;
const stateFile = (p: Project): string => join(p.home, '.local/state/tappet/trust.json');

test('a folder without words of its own needs no trust', async (t) => {
  const c = await configIn(project(t));
  assert.deepEqual([c.trust.trusted, c.trust.waits], [true, []]);
});
test('a folder that nobody has trusted waits, and says what waits and where it is written', async (t) => {
  const p = project(t, { files: FILES });
  const { trust: view, settings } = await configIn(p);
  assert.deepEqual([view.trusted, view.why, view.root], [false, 'nobody has trusted it yet', p.dir]);
  assert.deepEqual(view.waits.map((w) => `${w.origin.line} ${w.what}`).sort(), ['1 permissions.allow: ["Read(a)"]', '3 plugins.acme/x: {"use":"./x.ts"}']);
  assert.deepEqual(Object.keys(view.files), ['agent.config.yaml', 'x.ts']);
  assert.deepEqual(settings.permissions.allow, []);
});
test('trust is for contents: a changed word, a changed plugin and a changed file that the plugin imports ask again', async (t) => {
  for (const file of Object.keys(FILES) as (keyof typeof FILES)[]) {
    const p = project(t, { files: FILES });
    await trust(p);
    assert.equal(await isTrusted(p), true);
    p.write(file, `${FILES[file]}# ${'//'} more\n`);
    const { trust: view } = await configIn(p);
    assert.equal(view.trusted, false, file);
    assert.match(view.why ?? '', /^changed since it was trusted: (agent\.config\.yaml|x\.ts)/);
    p.write(file, FILES[file]);
    assert.equal(await isTrusted(p), true, 'what was trusted once is trusted');
  }
});
test('a file that comes between a plugin and what it imports asks again', async (t) => {
  const p = project(t, { files: { ...FILES, 'x.ts': "import { y } from './lib/y';\nexport default y;\n" } });
  await trust(p);
  p.write('lib/y.js', 'export const y = 2;\n');
  assert.equal(await isTrusted(p), false);
});
test('a plugin that was missing when the folder was trusted asks when it appears', async (t) => {
  const p = project(t, { files: { 'agent.config.yaml': CONFIG } });
  await trust(p);
  p.write('x.ts', 'export default 1;\n');
  assert.equal(await isTrusted(p), false);
});
test('a new file of the folder asks; its going does not', async (t) => {
  const p = project(t, { files: FILES });
  await trust(p);
  p.write('agent.config.local.yaml', 'permissions: { allow: ["Bash"] }\n');
  assert.equal(await isTrusted(p), false);
  rmSync(join(p.dir, 'agent.config.local.yaml'));
  assert.equal(await isTrusted(p), true);
});
test('what is trusted is what was read, though the file changes before the answer', async (t) => {
  const p = project(t, { files: FILES });
  const seen = await configIn(p);
  p.write('agent.config.yaml', 'permissions: { allow: ["Bash"] }\n');
  await seen.grantTrust();
  assert.equal(await isTrusted(p), false);
});
test('trust can be taken back', async (t) => {
  const p = project(t, { files: FILES });
  await trust(p);
  await (await configIn(p)).revokeTrust();
  assert.equal((await configIn(p)).trust.why, 'nobody has trusted it yet');
});
test('two projects are trusted each by itself, also at the same time, and the file is for nobody else', async (t) => {
  const p = project(t, { files: FILES });
  const state = join(p.home, '.local/state/tappet');
  const roots = Array.from({ length: 8 }, (_, i) => `/project/${i}`);
  await Promise.all(roots.map((root) => writeTrust(state, root, { a: 'sha256-1' }, new Date(0))));
  await writeTrust(state, roots[0]!, null, new Date(0));
  assert.deepEqual(await Promise.all(roots.map(async (r) => (await readTrust(state, r, { a: 'sha256-1' })).trusted)), [false, ...Array.from({ length: 7 }, () => true)]);
  assert.equal((await readTrust(state, '/project/1', { a: 'sha256-2' })).trusted, false);
  assert.equal(statSync(stateFile(p)).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(state), ['trust.json']);
});
test('names that every object has are nobody\'s trust', async (t) => {
  const p = project(t);
  const state = join(p.home, 'state');
  await writeTrust(state, '/p', { a: 'x' }, new Date(0));
  assert.equal((await readTrust(state, 'constructor', { a: 'x' })).trusted, false);
  assert.equal((await readTrust(state, '/p', { constructor: 'x' })).trusted, false);
});
test('a damaged trust file trusts nobody, is said, and is not written over', async (t) => {
  for (const text of ['', '{', '[]', '{"v": 2, "folders": {}}', '{"v": 1, "folders": {"/p": {}}}', '{"v": 1, "folders": []}', 'null']) {
    const p = project(t, { files: FILES });
    p.write('~/.local/state/tappet/trust.json', text);
    const c = await configIn(p);
    assert.equal(c.trust.trusted, false);
    assert.match(c.problems[0]?.printed ?? '', /it is damaged[^]*move it away/);
    await assert.rejects(c.grantTrust(), { code: 'E_CONFIG_READ' });
    assert.equal(readFileSync(stateFile(p), 'utf8'), text);
  }
});
test('a trust file that cannot be read or written is said', async (t) => {
  const p = project(t, { files: FILES });
  mkdirSync(stateFile(p), { recursive: true });
  const c = await configIn(p);
  assert.deepEqual([c.trust.trusted, c.problems[0]?.code], [false, 'E_CONFIG_READ']);
  rmSync(join(p.home, '.local'), { recursive: true });
  writeFileSync(join(p.home, '.local'), 'a file where a folder should be');
  await assert.rejects((await configIn(p)).grantTrust(), { code: 'E_CONFIG_WRITE' });
});
