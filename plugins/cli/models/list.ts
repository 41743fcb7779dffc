/** The list: each provider with its state and key, their models as numbers, and who answers. */
import { isAbsolute } from 'node:path';
import { messageOf } from 'tappet/kernel';
import { columns, jsonText, keyVariables, shownFile, shownPlace } from 'tappet/kit';
import type { Reader } from 'tappet/kit';
import type { KernelView, ModelInfo, ModelProvider, Origin, SubcommandContext } from 'tappet/schemas';

interface Row { readonly name: string; readonly plugin: string | null; readonly usable: boolean; readonly why: string | null; /** Where the key was found, or what went wrong with it. */ readonly key: string | null; readonly models: readonly ModelInfo[] }
interface Answers { readonly configured: { readonly said: string; readonly origin: Origin | null; readonly model: string | null; readonly why: string | null } | null; readonly unconfigured: string | null }

/** Why a provider cannot be used; `null`: it can. */
type WhyNot = (provider: ModelProvider) => Promise<string | null>;
/** Asks each provider once: the answer may cost a look at a server. */
function whyNotOnce(): WhyNot {
  const known = new Map<ModelProvider, Promise<string | null>>();
  return (provider) => {
    const asked = known.get(provider) ?? provider.available().catch((e: unknown) => messageOf(e));
    known.set(provider, asked);
    return asked;
  };
}

export async function listModels(c: SubcommandContext, home: string): Promise<number> {
  const kernel = c.kernel!;
  const whyNot = whyNotOnce();
  const providers = kernel.registry('modelProviders').all();
  const rows = await Promise.all(providers.map((p) => rowOf(kernel, p, whyNot)));
  const answers = await answersOf(kernel, whyNot);
  const reader = { cwd: c.cwd, home, width: c.io.isTTY ? c.io.columns : undefined };
  const shown = rows.filter((r) => r.usable || c.options['all'] === true);
  c.io.out(`${c.json ? jsonText({ answers, providers: rows }) : textOf(rows, shown, answers, reader)}\n`);
  return 0;
}

async function rowOf(kernel: KernelView, provider: ModelProvider, whyNot: WhyNot): Promise<Row> {
  const { name } = provider;
  const [why, key] = await Promise.all([whyNot(provider), keyOf(kernel, name)]);
  const plugin = kernel.registry('modelProviders').who(name).find((e) => e.status === 'counts')?.owner ?? null;
  return { name, plugin, usable: why === null, why, key, models: provider.models() };
}

async function keyOf({ config, service }: KernelView, provider: string): Promise<string | null> {
  const settings = config.settings.providers[provider];
  if (Object.keys(settings?.headers ?? {}).some((h) => /^(?:authorization|(?:x-|x-goog-)?api-key)$/i.test(h))) return `providers.${provider}.headers`;
  try {
    return (await service('keys')?.find(provider, { env: keyVariables(provider, settings), helper: settings?.keyHelper }))?.from ?? null;
  } catch (e) {
    return messageOf(e);
  }
}

async function answersOf(kernel: KernelView, whyNot: WhyNot): Promise<Answers> {
  const unconfigured = await kernel.chooseModel().then((m) => m.name, () => null);
  const said = kernel.config.settings.model;
  if (said === undefined) return { configured: null, unconfigured };
  const origin = kernel.config.chain('model').find((l) => l.status === 'counts')?.origin ?? null;
  try {
    const choice = await kernel.chooseModel(said);
    return { configured: { said, origin, model: choice.name, why: await whyNot(choice.provider) }, unconfigured };
  } catch (e) {
    return { configured: { said, origin, model: null, why: messageOf(e) }, unconfigured };
  }
}

const NOTHING = 'nothing: store a key (`tappet login PROVIDER`), or set one of the variables above';

function textOf(rows: readonly Row[], shown: readonly Row[], { configured, unconfigured }: Answers, reader: Reader): string {
  const models = shown.flatMap((r) => r.models.map((m) => modelRow(r.name, m)));
  const first = unconfigured === null ? NOTHING : `${unconfigured} (the first provider that can be used: those with a key, then a server on this machine, then the stand-in)`;
  const at = configured?.origin == null ? '' : `, said at ${shownPlace(configured.origin, reader)}`;
  const hidden = rows.length - shown.length;
  return [
    columns([['PROVIDER', 'STATE', 'KEY, OR WHY NOT'], ...rows.map((r) => providerRow(r, reader))], reader),
    '',
    columns(configured === null ? [['answers', first]] : [
      ['answers', `${configured.model ?? 'nothing'} (model: ${configured.said}${at})${configured.why === null ? '' : `, but: ${configured.why}`}`],
      ['if nothing were configured', first],
    ], reader),
    ...(models.length === 0 ? [] : ['', columns([['MODEL', 'CONTEXT', 'OUTPUT', '$ IN', '$ OUT', '$ CACHE READ', '$ CACHE WRITE', 'ALIASES'], ...models], reader), '', 'dollars for a million tokens']),
    ...(hidden === 0 ? [] : [`${models.length === 0 ? '\n' : ''}models of ${hidden} more ${hidden === 1 ? 'provider' : 'providers'}: --all`]),
  ].join('\n');
}

function providerRow({ name, usable, why, key }: Row, reader: Reader): string[] {
  const where = key === null ? '-' : isAbsolute(key) ? shownFile(key, reader) : key;
  return [name, usable ? 'usable' : 'not usable', why === null ? where : key === null ? why : `${why}; key: ${where}`];
}
function modelRow(provider: string, m: ModelInfo): string[] {
  const price = (dollars: number | undefined): string => (dollars === undefined ? '-' : String(dollars));
  return [`${provider}/${m.id}`, tokens(m.contextWindow), tokens(m.maxOutputTokens), price(m.prices?.input), price(m.prices?.output), price(m.prices?.cacheRead), price(m.prices?.cacheWrite), (m.aliases ?? []).join(' ')];
}
const tokens = (n: number): string => n.toLocaleString('en-US');
