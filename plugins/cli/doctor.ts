/** `tappet doctor`: is everything there that a session needs, and does the configuration stand? Needs nothing to be right itself. */
import { constants } from 'node:fs';
import { access, readdir, stat } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { asTappetError, definePlugin, printError, TappetError } from 'tappet/kernel';
import { allKeyVariables, cleanText, columns, jsonText, shownFile } from 'tappet/kit';
import type { Reader } from 'tappet/kit';
import type { ConfigView, SubcommandContext } from 'tappet/schemas';

const LEAST_NODE = [20, 19] as const;
interface Check { readonly what: string; readonly state: 'ok' | 'note' | 'wrong'; readonly text: string; readonly do?: string }
interface Folders { readonly state: string; readonly cache: string; readonly config: string; readonly home: string }

export default definePlugin({
  name: 'cli/doctor',
  api: 1,
  apply: ({ registries, folders }) => registries.subcommands.add({
    name: 'doctor', summary: 'check what a session needs; ends with 2 where something is broken', needs: 'config', verbs: [],
    async run(c) {
      const reader = { cwd: c.cwd, home: folders.home, width: c.io.isTTY ? c.io.columns : undefined };
      const checks = (await Promise.all([nodeCheck(), placeChecks(folders), layerChecks(c.config, reader), trustCheck(c.config), keyCheck(c), bashCheck(c), codeCacheCheck(folders.cache)])).flat();
      const problems = [...c.config.problems.map(({ code, printed }) => ({ code, printed })), ...(await startProblems(c))];
      const isWell = problems.length === 0 && checks.every((k) => k.state !== 'wrong');
      if (c.json) c.io.out(`${jsonText({ ok: isWell, checks, problems })}\n`);
      else c.io.out(`${[
        columns(checks.map((k) => [k.state === 'wrong' ? 'WRONG' : k.state, k.what, k.text + (k.do === undefined ? '' : `: ${k.do}`)]), reader),
        ...problems.map((p) => `\n${cleanText(p.printed)}`), `\n${isWell ? 'all is well' : 'something is broken'}`,
      ].join('\n')}\n`);
      return isWell ? 0 : 2;
    },
  }),
});

/** What only a start shows: a plugin that fails, a guard that policy demands and that is off, a mode that nobody brings. */
async function startProblems(c: SubcommandContext): Promise<{ code: string; printed: string }[]> {
  if (c.config.problems.some((p) => p.fatal)) return []; // it stops before
  try {
    const { plugins, registry } = await c.boot();
    const failed = plugins.filter((p) => p.state === 'failed').map((p) => ({ code: /^E_\w+/.exec(p.error ?? '')?.[0] ?? 'E_PLUGIN_LOAD', printed: p.error ?? `${p.name} failed` }));
    return [...failed, ...unknownMode(c.config, registry('permissionModes').all().map((m) => m.name))];
  } catch (e) {
    const error = asTappetError(e);
    return [{ code: error.code, printed: printError(error) }];
  }
}

/** No session starts in a mode that no plugin brings. */
function unknownMode(config: ConfigView, known: readonly string[]): { code: string; printed: string }[] {
  const { mode } = config.settings;
  if (known.includes(mode)) return [];
  const error = new TappetError('E_MODE_UNKNOWN', { mode, known: known.join(', ') || 'none is switched on', where: config.chain('mode').find((l) => l.status === 'counts')?.origin });
  return [{ code: error.code, printed: printError(error) }];
}

function nodeCheck(): Check {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isEnough = major > LEAST_NODE[0] || (major === LEAST_NODE[0] && minor >= LEAST_NODE[1]);
  return { what: 'node', state: isEnough ? 'ok' : 'wrong', text: process.version, ...(isEnough ? {} : { do: `install ${LEAST_NODE.join('.')} or newer` }) };
}

const placeChecks = (folders: Folders): Promise<Check[]> => Promise.all([
  placeCheck('your configuration', folders.config, 'note', 'nothing can be written into it'),
  placeCheck('sessions and trust', folders.state, 'wrong', 'make it yours, or name another folder: TAPPET_STATE_DIR'),
  placeCheck('cache', folders.cache, 'note', 'starts will be slower'),
]);
/** A folder that is not there yet is made at first use: what counts is the nearest one that is. */
async function placeCheck(what: string, folder: string, bad: 'note' | 'wrong', advice: string): Promise<Check> {
  for (let at = folder; ; at = dirname(at)) {
    try {
      await access(at, constants.W_OK);
      return { what, state: 'ok', text: at === folder ? folder : `${folder} (made when it is needed)` };
    } catch (e) {
      if ((e as NodeJS.ErrnoException).code === 'ENOENT' && at !== dirname(at)) continue;
      return { what, state: bad, text: `${folder} cannot be written`, do: advice };
    }
  }
}

function layerChecks({ layers }: ConfigView, reader: Reader): Check[] {
  return layers.map((l) => {
    const isBad = l.state === 'broken' || l.state === 'unreadable';
    const text = `${shownFile(l.file, reader)} ${l.state === 'counts' ? 'is used' : l.state === 'absent' ? 'is not there' : `is ${l.state}`}${l.why === undefined ? '' : ` (${l.why})`}`;
    return { what: l.layer === 'policy' ? 'policy' : `${l.layer} layer`, state: isBad ? 'wrong' : 'ok', text };
  });
}

function trustCheck({ trust }: ConfigView): Check {
  if (trust.trusted) return { what: 'trust', state: 'ok', text: Object.keys(trust.files).length === 0 ? 'nothing here needs trust' : `${trust.root} is trusted` };
  if (trust.waits.length === 0) return { what: 'trust', state: 'ok', text: 'nothing here waits for trust' };
  return { what: 'trust', state: 'note', text: `${trust.why ?? 'not trusted'}; ${trust.waits.length} of its settings wait`, do: '`tappet trust` shows them' };
}

/** Names only: a value never leaves. */
function keyCheck({ config, io }: SubcommandContext): Check {
  const names = [...new Set([...allKeyVariables(), ...Object.values(config.settings.providers).flatMap((p) => (p.apiKeyEnv === undefined ? [] : [p.apiKeyEnv]))])];
  const found = names.filter((n) => (io.env[n] ?? '') !== '');
  return found.length > 0 ? { what: 'keys', state: 'ok', text: `set: ${found.join(', ')}` } : { what: 'keys', state: 'note', text: 'no variable holds one', do: `\`tappet login PROVIDER\` stores one, or set one of ${names.join(', ')}` };
}

async function bashCheck({ io }: SubcommandContext): Promise<Check> {
  const names = process.platform === 'win32' ? ['bash.exe'] : ['bash'];
  for (const folder of (io.env['PATH'] ?? '').split(delimiter).filter((f) => f !== '')) {
    for (const name of names) {
      const file = join(folder, name);
      if (await access(file, constants.X_OK).then(() => true, () => false)) return { what: 'bash', state: 'ok', text: file };
    }
  }
  return { what: 'bash', state: 'wrong', text: 'there is none in PATH', do: 'install it; the tool Bash cannot run without it' };
}

/** Whoever may write there would run code in the next start, so such a folder is not used. */
async function codeCacheCheck(cache: string): Promise<Check> {
  const folder = join(cache, 'code', `${process.version}-${process.arch}`);
  const facts = await stat(folder).catch(() => null);
  if (facts === null) return { what: 'code cache', state: 'ok', text: 'empty; the next start fills it' };
  const isOurs = process.getuid === undefined || (facts.uid === process.getuid() && (facts.mode & 0o022) === 0);
  if (!isOurs) return { what: 'code cache', state: 'wrong', text: `${folder} can be written by others, so it is not used`, do: 'take it away' };
  return { what: 'code cache', state: 'ok', text: `${(await readdir(folder).catch(() => [])).length} files in ${folder}` };
}
