import assert from 'node:assert/strict';
import { test } from 'node:test';
import plugin from '../../../plugins/modes/accept-edits.ts';
import { modeContract } from '../../contracts/mode.ts';
import { ask, COMMAND, FETCH, OPAQUE, READ, WRITE } from './judging.ts';

modeContract(plugin);

const writing = (path: string, real: string | null = path) => ({ subjects: [{ kind: 'path' as const, access: 'write' as const, path, real }] });

test('lets reading and edits inside the working folders run', async () => {
  for (const call of [READ, WRITE]) assert.equal((await ask(plugin, call)).behavior, 'allow');
});
test('leaves commands, hosts and what was not understood to be asked about', async () => {
  for (const call of [COMMAND, FETCH, OPAQUE, { subjects: [...WRITE.subjects!, ...COMMAND.subjects!] }, { subjects: [...WRITE.subjects!, ...OPAQUE.subjects!] }, { subjects: [] }]) assert.equal((await ask(plugin, call)).behavior, 'passthrough');
});
test('holds to the working folders even where no guard does', async () => {
  for (const call of [writing('/etc/x'), writing('/work/p/link', '/etc/x'), writing('/tmp/link', '/work/p/a'), writing('/work/p/a', null), writing('/work/p-evil/a'), { ...WRITE, roots: [] }]) assert.equal((await ask(plugin, call)).behavior, 'passthrough');
});
test('does not answer a question that a guard has raised', async () => {
  for (const until of ['rule', 'mode', 'person'] as const) assert.equal((await ask(plugin, WRITE, { behavior: 'ask', until })).behavior, 'passthrough');
});
