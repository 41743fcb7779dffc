/** The model where no other can be used: fixed rules that turn plain English into tool calls, and answer from their results alone. */
import { definePlugin, faultError, NO_USAGE } from 'tappet/kernel';
import type { ModelEvent, ModelRequest } from 'tappet/kernel';
import { blockEvents, roughTokens } from 'tappet/kit';

const PROVIDER = 'offline';
const MODEL = 'rules';

export default definePlugin({
  name: 'models/offline',
  api: 1,
  apply({ registries }) {
    registries.modelProviders.add({
      name: PROVIDER,
      kind: 'stand-in',
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
  const { answer, placeOf } = await import('./answer.ts'); // most starts never need the grammar
  const blocks = answer(request);
  const usage = { ...NO_USAGE, input_tokens: Math.max(1, roughTokens(request.messages.reduce((n, m) => n + m.bytes.length, 0) + request.system.reduce((n, b) => n + b.text.length, 0))) };
  yield { type: 'message_start', id: `msg_offline_${placeOf(request)}`, model: `${PROVIDER}/${MODEL}`, usage };
  let written = 0;
  for (const [index, block] of blocks.entries()) {
    written += JSON.stringify(block).length;
    for (const event of blockEvents(block, index)) { stop(); yield event; }
  }
  stop();
  yield { type: 'message_delta', stop_reason: blocks.some((b) => b.type === 'tool_use') ? 'tool_use' : 'end_turn', usage: { ...usage, output_tokens: roughTokens(written) } };
  yield { type: 'message_stop' };
}
