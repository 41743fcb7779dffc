/** Execution slots that live while the process lives. */
export const TASK_STATUSES = ['pending', 'running', 'completed', 'failed', 'killed'] as const;
export interface RuntimeTaskState {
  /** Type prefix and eight characters of [0-9a-z] from a CSPRNG. */
  readonly id: string;
  /** Open: a task runner's name for it (`local_bash`, …). */
  readonly type: string;
  readonly status: (typeof TASK_STATUSES)[number];
  readonly description: string;
  /** Milliseconds since 1970. */
  readonly startTime: number;
  readonly endTime: number | null;
  readonly outputFile: string;
  readonly notified: boolean;
  readonly kill?: (() => Promise<void>) | undefined;
}
