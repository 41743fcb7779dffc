/** OpenAI's models, at the vendor, at Azure, and at every server that speaks its language. */
import { definePlugin, messageOf } from 'tappet/kernel';
import { mergeModels } from 'tappet/kit';
import { providerFor } from './provider.ts';
import { serversOf } from './server.ts';
import { MODELS, UNKNOWN, UNKNOWN_LOCAL } from './table.ts';

export default definePlugin({
  name: 'models/openai',
  api: 1,
  apply({ registries, settings, env, own, log }) {
    const providers = registries.modelProviders.source();
    const closers: (() => void)[] = [];
    const renew = (): void => {
      const now = settings.get();
      const made = serversOf(now, env, settings.origin).map((server) => {
        const own = server.name === 'openai';
        const unknown = own || server.vendor ? UNKNOWN : UNKNOWN_LOCAL;
        return { server, ...providerFor(server, mergeModels(server.name, own ? MODELS : [], now.models, unknown), unknown, env) };
      });
      providers.replace(made.map(({ server, provider }) => {
        const origin = server.name === 'openai' ? null : settings.origin(`providers.${server.name}`);
        return { item: provider, ...(origin === null ? {} : { origin }) };
      }));
      // Those of before may still be answering.
      closers.push(...made.map((m) => m.close));
    };
    renew();
    const again = (): void => {
      try { renew(); } catch (e) { log.error(`the providers stay as they were: ${messageOf(e)}`); }
    };
    settings.watch('providers', again);
    settings.watch('models', again);
    own(() => { for (const close of closers) close(); });
  },
});
