/** Sessions in a program of one's own: several projects side by side that know nothing of one another. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { createTappet } from '../../kernel/embed.ts';
import type { OpenOptions } from '../../schemas/index.ts';
import { testModel } from '../support/model.ts';
import { BASIC, record, withPlugins } from '../support/project.ts';
import { watchedTools } from '../support/tools.ts';

function places(t: TestContext) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'tappet-embed-')));
  t.after(() => rmSync(base, { recursive: true, force: true, maxRetries: 3 }));
  const folder = (name: string): string => { const dir = join(base, name); mkdirSync(join(dir, '.git'), { recursive: true }); return dir; };
  return { home: folder('home'), one: folder('one'), two: folder('two') };
}
function tappet(t: TestContext, home: string) {
  const model = testModel([]);
  const tools = watchedTools();
  const opener = createTappet({ env: { HOME: home }, home }, withPlugins(BASIC, [model.plugin, tools.plugin]));
  t.after(() => opener.close());
  const open = (cwd: string, more: Partial<OpenOptions> = {}) => opener.open({ cwd, host: { asks: [] }, ...more, overlay: { model: 'test/model', ...more.overlay } });
  return { opener, model, tools, open };
}
const change = { call: [{ name: 'Change', input: { path: 'a.txt' } }] };

test('two projects in one program: rules, modes, events, histories and questions of one are not those of the other', async (t) => {
  const { home, one, two } = places(t);
  writeFileSync(join(one, 'agent.config.yaml'), 'permissions: { deny: [Change(a.txt)] }\nlimits: { turns: 2 }\n');
  const { open, opener, model, tools } = tappet(t, home);
  const [a, b] = await Promise.all([open(one), open(two, { host: { asks: ['permission'] } })]);
  const [ra, rb] = [record(a), record(b)];
  assert.notEqual(await opener.kernel(one), await opener.kernel(two));
  model.push(change, { say: 'a is done' });
  assert.equal((await a.submit('first of a').turn).denials.length, 1);
  model.push(change, { say: 'b is done' });
  const turn = b.submit('first of b').turn;
  let question: string | undefined;
  for await (const e of b.events({ from: 'start' })) if (e.type === 'ask') { question = e.requestId; break; }
  assert.equal(a.answer(question as never, { behavior: 'allow' }), false, 'a cannot answer for b');
  assert.equal(b.answer(question as never, { behavior: 'allow' }), true);
  assert.equal((await turn).text, 'b is done');
  assert.deepEqual(tools.calls.map((c) => c.cwd), [two]);
  await a.set({ mode: 'plan' });
  assert.equal(b.state.get().toolPermissionContext.mode, 'default');
  assert.doesNotMatch(JSON.stringify(model.requests.at(-1)!.messages.map((m) => m.message)), /of a/);
  await Promise.all([a.close(), b.close()]);
  await Promise.all([ra.done, rb.done]);
  assert.ok(ra.events.every((e) => e.sessionId === a.id) && rb.events.every((e) => e.sessionId === b.id));
});
test('many sessions that are opened and closed at the same time never get a kernel that is closed', async (t) => {
  const { home, one } = places(t);
  const { open, model } = tappet(t, home);
  const first = await open(one);
  const [next] = await Promise.all([open(one), first.close()]);
  assert.equal((await next.submit('go').turn).text, 'done');
  await Promise.all(Array.from({ length: 6 }, async (_, i) => {
    const session = await open(one);
    assert.equal((await session.submit(`go ${i}`).turn).text, 'done');
    await session.close();
  }));
  assert.equal(model.requests.length, 7);
  await next.close();
});
test('a kernel closes with its last session, and the next session boots another', async (t) => {
  const { home, one } = places(t);
  const model = testModel([]);
  const opener = createTappet({ env: { HOME: home }, home }, withPlugins(BASIC, [model.plugin]));
  t.after(() => opener.close());
  const open = () => opener.open({ cwd: one, host: { asks: [] }, overlay: { model: 'test/model' } });
  const a = await open();
  await a.submit('go').turn;
  await a.close();
  const b = await open();
  assert.equal((await b.submit('go').turn).text, 'done');
  await b.close();
});
test('two openers in one program share nothing: one closes, the other goes on', async (t) => {
  const { home, one } = places(t);
  const [x, y] = [tappet(t, home), tappet(t, home)];
  assert.notEqual(await x.opener.kernel(one), await y.opener.kernel(one));
  const session = await y.open(one);
  await x.opener.close();
  assert.equal((await session.submit('go').turn).text, 'done');
  assert.equal(x.model.requests.length, 0);
  await session.close();
});
test('the environment is what is given: nothing of the process is read', async (t) => {
  const { home, one } = places(t);
  const { open, opener } = tappet(t, home);
  const session = await open(one);
  const kernel = await opener.kernel(one);
  assert.deepEqual(Object.keys(kernel.env), ['HOME']);
  assert.equal(kernel.places.home, home);
  await session.close();
});
test('a folder whose configuration cannot start fails alone, and can be opened once it is put right', async (t) => {
  const { home, one, two } = places(t);
  const { open } = tappet(t, home);
  await assert.rejects(open(one, { overlay: { mode: 'nothing' } }), { code: 'E_MODE_UNKNOWN' });
  const good = await open(two);
  assert.equal((await good.submit('go').turn).text, 'done');
  const again = await open(one);
  assert.equal((await again.submit('go').turn).text, 'done');
  await Promise.all([good.close(), again.close()]);
});
