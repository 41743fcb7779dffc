/** Markdown with a YAML head between two lines of three dashes. */

/** `path` leads to a value of the head: `['tools', 0]`. Lines count from 1, in the file. */
export interface FrontMatter { readonly data: Readonly<Record<string, unknown>>; readonly body: string; readonly bodyLine: number; lineOf(path: readonly (string | number)[]): number | null }
export interface FrontMatterProblem { readonly problem: string; readonly line: number; readonly column: number }

const MAX_HEAD = 64 * 1024;

/** A file without a head is all body. A head that is broken is a problem, never an empty head: it may hold a limit. */
export async function frontMatter(text: string): Promise<FrontMatter | FrontMatterProblem> {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const isFence = (line: string | undefined): boolean => line !== undefined && /^---[ \t]*$/.test(line);
  if (!isFence(lines[0])) return withoutHead(lines, isFence);
  const end = lines.findIndex((line, i) => i > 0 && isFence(line));
  if (end === -1) return { problem: 'the head that begins here is not closed: a line --- must follow it', line: 1, column: 1 };
  const head = lines.slice(1, end).join('\n');
  if (head.length > MAX_HEAD) return { problem: `the head has ${head.length} characters; at most ${MAX_HEAD} are read`, line: 2, column: 1 };
  return parseHead(head, lines.slice(end + 1).join('\n'), end + 2);
}

function withoutHead(lines: readonly string[], isFence: (line: string | undefined) => boolean): FrontMatter | FrontMatterProblem {
  const first = lines.findIndex((line) => line.trim() !== '');
  if (first > 0 && isFence(lines[first])) return { problem: `a blank line stands before the opening ---; it must be the first line of the file`, line: first + 1, column: 1 };
  const marked = /^(---\s*)[A-Za-z]+\s*$/.exec(lines[0] ?? '');
  if (marked !== null) return { problem: 'the opening --- may not name a language: the head is YAML', line: 1, column: marked[1]!.length + 1 };
  return { data: {}, body: lines.join('\n'), bodyLine: 1, lineOf: () => null };
}

async function parseHead(head: string, body: string, bodyLine: number): Promise<FrontMatter | FrontMatterProblem> {
  const { LineCounter, isMap, isNode, isScalar, parseDocument, visit } = await import('yaml');
  const counter = new LineCounter();
  const document = parseDocument(head, { lineCounter: counter, uniqueKeys: true, prettyErrors: false, logLevel: 'silent' });
  const at = (offset: number): { line: number; column: number } => { const { line, col } = counter.linePos(offset); return { line: line + 1, column: col }; };
  const [error] = document.errors;
  if (error !== undefined) return { problem: error.message, ...at(error.pos[0]) };
  if (document.contents !== null && !isMap(document.contents) && !(isScalar(document.contents) && document.contents.value === null)) return { problem: 'the head must consist of `key: value` lines', line: 2, column: 1 };
  let refused: FrontMatterProblem | null = null;
  visit(document, {
    Pair(_, { key }) { if (isScalar(key) && key.value === '__proto__') refused ??= { problem: 'a key may not be named __proto__', ...at(key.range?.[0] ?? 0) }; },
    Alias(_, alias) { refused ??= { problem: 'anchors and aliases are not read here: write the value out', ...at(alias.range?.[0] ?? 0) }; },
  });
  if (refused !== null) return refused;
  const data = (document.toJS() as Record<string, unknown> | null) ?? {};
  return {
    data, body, bodyLine,
    lineOf(path) {
      const node = document.getIn(path, true);
      return isNode(node) && node.range ? at(node.range[0]).line : null;
    },
  };
}
