import assert from 'node:assert/strict';
import { test } from 'node:test';
import { childEnv } from 'tappet/kit';

test('keys and tokens are not handed on, whatever lists their names begin like', () => {
  const env = childEnv({
    PATH: '/usr/bin', HOME: '/home/me', ANTHROPIC_API_KEY: 'a', OPENAI_API_KEY: 'b', CLAUDE_CODE_OAUTH_TOKEN: 'c', GITHUB_TOKEN: 'd', NPM_CONFIG_AUTH_TOKEN: 'e', CARGO_REGISTRY_TOKEN: 'f',
    AWS_SECRET_ACCESS_KEY: 'g', NPM_CONFIG__AUTH: 'h', MY_SERVICE: 'i', CARGO_HOME: '/home/me/.cargo', LC_ALL: 'C', http_proxy: 'http://127.0.0.1:1',
  });
  assert.deepEqual(Object.values(env).filter((v) => /^[a-i]$/.test(v)), []);
  assert.deepEqual([env.HOME, env.CARGO_HOME, env.LC_ALL, env.http_proxy], ['/home/me', '/home/me/.cargo', 'C', 'http://127.0.0.1:1']);
});

test('what the configuration names is handed on, and wins', () => {
  const env = childEnv({ PATH: '/usr/bin', ANTHROPIC_API_KEY: 'from outside', LANG: 'C' }, { ANTHROPIC_API_KEY: 'on purpose', LANG: 'de_DE', EDITOR: 'vi' });
  assert.deepEqual([env.ANTHROPIC_API_KEY, env.LANG, env.EDITOR], ['on purpose', 'de_DE', 'vi']);
});

test('nothing that changes what a command line means gets through, from neither side', () => {
  const bent = { BASH_ENV: '/tmp/x', ENV: '/tmp/x', SHELLOPTS: 'xtrace', BASHOPTS: 'extglob', PS4: '$(x)', CDPATH: '/', GLOBIGNORE: '*', IFS: 'x', 'BASH_FUNC_git%%': '() { x; }', BASH_COMPAT: '3.2', POSIXLY_CORRECT: '1' };
  for (const env of [childEnv(bent), childEnv({}, bent)]) assert.deepEqual(Object.keys(env).filter((name) => name in bent), []);
});

test('empty and relative entries of PATH are dropped, and an empty PATH does not mean the working folder', { skip: process.platform === 'win32' }, () => {
  assert.equal(childEnv({ PATH: ':/usr/bin:.:node_modules/.bin::/bin:' }).PATH, '/usr/bin:/bin');
  assert.equal(childEnv({}, { PATH: 'bin:/opt/bin' }).PATH, '/opt/bin');
  for (const env of [childEnv({}), childEnv({ PATH: '' }), childEnv({ PATH: '.:bin' })]) assert.match(env.PATH!, /^\//);
});

test('nothing can open an editor, a pager or a question', () => {
  const env = childEnv({ EDITOR: 'vi', VISUAL: 'vi', GIT_EDITOR: 'vi', PAGER: 'less', GIT_ASKPASS: '/usr/bin/ask', SSH_ASKPASS: '/usr/bin/ask', TERM: 'xterm' });
  assert.deepEqual([env.EDITOR, env.VISUAL, env.GIT_EDITOR, env.PAGER, env.GIT_TERMINAL_PROMPT, env.GIT_ASKPASS, env.SSH_ASKPASS, env.TERM], ['true', 'true', 'true', 'cat', '0', undefined, undefined, 'dumb']);
});
