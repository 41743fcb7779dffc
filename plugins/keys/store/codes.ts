/** The rows of the error table that the keys bring. None may carry a key, or a cause that could: errors are printed and kept. */
import { TappetError } from 'tappet/kernel';
import type { CodeRow, ErrorFacts } from 'tappet/kernel';

export const KEYS_CODES = {
  E_KEYS_HELPER: { sentence: 'the keyHelper of {provider} gave no key: {message}', do: 'run its command by hand and mend it, or take it out of the configuration', exit: 4 },
  E_KEYS_FILE: { sentence: 'the stored keys cannot be used: {message}', do: 'mend the file or take it away; then `tappet login PROVIDER` stores the keys anew', exit: 2 },
  E_KEYS_VALUE: { sentence: 'this is no key of {provider}: {message}', do: 'copy it again from where the provider shows it', exit: 2 },
} satisfies Record<string, CodeRow>;

export const keysError = (code: keyof typeof KEYS_CODES, facts: ErrorFacts): TappetError => new TappetError(code, facts, KEYS_CODES);
