/** Messages in another provider's bytes: for providers that hand a request on. */
import type { EncodedMessage, ModelProvider, NormalizedMessage } from '../../schemas/index.ts';

/** Each message is encoded once for each provider, by that provider, which leaves out what only other vendors understand. */
export function reEncoder(): (provider: ModelProvider, messages: readonly EncodedMessage[]) => readonly EncodedMessage[] {
  const made = new WeakMap<ModelProvider, WeakMap<NormalizedMessage, EncodedMessage>>();
  return (provider, messages) => {
    let mine = made.get(provider);
    if (mine === undefined) made.set(provider, mine = new WeakMap());
    const known = mine;
    return messages.map(({ message }) => {
      let encoded = known.get(message);
      if (encoded === undefined) known.set(message, encoded = { message, bytes: provider.encode(message) });
      return encoded;
    });
  };
}
