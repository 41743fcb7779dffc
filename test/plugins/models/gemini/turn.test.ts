import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answer, mockGemini } from '../../../support/mock-gemini.ts';
import { BASIC, project } from '../../../support/project.ts';

test('a whole turn with calls runs, each request on the bytes of the one before', async (t) => {
  const call = (file_path: string) => ({ functionCall: { name: 'Read', args: { file_path } } });
  const mock = await mockGemini((_, n) => ({ frames: n === 0 ? answer([{ text: 'Hm', thought: true }], [{ ...call('a.txt'), thoughtSignature: 'YWJj' }, call('b.txt')]) : answer([{ text: 'Forty-two ' }, { text: 'and one.', thoughtSignature: 'ZGVm' }]) }));
  t.after(() => mock.close());
  const p = project(t, {
    only: [...BASIC, 'models/gemini'], env: { GEMINI_API_KEY: 'gm-test-1' },
    files: { 'a.txt': 'forty-two\n', 'b.txt': 'one\n', '~/.config/tappet/config.yaml': `providers: { gemini: { baseUrl: "${mock.url}" } }\n` },
  });
  const session = await p.open({ overlay: { model: 'gemini/flash', mode: 'bypassPermissions', thinking: 'adaptive' } });
  const end = await session.submit('What is in the files?').turn;
  assert.deepEqual([end.reason, end.text], ['answered', 'Forty-two and one.'], JSON.stringify(end));
  const next = await session.submit('Thanks.').turn;
  assert.equal(next.isError, false, JSON.stringify(next));
  const texts = mock.asked().map((s) => s.text);
  assert.ok(texts[1]!.startsWith(texts[0]!.slice(0, -2)) && texts[2]!.startsWith(texts[1]!.slice(0, -2)), 'the prefix changed');
  assert.deepEqual(mock.asked()[1]!.body.contents.at(-1).parts.map((r: any) => r.functionResponse.name), ['Read', 'Read']);
  assert.deepEqual(mock.asked()[2]!.body.contents.at(-2).parts, [{ text: 'Forty-two and one.', thoughtSignature: 'ZGVm' }]);
});
