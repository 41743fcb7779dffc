/** Small tools for tests of the kernel, whose calls can be watched and held up. */
import { definePlugin, defineTool, z } from 'tappet/kernel';
import type { Plugin } from 'tappet/kernel';

export interface Watched { readonly calls: { tool: string; input: Record<string, unknown>; cwd: string }[]; readonly plugin: Plugin<any>; hold: ((signal: AbortSignal) => Promise<void>) | null }

/** `Look` reads, `Change` writes, `Big` says much, `Break` throws, `Move` changes the folder, `Stuck` ignores its signal. */
export function watchedTools(): Watched {
  const calls: Watched['calls'] = [];
  const watched: Watched = { calls, hold: null, plugin: undefined as never };
  const path = (access: 'read' | 'write') => (input: { path: string }, c: { cwd: string }) => { const full = input.path.startsWith('/') ? input.path : `${c.cwd}/${input.path}`; return [{ kind: 'path' as const, access, path: full, real: full }]; };
  const input = () => z.object({ path: z.string().describe('a path'), note: z.string().optional().describe('anything') });
  const run = (tool: string) => async (given: { path: string }, c: { cwd: string; signal: AbortSignal }) => { calls.push({ tool, input: { ...given }, cwd: c.cwd }); await watched.hold?.(c.signal); return { data: `${tool} ${given.path}` }; };
  const matches = (s: { kind: string; path?: string }, spec: string) => (s.kind === 'path' && s.path?.endsWith(spec) === true ? 'yes' as const : 'no' as const);
  (watched as { plugin: Plugin<any> }).plugin = definePlugin({
    name: 'test/tools', api: 1,
    apply({ registries }) {
      const add = (t: Parameters<typeof registries.tools.add>[0]): void => registries.tools.add(t);
      add(defineTool({ name: 'Look', description: 'Looks.', inputSchema: input, isReadOnly: true, isConcurrencySafe: true, subjects: path('read'), matches, call: run('Look'), suggest: (i) => [{ type: 'addRules', rules: [{ toolName: 'Look', ruleContent: i.path }], behavior: 'allow', destination: 'session' }] }));
      add(defineTool({ name: 'Change', description: 'Changes.', inputSchema: input, subjects: path('write'), matches, call: run('Change'), suggest: (i) => [{ type: 'addRules', rules: [{ toolName: 'Change', ruleContent: i.path }], behavior: 'allow', destination: 'session' }] }));
      add(defineTool({ name: 'Big', description: 'Says much.', inputSchema: () => z.object({ size: z.number().describe('characters') }), isReadOnly: true, isConcurrencySafe: true, subjects: () => [], maxResultSizeChars: 1000, call: ({ size }) => ({ data: 'x'.repeat(size) }) }));
      add(defineTool({ name: 'Break', description: 'Throws.', inputSchema: () => z.object({}), isReadOnly: true, isConcurrencySafe: true, subjects: () => [], call: () => { throw new Error('it fell apart'); } }));
      add(defineTool({ name: 'Move', description: 'Moves.', inputSchema: input, isReadOnly: true, subjects: path('read'), matches, call: (i) => ({ data: 'moved', contextModifier: (c) => ({ ...c, cwd: i.path }) }) }));
      add(defineTool({ name: 'Person', description: 'Needs a person.', inputSchema: () => z.object({}), requiresUserInteraction: true, subjects: () => [], call: () => ({ data: 'a person said so' }) }));
      add(defineTool({ name: 'Later', description: 'Finds another target.', inputSchema: input, isReadOnly: true, subjects: path('read'), matches, call: async (i, c) => ({ data: JSON.stringify(await c.readjudicate!({ path: i.note ?? i.path })) }) }));
    },
  });
  return watched;
}
