/** Which model answers: a name of the configuration becomes a provider and an id; nothing configured becomes the first that can be used. */
import type { ModelChoice, ModelInfo, ModelProvider } from '../schemas/index.ts';
import { nearest, TappetError } from './errors.ts';
import type { Kernel } from './kernel.ts';


/** @throws E_MODEL_UNKNOWN, E_MODEL_UNAVAILABLE */
export async function chooseModel(kernel: Kernel, wanted: string | undefined, fallback?: string | undefined): Promise<ModelChoice> {
  const first = await chooseOne(kernel, wanted);
  if (fallback === undefined || fallback === '') return first;
  const chain = kernel.registries.modelProviders.all().find((p) => p.chains === true);
  if (chain === undefined) throw new TappetError('E_MODEL_UNKNOWN', { provider: 'fallback', known: kernel.registries.modelProviders.all().map((p) => p.name).join(', '), cause: 'a fallback model is named, but no plugin that falls back is switched on' });
  const others = await Promise.all(fallback.split(',').map((f) => chooseOne(kernel, f.trim())));
  return { provider: chain, id: [first, ...others].map((m) => m.name).join(','), name: first.name, info: first.info };
}

async function chooseOne(kernel: Kernel, wanted: string | undefined): Promise<ModelChoice> {
  const providers = kernel.registries.modelProviders.all();
  if (wanted === undefined || wanted === 'default') {
    const first = await firstAvailable(providers);
    const model = first.models()[0];
    return chosen(first, model?.id ?? 'default');
  }
  const slash = wanted.indexOf('/');
  const named = slash < 0 ? undefined : providers.find((p) => p.name === wanted.slice(0, slash));
  if (named !== undefined) return chosen(named, wanted.slice(slash + 1));
  const known = providers.filter((p) => infoOf(p, wanted) !== undefined);
  for (const p of known) if ((await p.available()) === null) return chosen(p, wanted);
  if (known[0] !== undefined) return chosen(known[0], wanted);
  if (slash < 0) {
    // An id that no table knows goes, as it is, to whoever can be used.
    const first = await firstAvailable(providers).catch(() => undefined);
    if (first !== undefined && first.kind !== 'stand-in') return chosen(first, wanted);
  }
  const provider = slash < 0 ? wanted : wanted.slice(0, slash);
  const words = providers.flatMap((p) => [`${p.name}/…`, ...p.models().flatMap((m) => [...(m.aliases ?? []), `${p.name}/${m.id}`])]);
  const near = nearest(wanted, words.filter((w) => !w.endsWith('…')));
  throw new TappetError('E_MODEL_UNKNOWN', { provider, known: providers.map((p) => `${p.name}/…`).join(', '), ...(near === null ? {} : { do: `did you mean "${near}"?` }) });
}

async function firstAvailable(providers: readonly ModelProvider[]): Promise<ModelProvider> {
  const why: string[] = [];
  for (const p of [...providers].sort((a, b) => KINDS[a.kind ?? 'remote'] - KINDS[b.kind ?? 'remote'])) {
    const reason = await p.available();
    if (reason === null) return p;
    why.push(`${p.name}: ${reason}`);
  }
  throw new TappetError('E_MODEL_UNAVAILABLE', { message: why.join('; ') || 'no provider is switched on' });
}
/** What is known of the model that answered, whichever provider of a chain it was. */
export const infoOfAnswer = (kernel: Kernel, chosenFirst: ModelChoice, id: string): ModelInfo | undefined =>
  chosenFirst.provider.chains !== true || chosenFirst.info?.id === id ? chosenFirst.info : kernel.registries.modelProviders.all().map((p) => p.models().find((m) => m.id === id)).find((m) => m !== undefined);
const KINDS = { remote: 0, local: 1, 'stand-in': 2 } as const;
const infoOf = (p: ModelProvider, word: string): ModelInfo | undefined => p.models().find((m) => m.id === word || m.aliases?.includes(word) === true);
function chosen(provider: ModelProvider, word: string): ModelChoice {
  const info = infoOf(provider, word);
  const id = info?.id ?? word;
  return { provider, id, name: `${provider.name}/${id}`, info };
}
