import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JudgedCall, Said } from 'tappet/schemas';
import workspace from '../../../plugins/guards/workspace.ts';
import { judgedCall } from '../../contracts/calls.ts';
import { collect } from '../../contracts/collect.ts';
import { guardContract, sayings } from '../../contracts/guard.ts';

guardContract(workspace);

const judge = async (over: Partial<JudgedCall>): Promise<readonly Said[]> => sayings((await collect(workspace)).guards[0]!, judgedCall(over));
const reading = (path: string, real: string | null = path) => judge({ subjects: [{ kind: 'path', access: 'read', path, real }], roots: ['/work/p', '/work/more'] });

test('says nothing of paths in any working folder, the folder itself among them', async () => {
  assert.deepEqual(await reading('/work/p/src/a.ts'), []);
  assert.deepEqual(await reading('/work/more/b'), []);
  assert.deepEqual(await reading('/work/p'), []);
});
test('asks until a rule about a path outside, and names it', async () => {
  const [said] = await reading('/etc/passwd');
  assert.ok(said?.behavior === 'ask' && said.until === 'rule');
  assert.deepEqual(said.reason, { kind: 'workingDir', path: '/etc/passwd' });
  assert.match(said.message ?? '', /\/etc\/passwd lies outside of the working folders \(\/work\/p, \/work\/more\)/);
});
test('compares by component: a folder whose name only begins the same is outside', async () => {
  assert.equal((await reading('/work/p-evil/a')).length, 1);
});
test('follows a link out of the folder, and says where it leads', async () => {
  const [said] = await reading('/work/p/link', '/etc/shadow');
  assert.deepEqual(said?.reason, { kind: 'workingDir', path: '/etc/shadow' });
  assert.match(said?.behavior === 'ask' ? said.message ?? '' : '', /\/work\/p\/link leads to \/etc\/shadow/);
});
test('counts a spelling outside even where the link leads in', async () => {
  assert.equal((await reading('/tmp/link', '/work/p/a')).length, 1);
});
test('counts as outside what cannot be followed to where it is', async () => {
  assert.equal((await reading('/work/p/loop', null)).length, 1);
});
test('speaks of every path that leaves, and of no other kind of subject', async () => {
  const said = await judge({
    subjects: [{ kind: 'command', argv: [{ text: 'cat' }], text: 'cat /etc/passwd' }, { kind: 'path', access: 'write', path: '/a', real: '/a' }, { kind: 'path', access: 'read', path: '/work/p/x', real: '/work/p/x' }, { kind: 'path', access: 'read', path: '/b', real: '/b' }, { kind: 'domain', host: 'example.com' }],
  });
  assert.deepEqual(said.map((s) => s.reason), [{ kind: 'workingDir', path: '/a' }, { kind: 'workingDir', path: '/b' }]);
});
test('has nothing inside where there are no working folders', async () => {
  const said = await judge({ roots: [], subjects: [{ kind: 'path', access: 'read', path: '/work/p/x', real: '/work/p/x' }] });
  assert.equal(said.length, 1);
});
