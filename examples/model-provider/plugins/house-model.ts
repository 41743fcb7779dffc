/**
 * The provider `house`: a model server with a small language of its own. It is asked with `POST /answer` and
 *   { model, system, messages: [{ role, parts: [{ text } | { call, id, input } | { result, id, failed }] }], tools: [{ name, description, schema }] }
 * and answers `{ text, calls: [{ name, input }], tokens: { in, out } }`, in one piece. Servers that stream want more care: plugins/models of Tappet itself show it.
 */
import { randomUUID } from 'node:crypto';
import { definePlugin, faultError } from 'tappet/kernel';
import type { Block, FaultKind, ModelEvent, ModelFault, ModelInfo, ModelProvider, ModelRequest, NormalizedMessage, Scope } from 'tappet/kernel';
import { blockEvents, clientOptions, countOf, createHttpClient, isRecord, mergeModels, providerAccess, retryAfter, textOf, transportFault } from 'tappet/kit';

const NAME = 'house';
/** What is true of a model that nobody described. The loop needs it to know when a conversation gets too long. */
const UNKNOWN = { contextWindow: 32_000, maxOutputTokens: 4_000, can: ['tools'] } satisfies Omit<ModelInfo, 'id'>;

export default definePlugin({
  name: 'acme/house-model',
  api: 1,
  apply(scope) {
    const { provider, close } = createProvider(scope);
    scope.registries.modelProviders.add(provider);
    // Whoever opens something registers its closing at once.
    scope.own(close);
  },
});

function createProvider({ settings, env, services }: Scope): { readonly provider: ModelProvider; readonly close: () => void } {
  // How it is reached stands under `providers.house`: address, key, proxy, certificates, times. The kit's client honours all of it.
  const said = settings.get().providers[NAME];
  const http = createHttpClient(clientOptions({ provider: NAME, settings: said, baseUrl: said?.baseUrl ?? 'http://127.0.0.1:9999', env }));
  // The key: a variable, a helper's output, what `tappet login house` stored. Asked for anew with each request, never held here.
  const access = providerAccess({ provider: NAME, settings: said, env, needed: true, keys: () => services.get('keys') });

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, void, void> {
    // A named fault lets the loop, and `models/fallback`, decide what to do; an unnamed one ends the turn. The key must stand in none.
    const fail = (fault: Omit<ModelFault, 'provider' | 'model'>, cause?: unknown): Error => faultError({ provider: NAME, model: request.model, ...fault, message: access.hide(fault.message) }, cause);
    try {
      for (let again = false; ; again = true) {
        const key = await access.key(signal);
        if ('fault' in key) throw fail(key.fault);
        const { status, headers, text, body } = await http.json({
          path: '/answer', headers: { 'content-type': 'application/json', ...(key.found === null ? {} : { authorization: `Bearer ${key.found.key}` }) }, body: bodyOf(request), signal, model: request.model,
        });
        if (status === 200) { yield* eventsOf(body, request.model, (message) => fail({ kind: 'broken_stream', message, transient: true })); return; }
        const kind = kindOf(status);
        // A helper may have a newer key by now.
        if (kind === 'auth' && !again && await access.another(key.found, signal)) continue;
        throw fail({ kind, message: textOf(isRecord(body) ? body.error : undefined) ?? text.slice(0, 300), transient: kind === 'rate_limit' || kind === 'server_error', status, ...retryAfter(headers) });
      }
    } catch (e) {
      const fault = transportFault(e);
      throw fault === null ? e : fail(fault, e);
    }
  }

  return {
    close: () => http.close(),
    provider: {
      name: NAME,
      models: () => mergeModels(NAME, [{ id: 'house-1', aliases: ['house'], ...UNKNOWN, prices: { input: 0.5, output: 2 } }], settings.get().models, UNKNOWN),
      // Why it cannot be used as things are. Where no model is configured the first provider that says `null` answers.
      available: () => access.missing(),
      // Called once for each message; the loop keeps the bytes. What must be made anew for every request stays out of it.
      encode: (message) => Buffer.from(JSON.stringify({ role: message.role, parts: partsOf(message) })),
      stream,
    },
  };
}

const kindOf = (status: number): FaultKind => (status === 401 || status === 403 ? 'auth' : status === 404 ? 'not_found' : status === 413 ? 'context_too_long' : status === 429 ? 'rate_limit' : status >= 500 ? 'server_error' : 'invalid_request');

/** A head, the messages' own bytes, a tail. */
function bodyOf({ model, system, messages, tools }: ModelRequest): Uint8Array[] {
  const head = JSON.stringify({ model, system: system.map((b) => b.text).join('\n\n'), tools: tools.map((t) => ({ name: t.name, description: t.description, schema: t.input_schema })) });
  return [Buffer.from(`${head.slice(0, -1)},"messages":[`), ...messages.flatMap((m, i) => (i === 0 ? [m.bytes] : [Buffer.from(','), m.bytes])), Buffer.from(']}')];
}

/** What the server has no word for is said in words or left out: pictures, and what other vendors signed. */
function partsOf({ content }: NormalizedMessage): object[] {
  return content.flatMap((b): object[] => {
    switch (b.type) {
      case 'text': return [{ text: b.text }];
      case 'tool_use': return [{ call: b.name, id: b.id, input: b.input }];
      case 'tool_result': return [{ result: typeof b.content === 'string' ? b.content : b.content.map((c) => (c.type === 'text' ? c.text : `[${c.type}]`)).join('\n'), id: b.tool_use_id, failed: b.is_error === true }];
      case 'image': case 'document': return [{ text: `[a ${b.type} that this model cannot see]` }];
      default: return [];
    }
  });
}

/** One shape for all vendors: blocks one after the other, then why it ended and what it took. An answer that is none is a fault, never an empty success. */
function* eventsOf(body: unknown, model: string, broken: (message: string) => Error): Generator<ModelEvent, void, void> {
  if (!isRecord(body)) throw broken('the answer is no JSON object');
  const calls = Array.isArray(body.calls) ? body.calls : [];
  const blocks: Block[] = [
    ...(textOf(body.text) === undefined ? [] : [{ type: 'text' as const, text: String(body.text) }]),
    ...calls.map((call: unknown) => {
      if (!isRecord(call) || typeof call.name !== 'string' || !isRecord(call.input)) throw broken('a call in the answer has no name or no input');
      return { type: 'tool_use' as const, id: `call_${randomUUID()}`, name: call.name, input: call.input };
    }),
  ];
  if (blocks.length === 0) throw broken('the answer has neither words nor calls');
  const tokens = isRecord(body.tokens) ? body.tokens : {};
  const usage = { input_tokens: countOf(tokens.in), output_tokens: countOf(tokens.out), cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
  yield { type: 'message_start', id: `msg_${randomUUID()}`, model, usage: { ...usage, output_tokens: 0 } };
  for (const [index, block] of blocks.entries()) yield* blockEvents(block, index);
  yield { type: 'message_delta', stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn', usage };
  yield { type: 'message_stop' };
}
