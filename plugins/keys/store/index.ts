/** Where the keys of model providers are: variables, a helper's output, the key ring of the system, a file of one's own. */
import { definePlugin } from 'tappet/kernel';
import { KEYS_CODES } from './codes.ts';
import { keyStore } from './key-store.ts';
import { systemRing } from './ring.ts';

export default definePlugin({
  name: 'keys/store',
  api: 1,
  codes: KEYS_CODES,
  // The state folder and not the configuration's, which people copy to other machines and keep in repositories.
  apply: ({ services, settings, env, folders, log }) => services.provide('keys', keyStore({
    env, folder: folders.state, ring: systemRing(folders.config), uid: process.geteuid?.() ?? null,
    helperAt: (provider) => settings.origin(`providers.${provider}.keyHelper`) ?? undefined,
    notice: log.warn,
  })),
});
