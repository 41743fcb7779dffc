/** Anthropic's models, at the vendor, behind a gateway, or at a cloud. */
import { definePlugin } from 'tappet/kernel';
import { createProvider } from './provider.ts';

export default definePlugin({
  name: 'models/anthropic',
  api: 1,
  apply({ registries, settings, services, env, folders, own }) {
    const { provider, close } = createProvider({ settings: () => settings.get(), env, configFolder: folders.config, keys: () => services.get('keys') });
    registries.modelProviders.add(provider);
    own(close);
  },
});
