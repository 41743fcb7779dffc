import { modelProviderSuite } from '../../../contracts/model-provider.ts';
import { collect } from '../../../contracts/collect.ts';
import openai from '../../../../plugins/models/openai/index.ts';
import { mockOpenai, peerReply } from '../../../support/mock-openai.ts';

const SECRET = 'key-of-the-test';
for (const wire of ['responses', 'chat'] as const) {
  modelProviderSuite({
    name: `openai (${wire})`,
    async start(steps, o) {
      const mock = await mockOpenai(steps.map((s) => peerReply(s, wire)));
      const { modelProviders } = await collect(openai, {
        env: o.key === false ? {} : { OPENAI_API_KEY: SECRET },
        settings: { providers: { openai: { baseUrl: mock.url, apiKeyEnv: 'OPENAI_API_KEY', options: { wire }, ...(o.timeouts === undefined ? {} : { timeouts: o.timeouts }) } } },
      });
      return { provider: modelProviders[0]!, model: 'gpt-5', secret: SECRET, requests: () => mock.asked().map((s) => ({ model: String(s.body.model), text: s.text })), gone: mock.gone, close: mock.close };
    },
    ...(wire === 'chat' ? { cannot: ['pings'] as const } : {}),
  });
}
