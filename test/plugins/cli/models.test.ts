import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import models from '../../../plugins/cli/models/index.ts';
import { collect } from '../../contracts/collect.ts';
import { FAULT_KINDS } from 'tappet/schemas';
import type { Io, KernelView, ModelProvider, SubcommandContext } from 'tappet/schemas';
import { cliPlace } from '../../support/cli.ts';
import { mockOpenai, peerReply, refuse } from '../../support/mock-openai.ts';
import type { OpenaiMock } from '../../support/mock-openai.ts';

const KEY = 'sk-test-4f9a1c77e0b2d3-secret';
const PLUGINS = ['keys/store', 'models/anthropic', 'models/openai', 'models/gemini', 'models/offline', 'cli/parse', 'cli/models'];
const CONFIG = '~/.config/tappet/config.yaml';
const at = (t: TestContext, config = '', plugins = PLUGINS) => cliPlace(t, { plugins, layer: 'mode: default', ...(config === '' ? {} : { files: { [CONFIG]: config } }) });

async function openai(t: TestContext, script: Parameters<typeof mockOpenai>[0]): Promise<OpenaiMock> {
  const mock = await mockOpenai(script, { key: KEY });
  t.after(() => mock.close());
  return mock;
}
const ok = peerReply({ blocks: [{ text: 'ok' }] }, 'chat');
/** A provider whose models are faults. */
const FAULTY = `
import { definePlugin, faultError } from 'tappet/kernel';
export default definePlugin({
  name: 'acme/faulty', api: 1,
  apply: ({ registries }) => registries.modelProviders.add({
    name: 'faulty', models: () => [], available: async () => null, encode: () => new Uint8Array(),
    async *stream({ model }) { throw faultError({ kind: model, message: 'it is so', provider: 'faulty', model, transient: false, status: 418, requestId: 'req_1', retryAfterMs: 1500 }); },
  }),
});`;

// ---- list ------------------------------------------------------------------------------------------------------------------

test('the list says who can be used, where the key is, why not, and who answers', async (t) => {
  const p = await at(t);
  const { code, out } = await p.run(['models', 'list'], { env: { GEMINI_API_KEY: KEY } });
  assert.equal(code, 0);
  assert.match(out, /^anthropic +not usable +.*ANTHROPIC_API_KEY.* is not set/m);
  assert.match(out, /^gemini +usable +the variable GEMINI_API_KEY$/m);
  assert.match(out, /^answers +gemini\/\S+ \(the first provider that can be used/m);
  assert.match(out, /^gemini\/gemini-2\.5-pro +1,048,576 +65,536 +1\.25 +10 +0\.125 +-/m);
  assert.doesNotMatch(out, /^anthropic\//m);
  assert.match(out, /models of 3 more providers: --all/);
  assert.match((await p.run(['models', 'list', '--all'])).out, /^anthropic\/\S*sonnet\S* .* sonnet/m);
  assert.ok(!out.includes(KEY));
});

test('the list in JSON has the same facts and all models', async (t) => {
  const p = await at(t, 'model: sonnet\n');
  const { answers, providers } = await p.json(['models', 'list'], { env: { OPENAI_API_KEY: KEY } });
  assert.deepEqual(providers.map((r: { name: string; usable: boolean }) => [r.name, r.usable]), [['anthropic', false], ['openai', true], ['local', false], ['gemini', false], ['offline', true]]);
  assert.equal(providers[1].key, 'the variable OPENAI_API_KEY');
  assert.equal(providers[1].plugin, 'models/openai');
  assert.ok(providers[0].models.some((m: { aliases?: string[]; contextWindow: number }) => m.aliases?.includes('sonnet') && m.contextWindow > 0));
  assert.match(answers.unconfigured, /^openai\//);
  assert.match(answers.configured.model, /^anthropic\/claude-/);
  assert.match(answers.configured.why, /ANTHROPIC_API_KEY/);
  assert.deepEqual([answers.configured.said, answers.configured.origin.line], ['sonnet', 1]);
});

test('a configured model is shown with its place, also when nobody knows it', async (t) => {
  const p = await at(t, 'model: offline/rules\n');
  assert.match((await p.run(['models', 'list'])).out, /^answers +offline\/rules \(model: offline\/rules, said at ~\/\.config\/tappet\/config\.yaml:1:8\)$/m);
  await p.file(CONFIG, 'model: nobody/knows\n');
  assert.match((await p.run(['models', 'list'])).out, /^answers +nothing \(model: nobody\/knows.*but: no provider is named "nobody"/m);
});

test('keys from a helper, a header of one\'s own and a file are shown by their place alone, and one that fails by its reason', async (t) => {
  const p = await at(t, `providers:
  anthropic: { headers: { Authorization: 'Bearer ${KEY}' } }
  openai: { keyHelper: 'echo ${KEY}' }
  gemini: { keyHelper: 'echo ${KEY}; exit 3' }
`);
  const { providers } = await p.json(['models', 'list']);
  const keys = Object.fromEntries(providers.map((r: { name: string; key: string | null }) => [r.name, r.key]));
  assert.equal(keys.anthropic, 'providers.anthropic.headers');
  assert.equal(keys.openai, 'the output of keyHelper');
  assert.match(keys.gemini, /exit code is 3/);
  assert.equal(keys.offline, null);
  for (const argv of [['models', 'list', '--all'], ['models', 'list', '--json']]) {
    const { out, err } = await p.run([...argv, '--debug']);
    assert.ok(!`${out}${err}`.includes(KEY));
  }
});

test('without a plugin that keeps keys the list still stands', async (t) => {
  const p = await at(t, '', ['models/openai', 'models/offline', 'cli/parse', 'cli/models']);
  assert.match((await p.run(['models', 'list'])).out, /^offline +usable +-$/m);
});

// ---- test ------------------------------------------------------------------------------------------------------------------

test('a request that is answered shows its times, its answer and its tokens', async (t) => {
  const mock = await openai(t, [ok]);
  const p = await at(t, `providers: { openai: { baseUrl: '${mock.url}', options: { wire: chat } } }\nmodel: openai/gpt-4o\n`);
  const { code, out, err } = await p.run(['models', 'test'], { env: { OPENAI_API_KEY: KEY } });
  assert.equal(code, 0, err);
  assert.match(out, /^model +openai\/gpt-4o$/m);
  assert.match(out, /^first byte +\d+ ms$/m);
  assert.match(out, /^answer +ok$/m);
  assert.match(out, /^tokens +40 in, 20 out, 60 from the cache$/m);
  assert.equal(mock.asked().length, 1);
  const { body } = mock.asked()[0]!;
  assert.ok(JSON.stringify(body).length < 500, 'it is tiny');
  const said = await p.json(['models', 'test', 'openai/gpt-4o'], { env: { OPENAI_API_KEY: KEY } });
  assert.deepEqual([said.ok, said.answer, said.stopReason, said.usage.output_tokens], [true, 'ok', 'end_turn', 20]);
});

test('a refused key is told by the name of the fault, and ends with 1', async (t) => {
  const mock = await openai(t, [ok]);
  const p = await at(t, `providers: { openai: { baseUrl: '${mock.url}', options: { wire: chat } } }\n`);
  // A server of this machine is asked what it serves first: it must not be the one to refuse.
  const wrong = { env: { OPENAI_API_KEY: 'wrong-key-wrong-key' } };
  const listed = await p.run(['models', 'test', 'openai/gpt-4o'], wrong);
  assert.equal(listed.code, 4);
  assert.match(listed.err, /fault +unusable[\s\S]*refuses the key[\s\S]*tappet login openai/);

  const quota = await openai(t, [refuse(429, `You exceeded your quota, ${KEY}`, { code: 'insufficient_quota', type: 'insufficient_quota' })]);
  await p.file(CONFIG, `providers: { openai: { baseUrl: '${quota.url}', options: { wire: chat } } }\n`);
  const { code, out, err } = await p.run(['models', 'test', 'openai/gpt-4o'], { env: { OPENAI_API_KEY: KEY } });
  assert.deepEqual([code, out], [1, '']);
  assert.match(err, /^fault +quota, HTTP 429/m);
  assert.match(err, /^do +the account has no credit left/m);
  assert.ok(!err.includes(KEY));
});

test('every fault has its name, its own advice and its exit code', async (t) => {
  const p = await at(t);
  await p.file('own/faulty.mjs', FAULTY);
  const advice = new Set<string>();
  for (const kind of FAULT_KINDS) {
    const { code, out } = await p.run(['models', 'test', `faulty/${kind}`, '--plugin-dir', 'own', '--json']);
    const said = JSON.parse(out);
    assert.equal(said.fault.kind, kind);
    assert.equal(code, ['connection', 'timeout_first_byte', 'timeout_between_bytes'].includes(kind) ? 4 : 1);
    assert.ok(!said.do.includes('PROVIDER'));
    advice.add(said.do);
  }
  assert.equal(advice.size, FAULT_KINDS.length);
  assert.match((await p.run(['models', 'test', 'faulty/overloaded', '--plugin-dir', 'own'])).err, /^fault +overloaded, HTTP 418, request req_1, again in 2 s$/m);
});

test('a model that cannot be used costs no request, and ends with 4', async (t) => {
  const p = await at(t);
  const { code, err } = await p.run(['models', 'test', 'openai/gpt-4o']);
  assert.equal(code, 4);
  assert.match(err, /because +OPENAI_API_KEY is not set/);
  assert.match(err, /do +store a key \(`tappet login openai`\), or set OPENAI_API_KEY/);
  const nothing = await at(t, '', ['keys/store', 'models/openai', 'cli/parse', 'cli/models']);
  const { code: none, err: why } = await nothing.run(['models', 'test']);
  assert.equal(none, 4);
  assert.match(why, /E_MODEL_UNAVAILABLE/);
});

test('an unknown model gets the nearest known one', async (t) => {
  const p = await at(t);
  const { code, err } = await p.run(['models', 'test', 'openia/gpt-4o']);
  assert.equal(code, 2);
  assert.match(err, /did you mean "openai\/gpt-4o"/);
  assert.match((await p.run(['models', 'test', 'offline/rules', 'more'])).err, /does not know what to do with "more"/);
});

test('an alias goes to a provider that can be used, an unknown id to the first one', async (t) => {
  const mock = await openai(t, [ok]);
  const p = await at(t, `providers: { openai: { baseUrl: '${mock.url}', options: { wire: chat } } }\nmodels: { openai/own: { id: the-real-id, aliases: [fast] } }\n`);
  const env = { env: { OPENAI_API_KEY: KEY } };
  assert.equal((await p.json(['models', 'test', 'fast'], env)).model, 'openai/the-real-id');
  assert.equal((await p.json(['models', 'test', 'brand-new'], env)).model, 'openai/brand-new');
});

test('an interrupt ends the request and the command', async () => {
  const { subcommands } = await collect(models);
  let stop: ((signal: 'SIGINT') => void) | undefined;
  let signals = 0;
  const provider: ModelProvider = {
    name: 'slow', models: () => [], available: async () => null, encode: () => new Uint8Array(),
    async *stream(_, signal) {
      stop!('SIGINT');
      signals += signal.aborted ? 1 : 0;
      signal.throwIfAborted();
      yield { type: 'message_stop' };
    },
  };
  const io = { onInterrupt: (fn: typeof stop) => { stop = fn; return () => { stop = undefined; }; } } as unknown as Io;
  const kernel = { chooseModel: async () => ({ provider, id: 'x', name: 'slow/x', info: undefined }), config: { settings: {} } } as unknown as KernelView;
  assert.equal(await subcommands[0]!.run({ verb: 'test', args: ['slow/x'], options: {}, json: false, io, kernel } as unknown as SubcommandContext), 130);
  assert.deepEqual([signals, stop], [1, undefined]);
});
