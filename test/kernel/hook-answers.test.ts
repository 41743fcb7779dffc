/** Whatever a hook says in whatever mode: a call ends in exactly one result, and the next request is valid. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask, BASIC, project } from '../support/project.ts';
import { watchedTools } from '../support/tools.ts';

const ANSWERS = [{ behavior: 'allow' }, { behavior: 'ask' }, { behavior: 'deny', message: 'no' }, { behavior: 'defer' }, { behavior: 'passthrough' }, undefined, {}, 'nonsense', { behavior: 'maybe' }] as const;
const MODES = ['default', 'plan', 'acceptEdits', 'bypassPermissions', 'dontAsk'] as const;

test('every answer of a hook in every mode ends in exactly one result', async (t) => {
  const tools = watchedTools();
  const p = project(t, { only: BASIC, plugins: [tools.plugin] });
  for (const mode of MODES) for (const answer of ANSWERS) for (const onFailure of ['continue', 'block'] as const) {
    const name = `${JSON.stringify(answer)} in ${mode}, ${onFailure}`;
    const before = tools.calls.filter((c) => c.tool === 'Change').length;
    const session = await p.open({ overlay: { mode }, host: { asks: [], hooks: [{ event: 'PreToolUse', onFailure, run: () => answer }] } });
    p.model.push({ call: [{ name: 'Change', input: { path: 'a' } }, { name: 'Look', input: { path: 'b' } }] }, { say: 'ok' });
    const end = await ask(session, 'go');
    if (answer !== undefined && answer !== 'nonsense' && 'behavior' in answer && answer.behavior === 'defer') {
      assert.equal(end.reason, 'tool_deferred', name);
      await session.close();
      const again = await p.open({ resume: session.id, overlay: { mode } });
      await ask(again, 'go on');
      await again.close();
    } else {
      assert.equal(end.reason, 'answered', name);
      await session.close();
    }
    const sent = p.model.requests.at(-1)!.messages.flatMap((m) => m.message.content);
    const uses = sent.flatMap((b) => (b.type === 'tool_use' ? [b.id] : []));
    const results = sent.flatMap((b) => (b.type === 'tool_result' ? [b.tool_use_id] : []));
    assert.deepEqual(results, uses, name);
    const changes = tools.calls.filter((c) => c.tool === 'Change').length;
    if (mode === 'plan' || JSON.stringify(answer)?.includes('deny') === true) assert.equal(changes, before, name);
    p.model.drain();
  }
});
