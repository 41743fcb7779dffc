/** What the readers of both wires are handed: whose answer it is, and how it fails. */
import type { FaultKind, ModelFault, ToolSpec } from 'tappet/schemas';

export type Failing = Omit<ModelFault, 'provider' | 'model'>;
export interface Answering {
  readonly provider: string;
  readonly model: string;
  readonly tools: readonly ToolSpec[];
  /** Ids of all calls in the conversation so far. */
  takenIds(): Set<string>;
  fail(fault: Failing): Error;
  /** What an error frame inside the stream says. */
  failAs(error: unknown): Error;
}
export const failed = (kind: FaultKind, message: string, transient: boolean): Failing => ({ kind, message, transient });
