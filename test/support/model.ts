/** A model for tests of the kernel: it says, request by request, what the test tells it to. */
import { definePlugin, faultError } from 'tappet/kernel';
import type { Block, ModelEvent, ModelFault, ModelRequest, NormalizedMessage } from '../../schemas/index.ts';

export interface Step {
  readonly say?: string;
  readonly call?: readonly { readonly name: string; readonly input: Record<string, unknown>; readonly id?: string; readonly inputError?: { why: string; raw: string } }[];
  readonly stop?: string;
  readonly fault?: Partial<ModelFault>;
  /** The stream ends without its end. */
  readonly cut?: boolean;
  readonly usage?: { readonly input?: number; readonly output?: number };
  /** Waited for before anything is said. */
  readonly wait?: (signal: AbortSignal) => Promise<void>;
  /** Waited for after the first block. */
  readonly pause?: (signal: AbortSignal) => Promise<void>;
}

export function testModel(given: readonly (Step | ((request: ModelRequest) => Step))[]) {
  const steps = [...given];
  const requests: ModelRequest[] = [];
  let ids = 0;
  const plugin = definePlugin({
    name: 'test/model', api: 1,
    apply: ({ registries }) => registries.modelProviders.add({
      name: 'test',
      models: () => [{ id: 'model', contextWindow: 100_000, maxOutputTokens: 4000, prices: { input: 1, output: 10 } }],
      available: async () => null,
      encode: (m: NormalizedMessage) => new TextEncoder().encode(JSON.stringify(m)),
      stream: (request, signal) => stream(request, signal),
    }),
  });
  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent> {
    requests.push(request);
    const next = steps.shift();
    const step = typeof next === 'function' ? next(request) : next ?? { say: 'done' };
    await step.wait?.(signal);
    if (signal.aborted) throw signal.reason;
    const usage = { input_tokens: step.usage?.input ?? 10, output_tokens: step.usage?.output ?? 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
    if (step.fault !== undefined && step.say === undefined && step.call === undefined) throw fault(step.fault);
    yield { type: 'message_start', id: `msg_${requests.length}`, model: 'model', usage };
    const blocks: Block[] = [...(step.say === undefined ? [] : [{ type: 'text' as const, text: step.say }]), ...(step.call ?? []).map((c) => ({ type: 'tool_use' as const, id: c.id ?? `call_${++ids}`, name: c.name, input: c.input, ...(c.inputError === undefined ? {} : { inputError: c.inputError }) }))];
    for (const [index, block] of blocks.entries()) {
      yield { type: 'content_block_start', index, block: block.type === 'text' ? { type: 'text', text: '' } : { ...block, input: {} } as Block };
      if (block.type === 'text') yield { type: 'content_block_delta', index, delta: { type: 'text_delta', text: block.text } };
      yield { type: 'content_block_stop', index, block };
      if (index === 0) await step.pause?.(signal);
      if (signal.aborted) throw signal.reason;
    }
    if (step.fault !== undefined) throw fault(step.fault);
    if (step.cut === true) return;
    yield { type: 'message_delta', stop_reason: step.stop ?? (step.call !== undefined && step.call.length > 0 ? 'tool_use' : 'end_turn'), usage };
    yield { type: 'message_stop' };
  }
  const fault = (f: Partial<ModelFault>) => faultError({ kind: 'server_error', message: 'it broke', provider: 'test', model: 'model', transient: false, ...f });
  return { plugin, requests, drain: () => { steps.length = 0; }, push: (...more: (Step | ((request: ModelRequest) => Step))[]) => { steps.push(...more); } };
}
