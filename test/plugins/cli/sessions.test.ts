import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { LineDraft, Uuid } from 'tappet/schemas';
import { NO_USAGE } from 'tappet/schemas';
import { sessionStore } from '../../../plugins/stores/sessions/index.ts';
import { cliPlace } from '../../support/cli.ts';
import type { CliPlace } from '../../support/cli.ts';

const O = { plugins: ['cli/parse', 'cli/sessions', 'stores/sessions'], layer: 'mode: default' };
const [A, B, C] = ['aaaa1111-0000-4000-8000-000000000001', 'aaaa2222-0000-4000-8000-000000000002', 'cccc3333-0000-4000-8000-000000000003'] as [Uuid, Uuid, Uuid];
let count = 0;
const base = () => ({ uuid: `00000000-0000-4000-8000-${String(++count).padStart(12, '0')}` as Uuid, timestamp: '2026-01-02T03:04:05.000Z', parentUuid: null, cwd: '/p', isSidechain: false });
const user = (content: unknown, more: object = {}) => ({ ...base(), ...more, type: 'user', message: { role: 'user', content } }) as LineDraft;
const assistant = (content: readonly unknown[]) => ({ ...base(), type: 'assistant', message: { id: 'm', role: 'assistant', model: 'scripted/x', content, stop_reason: 'end_turn', usage: NO_USAGE } }) as LineDraft;

async function keep(place: CliPlace, sessionId: Uuid, root: string, lines: readonly LineDraft[]): Promise<void> {
  const { store } = sessionStore(join(place.home, '.local/state/tappet'));
  const log = await store.create({ sessionId, cwd: root, root });
  for (const line of lines) await log.append(line);
  await log.close();
}
async function kept(t: Parameters<typeof cliPlace>[0]): Promise<CliPlace> {
  const place = await cliPlace(t, O);
  await keep(place, A, place.project, [user(`first \u202eprompt ${'long '.repeat(30)}`)]);
  await keep(place, B, place.project, [
    user('read the file'), assistant([{ type: 'thinking', thinking: 'hm' }]), assistant([{ type: 'tool_use', id: 't', name: 'Read', input: { file_path: 'a.txt' } }]),
    user([{ type: 'tool_result', tool_use_id: 't', content: 'evil\u001b]0;x\u0007 text\n'.repeat(50), is_error: true }]), user('not for people', { isMeta: true }), assistant([{ type: 'text', text: 'It says evil.' }]), { type: 'custom-title', customTitle: 'Reading' },
  ]);
  await keep(place, C, place.home, [user('elsewhere')]);
  return place;
}

test('list has the sessions of this project, newest first, or of all', async (t) => {
  const place = await kept(t);
  const infos = await place.json<{ sessionId: string; title: string | null }[]>(['sessions', 'list']);
  assert.deepEqual(infos.map((i) => i.sessionId).sort(), [A, B]);
  assert.deepEqual((await place.json<{ sessionId: string }[]>(['sessions', 'list', '--all'])).map((i) => i.sessionId).sort(), [A, B, C]);
  assert.equal((await place.json<unknown[]>(['sessions', 'list', '--limit', '1'])).length, 1);
  const { out } = await place.run(['sessions', 'list']);
  assert.match(out, /^ID +CHANGED +MESSAGES +ABOUT\n/);
  assert.match(out, new RegExp(`^${B} +\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d +6 +Reading$`, 'm'));
  assert.match(out, new RegExp(`^${A} .* first <U\\+202E>prompt (?:long )+.*…$`, 'm'));
  assert.match((await place.run(['sessions', 'list', '--all'])).out, new RegExp(`^${C} .* /p +elsewhere$`, 'm'));
});
test('show tells who said what, without what only the model was told, and without what acts on a terminal', async (t) => {
  const { code, out } = await (await kept(t)).run(['sessions', 'show', B]);
  assert.equal(code, 0);
  for (const part of [/^── you {2}2026-01-02T03:04:05\.000Z\nread the file$/m, /^── scripted\/x thinks .*\nhm$/m, /^── Read .*\n\{\n {2}"file_path": "a\.txt"\n\}$/m, /^── result: failed .*\nevil text\n/m, /^── scripted\/x .*\nIt says evil\.$/m, /^── title\nReading$/m]) assert.match(out, part);
  assert.doesNotMatch(out, /not for people|\u001b/);
  assert.match(out, /cut\]/);
});
test('show takes the beginning of an id, if it is of one alone', async (t) => {
  const place = await kept(t);
  assert.equal((await place.json(['sessions', 'show', 'aaaa2'])).sessionId, B);
  const both = await place.run(['sessions', 'show', 'aaaa']);
  assert.equal(both.code, 2);
  assert.match(both.err, /2 sessions begin with "aaaa"[\s\S]*aaaa1111[\s\S]*write more/);
});
test('show as JSON has every line as it was kept', async (t) => {
  const { lines, notices } = await (await kept(t)).json(['sessions', 'show', B]);
  assert.equal(lines.length, 7);
  assert.deepEqual(notices, []);
  assert.equal(lines[0].message.content, 'read the file');
});
test('a session that is not there, and a limit that is none, are refused', async (t) => {
  const place = await kept(t);
  for (const id of [C, 'dddd', '../../x', '']) {
    const { code, err } = await place.run(['sessions', 'show', id]);
    assert.equal(code, 2, id);
    assert.match(err, /E_SESSION_UNKNOWN/, id);
  }
  assert.match((await place.run(['sessions', 'list', '--limit', 'ten'])).err, /--limit: "ten"/);
});
test('where nothing was kept, that is said', async (t) => {
  const place = await cliPlace(t, O);
  assert.match((await place.run(['sessions', 'list'])).out, /^no sessions were kept for /);
  assert.deepEqual(await place.json(['sessions', 'list']), []);
});
test('without a store the command says what is missing', async (t) => {
  const place = await cliPlace(t, { ...O, plugins: ['cli/parse', 'cli/sessions'] });
  const { code, err } = await place.run(['sessions', 'list']);
  assert.equal(code, 2);
  assert.match(err, /no plugin keeps sessions here/);
});
