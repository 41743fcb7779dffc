/** Writes a file as a whole: a new one, or one that was read and is still as it was read. */
import { dirname } from 'node:path';
import { definePlugin, defineTool, messageOf, z } from 'tappet/kernel';
import { absolute, codeOf, decodeText, encodeText, hashOf, isAbsence, judgedPaths, lineEnds, matchPath, pathSubject, readBounded, shownPath, specPath, suggestForPaths, sweepTemps, writeWhole } from 'tappet/kit';
import type { FileRead, TextFile } from 'tappet/kit';
import type { ToolResult, ToolUseContext } from 'tappet/schemas';

/** What is larger is replaced without a look at its encoding, and its old text is not handed on. */
const MAX_OLD = 50_000_000;

const input = () => z.object({
  file_path: z.string().min(1).describe('the file'),
  content: z.string().describe('all that shall be in it'),
});
type Input = z.infer<ReturnType<typeof input>>;
type Output =
  | { readonly type: 'create' | 'update'; readonly filePath: string; readonly content: string; /** `null`: there was none, or no text. */ readonly originalFile: string | null; readonly message: string }
  | { readonly type: 'error'; readonly message: string };

export default definePlugin({
  name: 'tools/write',
  api: 1,
  apply({ registries, log }) {
    const judged = judgedPaths();
    const swept = new Set<string>();
    /** Once for each folder: what a killed process left there. */
    const sweep = async (context: ToolUseContext, folder: string): Promise<void> => {
      if (swept.has(folder)) return;
      swept.add(folder);
      await sweepTemps(context.fs, folder).catch((e: unknown) => log.warn(`cannot look for unfinished files in ${folder}: ${messageOf(e)}`));
    };
    registries.tools.add(defineTool<z.ZodType<Input>, Output>({
      name: 'Write',
      description: 'Writes a whole file: makes it, with its folders, or replaces all that was in it. An existing file must have been read whole before and not have changed since.',
      inputSchema: input,
      subjects: async (args, { fs, cwd, home }) => judged.note(args, await pathSubject(fs, cwd, args.file_path, 'write', home)),
      matches: matchPath,
      fromSpec: (spec) => ({ file_path: specPath(spec), content: '' }),
      suggest: (_args, subjects, place) => suggestForPaths(subjects, place),
      render: (data) => data.message,
      call: async (args, context) => {
        const path = absolute(context.cwd, args.file_path, context.home);
        try {
          const found = await judged.find(args, context.fs, path);
          if ('wrong' in found) return wrong(found.wrong);
          const result = await writeAt(path, found.real, args.content, context);
          if (!result.isError) await sweep(context, dirname(found.real));
          return result;
        } catch (e) {
          return wrong(whatFailed(e, path));
        }
      },
    }));
  },
});

async function writeAt(path: string, real: string, given: string, context: ToolUseContext): Promise<ToolResult<Output>> {
  const { fs, readFileState, signal, memoryWrite } = context;
  const old = await readBounded(fs, real, MAX_OLD).catch((e: unknown) => { if (isAbsence(e)) return null; throw e; });
  if (old !== null) {
    const unseen = whyUnseen(path, old, real, context);
    if (unseen !== null) return wrong(unseen);
  }
  const checked = await memoryWrite?.before(real, given) ?? { content: given };
  if ('deny' in checked) return wrong(checked.deny);
  const { content } = checked;
  const oldText = old === null || old.cut ? null : await decodeText(old.bytes);
  const { bytes, notice } = await encode(content, oldText);
  const { created, seen } = await writeWhole(fs, real, bytes, { expect: old === null ? null : { size: old.size, hash: readFileState.get(real)!.hash }, signal });
  readFileState.set(real, { ...seen, partial: false });
  const after = await memoryWrite?.after(real);
  const message = [`${created ? 'Created' : 'Updated'} ${shownPath(context.cwd, path)} (${lineCount(content)}).`, ...notice, ...(after == null ? [] : [after])].join('\n');
  return { data: { type: created ? 'create' : 'update', filePath: path, content, originalFile: oldText?.text ?? null, message } };
}

/** Nobody replaces what they have not seen. */
function whyUnseen(path: string, old: FileRead, real: string, { readFileState }: ToolUseContext): string | null {
  const state = readFileState.get(real);
  if (state === undefined) return `${path} exists and has not been read yet. Read it first, then write`;
  if (state.partial) return `only a part of ${path} has been read. Read all of it first`;
  if (old.size !== state.size || (!old.cut && hashOf(old.bytes) !== state.hash)) return `${path} has been changed since it was read. Read it again, then write what takes the changes in`;
  return null;
}

/** In the form that the file had: its mark and its encoding; line ends are as they were given. */
async function encode(content: string, old: TextFile | null): Promise<{ bytes: Buffer; notice: readonly string[] }> {
  const ends = old !== null && lineEnds(old.text) === 'crlf' && lineEnds(content) === 'lf' ? ['Its lines ended in CRLF; now they end in LF.'] : [];
  const form = old === null ? { encoding: 'utf8', bom: false } : old;
  const bytes = old !== null && !old.exact ? null : await encodeText(content, form);
  return bytes !== null ? { bytes, notice: ends } : { bytes: Buffer.from(content, 'utf8'), notice: [`It was ${form.encoding}; the new text does not fit that and was written as UTF-8.`, ...ends] };
}

const wrong = (message: string): ToolResult<Output> => ({ data: { type: 'error', message }, isError: true });
function lineCount(content: string): string {
  const n = content === '' ? 0 : content.split('\n').length - (content.endsWith('\n') ? 1 : 0);
  return n === 1 ? '1 line' : `${n} lines`;
}

/** The model's mistakes become a sentence; all else is thrown on. */
function whatFailed(e: unknown, path: string): string {
  switch (codeOf(e)) {
    case 'EISDIR': return `${path} is a folder`;
    case 'ENOTDIR': return `${path} can't be written: a part of the path is a file, not a folder`;
    case 'EACCES': case 'EPERM': return `${path} may not be written by this user`;
    case 'EROFS': return `${path} lies on a disk that can't be written`;
    case 'ENOSPC': case 'EDQUOT': return `there is no room for ${path}; it is as it was`;
    case 'E_FILE_CHANGED': return `${messageOf(e)}. Read it again, then write`;
    case 'E_FILE_READONLY': return `${messageOf(e)}. If it is meant to be changed, make it writable first`;
    case 'E_FILE_SPECIAL': case 'E_FILE_MOVED': return messageOf(e);
    default: throw e;
  }
}
