/** What every tool must do, whoever wrote it: `toolSuite({ tool, samples })` registers the tests. */
import assert from 'node:assert/strict';
import { constants } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { permissionUpdate, TOOL_NAME } from 'tappet/schemas';
import type { FsLike, MatchPlace, Subject, Tool, ToolUseContext } from 'tappet/schemas';
import { runTool, testProject } from '../support/tool-context.ts';
import type { TestProject } from '../support/tool-context.ts';

export interface ToolSample {
  /** Ends the title of each test. */
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>> | ((project: TestProject) => Readonly<Record<string, unknown>>);
  /** Makes what the call needs. */
  readonly prepare?: (project: TestProject) => Promise<unknown>;
  /** What the call must come to; left out: a result that is no error. */
  readonly fails?: boolean;
  /** Is in the result as a model sees it. */
  readonly contains?: string | RegExp;
}
export interface ToolSuite {
  readonly tool: Tool<any, any>;
  readonly samples: readonly [ToolSample, ...ToolSample[]];
  /** Inputs that the schema must refuse. */
  readonly wrongInputs?: readonly unknown[];
  /** What the context of each call has beside the usual. */
  readonly context?: Partial<ToolUseContext>;
}

export function toolSuite({ tool, samples, wrongInputs = [null, 'text', []], context = {} }: ToolSuite): void {
  describe(`${tool.name} keeps the contract of tools`, () => {
    test('has a name that models can call, and says what it does', async () => {
      assert.match(tool.name, TOOL_NAME);
      const description = await tool.description(null, { mode: 'default', tools: [tool.name] });
      assert.ok(description.trim().length >= 10, 'a description');
      assert.ok(description.length <= 10_000, 'every byte is sent with every request');
    });

    test('describes its input, key by key', () => {
      const schema = tool.inputSchema().jsonSchema as { type?: unknown; properties?: Record<string, unknown> };
      assert.equal(schema.type, 'object');
      for (const [key, property] of Object.entries(schema.properties ?? {})) assert.ok(isDescribed(property), `${key} has no description`);
    });

    test('refuses what does not fit, with words', async () => {
      for (const wrong of wrongInputs) {
        const checked = await tool.inputSchema().check(wrong);
        assert.ok('problems' in checked && checked.problems.length > 0, `${JSON.stringify(wrong)} is taken`);
      }
    });

    test('answers rules about anything without failing, and allows nothing that it does not know', () => {
      const place: MatchPlace = { cwd: '/w', home: '/h', base: '/w', behavior: 'allow' };
      const subjects: Subject[] = [
        { kind: 'opaque', why: 'a test' }, { kind: 'path', access: 'write', path: '/w/a', real: null }, { kind: 'domain', host: 'example.com' },
        { kind: 'command', argv: [{ text: 'ls' }, { text: null }], text: 'ls $x' }, { kind: 'agent', name: 'a' },
      ];
      for (const subject of subjects) {
        for (const spec of ['x', '*', '**', '!x', '', '[', '\\', '//', '../..', 'a\0b', 'x'.repeat(9000)]) {
          for (const behavior of ['allow', 'ask', 'deny', 'tap'] as const) {
            const match = tool.matches(subject, spec, { ...place, behavior });
            assert.ok(['yes', 'no', 'maybe'].includes(match), `${match} for ${spec}`);
            if (subject.kind === 'opaque' && behavior === 'allow') assert.notEqual(match, 'yes', `${spec} allows what is not known`);
          }
          tool.fromSpec(spec);
        }
      }
    });

    for (const sample of samples) {
      const start = async (t: { after(fn: () => Promise<void>): void }, over: Partial<ToolUseContext> = {}) => {
        const project = await testProject(t, { ...context, ...over });
        await sample.prepare?.(project);
        return { project, input: deepFreeze(structuredClone(typeof sample.input === 'function' ? sample.input(project) : sample.input)) };
      };

      test(`gives the result that it should: ${sample.name}`, async (t) => {
        const { project, input } = await start(t);
        const result = await project.run(tool, input); // the input is frozen: whoever changes it fails
        assert.equal(result.isError, sample.fails ?? false, result.text);
        if (typeof sample.contains === 'string') assert.ok(result.text.includes(sample.contains), result.text);
        else if (sample.contains !== undefined) assert.match(result.text, sample.contains);
      });

      test(`caps what it gives back: ${sample.name}`, async (t) => {
        const { project, input } = await start(t);
        const { text } = await project.run(tool, input);
        assert.ok(Number.isFinite(tool.maxResultSizeChars), 'a limit');
        assert.ok(text.length <= tool.maxResultSizeChars, `${text.length} characters, ${tool.maxResultSizeChars} are its limit`);
      });

      test(`names what the call is about: ${sample.name}`, async (t) => {
        const { project, input } = await start(t);
        const args = await checked(tool, input);
        const subjects = await tool.subjects(args, { cwd: project.folder, roots: [project.folder], home: project.home, fs: project.context.fs, env: {} });
        for (const subject of subjects) {
          assert.ok(['command', 'path', 'domain', 'agent', 'skill', 'mcp', 'opaque'].includes(subject.kind), subject.kind);
          if (subject.kind === 'path') assert.equal(subject.path.startsWith('/') || /^[A-Za-z]:|^\\\\/.test(subject.path), true, `${subject.path} is not absolute`);
        }
        for (const update of tool.suggest(args, subjects, { cwd: project.folder, home: project.home, base: project.folder, behavior: 'allow' })) permissionUpdate().parse(update);
      });

      test(`ends when the signal is already aborted: ${sample.name}`, { timeout: 10_000 }, async (t) => {
        const abortController = new AbortController();
        abortController.abort(new Error('interrupted'));
        const { project, input } = await start(t, { abortController });
        await project.run(tool, input).catch((e: unknown) => assert.ok(e instanceof Error)); // either way is an end
      });

      test(`tells the truth about only reading: ${sample.name}`, async (t) => {
        const { project, input } = await start(t);
        const args = await checked(tool, input);
        if (!tool.isReadOnly(args)) return;
        const before = await snapshot(project.folder);
        const tried: string[] = [];
        const refused = (what: string) => () => { tried.push(what); throw Object.assign(new Error(`EROFS: ${what}`), { code: 'EROFS' }); };
        await runTool(tool, input, { ...project.context, fs: readOnlyFs(project.context.fs, tried), process: { spawn: refused('spawn') } });
        assert.deepEqual(tried, [], 'it said that it only reads');
        assert.deepEqual(await snapshot(project.folder), before);
      });
    }
  });
}

async function checked(tool: Tool<any, any>, input: unknown): Promise<any> {
  const result = await tool.inputSchema().check(input);
  if ('problems' in result) assert.fail(`a sample does not fit the schema: ${result.problems.join('; ')}`);
  return result.value;
}

function isDescribed(property: unknown): boolean {
  if (typeof property !== 'object' || property === null) return false;
  const { description, anyOf, oneOf, allOf } = property as { description?: unknown; anyOf?: unknown[]; oneOf?: unknown[]; allOf?: unknown[] };
  return (typeof description === 'string' && description !== '') || [anyOf, oneOf, allOf].some((list) => list?.some(isDescribed) === true);
}

/** Every way of writing fails and is remembered. */
function readOnlyFs(fs: FsLike, tried: string[]): FsLike {
  const refuse = (what: string) => async (path: unknown) => { tried.push(`${what} ${String(path)}`); throw Object.assign(new Error(`EROFS: read-only file system, ${what} '${String(path)}'`), { code: 'EROFS' }); };
  const writes = { writeFile: refuse('writeFile'), mkdir: refuse('mkdir'), rename: refuse('rename'), unlink: refuse('unlink'), chmod: refuse('chmod'), rm: refuse('rm') };
  const WRITING = constants.O_WRONLY | constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC | constants.O_APPEND;
  const open = ((path, flags = 'r', mode) => (typeof flags === 'string' ? /[wa+]/.test(flags) : (flags & WRITING) !== 0) ? refuse('open')(path) : fs.open(path, flags, mode)) as FsLike['open'];
  return { ...fs, ...writes, open } as FsLike;
}

async function snapshot(folder: string): Promise<Record<string, string>> {
  const all: Record<string, string> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    all[path] = entry.isFile() ? await readFile(path, 'base64') : '';
  }
  return all;
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) { Object.freeze(value); Object.values(value).forEach(deepFreeze); }
  return value;
}
