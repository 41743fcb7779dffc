/** The rows of the error table that recordings bring. */
import { TappetError } from 'tappet/kernel';
import type { CodeRow, ErrorFacts } from 'tappet/kernel';

export const REPLAY_CODES = {
  E_REPLAY_READ: { sentence: 'cannot read the recording {file}: {message}', do: 'name a readable file; its path is counted from the root of the project', exit: 2 },
  E_REPLAY_SYNTAX: { sentence: 'this line of the recording cannot be used: {message}', do: 'take the file away and record again', exit: 2 },
  E_REPLAY_DIFFERENT: { sentence: 'no recorded request is like this one; it differs at {path}', do: 'find out why the request has changed, or record again', exit: 1 },
  E_REPLAY_EXISTS: { sentence: '{file} is there already', do: 'take it away to record anew, or name another file', exit: 2 },
  E_REPLAY_WRITE: { sentence: 'the recording cannot be written: {message}', do: 'make room or rights there', exit: 1 },
} satisfies Record<string, CodeRow>;

export const replayError = (code: keyof typeof REPLAY_CODES, facts: ErrorFacts, cause?: unknown): TappetError => new TappetError(code, facts, REPLAY_CODES, cause === undefined ? undefined : { cause });
