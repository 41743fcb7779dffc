/** Where files lie: the environment moves what is a person's, and never the policy. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { findPlaces, findRoot } from '../../../kernel/config/places.ts';
import { project } from '../../support/project.ts';

test('no variable moves the policy, on any system', () => {
  const names = ['HOME', 'XDG_CONFIG_HOME', 'XDG_STATE_HOME', 'XDG_CACHE_HOME', 'TAPPET_STATE_DIR', 'APPDATA', 'LOCALAPPDATA', 'ProgramData', 'PROGRAMDATA', 'ALLUSERSPROFILE', 'SystemDrive'];
  fc.assert(fc.property(fc.dictionary(fc.constantFrom(...names), fc.constantFrom('/evil', 'C:\\evil', 'evil', '')), fc.constantFrom('linux' as const, 'darwin' as const, 'win32' as const), (env, platform) => {
    assert.deepEqual(findPlaces(env, platform, '/home/me').policy, findPlaces({}, platform, '/home/other').policy);
  }));
  assert.equal(findPlaces({}, 'linux', '/h').policy.main, '/etc/tappet/policy.yaml');
});
test('folders follow the XDG variables where these are absolute, and nothing else', () => {
  assert.equal(findPlaces({ XDG_CONFIG_HOME: '/c' }, 'linux', '/h').config, '/c/tappet');
  assert.equal(findPlaces({ XDG_CONFIG_HOME: 'relative' }, 'linux', '/h').config, '/h/.config/tappet');
  assert.deepEqual([findPlaces({ TAPPET_STATE_DIR: '/s', XDG_STATE_HOME: '/x' }, 'linux', '/h').state, findPlaces({ TAPPET_STATE_DIR: 's', XDG_STATE_HOME: '/x' }, 'linux', '/h').state], ['/s', '/x/tappet']);
});
test('a home that is no absolute path is not looked for in the working folder', () => {
  for (const home of ['', '.', 'home']) for (const platform of ['linux', 'win32'] as const) assert.match(findPlaces({}, platform, home).config, /^(\/|[A-Z]:)/);
});
test('the root is the nearest folder with configuration, up to the repository\'s, else that, else the folder itself', (t) => {
  const p = project(t, { files: { 'a/agent.config.yaml': '', 'b/agent.config.local.yaml': '', 'c/package.json': '{"agent": {}}', 'd/package.json': '{"name": "agent"}', 'e/package.json': '{"agent": ' } });
  const of = (dir: string): string => { mkdirSync(join(p.dir, dir), { recursive: true }); return findRoot(join(p.dir, dir)).slice(p.dir.length + 1); };
  mkdirSync(join(p.dir, '.git'));
  assert.deepEqual(['a/deep/er', 'b/x', 'c/x', 'd/x', 'e/x', 'f'].map(of), ['a', 'b', 'c', '', '', '']);
  mkdirSync(join(p.dir, 'a/inner/.git'), { recursive: true });
  assert.equal(of('a/inner/x'), 'a/inner', 'a repository does not take its words from the one around it');
});
