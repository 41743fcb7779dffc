/** Is a call mere reading? What permission modes ask before they let something run without a question. */
import type { JudgedCall } from '../../schemas/index.ts';

type Call = Pick<JudgedCall, 'isReadOnly' | 'subjects'>;

/** The tool says so, and nothing that it names speaks against it. */
export const changesNothing = (call: Call): boolean => call.isReadOnly && call.subjects.every((s) => s.kind !== 'opaque' && !(s.kind === 'path' && s.access === 'write'));

/** And it stays on this machine: no host, server, skill or other agent hears of it. */
export const onlyReads = (call: Call): boolean => changesNothing(call) && call.subjects.every((s) => s.kind === 'path' || s.kind === 'command');
