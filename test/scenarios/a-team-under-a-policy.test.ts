/** A team's file with a TypeScript plugin, an override, a value that breaks a bound and a plugin that policy forbids: each as designed, and explained with file, line and column. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cliPlace } from '../support/cli.ts';

const FILES = {
  'agent.config.yaml': [
    'model: offline/rules',
    'mode: plan',
    'plugins:',
    '  tools/read: { with: { maxBytes: 65536 } }',
    '  tools/grep: false',
    '  acme/no-drafts: { use: ./plugins/no-drafts.ts }',
    '  acme/forbidden: { use: ./plugins/forbidden.mjs }',
    'permissions:',
    "  allow: ['Edit(src/**)']",
    "  deny: ['Read(**/.env)']",
    '',
  ].join('\n'),
  'plugins/no-drafts.ts': "import { definePlugin } from 'tappet/kernel';\nimport { WORD } from './words.ts';\nexport default definePlugin({ name: 'acme/no-drafts', api: 1, apply({ hooks }) { hooks.PreToolUse.tap({ name: 'acme/no-drafts', matcher: 'Write' }, ({ input }): { behavior: 'deny'; message: string } | void => { if (String(input['file_path']).includes(WORD)) return { behavior: 'deny', message: 'no drafts here' }; }); } });\n",
  'plugins/words.ts': "export const WORD: string = 'draft';\n",
  'plugins/forbidden.mjs': "throw new Error('this must never run');\n",
  '.env': 'SECRET=1\n',
  '/etc/tappet/policy.yaml': ['bounds:', '  mode: { oneOf: [default, acceptEdits] }', '  plugins:', "    forbid: ['acme/forb*']", 'permissions:', "  ask: ['Bash']", ''].join('\n'),
  '~/.config/tappet/config.yaml': 'mode: acceptEdits\n',
};

test('before trust only what tightens counts; afterwards all that policy lets', async (t) => {
  const p = await cliPlace(t, { files: FILES });
  const before = await p.json<{ state: string; name: string }[]>(['plugin', 'list', '--json']);
  const state = (list: typeof before, name: string): string | undefined => list.find((x) => x.name === name)?.state;
  assert.deepEqual([state(before, 'acme/no-drafts'), state(before, 'tools/grep')], ['untrusted', 'off']);
  assert.equal((await p.run(['trust', '--yes'])).code, 0);
  const after = await p.json<typeof before>(['plugin', 'list', '--json']);
  assert.deepEqual([state(after, 'acme/no-drafts'), state(after, 'acme/forbidden'), state(after, 'tools/grep'), state(after, 'tools/read')], ['running', 'forbidden', 'off', 'running']);
});
test('the value that breaks a bound is set aside, the next that keeps it counts, and explain says why, with place', async (t) => {
  const p = await cliPlace(t, { files: FILES });
  await p.run(['trust', '--yes']);
  const { out, code } = await p.run(['explain', 'mode']);
  assert.equal(code, 0);
  const lines = out.split('\n').map((l) => l.trim().replace(/\s+/g, ' '));
  assert.equal(lines[0], 'mode = acceptEdits');
  assert.ok(lines.some((l) => /^policy .*policy\.yaml:2:3 bound/.test(l)), out);
  assert.ok(lines.some((l) => /^project agent\.config\.yaml:2:7 plan set aside: policy allows one of default, acceptEdits, set by .*policy\.yaml:2:3/.test(l)), out);
  assert.ok(lines.some((l) => /^user .*config\.yaml:1:7 acceptEdits counts/.test(l)), out);
  assert.ok(lines.some((l) => /^built-in .* default shadowed/.test(l)), out);
  assert.match((await p.run(['explain', 'plugins.acme/forbidden'])).out, /agent\.config\.yaml:7:3.*policy forbids it.*policy\.yaml:4:5/s);
});
test('the team\'s plugin, with what it imports, guards the calls; a change of what it imports asks again', async (t) => {
  const p = await cliPlace(t, { files: FILES });
  await p.run(['trust', '--yes']);
  const denied = await p.run(['-p', 'create a file src/draft.txt with "x"']);
  assert.match(denied.out + denied.err, /no drafts here/);
  const written = await p.run(['-p', 'create a file src/final.txt with "x"']);
  assert.equal(written.code, 0, written.err);
  assert.equal(await p.read('src/final.txt'), 'x');
  await p.file('plugins/words.ts', "export const WORD: string = 'nothing';\n");
  const again = await p.run(['-p', 'create a file src/draft.txt with "x"']);
  assert.match(again.err, /not trusted \(changed since it was trusted: .*no-drafts\.ts/);
});
test('deny rules of the project hold from the first moment, and what policy asks nobody else answers', async (t) => {
  const p = await cliPlace(t, { files: FILES });
  const secret = await p.run(['-p', 'read .env']);
  assert.match(secret.out + secret.err, /Read\(\*\*\/\.env\)/);
  assert.doesNotMatch(secret.out, /SECRET/);
  const shell = await p.run(['-p', 'run the command `echo hi`', '--permission-mode', 'acceptEdits', '--allowedTools', 'Bash']);
  assert.match(shell.out + shell.err, /policy\.yaml:6:9/);
  const bypass = await p.run(['-p', 'x', '--permission-mode', 'bypassPermissions']);
  assert.equal(bypass.code, 3);
  assert.match(bypass.err, /policy allows one of default, acceptEdits/);
});
test('a guard that is switched off under the policy refuses the start, and says where both words stand', async (t) => {
  const p = await cliPlace(t, { files: { ...FILES, '~/.config/tappet/config.yaml': 'mode: acceptEdits\nplugins:\n  guards/rules: false\n' } });
  const r = await p.run(['-p', 'list files']);
  assert.equal(r.code, 3);
  assert.match(r.err, /^E_POLICY_UNENFORCED/);
  assert.match(r.err, /policy\.yaml:\d+:\d+/);
  assert.match(r.err, /config\.yaml:3:17/);
});
