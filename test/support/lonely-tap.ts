/** A tap that never settles in a process where nothing else is alive: with a timer that does not hold the process this would end in the middle of a decision, with code 0. */
import { makeOrigin } from '../../kernel/config/origin.ts';
import { createHookTable } from '../../kernel/guard.ts';
import { draft } from './layers.ts';

const hooks = createHookTable();
hooks.seal([{ event: 'PreToolUse', plugin: 'acme/x', options: { name: 'lonely', timeoutMs: 20 }, origin: makeOrigin('user', 'u.yaml'), fn: () => new Promise(() => {}), order: 0, disposed: false }], new Map());
const { said } = await hooks.fire('PreToolUse', draft() as never, { signal: new AbortController().signal });
process.stdout.write(`${said?.behavior}\n`);
