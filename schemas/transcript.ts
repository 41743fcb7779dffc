/** The lines of a session on disk. One line format; unknown lines and fields are kept and skipped. */
import type { Message } from './message.ts';
import type { Decision } from './permissions.ts';

/** What every line of ours carries beside its content. `seq` and `crc` (CRC-32 of the line without it, hex) come last. */
export interface LineFrame { readonly v: 1; readonly sessionId: string; readonly timestamp: string; readonly seq: number; readonly crc: string }
/** A message: chained by `parentUuid`; a branch is a second child. */
export type MessageLine = Message & {
  readonly parentUuid: string | null;
  readonly cwd: string;
  readonly isSidechain: boolean;
  /** Across a compact boundary: what really came before. */
  readonly logicalParentUuid?: string | undefined;
  readonly forkedFrom?: { readonly sessionId: string; readonly messageUuid: string } | undefined;
};
/** Lines without a `uuid`: facts about the session. */
export type FactLine =
  | { readonly type: 'decision'; readonly turnId: string; readonly decision: Decision }
  | { readonly type: 'transition'; readonly turnId: string; readonly reason: string }
  | { readonly type: 'turn'; readonly turnId: string; readonly state: 'started' | 'ended'; readonly reason?: string | undefined }
  | { readonly type: 'content-replacement'; readonly toolUseId: string; readonly file: string; readonly size: number }
  | { readonly type: 'custom-title'; readonly customTitle: string }
  | { readonly type: 'tag'; readonly tag: string }
  | { readonly type: 'permission-mode'; readonly mode: string }
  | { readonly type: 'model'; readonly model: string }
  | { readonly type: 'queue-operation'; readonly operation: 'enqueue' | 'dequeue' | 'withdraw'; readonly promptId: string };
export type Line = MessageLine | FactLine;
