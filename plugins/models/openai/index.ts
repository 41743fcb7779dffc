/** OpenAI's models, at the vendor, at Azure, and at every server that speaks its language. */
import { definePlugin, messageOf } from 'tappet/kernel';
import { mergeModels } from 'tappet/kit';
import type { ModelProvider } from 'tappet/schemas';
import { LOCAL, localProvider } from './local.ts';
import { providerFor } from './provider.ts';
import { serversOf } from './server.ts';
import type { Server } from './server.ts';
import { MODELS, UNKNOWN, UNKNOWN_LOCAL } from './table.ts';

export default definePlugin({
  name: 'models/openai',
  api: 1,
  apply({ registries, settings, services, env, own, log }) {
    const closers: (() => void)[] = [];
    const keys = () => services.get('keys');
    const servers = (): readonly Server[] => serversOf(settings.get(), env, (path) => settings.origin(path));
    const make = (server: Server): ModelProvider => {
      const vendors = server.name === 'openai';
      const unknown = vendors || server.vendor ? UNKNOWN : UNKNOWN_LOCAL;
      const models = mergeModels(server.name, vendors ? MODELS : [], settings.get().models, unknown);
      const { provider, close } = providerFor({ server, models, unknown, env, keys });
      // One of before a change may still be answering.
      closers.push(close);
      return provider;
    };
    const now = new Map(servers().map((server) => [server.name, make(server)]));
    for (const [name, { countTokens }] of now) {
      const current = (): ModelProvider => now.get(name)!;
      registries.modelProviders.add({
        name,
        get kind() { return current().kind; },
        models: () => current().models(),
        available: () => current().available(),
        encode: (message) => current().encode(message),
        stream: (request, signal) => current().stream(request, signal),
        ...(countTokens === undefined ? {} : { countTokens: (request, signal) => (current().countTokens ?? countTokens)(request, signal) }),
      });
    }
    // An entry of that name that says where its server is needs no search.
    if (!now.has(LOCAL)) {
      const { provider, close } = localProvider({ settings: settings.get, env, origin: settings.origin, keys });
      registries.modelProviders.add(provider);
      closers.push(close);
    }
    const renew = (): void => {
      try {
        for (const server of servers()) if (now.has(server.name)) now.set(server.name, make(server));
      } catch (e) {
        log.error(`the providers stay as they were: ${messageOf(e)}`);
      }
    };
    settings.watch('providers', renew);
    settings.watch('models', renew);
    own(() => { for (const close of closers) close(); });
  },
});
