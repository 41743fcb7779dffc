/** The tool `WordCount`: how many words, lines and characters a text file has. */
import { definePlugin, defineTool, z } from 'tappet/kernel';
import { absolute, codeOf, decodeText, judgedPaths, matchPath, pathSubject, readBounded, specPath, suggestForPaths } from 'tappet/kit';

export default definePlugin({
  name: 'acme/word-count',
  api: 1,
  // A thunk: a schema that no start needs is not built. Each key says what it is for; a wrong one is refused with file and line.
  options: () => z.strictObject({
    maxBytes: z.number().int().positive().default(1_000_000).describe('size of the largest file that is counted'),
  }),
  apply({ registries, options }) {
    const judged = judgedPaths();
    registries.tools.add(defineTool({
      name: 'WordCount',
      // Sent with every request: as short as it can be, with what the model cannot guess.
      description: 'Counts the words, lines and characters of one text file.',
      inputSchema: () => z.object({ file_path: z.string().min(1).describe('the file') }),
      // Left out, both would be false: the call would be asked about, and run alone.
      isReadOnly: true,
      isConcurrencySafe: true,
      // What the call is about. Guards, rules and modes see this and nothing else, so every file that is touched must be in it.
      subjects: async (input, { fs, cwd, home }) => judged.note(input, await pathSubject(fs, cwd, input.file_path, 'read', home)),
      // The words in the brackets of `WordCount(docs/**)` are path patterns, and what a person may be offered as a rule are such.
      matches: matchPath,
      fromSpec: (spec) => ({ file_path: specPath(spec) }),
      suggest: (_input, subjects, place) => suggestForPaths(subjects, place),
      async call(input, { cwd, home, fs }) {
        const path = absolute(cwd, input.file_path, home);
        try {
          // A link may lead elsewhere than when the call was judged; then nothing is read.
          const found = await judged.find(input, fs, path);
          if ('wrong' in found) return wrong(found.wrong);
          // Through the context, never by node:fs: a call may run on another machine, or in an editor's buffers.
          const read = await readBounded(fs, found.real, options.maxBytes);
          if (read.cut) return wrong(`${path} has ${read.size} bytes; at most ${options.maxBytes} are counted`);
          const file = await decodeText(read.bytes);
          return file === null ? wrong(`${path} is no text file`) : { data: counted(path, file.text) };
        } catch (e) {
          // The model's mistakes are results that it can learn from; what is thrown is a fault of ours.
          if (codeOf(e) === 'ENOENT') return wrong(`there is no file ${path}`);
          if (codeOf(e) === 'EISDIR') return wrong(`${path} is a folder`);
          throw e;
        }
      },
    }));
  },
});

const wrong = (data: string): { readonly data: string; readonly isError: true } => ({ data, isError: true });

function counted(path: string, text: string): string {
  const lines = text === '' ? 0 : text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
  return `${path}: ${text.split(/\s+/).filter((word) => word !== '').length} words, ${lines} lines, ${[...text].length} characters`;
}
