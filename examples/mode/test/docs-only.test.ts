/** What every mode must do (`modeContract`), and what this one says. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JudgedCall, ModeContext, Opinion, Subject } from 'tappet/kernel';
import { collect, modeContract } from 'tappet/testing';
import plugin from '../plugins/docs-only.ts';

// It never throws, answers every call in form, and claims to lift nothing that it may not lift.
modeContract(plugin);

const { permissionModes: [mode] } = await collect(plugin);
const says = async (soFar: Opinion['behavior'], ...subjects: Subject[]) => {
  const call = { subjects, roots: ['/p'], isReadOnly: subjects.every((s) => s.kind === 'path' && s.access === 'read') } as unknown as JudgedCall;
  return (await mode!.judge(call, { behavior: soFar } as Opinion, {} as ModeContext)).behavior;
};
const path = (access: 'read' | 'write', name: string, real: string | null = name): Subject => ({ kind: 'path', access, path: name, real });

test('lets Markdown inside the project be written, and everything be read', async () => {
  assert.equal(await says('passthrough', path('write', '/p/docs/a.md')), 'allow');
  assert.equal(await says('passthrough', path('read', '/p/a.ts')), 'allow');
});
test('leaves everything else to a person', async () => {
  for (const subject of [path('write', '/p/a.ts'), path('write', '/q/a.md'), path('write', '/p/a.md', '/p/a.ts'), path('write', '/p/a.md', null), { kind: 'opaque', why: 'a command' } as const]) {
    assert.equal(await says('passthrough', subject), 'passthrough');
  }
});
test('does not lift a question that somebody asked', async () => {
  assert.equal(await says('ask', path('write', '/p/a.md')), 'passthrough');
});
