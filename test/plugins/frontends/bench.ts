/** Frontends as main drives them: a whole invocation, streams that a test holds, a kernel with the plugin in it. */
import { PassThrough } from 'node:stream';
import type { TestContext } from 'node:test';
import type { Frontend, Invocation, Io, Open } from 'tappet/kernel';
import { BASIC, project } from '../../support/project.ts';
import type { ProjectOptions } from '../../support/project.ts';

export const invocation = (more: Partial<Invocation> = {}): Invocation => ({
  cwd: '/', command: null, prompt: null, print: true, outputFormat: 'text', inputFormat: 'text', includePartialMessages: false, replayUserMessages: false, model: 'test/model', fallbackModel: null, mode: null, allowBypass: false,
  permissionPromptTool: null, allowedTools: [], disallowedTools: [], tools: null, addDirs: [], systemPrompt: null, appendSystemPrompt: null, effort: null, thinking: null, continue: false, resume: null, forkSession: false,
  sessionId: null, persist: true, maxTurns: null, maxBudgetUsd: null, timeoutMs: null, setup: null, requireTrust: false, verbose: false, debug: false, color: false, json: false, ...more,
});

export interface TestIo extends Io { readonly stdin: NodeJS.ReadStream; out(text: string): void; readonly input: PassThrough; readonly stdout: string; readonly stderr: string; tell(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP'): void; readonly listeners: number; /** Called with each text that goes out. */ onOut: ((text: string) => void) | undefined }
export function testIo(o: { isTTY?: boolean; env?: Record<string, string> } = {}): TestIo {
  const input = new PassThrough();
  const listeners = new Set<(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP') => void>();
  const io = {
    input, stdout: '', stderr: '', onOut: undefined as ((text: string) => void) | undefined,
    stdin: Object.assign(input, { isTTY: o.isTTY === true }) as unknown as NodeJS.ReadStream,
    out(text: string) { io.stdout += text; io.onOut?.(text); },
    err(text: string) { io.stderr += text; },
    isTTY: false, columns: 80, color: false, flush: async () => {}, env: o.env ?? {},
    onInterrupt(fn: (signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP') => void) { listeners.add(fn); return () => listeners.delete(fn); },
    tell(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP') { for (const fn of [...listeners]) fn(signal); },
    get listeners() { return listeners.size; },
  };
  return io;
}

export async function frontendIn(t: TestContext, name: 'print' | 'stream-json', o: ProjectOptions = {}) {
  const p = project(t, { ...o, only: o.only ?? [...BASIC, `frontends/${name}`] });
  const kernel = await p.boot();
  const frontend: Frontend = kernel.registries.frontends.get(name)!;
  const open: Open = (options) => kernel.open(options);
  return { project: p, frontend, open, call: (more: Partial<Invocation>, io: Io) => frontend.run(open, invocation({ cwd: p.dir, ...more }), io) };
}
