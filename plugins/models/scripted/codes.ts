/** The rows of the error table that scripts bring. */
import { TappetError } from 'tappet/kernel';
import type { CodeRow, ErrorFacts } from 'tappet/kernel';

export const SCRIPT_CODES = {
  E_SCRIPT_READ: { sentence: 'cannot read the script {file}: {message}', do: 'name a readable YAML file; its path is counted from the root of the project', exit: 2 },
  E_SCRIPT_SYNTAX: { sentence: '{message}', do: 'correct the YAML at this place', exit: 2 },
  E_SCRIPT_KEY: { sentence: 'unknown key "{key}"', do: 'take it out', exit: 2 },
  E_SCRIPT_VALUE: { sentence: '{key}: {message}', do: 'correct the value', exit: 2 },
  E_SCRIPT_END: { sentence: 'the script is at its end: it has {steps}, and the model was asked once more', do: 'add a step, or find out why it was asked', exit: 1 },
  E_SCRIPT_EXPECT: { sentence: 'step {step} expected {what}', do: 'correct the script, or what was sent to the model', exit: 1 },
} satisfies Record<string, CodeRow>;

export const scriptError = (code: keyof typeof SCRIPT_CODES, facts: ErrorFacts): TappetError => new TappetError(code, facts, SCRIPT_CODES);
