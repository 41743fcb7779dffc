/** Where the keys of model providers are: variables, a helper's output, the key ring of the system, a file of one's own. */
import { definePlugin, messageOf } from 'tappet/kernel';
import type { KeyStore } from 'tappet/schemas';
import { keyProblem, KEYS_CODES, keysError } from './codes.ts';
import { keyFile } from './file.ts';
import { askHelper } from './helper.ts';
import { systemRing } from './ring.ts';
import type { OpenRing } from './ring.ts';

export default definePlugin({
  name: 'keys/store',
  api: 1,
  codes: KEYS_CODES,
  apply: ({ services, settings, env, folders, log }) => services.provide('keys', createKeyStore({
    env, home: folders.home, folder: folders.state, ring: systemRing(folders.config), uid: process.platform === 'win32' ? null : process.getuid!(),
    helperPlace: (provider) => { const o = settings.origin(`providers.${provider}.keyHelper`); return o === null ? undefined : o; },
    notice: log.warn,
  })),
});
