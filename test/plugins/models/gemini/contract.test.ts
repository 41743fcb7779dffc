import { modelProviderSuite } from '../../../contracts/model-provider.ts';
import { collect } from '../../../contracts/collect.ts';
import gemini from '../../../../plugins/models/gemini/index.ts';
import { mockGemini, peerReply } from '../../../support/mock-gemini.ts';

const SECRET = 'key-of-the-test';
for (const model of ['gemini-3.8-flash', 'gemini-2.5-flash']) {
  modelProviderSuite({
    name: `gemini (${model})`,
    async start(steps, o) {
      const mock = await mockGemini(steps.map((s) => peerReply(s)));
      const { modelProviders } = await collect(gemini, {
        env: o.key === false ? {} : { GEMINI_API_KEY: SECRET },
        settings: { providers: { gemini: { baseUrl: mock.url, apiKeyEnv: 'GEMINI_API_KEY', ...(o.timeouts === undefined ? {} : { timeouts: o.timeouts }) } } },
      });
      return { provider: modelProviders[0]!, model, secret: SECRET, requests: () => mock.asked().map((s) => ({ model: /models\/([^:]+):/.exec(s.path)![1]!, text: s.text })), gone: mock.gone, close: mock.close };
    },
    // Its calls come as objects, never as text that could break off.
    cannot: ['pings', 'raw'],
  });
}
