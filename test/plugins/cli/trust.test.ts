import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cliPlace, runCli } from '../../support/cli.ts';

const O = { plugins: ['cli/parse', 'cli/trust'], layer: 'mode: default', files: { 'agent.config.yaml': `permissions:\n  allow: [Bash(ls), "${'Edit(' + 'deep/'.repeat(40)}**)"]\n  deny: [Read(.env)]\nplugins:\n  acme/x: { use: ./x.ts }\nenv: { A: b }\n`, 'x.ts': 'export default 1;\n' } };

test('shows what waits, with files and whole rules, and asks nobody where nobody is', async (t) => {
  const place = await cliPlace(t, O);
  const { code, out, err } = await place.run(['trust']);
  assert.equal(code, 2);
  assert.match(out, /is not trusted: nobody has trusted it yet/);
  assert.match(out, /^ {2}agent\.config\.yaml +[0-9a-f]{12}$/m);
  assert.match(out, /^ {2}x\.ts +[0-9a-f]{12}$/m);
  assert.match(out, /permissions\.allow +Bash\(ls\)/);
  assert.ok(out.includes('deep/'.repeat(40)), 'nothing is cut');
  assert.match(out, /plugins\.acme\/x +\{"use":"\.\/x\.ts"\}/);
  assert.match(out, /env\.A +b/);
  assert.doesNotMatch(out, /Read\(\.env\)/, 'what tightens waits for nothing');
  assert.match(err, /nobody can be asked here[\s\S]*tappet trust --yes/);
  assert.equal((await place.json(['trust'])).trusted, false);
});
test('--yes trusts; a change is asked about again; --revoke takes it back', async (t) => {
  const place = await cliPlace(t, O);
  assert.equal((await place.run(['trust', '--yes'])).code, 0);
  assert.equal((await place.json(['trust'])).trusted, true);
  await place.file('x.ts', 'export default 2;\n');
  assert.match((await place.run(['trust'])).out, /changed since it was trusted: x\.ts/);
  assert.deepEqual(await place.json(['trust', '--yes']), { root: place.project, trusted: true });
  assert.match((await place.run(['trust', '--revoke'])).out, /not trusted any more/);
  const view = await place.json(['trust']);
  assert.equal(view.trusted, false);
  assert.deepEqual(view.waits.map((w: { key: string }) => w.key).sort(), ['env.A', 'permissions.allow', 'plugins.acme/x']);
});
test('a person in a terminal is asked, and only a plain yes counts', async (t) => {
  const place = await cliPlace(t, O);
  for (const stdin of ['n\n', '\n', 'yesterday\n']) {
    const { code, out, err } = await place.run(['trust'], { tty: true, stdin });
    assert.equal(code, 3, stdin);
    assert.match(err, /Trust it as it is now\?/);
    assert.match(out, /stays untrusted/);
  }
  assert.equal((await place.json(['trust'])).trusted, false);
  assert.equal((await place.run(['trust'], { tty: true, stdin: 'y\n' })).code, 0);
  assert.equal((await place.json(['trust'])).trusted, true);
});
test('a folder without settings of its own needs no trust', async (t) => {
  assert.match((await runCli(t, ['trust'], { plugins: O.plugins, layer: O.layer })).out, /needs trust/);
});
test('a folder that only tightens waits for nothing', async (t) => {
  const { code, out, err } = await runCli(t, ['trust'], { ...O, files: { 'agent.config.yaml': 'permissions:\n  deny: [Read(.env)]\n' } });
  assert.equal(code, 0, err);
  assert.match(out, /waits for trust\n {2}FILE/);
});
test('names of files cannot steer the terminal', async (t) => {
  const { out } = await runCli(t, ['trust'], { ...O, files: { 'agent.config.yaml': 'env: { A: "a\\e[2Jb\\u202e" }\n' } });
  assert.match(out, /env\.A +ab<U\+202E>$/m);
});
test('--yes and --revoke contradict', async (t) => {
  const { code, err } = await runCli(t, ['trust', '--yes', '--revoke'], O);
  assert.equal(code, 2);
  assert.match(err, /cannot be together/);
});
