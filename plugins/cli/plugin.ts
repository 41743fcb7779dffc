/** `tappet plugin`: which plugins there are, what became of each, and why. */
import { definePlugin, nearest, TappetError } from 'tappet/kernel';
import { columns, jsonText, PLUGIN_COLUMNS, pluginRow, pluginText } from 'tappet/kit';

export default definePlugin({
  name: 'cli/plugin',
  api: 1,
  apply: ({ registries, folders }) => registries.subcommands.add({
    name: 'plugin', summary: 'show which plugins run, which do not, and why', needs: 'kernel',
    verbs: [{ usage: 'list', summary: 'all plugins that the configuration names' }, { usage: 'why NAME', summary: 'what became of one, and who said so' }],
    async run({ verb, args, json, io, cwd, kernel }) {
      const { plugins, config } = kernel!;
      const reader = { cwd, home: folders.home, width: io.isTTY ? io.columns : undefined };
      if (verb === 'list') {
        io.out(`${json ? jsonText(plugins) : columns([PLUGIN_COLUMNS, ...plugins.map(pluginRow)], reader)}\n`);
        return 0;
      }
      const name = args[0]!;
      const report = plugins.find((p) => p.name === name);
      if (report === undefined) {
        const near = nearest(name, plugins.map((p) => p.name));
        throw new TappetError('E_PLUGIN_UNKNOWN', { name, do: near === null ? '`tappet plugin list` shows those that there are' : `did you mean "${near}"?` });
      }
      const chain = config.chain(`plugins.${name}`);
      io.out(`${json ? jsonText({ ...report, chain }) : pluginText(report, chain, reader)}\n`);
      return 0;
    },
  }),
});
