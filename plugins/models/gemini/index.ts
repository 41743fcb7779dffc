/** Google's Gemini models, by the developer API. */
import { definePlugin, messageOf } from 'tappet/kernel';
import { geminiProvider } from './provider.ts';

export default definePlugin({
  name: 'models/gemini',
  api: 1,
  apply({ registries, settings, services, env, own, log }) {
    const closers: (() => void)[] = [];
    const make = (): ReturnType<typeof geminiProvider>['provider'] => {
      const { provider, close } = geminiProvider({ settings: settings.get(), env, origin: settings.origin, keys: () => services.get('keys') });
      // The one of before a change may still be answering.
      closers.push(close);
      return provider;
    };
    let now = make();
    registries.modelProviders.add({
      name: now.name,
      models: () => now.models(),
      available: () => now.available(),
      encode: (message) => now.encode(message),
      stream: (request, signal) => now.stream(request, signal),
      countTokens: (request, signal) => now.countTokens(request, signal),
    });
    const renew = (): void => {
      try {
        now = make();
      } catch (e) {
        log.error(`the provider stays as it was: ${messageOf(e)}`);
      }
    };
    settings.watch('providers', renew);
    settings.watch('models', renew);
    own(() => { for (const close of closers) close(); });
  },
});
