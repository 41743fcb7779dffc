/** Messages in another provider's bytes: for providers that hand a request on. */
import type { EncodedMessage, ModelProvider, NormalizedMessage } from '../../schemas/index.ts';

/** Each message is encoded once for each provider, by that provider, which leaves out what only other vendors understand. */
export function reEncoder(): (provider: ModelProvider, messages: readonly EncodedMessage[]) => readonly EncodedMessage[] {
  const made = new WeakMap<ModelProvider, WeakMap<NormalizedMessage, EncodedMessage>>();
  return (provider, messages) => {
    const known = made.get(provider) ?? new WeakMap<NormalizedMessage, EncodedMessage>();
    made.set(provider, known);
    return messages.map(({ message }) => {
      const encoded = known.get(message) ?? { message, bytes: provider.encode(message) };
      known.set(message, encoded);
      return encoded;
    });
  };
}
