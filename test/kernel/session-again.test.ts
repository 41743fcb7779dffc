/** What broke off goes on: opened again and again, and with the very same words. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ask, project } from '../support/project.ts';

test('interrupted before the first word, a session takes a prompt each of three times that it is opened again', async (t) => {
  const p = project(t);
  const first = await p.open();
  p.model.push({ wait: (signal) => new Promise((resolve) => { signal.addEventListener('abort', () => resolve()); void first.interrupt({ reason: 'person' }); }) });
  assert.equal((await ask(first, 'go')).reason, 'interrupted');
  await first.close();
  for (let i = 0; i < 3; i++) {
    p.model.push({ say: `answer ${i}` });
    const again = await p.open({ resume: first.id });
    assert.deepEqual([(await ask(again, 'still there?')).text], [`answer ${i}`]);
    await again.close();
  }
});
test('a turn that was killed before the first word is asked again with the very same request', async (t) => {
  const p = project(t, { steps: [{ say: 'one' }, { say: 'two' }, { say: 'three' }] });
  const first = await p.open();
  await ask(first, 'a');
  await ask(first, 'b');
  await first.close();
  // As a kill leaves it: the prompt was written, nothing of the answer.
  const root = join(p.home, '.local/state/tappet/projects');
  const file = join(root, readdirSync(root)[0]!, 'sessions', `${first.id}.jsonl`);
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  const prompt = lines.findLastIndex((l) => l.includes('"content":"b"'));
  writeFileSync(file, `${lines.slice(0, prompt + 1).join('\n')}\n`);
  const again = await p.open({ resume: first.id });
  const end = await again.submit([], { origin: 'continue' }).turn;
  assert.equal(end.text, 'three');
  const bytes = (i: number): string[] => p.model.requests[i]!.messages.map((m) => new TextDecoder().decode(m.bytes));
  assert.deepEqual(bytes(2), bytes(1));
});
