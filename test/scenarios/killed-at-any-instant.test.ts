/** A process that is killed at a hundred random instants of a session with tool calls: each time it opens again, nothing acknowledged is lost, the next request is valid. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { restore } from '../../kernel/transcript.ts';
import { normalize } from '../../kernel/normalize.ts';
import type { Line } from '../../schemas/index.ts';
import { bundle } from '../support/bundle.ts';

/** Talks and works until it is killed; says on stdout what was acknowledged. Ends with 9 where a request would be refused by a model. */
const CHILD = `
import { boot } from './kernel/boot.ts';
import { createOpener } from './kernel/open.ts';
import { makeOrigin } from './kernel/config/origin.ts';
import host from './plugins/targets/host.ts';
import rules from './plugins/guards/rules.ts';
import workspace from './plugins/guards/workspace.ts';
import protectedPaths from './plugins/guards/protected-paths.ts';
import acceptEdits from './plugins/modes/accept-edits.ts';
import read from './plugins/tools/read/index.ts';
import write from './plugins/tools/write.ts';
import store from './plugins/stores/sessions/index.ts';
import { definePlugin } from './kernel/plugin.ts';
const [dir, home, resume] = process.argv.slice(2);
const valid = (messages) => messages.every((m, i) => {
  const uses = m.content.filter((b) => b.type === 'tool_use').map((b) => b.id);
  const next = messages[i + 1]?.content.filter((b) => b.type === 'tool_result').map((b) => b.tool_use_id) ?? [];
  return m.role === (i % 2 === 0 ? 'user' : 'assistant') && m.content.length > 0 && (uses.length === 0 || JSON.stringify(uses) === JSON.stringify(next));
});
let n = Date.now();
const model = definePlugin({ name: 'test/model', api: 1, apply: ({ registries }) => registries.modelProviders.add({
  name: 'test', models: () => [], available: async () => null, encode: (m) => new TextEncoder().encode(JSON.stringify(m)),
  async *stream(request) {
    if (!valid(request.messages.map((m) => m.message))) process.exit(9);
    const usage = { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
    yield { type: 'message_start', id: 'm' + n, model: 'm', usage };
    const blocks = [{ type: 'text', text: 'step ' + n }, { type: 'tool_use', id: 'w' + ++n, name: 'Write', input: { file_path: 'f' + n, content: 'x'.repeat(n % 5000) } }, { type: 'tool_use', id: 'r' + ++n, name: 'Read', input: { file_path: 'seed.txt' } }, { type: 'tool_use', id: 's' + ++n, name: 'Read', input: { file_path: 'seed.txt' } }];
    for (const [index, block] of blocks.entries()) { yield { type: 'content_block_start', index, block }; yield { type: 'content_block_stop', index, block }; }
    yield { type: 'message_delta', stop_reason: 'tool_use', usage };
    yield { type: 'message_stop' };
  },
}) });
const all = { 'targets/host': host, 'guards/rules': rules, 'guards/workspace': workspace, 'guards/protected-paths': protectedPaths, 'modes/accept-edits': acceptEdits, 'tools/read': read, 'tools/write': write, 'stores/sessions': store, 'test/model': model };
const layer = { layer: 'built-in', file: '(test)', hash: '', problems: [], value: { mode: 'acceptEdits', plugins: Object.fromEntries(Object.keys(all).map((k) => [k, true])) }, origin: () => makeOrigin('built-in', '(test)') };
const base = { builtins: { version: '0', layer: async () => layer, plugin: async (k) => all[k], names: async () => Object.keys(all), face: async () => { throw new Error('none'); } }, env: { HOME: home }, home, policy: { main: dir + '/none', folder: dir + '/none', owner: null } };
const opener = createOpener(base, undefined);
const session = await opener.open({ cwd: dir, host: { asks: [] }, overlay: { model: 'test/m' }, ...(resume ? { resume } : {}) });
process.stdout.write('open ' + session.id + '\\n');
void (async () => { for await (const e of session.events()) if (e.type === 'message') process.stdout.write('ack ' + e.message.uuid + '\\n'); })();
await session.submit('go').turn;
process.exit(8);
`;

test('a hundred kills: the session opens again, no acknowledged message is lost, the next request is valid', async (t) => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'tappet-kill-')));
  t.after(() => rmSync(base, { recursive: true, force: true, maxRetries: 3 }));
  const dir = join(base, 'project');
  const home = join(base, 'home');
  for (const d of [dir, home]) mkdirSync(d);
  const { writeFileSync } = await import('node:fs');
  writeFileSync(join(dir, 'seed.txt'), 'seed\n');
  const child = await bundle(CHILD, base);
  const acknowledged = new Set<string>();
  let session = '';
  // A fixed sequence of pseudo-random instants: which message, and how many turns of the event loop behind it.
  let seed = 20261130;
  const random = (below: number): number => { seed = (seed * 1103515245 + 12345) % 2147483648; return seed % below; };
  for (let round = 0; round < 100; round++) {
    const after = random(12);
    const spins = random(20);
    const code = await new Promise<string>((resolve) => {
      const p = spawn(process.execPath, [child, dir, home, session], { stdio: ['ignore', 'pipe', 'inherit'] });
      let text = '';
      let acks = 0;
      let killing = false;
      const kill = (left: number): void => { if (left === 0) p.kill('SIGKILL'); else setImmediate(() => kill(left - 1)); };
      p.stdout.on('data', (d: Buffer) => {
        text += d.toString();
        for (let nl = text.indexOf('\n'); nl >= 0; nl = text.indexOf('\n')) {
          const [word, id] = text.slice(0, nl).split(' ') as [string, string];
          text = text.slice(nl + 1);
          if (word === 'open') session = id;
          else { acknowledged.add(id); acks++; }
        }
        if (!killing && session !== '' && acks >= after) { killing = true; kill(spins); }
      });
      p.on('exit', (c, signal) => resolve(signal ?? String(c)));
    });
    assert.equal(code, 'SIGKILL', `round ${round}: the process ended by itself with ${code} (9: an invalid request)`);
    const root = join(home, '.local/state/tappet/projects');
    const file = readdirSync(root).map((slug) => join(root, slug, 'sessions', `${session}.jsonl`))[0]!;
    const lines = readFileSync(file, 'utf8').split('\n').flatMap((l): Line[] => { try { return l === '' ? [] : [JSON.parse(l) as Line]; } catch { return []; } });
    const ids = new Set(lines.map((l) => ('uuid' in l ? l.uuid : '')));
    for (const id of acknowledged) assert.ok(ids.has(id as never), `round ${round}: the acknowledged message ${id} is lost`);
    const restored = restore(lines, undefined)!;
    assert.ok(restored.messages.length >= acknowledged.size, `round ${round}: the chain is broken`);
    assert.doesNotThrow(() => normalize(restored.messages));
  }
  assert.ok(acknowledged.size > 200);
});
