/** Rows as aligned columns of plain text, for lists that people read. */
import { cleanLine } from './clean-text.ts';

/** Columns that a terminal gives a text: wide characters take two, marks none. */
export const textWidth = (text: string): number => [...text].reduce((sum, c) => sum + (MARK.test(c) ? 0 : WIDE.test(c) ? 2 : 1), 0);
const MARK = /^\p{M}$/u;
const WIDE = /^[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]$/u;

export interface ColumnOptions {
  /** Of the terminal; left out where the text goes to a file or pipe. */
  readonly width?: number | undefined;
  readonly indent?: number | undefined;
}
/** The last cell of a row sets no width and goes on in further lines where it is too long: nothing is cut. Cells are cleaned of control characters. */
export function columns(rows: readonly (readonly string[])[], o: ColumnOptions = {}): string {
  const indent = ' '.repeat(o.indent ?? 0);
  const clean = rows.map((row) => row.map(cleanLine));
  const widths: number[] = [];
  for (const row of clean) row.slice(0, -1).forEach((cell, i) => { widths[i] = Math.max(widths[i] ?? 0, textWidth(cell)); });
  return clean.map((row) => {
    const head = row.slice(0, -1).map((cell, i) => cell + ' '.repeat(widths[i]! - textWidth(cell) + GAP)).join('');
    return laid(indent + head, row.at(-1) ?? '', o.width ?? Infinity);
  }).join('\n');
}
const GAP = 2;
const LEAST = 24;

function laid(head: string, last: string, width: number): string {
  const start = textWidth(head);
  if (start + textWidth(last) <= width || last === '') return (head + last).trimEnd();
  if (width - start >= LEAST || start === 0) return head + wrapped(last, width - start).join(`\n${' '.repeat(start)}`);
  const inset = ' '.repeat(head.length - head.trimStart().length + 4);
  return [head.trimEnd(), ...wrapped(last, Math.max(LEAST, width - inset.length)).map((line) => inset + line)].join('\n');
}
function wrapped(text: string, width: number): string[] {
  const lines: string[] = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1)!;
    if (line === '') lines[lines.length - 1] = word;
    else if (textWidth(line) + 1 + textWidth(word) <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}
