/** What every guard must do (`guardContract`), and what this one says. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JudgedCall, Subject } from 'tappet/kernel';
import { collect, guardContract } from 'tappet/testing';
import plugin from '../plugins/lockfiles.ts';

// It never throws or waits, never allows what was not understood, says the same of the same call, and gets no milder when a call is about more.
guardContract(plugin);

const { guards: [guard] } = await collect(plugin, { options: { names: ['app.lock'] } });
const judge = (...subjects: Subject[]) => guard!.judge({ subjects } as Partial<JudgedCall> as JudgedCall);
const path = (access: 'read' | 'write', name: string, real: string | null = name): Subject => ({ kind: 'path', access, path: name, real });

test('refuses to write a lock file, by either of its names, in whatever case', () => {
  for (const subject of [path('write', '/p/app.lock'), path('write', '/p/APP.LOCK'), path('write', '/p/link', '/p/app.lock')]) {
    assert.match(JSON.stringify(judge(subject)), /"deny".*package manager/);
  }
});
test('has nothing to say of reading it, or of other files', () => {
  assert.deepEqual(judge(path('read', '/p/app.lock'), path('write', '/p/app.ts'), path('write', '/p/x', null)), []);
});
