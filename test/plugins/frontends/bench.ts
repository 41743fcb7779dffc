/** Frontends as main drives them: a whole invocation, streams that a test holds, a kernel with the plugin in it. */
import { PassThrough } from 'node:stream';
import type { TestContext } from 'node:test';
import type { Frontend, Invocation, Io, Open } from 'tappet/kernel';
import { invocation } from './invocation.ts';
import { BASIC, project } from '../../support/project.ts';
import type { ProjectOptions } from '../../support/project.ts';

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

export type Line = Record<string, any>;
/** The other end of the lines: a host that writes to stdin and looks at what comes out. */
export function hostOn(io: TestIo) {
  const lines: Line[] = [];
  const watchers = new Set<() => void>();
  io.onOut = (text) => {
    for (const line of text.split('\n')) if (line !== '') lines.push(JSON.parse(line) as Line);
    for (const look of [...watchers]) look();
  };
  const until = (fits: (line: Line) => boolean, after = 0): Promise<Line> => new Promise((resolve) => {
    const look = (): void => {
      const found = lines.slice(after).find(fits);
      if (found === undefined) return;
      watchers.delete(look);
      resolve(found);
    };
    watchers.add(look);
    look();
  });
  let ids = 0;
  const send = (...given: (Line | string)[]): void => { io.input.write(given.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('')); };
  return {
    lines, until, send,
    user: (content: unknown, more: Line = {}) => send({ type: 'user', session_id: '', message: { role: 'user', content }, parent_tool_use_id: null, ...more }),
    /** The answer to a request. */
    async ask(request: Line): Promise<Line> {
      const id = `r${++ids}`;
      send({ type: 'control_request', request_id: id, request });
      return (await until((l) => l['type'] === 'control_response' && l['response'].request_id === id))['response'] as Line;
    },
    answer: (request: Line, response: unknown) => send({ type: 'control_response', response: { subtype: 'success', request_id: request['request_id'], response } }),
    refuse: (request: Line, error: string) => send({ type: 'control_response', response: { subtype: 'error', request_id: request['request_id'], error } }),
    request: (subtype: string, after = 0) => until((l) => l['type'] === 'control_request' && l['request'].subtype === subtype, after),
    result: (n = 1) => until(() => lines.filter((l) => l['type'] === 'result').length >= n).then(() => lines.filter((l) => l['type'] === 'result')[n - 1]!),
    end: () => { io.input.end(); },
    of: (type: string, subtype?: string) => lines.filter((l) => l['type'] === type && (subtype === undefined || l['subtype'] === subtype)),
    shape: () => lines.map((l) => (l['type'] === 'control_request' ? `ask:${l['request'].subtype}` : l['type'] === 'control_response' ? `answer:${l['response'].subtype}` : `${l['type']}${l['subtype'] === undefined ? '' : `/${l['subtype']}`}`)),
  };
}
export const untilAborted = (signal: AbortSignal): Promise<void> => new Promise((resolve) => { if (signal.aborted) resolve(); else signal.addEventListener('abort', () => resolve(), { once: true }); });
