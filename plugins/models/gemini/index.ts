/** Google's Gemini models, by the developer API. */
import { definePlugin, messageOf } from 'tappet/kernel';
import { geminiProvider } from './provider.ts';

export default definePlugin({
  name: 'models/gemini',
  api: 1,
  apply({ registries, settings, env, own, log }) {
    const providers = registries.modelProviders.source();
    const closers: (() => void)[] = [];
    const renew = (): void => {
      const { provider, close } = geminiProvider(settings.get(), env, settings.origin);
      providers.replace([{ item: provider }]);
      // The one of before may still be answering.
      closers.push(close);
    };
    renew();
    const again = (): void => {
      try { renew(); } catch (e) { log.error(`the provider stays as it was: ${messageOf(e)}`); }
    };
    settings.watch('providers', again);
    settings.watch('models', again);
    own(() => { for (const close of closers) close(); });
  },
});
