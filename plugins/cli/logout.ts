/** `tappet logout`: takes a stored key away again. */
import { definePlugin, nearest, TappetError } from 'tappet/kernel';
import { FROM_HELPER, jsonText, keyInVariables, keyVariables } from 'tappet/kit';

export default definePlugin({
  name: 'cli/logout',
  api: 1,
  apply: ({ registries }) => registries.subcommands.add({
    name: 'logout', summary: 'take the stored key of a model provider away', needs: 'kernel', verbs: [], usage: 'PROVIDER',
    async run({ args, json, io, kernel }) {
      const name = args[0]!;
      const keys = kernel!.service('keys');
      if (keys === undefined) throw new TappetError('E_USAGE', { message: 'no plugin keeps keys here', do: 'switch keys/store on again' });
      // A provider that is switched off may still have left a key.
      const stored = (await keys.list()).map((k) => k.provider);
      const known = [...new Set([...stored, ...kernel!.registry('modelProviders').all().map((p) => p.name)])];
      if (!known.includes(name)) {
        const near = nearest(name, known);
        throw new TappetError('E_MODEL_UNKNOWN', { provider: name.length <= 24 ? name : '…', known: known.join(', '), do: near === null ? (stored.length === 0 ? 'no key is stored' : `keys are stored for: ${stored.join(', ')}`) : `did you mean "${near}"?` });
      }
      const removed = await keys.remove(name);
      const settings = kernel!.config.settings.providers[name];
      const left = keyInVariables(io.env, keyVariables(name, settings))?.from ?? (settings?.keyHelper === undefined ? null : FROM_HELPER);
      if (json) { io.out(`${jsonText({ provider: name, removed, ...(left === null ? {} : { stillFrom: left }) })}\n`); return 0; }
      io.out(`${removed ? `the key of ${name} is taken away` : `no key of ${name} was stored`}\n`);
      if (left !== null) io.err(`note: ${left} still gives one\n`);
      return 0;
    },
  }),
});
