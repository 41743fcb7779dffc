/** The model where no other can be used: fixed rules that turn plain English into tool calls, and answer from their results alone. */
import { createHash } from 'node:crypto';
import { definePlugin, faultError, NO_USAGE } from 'tappet/kernel';
import type { Block, ModelEvent, ModelRequest } from 'tappet/kernel';
import { blockEvents, roughTokens } from 'tappet/kit';
import { readTalk, workingFolder } from './conversation.ts';
import { nextStep, WHO } from './perform.ts';
import { isSummaryRequest, summarize } from './summary.ts';

const PROVIDER = 'offline';
const MODEL = 'rules';

export default definePlugin({
  name: 'models/offline',
  api: 1,
  apply({ registries }) {
    registries.modelProviders.add({
      name: PROVIDER,
      models: () => [{ id: MODEL, contextWindow: 1_000_000, maxOutputTokens: 100_000, prices: { input: 0, output: 0 }, can: ['tools'] }],
      available: async () => null,
      encode: (message) => new TextEncoder().encode(JSON.stringify(message)),
      stream,
    });
  },
});

async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, void, void> {
  const stop = (): void => { if (signal.aborted) throw faultError({ kind: 'aborted', message: 'interrupted', provider: PROVIDER, model: request.model, transient: false }); };
  stop();
  if (request.model !== MODEL) throw faultError({ kind: 'not_found', message: `there is no such model here; the only one is ${PROVIDER}/${MODEL}`, provider: PROVIDER, model: request.model, transient: false });
  const blocks = answer(request);
  const usage = { ...NO_USAGE, input_tokens: Math.max(1, roughTokens(request.messages.reduce((n, m) => n + m.bytes.length, 0) + request.system.reduce((n, b) => n + b.text.length, 0))) };
  yield { type: 'message_start', id: `msg_offline_${digest(request)}`, model: `${PROVIDER}/${MODEL}`, usage };
  let written = 0;
  for (const [index, block] of blocks.entries()) {
    written += JSON.stringify(block).length;
    for (const event of blockEvents(block, index)) { stop(); yield event; }
  }
  stop();
  yield { type: 'message_delta', stop_reason: blocks.some((b) => b.type === 'tool_use') ? 'tool_use' : 'end_turn', usage: { ...usage, output_tokens: roughTokens(written) } };
  yield { type: 'message_stop' };
}

function answer(request: ModelRequest): readonly Block[] {
  const messages = request.messages.map((m) => m.message);
  const talk = readTalk(messages, WHO);
  const prompt = talk.prompts.at(-1) ?? '';
  if (request.tools.length === 0 && isSummaryRequest(prompt)) return [{ type: 'text', text: summarize(messages) }];
  const { say, calls } = nextStep(talk, { tools: new Set(request.tools.map((t) => t.name)), cwd: workingFolder(request) });
  const id = digest(request);
  return [...(say === '' ? [] : [{ type: 'text' as const, text: say }]), ...calls.map((call, i) => ({ type: 'tool_use' as const, id: `toolu_offline_${id}_${i + 1}`, name: call.name, input: call.input }))];
}

/** The same for the same place in the same conversation, and no other. */
const digest = ({ sessionId, turnId, messages }: ModelRequest): string =>
  createHash('sha256').update(`${sessionId} ${turnId} ${messages.length} `).update(messages.at(-1)?.bytes ?? '').digest('hex').slice(0, 12);
