/** `tappet config`: what counts and where it is said, values in and out of one's own files, and whether all of it is right. Runs when the configuration is broken. */
import { resolve } from 'node:path';
import { definePlugin, nearest, TappetError } from 'tappet/kernel';
import { chainAt, cleanText, columns, configKeys, configSchema, isConfigKey, jsonText, keysAt, shownFile, shownPlace, valueAt, valueText } from 'tappet/kit';
import type { Reader } from 'tappet/kit';
import type { ConfigProblem, ConfigView, SubcommandContext } from 'tappet/schemas';
import { checkFile } from './check-file.ts';
import { setValue, unsetValue } from './change.ts';

export default definePlugin({
  name: 'cli/config',
  api: 1,
  apply: ({ registries, folders }) => registries.subcommands.add({
    name: 'config', summary: 'show, check and change the configuration', needs: 'config',
    verbs: [
      { usage: 'list', summary: 'the values that count, and where each is said' },
      { usage: 'get KEY', summary: 'one value' },
      { usage: 'set KEY VALUE', summary: 'write a value (YAML) into a file of yours; comments stay' },
      { usage: 'unset KEY', summary: 'take a value out of a file of yours' },
      { usage: 'validate [FILE]', summary: "check all layers, or one file as if it were a project's; ends with 2 where something is wrong" },
      { usage: 'schema', summary: 'the JSON Schema of a file' },
      { usage: 'path', summary: 'every file that is looked at, and its state' },
    ],
    options: [
      { flags: '--user', description: 'with set and unset: your own file, for all projects' },
      { flags: '--project', description: "with set and unset: the project's file, shared with others" },
      { flags: '--local', description: "with set and unset: the project's local file, yours alone (if nothing else is said)" },
    ],
    async run(c) {
      const reader = { cwd: c.cwd, home: folders.home, width: c.io.isTTY ? c.io.columns : undefined };
      const print = (value: unknown, text: () => string): number => { c.io.out(`${c.json ? jsonText(value) : text()}\n`); return 0; };
      switch (c.verb) {
        case 'get': return get(c);
        case 'set': return setValue(c, knownKey(c.config, c.args[0]!), reader);
        case 'unset': return unsetValue(c, knownKey(c.config, c.args[0]!), reader);
        case 'validate': return validate(c, reader);
        case 'schema': return print(configSchema(), () => jsonText(configSchema()));
        case 'path': return print(c.config.layers, () => columns([['LAYER', 'STATE', 'FILE'], ...c.config.layers.map((l) => [l.layer, l.state, shownFile(l.file, reader) + (l.why === undefined ? '' : ` (${l.why})`)])], reader));
        default: return list(c, print, reader);
      }
    },
  }),
});

/** @throws E_USAGE with the nearest key */
function knownKey(config: ConfigView, key: string): string {
  if (isConfigKey(key) || config.keys().includes(key)) return key;
  const near = nearest(key, [...configKeys(), ...config.keys()]);
  throw new TappetError('E_CONFIG_KEY', { key, do: near === null ? '`tappet config schema` has all keys' : `did you mean "${near}"?` });
}

function list({ config }: SubcommandContext, print: (value: unknown, text: () => string) => number, reader: Reader): number {
  // Lists of several layers count together: each is a line of its own.
  const rows = config.keys().flatMap((key) => config.chain(key).filter((l) => l.status === 'counts').map(({ value, origin }) => ({ key, value, ...origin, origin })));
  const shipped = rows.filter((r) => r.key.startsWith('plugins.') && r.layer === 'built-in');
  return print(rows.map(({ key, value, origin: { layer, file, line, column } }) => ({ key, value, layer, file, line, column })), () => [
    columns([['KEY', 'VALUE', 'LAYER', 'SAID AT'], ...rows.filter((r) => !shipped.includes(r)).map((r) => [r.key, valueText(r.value), r.layer, shownPlace(r.origin, reader)])], reader),
    ...(shipped.length === 0 ? [] : [`and ${shipped.length} plugins as they ship: tappet plugin list`]),
  ].join('\n'));
}

function get({ config, args, json, io }: SubcommandContext): number {
  const key = knownKey(config, args[0]!);
  const value = valueAt(config.settings, key);
  if (json) io.out(`${jsonText(value ?? null)}\n`);
  else if (value === undefined) io.err(`${key}: no layer says it${chainAt(config, key).length + keysAt(config, key).length > 0 ? ` so that it counts; tappet explain ${key}` : ''}\n`);
  else { const text = typeof value === 'string' ? value : JSON.stringify(value); io.out(`${io.isTTY ? cleanText(text) : text}\n`); }
  return value === undefined ? 1 : 0;
}

async function validate({ config, args, json, io, cwd }: SubcommandContext, reader: Reader): Promise<number> {
  const file = args[0] === undefined ? null : resolve(cwd, args[0]);
  const problems: readonly ConfigProblem[] = file === null ? config.problems : await checkFile(file, io.env);
  if (json) io.out(`${jsonText({ valid: problems.length === 0, problems })}\n`);
  else if (problems.length > 0) io.out(`${cleanText(problems.map((p) => p.printed).join('\n\n'))}\n\n${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}\n`);
  else io.out(`no problems in ${file === null ? config.layers.filter((l) => l.state === 'counts').map((l) => shownFile(l.file, reader)).join(', ') : shownFile(file, reader)}\n`);
  return problems.length === 0 ? 0 : 2;
}
