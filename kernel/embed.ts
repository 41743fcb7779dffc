/** For embedders: sessions in a program of your own. */
import type { BootOptions } from './boot.ts';
import { sourceBuiltins } from './builtins.ts';
import type { Builtins } from './builtins.ts';
import type { Opener } from './open.ts';
import { createOpener } from './open.ts';

export * from './index.ts';
export type { Opener } from './open.ts';

/** One per program: it finds or boots a kernel for each project root that is opened. `env` is taken as it is given; nothing reads the process's own. */
export function createTappet(o: Pick<BootOptions, 'env' | 'home' | 'set' | 'settings' | 'settingSources'> = {}, builtins: Builtins = sourceBuiltins()): Opener {
  return createOpener({ builtins, ...o });
}
