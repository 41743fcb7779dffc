import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chatFrames, mockOpenai, responsesFrames } from '../../../support/mock-openai.ts';
import { BASIC, project } from '../../../support/project.ts';

for (const wire of ['responses', 'chat'] as const) {
  test(`a whole turn with a call runs on the ${wire} wire, each request on the bytes of the one before`, async (t) => {
    const mock = await mockOpenai((_, n) => {
      const calls = [{ id: 'call_1', name: 'Read', args: JSON.stringify({ file_path: 'a.txt' }) }];
      if (wire === 'chat') return { frames: chatFrames(n === 0 ? { calls } : { text: ['It says forty-two.'] }) };
      return { frames: responsesFrames(n === 0 ? { reasoning: [{ id: 'rs_1', summary: ['Look.'], encrypted: 'gAAA' }], calls } : { text: ['It says forty-two.'] }) };
    });
    t.after(() => mock.close());
    const p = project(t, {
      only: [...BASIC, 'models/openai'], env: { OPENAI_API_KEY: 'sk-test-1' },
      files: { 'a.txt': 'forty-two\n', '~/.config/tappet/config.yaml': `providers: { openai: { baseUrl: "${mock.url}", options: { wire: ${wire} } } }\n` },
    });
    const session = await p.open({ overlay: { model: 'openai/gpt-5', mode: 'bypassPermissions' } });
    const end = await session.submit('What is in a.txt?').turn;
    assert.deepEqual([end.reason, end.text], ['answered', 'It says forty-two.'], JSON.stringify(end));
    const [first, second] = mock.asked().map((s) => s.text);
    assert.ok(second!.startsWith(first!.slice(0, -2)));
    assert.match(second!, /forty-two/);
    if (wire === 'responses') assert.match(second!, /"encrypted_content":"gAAA"/);
  });
}
