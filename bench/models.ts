/** What the wires of the vendors cost: the way to the first request, an answer in pieces, the body of a long conversation; and how much of it a server's cache knows again. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { sseEvents } from 'tappet/kit';
import type { EncodedMessage, ModelEvent, ModelInfo, ModelRequest, NormalizedMessage } from 'tappet/schemas';
import { bodyOf, toolsJson } from '../plugins/models/anthropic/body.ts';
import { encode } from '../plugins/models/anthropic/encode.ts';
import { answerEvents, answerObjects } from '../plugins/models/anthropic/stream.ts';
import { geminiEvents } from '../plugins/models/gemini/answer.ts';
import { bodiesWith } from '../plugins/models/gemini/bodies.ts';
import { bodiesFor } from '../plugins/models/openai/bodies.ts';
import { chatEvents } from '../plugins/models/openai/chat.ts';
import { responsesEvents } from '../plugins/models/openai/responses.ts';
import { serverOf } from '../plugins/models/openai/server.ts';
import { place, run } from './child.ts';
import { LANGUAGES, startPeer } from './peer.ts';
import type { Wire } from './peer.ts';
import type { Row } from './table.ts';
import { median } from './table.ts';

const RUNS = 15;
const WIRES = Object.keys(LANGUAGES) as Wire[];
/** Entry of the configuration, model, and how the key and the address are told. */
const VENDORS: Readonly<Record<Wire, { readonly provider: string; readonly model: string; readonly options?: string; env(url: string): Record<string, string> }>> = {
  anthropic: { provider: 'anthropic', model: 'anthropic/sonnet', env: (url) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'bench' }) },
  responses: { provider: 'openai', model: 'openai/gpt-5', options: 'wire: responses', env: (url) => ({ OPENAI_BASE_URL: url, OPENAI_API_KEY: 'bench' }) },
  chat: { provider: 'openai', model: 'openai/gpt-5', options: 'wire: chat', env: (url) => ({ OPENAI_BASE_URL: url, OPENAI_API_KEY: 'bench' }) },
  gemini: { provider: 'gemini', model: 'gemini/flash', env: (url) => ({ GEMINI_BASE_URL: url, GEMINI_API_KEY: 'bench' }) },
};
/** A line for each, so that all pay for a configuration. */
const config = (wire: Wire, caFile?: string): string => `providers: { ${VENDORS[wire].provider}: { timeouts: { firstByteMs: 60000 }, options: { ${VENDORS[wire].options ?? ''} }${caFile === undefined ? '' : `, caFile: ${caFile}`} } }\n`;

async function firstRequest(wire: Wire, tls?: { key: string; cert: string }): Promise<number> {
  const peer = await startPeer(tls, wire);
  const p = place();
  p.write('~/.config/tappet/config.yaml', config(wire, tls?.cert));
  const all: number[] = [];
  for (let i = 0; i < RUNS + 2; i++) {
    peer.visits.length = 0;
    const ran = await run(p, ['-p', 'hello', '--model', VENDORS[wire].model], VENDORS[wire].env(peer.url));
    if (ran.code !== 0) throw new Error(`${wire}: the run failed (${ran.code}): ${ran.err}`);
    if (i >= 2) all.push(peer.visits[0]!.came - ran.started); // the first runs write the caches
  }
  await peer.close();
  p.remove();
  return median(all);
}

/** Of all bytes of a request, those that the next one begins with: in per cent, over a hundred turns of the built binary. */
async function samePrefix(wire: Wire): Promise<number> {
  const turns = 100;
  const peer = await startPeer(undefined, wire, { keep: true });
  const p = place();
  p.write('~/.config/tappet/config.yaml', config(wire));
  p.write('file.txt', 'a line of text\n'.repeat(20));
  peer.plan = (n) => (n < turns ? { blocks: [{ call: 'Read', input: { file_path: 'file.txt' } }] } : { blocks: [{ text: 'done' }] });
  const ran = await run(p, ['-p', 'go', '--model', VENDORS[wire].model, '--permission-mode', 'bypassPermissions', '--max-turns', String(turns + 5)], { ...VENDORS[wire].env(peer.url), IS_SANDBOX: '1' });
  const bodies = peer.visits.map((v) => Buffer.from(v.text.replaceAll(',"cache_control":{"type":"ephemeral"}', '')));
  await peer.close();
  p.remove();
  if (ran.code !== 0 || bodies.length !== turns + 1) throw new Error(`${wire}: the run failed (${ran.code}, ${bodies.length} requests): ${ran.err.slice(0, 2000)}`);
  const before = bodies.slice(0, -1);
  const same = before.map((body, i) => { const next = bodies[i + 1]!; let at = 0; while (at < body.length && body[at] === next[at]) at++; return at; });
  return (100 * same.reduce((a, b) => a + b, 0)) / before.reduce((sum, body) => sum + body.length, 0);
}

const DELTAS = 10_000;
const answering = { provider: 'bench', model: 'm', tools: [], takenIds: () => new Set<string>(), thinks() {}, fail: (f: { message: string }) => new Error(f.message), failAs: (e: unknown) => new Error(JSON.stringify(e)) };
const READERS: Readonly<Record<Wire, (bytes: AsyncIterable<Uint8Array>) => AsyncIterable<ModelEvent>>> = {
  anthropic: (bytes) => answerEvents(answerObjects(sseEvents(bytes)), answering), responses: (bytes) => responsesEvents(sseEvents(bytes), answering),
  chat: (bytes) => chatEvents(sseEvents(bytes), answering), gemini: (bytes) => geminiEvents(sseEvents(bytes), answering),
};
/** Bytes to events, each piece of the answer in a chunk of its own, as networks deliver it. */
async function deltas(wire: Wire): Promise<number> {
  const text = LANGUAGES[wire].answer({ blocks: [{ text: 'word! '.repeat(DELTAS) }] }, 1);
  const chunks = text.split(/(?<=\n\n)/).map((f) => Buffer.from(f));
  const all: number[] = [];
  for (let i = 0; i < 9; i++) {
    const started = process.cpuUsage();
    let seen = 0;
    for await (const e of READERS[wire]((async function* () { yield* chunks; })())) if (e.type === 'content_block_delta') seen++;
    const { user, system } = process.cpuUsage(started);
    if (i >= 3) all.push(((user + system) / 1000) * (DELTAS / seen));
  }
  return median(all);
}

const INFO: ModelInfo = { id: 'bench', contextWindow: 1_000_000, maxOutputTokens: 64_000, can: ['tools', 'images', 'documents', 'thinking', 'cache', 'effort'] };
const TOOLS = Array.from({ length: 12 }, (_, i) => ({ name: `Tool${i}`, description: 'What it does, and when it is the right one. '.repeat(10), input_schema: { type: 'object', properties: { path: { type: 'string', description: 'a path' }, n: { type: 'integer' } } } }));
const SYSTEM = [{ text: 'You work in a project. '.repeat(200), cacheScope: 'global' as const }, { text: 'It is kept there. '.repeat(50), cacheScope: 'session' as const }];
/** Each makes a body as its provider does, without sending it. */
const BODIES: Readonly<Record<Wire, { encode(m: NormalizedMessage): Uint8Array; make(r: ModelRequest): readonly Uint8Array[] }>> = (() => {
  const openai = (wire: 'responses' | 'chat') => {
    const bodies = bodiesFor(serverOf('openai', { options: { wire } }, {}, () => null));
    const without = new Set<never>();
    return { encode: bodies.encode, make: (r: ModelRequest) => bodies.make(r, INFO, without).parts };
  };
  const gemini = bodiesWith({});
  const tools = new Map<boolean, string>();
  return {
    anthropic: {
      encode: (m) => encode(m),
      make: (request) => bodyOf({ request, model: 'claude-sonnet-5-5', info: INFO, without: new Set(), mostTokens: undefined, staleThinking: new WeakMap(), tools: (list, marked) => { if (!tools.has(marked)) tools.set(marked, toolsJson(list, marked)); return tools.get(marked)!; } }).parts,
    },
    responses: openai('responses'), chat: openai('chat'),
    gemini: { encode: gemini.encode, make: (r) => gemini.make(r, { ...INFO, id: 'gemini-3.8-flash' }, true) },
  };
})();
function bodyCost(wire: Wire, turns: number): { readonly make: number; readonly join: number } {
  const { encode: write, make } = BODIES[wire];
  const messages: EncodedMessage[] = [];
  const add = (message: NormalizedMessage): void => void messages.push({ message, bytes: write(message) });
  add({ role: 'user', content: [{ type: 'text', text: 'Do it.' }] });
  for (let n = 0; n < turns; n++) {
    add({ role: 'assistant', content: [{ type: 'text', text: 'I look at the next one.' }, { type: 'tool_use', id: `call_${n}`, name: 'Tool1', input: { path: `src/file-${n}.ts` } }] });
    add({ role: 'user', content: [{ type: 'tool_result', tool_use_id: `call_${n}`, content: 'a line of the file\n'.repeat(80) }] });
  }
  const request: ModelRequest = { model: 'bench', system: SYSTEM, messages, tools: TOOLS, sessionId: 's', turnId: 't' };
  const once = (what: () => unknown): number => { const started = process.hrtime.bigint(); what(); return Number(process.hrtime.bigint() - started) / 1e6; };
  const rounds = Array.from({ length: 60 }, () => { let parts: readonly Uint8Array[] = []; const made = once(() => { parts = make({ ...request }); }); return { make: made, join: once(() => Buffer.concat(parts)) }; }).slice(20);
  return { make: median(rounds.map((r) => r.make)), join: median(rounds.map((r) => r.join)) };
}

export async function rows(): Promise<readonly Row[]> {
  const p = place();
  const tls = { key: join(p.dir, 'key.pem'), cert: join(p.dir, 'cert.pem') };
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', tls.key, '-out', tls.cert, '-days', '2', '-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'], { stdio: 'ignore' });
  const list: Row[] = [];
  for (const wire of WIRES) {
    list.push({ what: `${wire}: start to first request, HTTP, a line of configuration`, target: 70, reached: await firstRequest(wire), unit: 'ms' });
    list.push({ what: `${wire}: the same over HTTPS with an own authority`, target: 90, reached: await firstRequest(wire, tls), unit: 'ms' });
  }
  p.remove();
  for (const wire of WIRES) list.push({ what: `${wire}: CPU for ${DELTAS} deltas, provider alone`, target: null, reached: await deltas(wire), unit: 'ms' });
  for (const wire of WIRES) {
    for (const turns of [10, 100, 500, 2000]) {
      const { make, join: copy } = bodyCost(wire, turns);
      list.push({ what: `${wire}: body at turn ${turns}`, target: turns === 500 ? 0.5 : null, reached: make, unit: 'ms', note: `and ${copy.toFixed(2)} ms for the copy that is sent` });
    }
  }
  for (const wire of WIRES) {
    const same = await samePrefix(wire);
    list.push({ what: `${wire}: bytes that change of what was sent before, markers apart, over 100 turns`, target: 0.1, reached: 100 - same, unit: '%', note: `${same.toFixed(3)} % stay` });
  }
  return list;
}
