/** Names: the nearest layer wins, two of one layer win nothing, guards add up, and who stands behind a name is always to be seen. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { makeOrigin } from '../../kernel/config/origin.ts';
import { createRegistry } from '../../kernel/registry.ts';
import type { Layer } from '../../schemas/index.ts';
import { compareLayers, LAYERS } from '../../schemas/origin.ts';

interface Item { readonly name: string; readonly id: string }
const by = (owner: string, layer: Layer = 'built-in', line = 1) => ({ owner, origin: makeOrigin(layer, `${layer}.yaml`, line) });
const item = (name: string, id = name): Item => ({ name, id });
const make = (o: Parameters<typeof createRegistry>[1] = {}) => createRegistry<Item>('tools', o);

test('of a name that several layers bring the nearest counts, and who() shows what it beat', () => {
  const r = make();
  r.add(item('Read', 'theirs'), by('acme/read', 'user'));
  r.add(item('Read', 'ours'), by('tools/read'));
  assert.equal(r.get('Read')?.id, 'theirs');
  assert.deepEqual(r.who('Read').map((e) => [e.owner, e.status, e.reason]), [['acme/read', 'counts', undefined], ['tools/read', 'shadowed', 'acme/read is nearer']]);
  assert.deepEqual(r.all().map((i) => i.id), ['theirs']);
});
test('two of one layer with one name are both withheld, with both places; the rest of both plugins stands', () => {
  const r = make();
  r.add(item('Read'), by('acme/a', 'user', 3));
  r.add(item('Other'), by('acme/a', 'user', 3));
  r.add(item('Read'), by('acme/b', 'user', 9));
  assert.equal(r.get('Read'), undefined);
  assert.equal(r.get('Other')?.name, 'Other');
  assert.equal(r.problems()[0]?.code, 'E_NAME_TAKEN');
  assert.equal(r.problems()[0]?.facts.cause, 'acme/a at user.yaml:3:1 and acme/b at user.yaml:9:1');
  assert.deepEqual(r.who('Read').map((e) => e.status), ['withheld', 'withheld']);
});
test('whatever is added in whatever order, at most one item of a name is handed out, and it is of the highest layer that brings it', () => {
  const added = fc.array(fc.tuple(fc.constantFrom('A', 'B'), fc.constantFrom(...LAYERS)), { maxLength: 8 });
  fc.assert(fc.property(added, fc.boolean(), (list, additive) => {
    const r = make({ additive });
    list.forEach(([name, layer], i) => r.add(item(name, String(i)), by(`p${i}`, layer)));
    for (const name of ['A', 'B']) {
      const claims = list.filter(([n]) => n === name).map(([, l]) => l).sort((a, b) => compareLayers(b, a));
      const handed = r.all().filter((i) => i.name === name);
      if (additive) assert.equal(handed.length, claims.length);
      else assert.equal(handed.length, claims.length > 0 && claims[0] !== claims[1] ? 1 : 0);
      if (!additive && handed[0] !== undefined) assert.equal(r.who(name)[0]!.origin.layer, claims[0]);
      assert.equal(r.who(name).length, claims.length);
    }
  }));
});
test('guards of one name all count', () => {
  const r = make({ additive: true });
  r.add(item('g', '1'), by('a'));
  r.add(item('g', '2'), by('b', 'user'));
  assert.equal(r.all().length, 2);
  assert.deepEqual(r.problems(), []);
});
test('a forbidden name is never handed out and stays visible with the reason', () => {
  const r = make({ forbidden: (name) => (name === 'Bash' ? 'policy' : null) });
  r.add(item('Bash'), by('tools/bash'));
  assert.equal(r.get('Bash'), undefined);
  assert.deepEqual(r.who('Bash').map((e) => [e.status, e.reason]), [['forbidden', 'policy']]);
});
test('after the seal nothing is added, no source and no prefix taken', () => {
  const r = make();
  r.seal();
  for (const late of [() => r.add(item('x'), by('a')), () => r.source(by('a')), () => r.reserve('x_', by('a'))]) assert.throws(late, { code: 'E_KERNEL_SEALED' });
});
test('a live list replaces what it held before, at any time, and nothing else', () => {
  const r = make();
  r.add(item('Read'), by('tools/read'));
  const source = r.source(by('skills/folder', 'project'));
  r.seal();
  let heard = 0;
  const stop = r.subscribe(() => heard++);
  source.replace([{ item: item('a') }, { item: item('b'), origin: makeOrigin('user', 'u.yaml') }]);
  assert.deepEqual(r.ownedBy('skills/folder'), ['a', 'b']);
  assert.equal(r.who('b')[0]!.origin.layer, 'user');
  source.replace([{ item: item('b') }]);
  assert.deepEqual(r.all().map((i) => i.name), ['Read', 'b']);
  stop();
  source.replace([]);
  assert.equal(heard, 2);
});
test('below a reserved prefix its owner adds and removes at any time; others\' names there are withheld, before and after', () => {
  const r = make();
  r.add(item('mcp__early'), by('acme/a', 'user'));
  const mcp = r.reserve('mcp__', by('mcp/client'));
  r.add(item('mcp__late'), by('acme/a', 'user'));
  r.seal();
  mcp.add(item('mcp__x__tool'));
  assert.deepEqual(r.all().map((i) => i.name), ['mcp__x__tool']);
  assert.deepEqual(r.problems().map((p) => [p.facts['name'], p.facts.cause]), [['mcp__early', 'names that begin with mcp__ belong to mcp/client'], ['mcp__late', 'names that begin with mcp__ belong to mcp/client']]);
  assert.equal(r.who('mcp__early')[0]!.status, 'withheld');
  assert.throws(() => mcp.add(item('Bash')), { code: 'E_KERNEL_SEALED' });
  mcp.remove('mcp__early');
  assert.equal(r.who('mcp__early').length, 1, 'what is not its own it cannot take out');
  mcp.remove('mcp__x__tool');
  assert.deepEqual(r.all(), []);
});
test('prefixes that overlap cannot be reserved by two; who holds one is told', () => {
  const r = make();
  r.reserve('mcp__', by('mcp/client'));
  for (const prefix of ['mcp__', 'mcp__a', 'mc']) assert.throws(() => r.reserve(prefix, by('acme/a')), { code: 'E_NAME_TAKEN' });
  assert.deepEqual(r.heldBy('mcp__a', 'acme/a'), { prefix: 'mcp__', owner: 'mcp/client' });
  assert.equal(r.heldBy('mcp__a', 'mcp/client'), null);
  r.reserve('mcp__', by('mcp/client'));
});
