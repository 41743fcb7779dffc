import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changesNothing, onlyReads } from 'tappet/kit';
import type { Subject } from 'tappet/schemas';

const READ: Subject = { kind: 'path', access: 'read', path: '/a', real: '/a' };
const WRITE: Subject = { kind: 'path', access: 'write', path: '/a', real: '/a' };
const COMMAND: Subject = { kind: 'command', argv: [{ text: 'ls' }], text: 'ls' };
const call = (isReadOnly: boolean, ...subjects: Subject[]) => ({ isReadOnly, subjects });

test('what reads files, lists with a command or is about nothing is mere reading', () => {
  for (const c of [call(true, READ), call(true, COMMAND, READ), call(true)]) { assert.ok(onlyReads(c)); assert.ok(changesNothing(c)); }
});
test('a tool that does not say so does more than read', () => {
  for (const c of [call(false), call(false, READ)]) { assert.ok(!onlyReads(c)); assert.ok(!changesNothing(c)); }
});
test('a tool that says so is not believed where it names a write or what nobody understood', () => {
  for (const c of [call(true, READ, WRITE), call(true, { kind: 'opaque', why: 'x' })]) { assert.ok(!onlyReads(c)); assert.ok(!changesNothing(c)); }
});
test('what others hear of changes nothing here, but is no mere reading', () => {
  for (const s of [{ kind: 'domain', host: 'a.example' }, { kind: 'mcp', name: 'x' }, { kind: 'agent', name: 'x' }, { kind: 'skill', name: 'x' }] as const) { assert.ok(changesNothing(call(true, s))); assert.ok(!onlyReads(call(true, s))); }
});
