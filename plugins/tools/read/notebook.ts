/** A notebook as a model reads it: cell by cell, with what the cells printed and drew. */
import { stripVTControlCharacters } from 'node:util';
import { headTail } from 'tappet/kit';
import type { ImageBlock, TextBlock } from 'tappet/schemas';
import { imageInfo } from './image.ts';

export interface Cell { readonly number: number; readonly id: string | null; readonly kind: string; readonly source: string; readonly outputs: readonly Output[] }
export type Output = { readonly text: string } | { readonly image: string; readonly mediaType: string };

/** `null`: this is no notebook. */
export function readCells(json: string): Cell[] | null {
  let root: unknown;
  try { root = JSON.parse(json); } catch { return null; }
  const cells = field(root, 'cells');
  if (!Array.isArray(cells)) return null;
  return cells.map((cell: unknown, i) => ({
    number: i + 1,
    id: word(field(cell, 'id')),
    kind: word(field(cell, 'cell_type')) ?? 'raw',
    source: lines(field(cell, 'source')),
    outputs: list(field(cell, 'outputs')).flatMap(readOutput),
  }));
}

const MAX_OUTPUT = 10_000;
function readOutput(output: unknown): Output[] {
  const data = field(output, 'data');
  for (const mediaType of ['image/png', 'image/jpeg', 'image/gif', 'image/webp']) {
    const image = lines(field(data, mediaType)).replace(/\s/g, '');
    if (image !== '') return [{ image, mediaType }];
  }
  const text = lines(field(output, 'text')) || lines(field(data, 'text/plain')) || list(field(output, 'traceback')).map(String).join('\n') || lines(field(output, 'evalue'));
  return text === '' ? [] : [{ text: headTail(stripVTControlCharacters(text).trimEnd(), MAX_OUTPUT) }];
}

/** The cells that fit; `shown` says how many did. */
export function cellBlocks(cells: readonly Cell[], maxBytes: number, maxImageBytes: number): { readonly blocks: readonly (TextBlock | ImageBlock)[]; readonly shown: number } {
  const blocks: (TextBlock | ImageBlock)[] = [];
  let text = '';
  let chars = 0;
  let imageBytes = 0;
  const flush = () => { if (text !== '') blocks.push({ type: 'text', text: text.trimEnd() }); text = ''; };
  for (const [i, cell] of cells.entries()) {
    const part = `--- cell ${cell.number}: ${cell.kind}${cell.id === null ? '' : `, id ${cell.id}`} ---\n${cell.source}\n`;
    const size = part.length + cell.outputs.reduce((n, o) => n + ('text' in o ? o.text.length : 0), 0);
    if (chars + size > maxBytes) { flush(); return { blocks, shown: i }; }
    chars += size;
    text += part;
    for (const output of cell.outputs) {
      if ('text' in output) { text += `--- output of cell ${cell.number} ---\n${output.text}\n`; continue; }
      const bytes = Buffer.from(output.image, 'base64');
      const info = imageInfo(bytes);
      if (info?.size == null || info.mediaType !== output.mediaType || imageBytes + bytes.length > maxImageBytes) { text += `--- output of cell ${cell.number}: an image that is not shown (${output.mediaType}, ${bytes.length} bytes) ---\n`; continue; }
      imageBytes += bytes.length;
      text += `--- output of cell ${cell.number}: an image ---\n`;
      flush();
      blocks.push({ type: 'image', source: { type: 'base64', media_type: info.mediaType, data: output.image } });
    }
  }
  flush();
  return { blocks, shown: cells.length };
}

const field = (of: unknown, key: string): unknown => (typeof of === 'object' && of !== null ? (of as Record<string, unknown>)[key] : undefined);
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const word = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
/** The format writes texts as one string or as a list of lines. */
const lines = (value: unknown): string => (typeof value === 'string' ? value : Array.isArray(value) ? value.filter((v) => typeof v === 'string').join('') : '');
