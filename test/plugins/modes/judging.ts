/** Asks one mode. */
import type { Plugin } from 'tappet/kernel';
import type { JudgedCall, Opinion, Origin, Said, Saying } from 'tappet/schemas';
import { judgedCall, originOf } from '../../contracts/calls.ts';
import { collect } from '../../contracts/collect.ts';
import { modeContext } from '../../contracts/mode.ts';

const asOpinion = (said: Saying, layer: Origin['layer'] = 'built-in'): Opinion => ({ ...said, reason: { kind: 'other', why: 'test' }, origin: originOf(layer) });
const PASS: Saying = { behavior: 'passthrough' };
export async function ask(plugin: Plugin, call: Partial<JudgedCall>, soFar: Saying = PASS, layer?: Origin['layer']): Promise<Said> {
  const [mode] = (await collect(plugin)).permissionModes;
  return mode!.judge(judgedCall(call), asOpinion(soFar, layer), modeContext());
}
export const READ: Partial<JudgedCall> = { tool: 'Read', isReadOnly: true, subjects: [{ kind: 'path', access: 'read', path: '/work/p/a', real: '/work/p/a' }] };
export const WRITE: Partial<JudgedCall> = { tool: 'Write', subjects: [{ kind: 'path', access: 'write', path: '/work/p/a', real: '/work/p/a' }] };
export const COMMAND: Partial<JudgedCall> = { tool: 'Bash', subjects: [{ kind: 'command', argv: [{ text: 'make' }], text: 'make' }] };
export const FETCH: Partial<JudgedCall> = { tool: 'WebFetch', isReadOnly: true, subjects: [{ kind: 'domain', host: 'example.com' }] };
export const OPAQUE: Partial<JudgedCall> = { tool: 'Bash', subjects: [{ kind: 'opaque', why: 'eval' }] };
