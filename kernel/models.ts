/** Which model answers: a name of the configuration becomes a provider and an id; nothing configured becomes the first that can be used. */
import type { Bounds, ModelChoice, ModelInfo, ModelProvider } from '../schemas/index.ts';
import { fitsOne } from './config/admit.ts';
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
  const bound = kernel.settings().bounds.model;
  if (wanted === undefined || wanted === 'default') return firstAvailable(providers, bound);
  const choice = await named(providers, wanted);
  if (bound !== undefined && !fitsOne(bound.oneOf, wanted) && !fitsOne(bound.oneOf, choice.name)) throw new TappetError('E_SET_REFUSED', { message: `the model ${choice.name} is not allowed: policy allows one of ${bound.oneOf.join(', ')}` });
  return choice;
}

async function named(providers: readonly ModelProvider[], wanted: string): Promise<ModelChoice> {
  const slash = wanted.indexOf('/');
  const own = slash < 0 ? undefined : providers.find((p) => p.name === wanted.slice(0, slash));
  if (own !== undefined) return chosen(own, wanted.slice(slash + 1));
  const known = providers.filter((p) => infoOf(p, wanted) !== undefined);
  for (const p of known) if ((await p.available()) === null) return chosen(p, wanted);
  if (known[0] !== undefined) return chosen(known[0], wanted);
  if (slash < 0) {
    // An id that no table knows goes, as it is, to whoever can be used.
    const first = await firstAvailable(providers, undefined).catch(() => undefined);
    if (first !== undefined && first.provider.kind !== 'stand-in') return chosen(first.provider, wanted);
  }
  const provider = slash < 0 ? wanted : wanted.slice(0, slash);
  const words = providers.flatMap((p) => p.models().flatMap((m) => [...(m.aliases ?? []), `${p.name}/${m.id}`]));
  const near = nearest(wanted, words);
  throw new TappetError('E_MODEL_UNKNOWN', { provider, known: providers.map((p) => `${p.name}/…`).join(', '), ...(near === null ? {} : { do: `did you mean "${near}"?` }) });
}

/** The first model of the first provider that can be used, within what policy allows. */
async function firstAvailable(providers: readonly ModelProvider[], bound: Bounds['model']): Promise<ModelChoice> {
  const why: string[] = [];
  for (const p of [...providers].sort((a, b) => KINDS[a.kind ?? 'remote'] - KINDS[b.kind ?? 'remote'])) {
    const reason = await p.available();
    if (reason !== null) { why.push(`${p.name}: ${reason}`); continue; }
    const models = p.models();
    const words = models.length === 0 ? ['default'] : models.map((m) => m.id);
    const word = bound === undefined ? words[0] : words.find((id) => fitsOne(bound.oneOf, `${p.name}/${id}`) || (models.find((m) => m.id === id)?.aliases ?? []).some((a) => fitsOne(bound.oneOf, a)));
    if (word !== undefined) return chosen(p, word);
    why.push(`${p.name}: policy allows none of its models`);
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
