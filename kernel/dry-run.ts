/** What would be said of a call, without making it: for `explain`. */
import { randomUUID } from 'node:crypto';
import type { KernelView } from '../schemas/index.ts';
import { createContext } from './context.ts';
import { TappetError } from './errors.ts';
import { dryRun } from './gate.ts';
import type { Kernel } from './kernel.ts';
import { createSession, internalsOf } from './session.ts';

export function dryRunner(kernel: Kernel): KernelView['dryRun'] {
  return async (toolName, input, o) => {
    const session = await createSession({ kernel, id: randomUUID(), cwd: o.cwd, log: null, overlay: o.mode === undefined ? {} : { mode: o.mode }, host: { asks: ['permission'] }, source: 'startup', restored: null, fork: () => Promise.reject(new TappetError('E_INTERNAL', { message: 'a dry run has no forks' })), onClose: async () => {} });
    try {
      const { conversation: c } = internalsOf(session)!;
      const tool = kernel.registries.tools.get(toolName);
      if (tool === undefined) throw new TappetError('E_USAGE', { message: `there is no tool "${toolName}"`, do: `choose one of: ${kernel.registries.tools.all().map((t) => t.name).join(', ')}` });
      const checked = await tool.inputSchema().check(input);
      if ('problems' in checked) throw new TappetError('E_USAGE', { message: `${toolName}: ${checked.problems.join('; ')}`, do: 'correct the input' });
      const value = checked.value as Record<string, unknown>;
      const subjects = await tool.subjects(value, { cwd: o.cwd, roots: c.roots(), home: kernel.places.home, fs: c.fs(), env: kernel.settings().env });
      const use = { type: 'tool_use' as const, id: 'dry-run', name: toolName, input: value };
      const judged = c.judged({ toolUseId: use.id, turnId: 'dry-run', tool: toolName, input: value, subjects, isReadOnly: tool.isReadOnly(value), matches: (s, spec, where) => tool.matches(s, spec, where) }, o.cwd);
      const abort = new AbortController();
      const context = createContext(c, { turnId: 'dry-run', use, abort, cwd: o.cwd, model: '', readjudicate: async () => ({ behavior: 'deny', message: 'a dry run makes no calls' }) });
      return dryRun(c, { tool, input: value, judged, said: [] }, context, abort.signal);
    } finally { await session.close(); }
  };
}
