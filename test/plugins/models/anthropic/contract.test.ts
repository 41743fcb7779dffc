import { modelProviderSuite } from '../../../contracts/model-provider.ts';
import { startMockAnthropic } from '../../../support/mock-anthropic.ts';
import { provide, SECRET } from './bench.ts';

modelProviderSuite({
  name: 'anthropic',
  async start(steps, o) {
    const mock = await startMockAnthropic(steps);
    const provider = await provide(mock.url, { env: o.key === false ? {} : { ANTHROPIC_API_KEY: SECRET }, settings: { ...(o.timeouts === undefined ? {} : { timeouts: o.timeouts }) } });
    return { provider, model: 'claude-sonnet-5-5', secret: SECRET, requests: () => mock.requests, gone: mock.gone, close: mock.close };
  },
});
