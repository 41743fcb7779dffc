/** `tappet models`: which providers and models there are, which can be used and why not, which one answers; and a real request to try one. */
import { definePlugin } from 'tappet/kernel';
import { listModels } from './list.ts';
import { tryModel } from './try.ts';

export default definePlugin({
  name: 'cli/models',
  api: 1,
  apply: ({ registries, folders }) => registries.subcommands.add({
    name: 'models', summary: 'list models and where their keys come from, and try one', needs: 'kernel',
    verbs: [{ usage: 'list', summary: 'providers, their models and prices, and which one answers' }, { usage: 'test [MODEL]', summary: 'send one tiny request (it may cost a fraction of a cent); ends with 4 where nothing answers' }],
    options: [{ flags: '--all', description: 'with list: also the models of providers that cannot be used now (--json has them in any case)' }],
    run: (c) => (c.verb === 'test' ? tryModel(c) : listModels(c, folders.home)),
  }),
});
