/** Reads one file as a model can take it: numbered lines, an image, a notebook's cells. */
import { dirname, basename, extname, join } from 'node:path';
import { definePlugin, defineTool, nearest, z } from 'tappet/kernel';
import { absolute, codeOf, decodeText, hashOf, judgedPaths, matchPath, numbered, pathSubject, readBounded, specPath, suggestForPaths } from 'tappet/kit';
import type { FileRead } from 'tappet/kit';
import type { ImageBlock, TextBlock, ToolResult, ToolUseContext } from 'tappet/schemas';
import { imageInfo } from './image.ts';
import { cellBlocks, readCells } from './notebook.ts';
import type { Cell } from './notebook.ts';
import { pageOf, pageOfLarge } from './page.ts';
import type { Paged, } from './page.ts';

const options = () => z.object({
  maxLines: z.number().int().positive().default(2000).describe('lines that one call shows'),
  maxBytes: z.number().int().positive().default(100_000).describe('bytes that one call shows'),
  maxImageBytes: z.number().int().positive().default(3_750_000).describe('size of the largest image that is sent to a model; 3.75 MB are the 5 MB of base64 that APIs take'),
});
type Limits = z.infer<ReturnType<typeof options>>;
/** Larger files are not held in memory. */
const WHOLE = 10_000_000;
/** Pixels of an image's longer side that APIs take. */
const MAX_SIDE = 8000;

const input = () => z.object({
  file_path: z.string().min(1).describe('the file'),
  offset: z.number().int().min(0).optional().describe('first line, from 1; for large files'),
  limit: z.number().int().positive().optional().describe('number of lines; for large files'),
});
type Input = z.infer<ReturnType<typeof input>>;
type Output =
  | { readonly type: 'text'; readonly file: { readonly filePath: string; readonly content: string; readonly numLines: number; readonly startLine: number; readonly totalLines: number | null }; readonly partial: boolean; readonly notices: readonly string[] }
  | { readonly type: 'image'; readonly file: { readonly filePath: string; readonly base64: string; readonly type: string; readonly originalSize: number; readonly dimensions: { readonly width: number; readonly height: number } } }
  | { readonly type: 'notebook'; readonly file: { readonly filePath: string; readonly cells: readonly Cell[] }; readonly blocks: readonly (TextBlock | ImageBlock)[]; readonly partial: boolean }
  | { readonly type: 'error'; readonly message: string };

export default definePlugin({
  name: 'tools/read',
  api: 1,
  options,
  apply({ registries, options: limits }) {
    const judged = judgedPaths();
    registries.tools.add(defineTool<z.ZodType<Input>, Output>({
      name: 'Read',
      description: `Reads a file: text with line numbers (number, tab, line), images, notebooks cell by cell. Shows up to ${limits.maxLines} lines; offset and limit choose others. No folders, no PDFs.`,
      inputSchema: input,
      isReadOnly: true,
      isConcurrencySafe: true,
      maxResultSizeChars: limits.maxBytes + 10_000, // it pages by itself and is never put into a file
      subjects: async (args, { fs, cwd, home }) => judged.note(args, await pathSubject(fs, cwd, args.file_path, 'read', home)),
      matches: matchPath,
      fromSpec: (spec) => ({ file_path: specPath(spec) }),
      suggest: (_args, subjects, place) => suggestForPaths(subjects, place),
      render,
      call: async (args, context) => {
        const path = absolute(context.cwd, args.file_path, context.home);
        try {
          const found = await judged.find(args, context.fs, path);
          return 'wrong' in found ? wrong(found.wrong) : await readAt(path, found.real, args, limits, context);
        } catch (e) {
          return wrong(await whatFailed(e, path, context));
        }
      },
    }));
  },
});

async function readAt(path: string, real: string, args: Input, limits: Limits, context: ToolUseContext): Promise<ToolResult<Output>> {
  const read = await readBounded(context.fs, real, WHOLE);
  const seen = (partial: boolean) => remember(context, real, read, partial);
  const image = imageInfo(read.bytes);
  if (image !== null) {
    if (read.size > limits.maxImageBytes) return wrong(`${path} is an image of ${megabytes(read.size)}; at most ${megabytes(limits.maxImageBytes)} can be shown. Make a smaller copy first`);
    if (image.size === null) return wrong(`${path} begins like ${image.mediaType}, but is damaged`);
    if (Math.max(image.size.width, image.size.height) > MAX_SIDE) return wrong(`${path} is ${image.size.width} x ${image.size.height} pixels; at most ${MAX_SIDE} on a side can be shown. Make a smaller copy first`);
    seen(false);
    return { data: { type: 'image', file: { filePath: path, base64: read.bytes.toString('base64'), type: image.mediaType, originalSize: read.size, dimensions: image.size } } };
  }
  if (read.bytes.subarray(0, 5).toString('latin1') === '%PDF-') return wrong(`${path} is a PDF, and PDFs can't be read yet. If pdftotext is there: pdftotext FILE - | head -n 500`);
  if (read.cut) {
    if (extname(path) === '.ipynb') return wrong(`${path} is a notebook of ${megabytes(read.size)}; search it with Grep, or pick cells with a program`);
    const page = await pageOfLarge(context.fs, real, args, limits, context.signal);
    seen(true);
    return page === null ? wrong(binary(path)) : textResult(path, page, limits);
  }
  const file = await decodeText(read.bytes);
  if (file === null) return wrong(binary(path));
  const cells = extname(path) === '.ipynb' && args.offset === undefined && args.limit === undefined ? readCells(file.text) : null;
  if (cells !== null) {
    const { blocks, shown } = cellBlocks(cells, limits.maxBytes, limits.maxImageBytes);
    const partial = shown < cells.length;
    seen(partial);
    const notice = partial ? [{ type: 'text' as const, text: `[PARTIAL view: ${shown} of ${cells.length} cells. The others: read with offset and limit, as JSON. The file does not count as read]` }] : [];
    return { data: { type: 'notebook', file: { filePath: path, cells: cells.slice(0, shown) }, blocks: [...blocks, ...notice], partial } };
  }
  const page = pageOf(file, args, limits);
  seen('tooLarge' in page || page.partial);
  return textResult(path, page, limits);
}

function textResult(path: string, page: Paged, limits: Limits): ToolResult<Output> {
  if ('tooLarge' in page) return wrong(`these lines have ${page.tooLarge} bytes or more; ${limits.maxBytes} can be shown at once. Ask for fewer, or search with Grep`);
  const { content, numLines, startLine, totalLines, partial, notices } = page;
  return { data: { type: 'text', file: { filePath: path, content, numLines, startLine, totalLines }, partial, notices } };
}

function render(data: Output): string | readonly (TextBlock | ImageBlock)[] {
  switch (data.type) {
    case 'error': return data.message;
    case 'image': return [{ type: 'image', source: { type: 'base64', media_type: data.file.type, data: data.file.base64 } }];
    case 'notebook': return data.blocks;
    case 'text': return [...(data.file.numLines > 0 ? [numbered(data.file.content, data.file.startLine)] : []), ...data.notices.map((n) => `[${n}]`)].join('\n');
  }
}

/** What was seen whole stays so while the file is the same; a look at a part takes nothing away. */
function remember({ readFileState }: ToolUseContext, real: string, { bytes, cut, mtimeMs, size }: FileRead, partial: boolean): void {
  const hash = cut ? '' : hashOf(bytes);
  const before = readFileState.get(real);
  if (partial && before !== undefined && !before.partial && before.hash === hash) return;
  readFileState.set(real, { mtimeMs, size, hash, partial });
}

const wrong = (message: string): ToolResult<Output> => ({ data: { type: 'error', message }, isError: true });
const binary = (path: string): string => `${path} is no text (binary data). Use a program that knows its format`;
const megabytes = (n: number): string => (n < 1_000_000 ? `${Math.ceil(n / 1000)} kB` : `${(n / 1_000_000).toFixed(2)} MB`);

/** The model's mistakes become a sentence; all else is thrown on. */
async function whatFailed(e: unknown, path: string, context: ToolUseContext): Promise<string> {
  switch (codeOf(e)) {
    case 'ENOENT': case 'ENOTDIR': return missing(path, context);
    case 'EISDIR': return `${path} is a folder. List it with Glob (pattern "*", path "${path}")`;
    case 'EACCES': case 'EPERM': return `${path} may not be read by this user`;
    case 'E_FILE_SPECIAL': case 'E_FILE_MOVED': return (e as Error).message;
    default: throw e;
  }
}
async function missing(path: string, { fs, cwd }: ToolUseContext): Promise<string> {
  const [folder, name] = [dirname(path), basename(path)];
  const names = await fs.readdir(folder).catch(() => null);
  if (names === null) return `there is no ${path}: its folder does not exist. The working folder is ${cwd}`;
  const stem = (n: string) => basename(n, extname(n)).toLowerCase();
  const close = nearest(name, names);
  const similar = [...new Set([...(close === null ? [] : [close]), ...names.filter((n) => stem(n) === stem(name))])].slice(0, 3);
  return `there is no ${path}. The working folder is ${cwd}${similar.length === 0 ? '' : `. Similar: ${similar.map((n) => join(folder, n)).join(', ')}`}`;
}
