/** The provider before a strict mock, for the tests of this folder. */
import type { TestContext } from 'node:test';
import type { Block, ModelEntry, ModelProvider, ModelRequest, NormalizedMessage, ProviderSettings } from 'tappet/schemas';
import { collect } from '../../../contracts/collect.ts';
import { hear, requestTo } from '../../../contracts/model-provider.ts';
import type { Heard } from '../../../contracts/model-provider.ts';
import gemini from '../../../../plugins/models/gemini/index.ts';
import { mockGemini } from '../../../support/mock-gemini.ts';
import type { GeminiMock, GeminiRules } from '../../../support/mock-gemini.ts';
import type { Reply, Seen } from '../../../support/mock-server.ts';

export interface Stand { readonly provider: ModelProvider; readonly mock: GeminiMock; ask(messages?: readonly NormalizedMessage[], more?: Partial<ModelRequest>): Promise<Heard> }
export interface StandOptions { readonly model?: string; readonly settings?: ProviderSettings; readonly models?: Readonly<Record<string, ModelEntry>>; readonly env?: Readonly<Record<string, string>>; readonly rules?: GeminiRules }

export async function stand(t: TestContext, script: readonly Reply[] | ((seen: Seen, n: number) => Reply), o: StandOptions = {}): Promise<Stand> {
  const mock = await mockGemini(script, o.rules);
  t.after(() => mock.close());
  const { modelProviders } = await collect(gemini, { env: o.env ?? { GEMINI_API_KEY: 'gm-test-1' }, settings: { providers: { gemini: { baseUrl: mock.url, ...o.settings } }, models: o.models ?? {} } });
  const provider = modelProviders[0]!;
  return { provider, mock, ask: (messages = HELLO, more = {}) => hear(provider, requestTo(provider, o.model ?? 'gemini-3.8-flash', messages, more)) };
}

export const text = (words: string): Block => ({ type: 'text', text: words });
export const user = (...content: Block[]): NormalizedMessage => ({ role: 'user', content });
export const assistant = (...content: Block[]): NormalizedMessage => ({ role: 'assistant', content });
export const HELLO = [user(text('Hello'))];
/** The blocks of an answer, and a result for each of its calls. */
export const answered = (heard: Heard): NormalizedMessage[] => {
  const results = heard.blocks.flatMap((b): Block[] => (b.type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: b.id, content: 'done' }] : []));
  return [assistant(...heard.blocks), user(...(results.length === 0 ? [text('go on')] : results))];
};
export const stopOf = (heard: Heard): string | undefined => heard.events.flatMap((e) => (e.type === 'message_delta' ? [e.stop_reason] : []))[0];
export const notices = (heard: Heard): readonly string[] => heard.events.flatMap((e) => (e.type === 'notice' ? [e.text] : []));
