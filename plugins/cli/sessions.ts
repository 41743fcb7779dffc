/** `tappet sessions`: which sessions were kept, and what was said in one. */
import { definePlugin, TappetError } from 'tappet/kernel';
import { cleanText, columns, head, jsonText, shownFile } from 'tappet/kit';
import type { Block, Line, SessionInfo, SessionStore, SubcommandContext, Uuid } from 'tappet/schemas';

const PROMPT_CHARS = 60;
/** Of a tool's result: the session's file has all. */
const RESULT_LIMIT = { chars: 2000, lines: 20 } as const;

export default definePlugin({
  name: 'cli/sessions',
  api: 1,
  apply: ({ registries, folders }) => registries.subcommands.add({
    name: 'sessions', summary: 'list the sessions that were kept, and read one', needs: 'kernel',
    verbs: [{ usage: 'list', summary: 'newest first; those of this project' }, { usage: 'show ID', summary: 'the messages of one; the beginning of its id is enough' }],
    options: [{ flags: '--all', description: 'with list: of all projects' }, { flags: '--limit <n>', description: 'with list: so many at most (20 for people, all with --json)' }],
    async run(c) {
      const store = c.kernel!.service('stores.sessions');
      if (store === undefined) throw new TappetError('E_USAGE', { message: 'no plugin keeps sessions here', do: 'switch stores/sessions on again' });
      return c.verb === 'show' ? show(c, store) : list(c, store, folders.home);
    },
  }),
});

async function list(c: SubcommandContext, store: SessionStore, home: string): Promise<number> {
  const isAll = c.options['all'] === true;
  const limit = limitOf(c);
  const infos = await store.list({ root: isAll ? null : c.config.root, ...(limit === null ? {} : { limit }) });
  if (c.json) { c.io.out(`${jsonText(infos)}\n`); return 0; }
  if (infos.length === 0) { c.io.out(`no sessions were kept${isAll ? '' : ` for ${c.config.root}`}\n`); return 0; }
  const row = (i: SessionInfo): string[] => [i.sessionId, minute(i.modified), i.messages === null ? '-' : String(i.messages), ...(isAll ? [shownFile(i.cwd, { cwd: c.cwd, home })] : []), short(i.title ?? i.firstPrompt ?? '(no prompt)')];
  c.io.out(`${columns([['ID', 'CHANGED', 'MESSAGES', ...(isAll ? ['FOLDER'] : []), 'ABOUT'], ...infos.map(row)], { width: c.io.isTTY ? c.io.columns : undefined })}\n`);
  return 0;
}
function limitOf({ options, json }: SubcommandContext): number | null {
  const text = options['limit'];
  if (typeof text !== 'string') return json ? null : 20;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new TappetError('E_USAGE', { message: `--limit: "${text}" is no whole number from 1 on`, do: 'for example --limit 50' });
  return Number(text);
}
const short = (text: string): string => (text.length > PROMPT_CHARS ? `${text.slice(0, PROMPT_CHARS - 1)}…` : text);
/** In the time of whoever reads. */
function minute(ms: number): string {
  const d = new Date(ms);
  const two = (n: number): string => String(n).padStart(2, '0');
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}`;
}

async function show(c: SubcommandContext, store: SessionStore): Promise<number> {
  const { root } = c.config;
  const given = c.args[0]!;
  const ids = (await store.list({ root })).map((i) => i.sessionId);
  const fits = ids.includes(given) ? [given] : ids.filter((id) => given !== '' && id.startsWith(given));
  if (fits.length > 1) throw new TappetError('E_USAGE', { message: `${fits.length} sessions begin with "${given}"`, cause: fits.join(', '), do: 'write more of the id' });
  const sessionId = (fits[0] ?? given) as Uuid;
  const { lines, notices } = await store.read({ sessionId, root });
  for (const notice of notices) c.io.err(`${cleanText(notice)}\n`);
  if (c.json) c.io.out(`${jsonText({ sessionId, lines, notices })}\n`);
  else c.io.out(`${cleanText(lines.flatMap(lineText).join('\n\n')) || 'nothing was said'}\n`);
  return 0;
}

/** What a person wants to read of a line; facts and the harness's own remarks to the model are left out. */
function lineText(line: Line): string[] {
  switch (line.type) {
    case 'user': {
      if (line.isMeta === true) return [];
      const { content } = line.message;
      const said = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
      return said.flatMap((b) => blockText(b, line.isCompactSummary === true ? 'summary' : 'you', line.timestamp));
    }
    case 'assistant': return line.message.content.flatMap((b) => blockText(b, line.message.model, line.timestamp));
    case 'system': return [`${heading(line.format, line.timestamp)}\n${line.content}`];
    case 'custom-title': return [`${heading('title')}\n${line.customTitle}`];
    default: return [];
  }
}
function blockText(block: Block, who: string, at: string): string[] {
  switch (block.type) {
    case 'text': return block.text.trim() === '' ? [] : [`${heading(who, at)}\n${block.text.trimEnd()}`];
    case 'thinking': return [`${heading(`${who} thinks`, at)}\n${block.thinking.trimEnd()}`];
    case 'tool_use': return [`${heading(block.name, at)}\n${jsonText(block.input)}`];
    case 'tool_result': return [`${heading(block.is_error === true ? 'result: failed' : 'result', at)}\n${head(typeof block.content === 'string' ? block.content : block.content.map((b) => (b.type === 'text' ? b.text : `[${b.type}]`)).join('\n'), RESULT_LIMIT)}`];
    default: return [`${heading(who, at)}\n[${block.type}]`];
  }
}
const heading = (who: string, at = ''): string => `── ${who}${at === '' ? '' : `  ${at}`}`;
