/** What is wrong with a command line, in our words, with the nearest known one. */
import { nearest, TappetError } from 'tappet/kernel';

export const usage = (message: string, what?: string): TappetError => new TappetError('E_USAGE', { message, ...(what === undefined ? {} : { do: what }) });

/** `--model=x` is the flag `--model`. */
export function unknownFlag(word: string, known: readonly string[], help: string): TappetError {
  const flag = word.startsWith('--') ? word.replace(/=.*$/s, '') : word;
  const near = nearest(flag, known);
  return usage(`unknown flag ${flag}`, near === null ? `run \`${help}\`; a prompt that begins with a dash stands behind --` : `did you mean ${near}?`);
}

/** @throws where `value` is none of `choices` */
export function oneOf<T extends string>(flag: string, value: string, choices: readonly T[]): T {
  const found = choices.find((c) => c === value);
  if (found !== undefined) return found;
  const near = nearest(value, choices);
  throw usage(`${flag}: there is no "${value}"`, `${near === null ? '' : `did you mean ${near}? `}choose one of: ${choices.join(', ')}`);
}
