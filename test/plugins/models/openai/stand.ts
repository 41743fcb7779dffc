/** A provider before a strict mock, for the tests of this folder. */
import type { TestContext } from 'node:test';
import type { ModelEntry, ModelProvider, ModelRequest, NormalizedMessage, Block, ProviderSettings } from 'tappet/schemas';
import { collect } from '../../../contracts/collect.ts';
import { hear, requestTo } from '../../../contracts/model-provider.ts';
import type { Heard } from '../../../contracts/model-provider.ts';
import openai from '../../../../plugins/models/openai/index.ts';
import { mockOpenai } from '../../../support/mock-openai.ts';
import type { OpenaiMock, OpenaiRules } from '../../../support/mock-openai.ts';
import type { Reply, Seen } from '../../../support/mock-server.ts';

export interface Stand { readonly provider: ModelProvider; readonly mock: OpenaiMock; ask(messages?: readonly NormalizedMessage[], more?: Partial<ModelRequest>): Promise<Heard> }
export interface StandOptions { readonly wire?: 'responses' | 'chat'; readonly model?: string; readonly settings?: ProviderSettings; readonly models?: Readonly<Record<string, ModelEntry>>; readonly env?: Readonly<Record<string, string>>; readonly rules?: OpenaiRules; /** The name of the entry. */ readonly name?: string }

export async function stand(t: TestContext, script: readonly Reply[] | ((seen: Seen, n: number) => Reply), o: StandOptions = {}): Promise<Stand> {
  const mock = await mockOpenai(script, o.rules);
  t.after(() => mock.close());
  const name = o.name ?? 'openai';
  const { options, ...settings } = o.settings ?? {};
  const { modelProviders } = await collect(openai, {
    env: o.env ?? { OPENAI_API_KEY: 'sk-test-1' },
    settings: { providers: { [name]: { baseUrl: mock.url, ...settings, options: { ...(o.wire === undefined ? {} : { wire: o.wire }), ...options } } }, models: o.models ?? {} },
  });
  const provider = modelProviders.find((p) => p.name === name)!;
  return { provider, mock, ask: (messages = HELLO, more = {}) => hear(provider, requestTo(provider, o.model ?? 'gpt-5', messages, more)) };
}

export const text = (words: string): Block => ({ type: 'text', text: words });
export const user = (...content: Block[]): NormalizedMessage => ({ role: 'user', content });
export const assistant = (...content: Block[]): NormalizedMessage => ({ role: 'assistant', content });
export const HELLO = [user(text('Hello'))];
/** The blocks of an answer, and a result for each of its calls. */
export const answered = (heard: Heard): NormalizedMessage[] => [
  assistant(...heard.blocks), user(...heard.blocks.flatMap((b): Block[] => (b.type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: b.id, content: 'done' }] : [])), text('go on')),
];
export const stopOf = (heard: Heard): string | undefined => heard.events.flatMap((e) => (e.type === 'message_delta' ? [e.stop_reason] : []))[0];
export const notices = (heard: Heard): readonly string[] => heard.events.flatMap((e) => (e.type === 'notice' ? [e.text] : []));
