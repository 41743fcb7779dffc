/** The provider against the strict mock, with whatever settings. */
import type { TestContext } from 'node:test';
import type { KeyStore, ModelProvider, ProviderSettings, Settings } from 'tappet/schemas';
import plugin from '../../../../plugins/models/anthropic/index.ts';
import { collect } from '../../../contracts/collect.ts';
import { startMockAnthropic } from '../../../support/mock-anthropic.ts';
import type { MockAnthropic, MockScript } from '../../../support/mock-anthropic.ts';

export const SECRET = 'sk-ant-test-0123456789abcdef';
export interface Bench { readonly mock: MockAnthropic; readonly provider: ModelProvider }
export interface BenchOptions { readonly settings?: ProviderSettings; readonly models?: Settings['models']; readonly env?: Readonly<Record<string, string>>; readonly configFolder?: string; readonly keys?: KeyStore }

export async function provide(baseUrl: string | undefined, o: BenchOptions = {}): Promise<ModelProvider> {
  const { modelProviders } = await collect(plugin, {
    env: o.env ?? { ANTHROPIC_API_KEY: SECRET },
    settings: { providers: { anthropic: { ...(baseUrl === undefined ? {} : { baseUrl }), ...o.settings } }, models: o.models ?? {} },
    ...(o.keys === undefined ? {} : { services: { keys: o.keys } }),
    ...(o.configFolder === undefined ? {} : { folders: { config: o.configFolder } }),
  });
  return modelProviders[0]!;
}
export async function bench(t: TestContext, script?: MockScript, o: BenchOptions = {}): Promise<Bench> {
  const mock = await startMockAnthropic(script);
  t.after(() => mock.close());
  return { mock, provider: await provide(mock.url, o) };
}
