/** Results that are too large go to a file, a stub in their place: what was decided once stays, so that the prompt's prefix does too. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Block, ContentReplacementState } from '../schemas/index.ts';

export interface ReplacementStore {
  state(): ContentReplacementState;
  /** The content itself, or a stub with its head and the file that holds it all. */
  fit(toolUseId: string, content: string | readonly Block[], max: number, folder: () => Promise<string>): Promise<{ readonly content: string | readonly Block[]; readonly file?: string; readonly size?: number }>;
  clone(): ReplacementStore;
}

const PREVIEW = 2000;
export function createReplacements(initial: ContentReplacementState['replaced'] = new Map()): ReplacementStore {
  let replaced = initial;
  return {
    state: () => ({ replaced }),
    clone: () => createReplacements(replaced),
    async fit(toolUseId, content, max, folder) {
      const known = replaced.get(toolUseId);
      if (known !== undefined) return { content: known.stub, file: known.file, size: known.size };
      const text = typeof content === 'string' ? content : content.map((b) => (b.type === 'text' ? b.text : '')).join('\n');
      if (text.length <= max) return { content };
      const file = join(await folder(), `${toolUseId.replace(/[^\w-]/g, '_')}.txt`);
      await writeFile(file, text, { mode: 0o600 });
      const cut = Math.min(PREVIEW, max);
      const stub = `${text.slice(0, endOfCharacter(text, cut))}\n… The result has ${text.length} characters; the whole is in ${file}. Read it in parts, or search it.`;
      replaced = new Map(replaced).set(toolUseId, { file, size: text.length, stub });
      return { content: typeof content === 'string' ? stub : [{ type: 'text', text: stub }, ...content.filter((b) => b.type !== 'text')], file, size: text.length };
    },
  };
}
const endOfCharacter = (text: string, at: number): number => { const c = text.charCodeAt(at - 1); return c >= 0xd800 && c <= 0xdbff ? at - 1 : at; };
