/** From a name of the configuration, or none, to a provider and a model, as a session chooses them. */
import { messageOf, nearest, TappetError } from 'tappet/kernel';
import { findModel } from 'tappet/kit';
import type { KernelView, ModelInfo, ModelProvider } from 'tappet/schemas';

export interface Choice { readonly provider: ModelProvider; readonly id: string; readonly info: ModelInfo | undefined }
export const nameOf = ({ provider, id }: Choice): string => `${provider.name}/${id}`;
/** Why a provider cannot be used; `null`: it can. */
export type WhyNot = (provider: ModelProvider) => Promise<string | null>;

/** Asks each provider once: the answer may cost a look at a server. */
export function whyNotOnce(): WhyNot {
  const known = new Map<ModelProvider, Promise<string | null>>();
  return (provider) => {
    const asked = known.get(provider) ?? provider.available().catch((e: unknown) => messageOf(e));
    known.set(provider, asked);
    return asked;
  };
}

/** What answers where nothing is configured; `null`: nothing can. */
export async function firstUsable(providers: readonly ModelProvider[], whyNot: WhyNot): Promise<Choice | null> {
  for (const provider of providers) {
    if ((await whyNot(provider)) !== null) continue;
    const [info] = provider.models();
    return { provider, id: info?.id ?? 'default', info };
  }
  return null;
}

/** @throws E_MODEL_UNKNOWN, E_MODEL_UNAVAILABLE */
export async function chooseModel(kernel: KernelView, wanted: string | undefined, whyNot: WhyNot): Promise<Choice> {
  const providers = kernel.registry('modelProviders').all();
  if (wanted === undefined || wanted === 'default') {
    const first = await firstUsable(providers, whyNot);
    if (first !== null) return first;
    const why = await Promise.all(providers.map(async (p) => `${p.name}: ${await whyNot(p)}`));
    throw new TappetError('E_MODEL_UNAVAILABLE', { message: why.join('; ') || 'no provider is switched on' });
  }
  const as = (provider: ModelProvider, word: string): Choice => {
    const info = findModel(provider.models(), word);
    return { provider, id: info?.id ?? word, info };
  };
  const slash = wanted.indexOf('/');
  const named = slash < 0 ? undefined : providers.find((p) => p.name === wanted.slice(0, slash));
  if (named !== undefined) return as(named, wanted.slice(slash + 1));
  const known = providers.filter((p) => findModel(p.models(), wanted) !== undefined);
  for (const p of known) if ((await whyNot(p)) === null) return as(p, wanted);
  if (known[0] !== undefined) return as(known[0], wanted);
  // An id that no table knows goes, as it is, to whoever can be used.
  const first = slash < 0 ? await firstUsable(providers, whyNot) : null;
  if (first !== null && first.info !== undefined && first.provider.name !== 'offline') return as(first.provider, wanted);
  const near = nearest(wanted, providers.flatMap((p) => p.models().flatMap((m) => [...(m.aliases ?? []), m.id, `${p.name}/${m.id}`])));
  throw new TappetError('E_MODEL_UNKNOWN', { provider: slash < 0 ? wanted : wanted.slice(0, slash), known: providers.map((p) => `${p.name}/…`).join(', '), ...(near === null ? {} : { do: `did you mean "${near}"?` }) });
}
