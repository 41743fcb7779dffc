/** A ToolUseContext for direct calls of tools: a temporary project with a home beside it, the real file system, nothing of the kernel. */
import { spawn } from 'node:child_process';
import * as nodeFs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { AppState, AssistantMessage, Block, FileReadState, FsLike, Subject, Tool, ToolUseContext } from 'tappet/schemas';

export interface TestProject {
  readonly context: ToolUseContext;
  /** The project: cwd, root and only root of `context.roots`; a real path. */
  readonly folder: string;
  /** Exists, empty, outside of the project. */
  readonly home: string;
  /** What tools emitted. */
  readonly emitted: readonly unknown[];
  /** Writes a file below the project, with its folders; gives its absolute path. */
  file(path: string, content: string | Uint8Array): Promise<string>;
  /** Checks the input, asks for the subjects, calls, renders: what the kernel does, without judging. */
  run<Out>(tool: Tool<any, Out>, input: Readonly<Record<string, unknown>>, over?: Partial<ToolUseContext>): Promise<TestRun<Out>>;
  remove(): Promise<void>;
}
export interface TestRun<Out> { readonly data: Out; readonly isError: boolean; readonly blocks: readonly Block[]; /** The text blocks, joined. */ readonly text: string; readonly subjects: readonly Subject[] }

/** With a test's context the project is removed when the test ends; without one by `remove()`. */
export async function testProject(t: { after(fn: () => Promise<void>): void } | null, over: Partial<ToolUseContext> = {}): Promise<TestProject> {
  const base = await nodeFs.realpath(await nodeFs.mkdtemp(join(tmpdir(), 'tappet-test-')));
  const folder = join(base, 'project');
  const home = join(base, 'home');
  await Promise.all([nodeFs.mkdir(folder), nodeFs.mkdir(home)]);
  const remove = () => nodeFs.rm(base, { recursive: true, force: true });
  t?.after(remove);
  const emitted: unknown[] = [];
  const context = toolContext({ cwd: folder, root: folder, roots: [folder], home, emit: (body) => void emitted.push(body), outputFolder: () => nodeFs.mkdir(join(base, 'outputs'), { recursive: true }).then(() => join(base, 'outputs')), ...over });
  return {
    context, folder, home, emitted, remove,
    file: async (path, content) => {
      const at = join(folder, path);
      await nodeFs.mkdir(dirname(at), { recursive: true });
      await nodeFs.writeFile(at, content);
      return at;
    },
    run: (tool, input, more = {}) => runTool(tool, input, { ...context, ...more }),
  };
}

/** `abortController` gives the signal; a `signal` alone in `over` is not enough. */
function toolContext(over: Partial<ToolUseContext> & Pick<ToolUseContext, 'cwd'>): ToolUseContext {
  const abortController = over.abortController ?? new AbortController();
  const seen = new Map<string, FileReadState>();
  const readFileState = over.readFileState ?? { get: (p: string) => seen.get(p), set: (p: string, s: FileReadState) => void seen.set(p, s), delete: (p: string) => seen.delete(p), has: (p: string) => seen.has(p) };
  return {
    options: { model: 'scripted/test', tools: [], mcpClients: [], mode: 'default', env: {}, isInteractive: false },
    getAppState: () => appState(over.cwd),
    setAppState: () => {},
    setAppStateForTasks: () => {},
    messages: [],
    notifications: [],
    root: over.cwd,
    roots: [over.cwd],
    home: join(dirname(over.cwd), 'home'),
    emit: () => {},
    fs: nodeFs as FsLike,
    process: { spawn: (r) => spawn(r.command, [...r.args], { cwd: r.cwd, env: { ...r.env }, stdio: [r.stdin ?? 'ignore', 'pipe', 'pipe'], detached: process.platform !== 'win32' }) },
    outputFolder: () => Promise.reject(new Error('this context has no output folder')),
    turnId: 'turn-1',
    toolCallId: 'call-1',
    ...over,
    readFileState,
    fileReadState: readFileState,
    abortController,
    signal: abortController.signal,
  };
}

export async function runTool<Out>(tool: Tool<any, Out>, input: Readonly<Record<string, unknown>>, context: ToolUseContext): Promise<TestRun<Out>> {
  const checked = await tool.inputSchema().check(input);
  if ('problems' in checked) throw new Error(`the input does not fit ${tool.name}: ${checked.problems.join('; ')}`);
  const args = checked.value;
  const subjects = await tool.subjects(args, { cwd: context.cwd, roots: context.roots, home: context.home, fs: context.fs, env: context.options.env });
  const result = await tool.call(args, context, async () => ({ behavior: 'allow' }), CALLER);
  const shown = tool.render(result.data, args);
  const blocks: readonly Block[] = typeof shown === 'string' ? [{ type: 'text', text: shown }] : shown;
  return { data: result.data, isError: result.isError === true, blocks, text: blocks.map((b) => (b.type === 'text' ? b.text : '')).join('\n'), subjects };
}

const CALLER: AssistantMessage = {
  type: 'assistant', uuid: '00000000-0000-4000-8000-000000000000', timestamp: '2026-01-01T00:00:00.000Z',
  message: { id: 'm', role: 'assistant', model: 'scripted/test', content: [], stop_reason: 'tool_use', usage: { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 } },
};
const appState = (cwd: string): AppState => ({
  settings: {
    model: undefined, fallbackModel: undefined, mode: 'default', plugins: {}, permissions: { allow: [], ask: [], deny: [] }, directories: [], env: {}, limits: {}, providers: {}, models: {},
    stores: {}, earlyStart: true, effort: undefined, thinking: undefined, bounds: {},
  },
  cwd, toolPermissionContext: { mode: 'default', rules: [], additionalDirectories: [] }, plugins: { enabled: [], disabled: [], errors: [] }, agentDefinitions: { all: [], failures: [] },
  speculation: { status: 'idle' }, mainLoopModel: 'scripted/test', title: null, turn: 'running', tasks: {}, mcp: { connections: [], tools: [], commands: [], resources: [] },
});
