/** Makes what is generated: JSON Schemas for editors, the tables of errors and events, the index of plugins. `--check` only compares. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { CODES } from '../kernel/errors.ts';
import { EVENTS, MOMENTS } from '../kernel/hooks.ts';
import type { Shape } from '../kernel/hooks.ts';
import { configLayer } from '../schemas/config.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

/** Path below the root -> text. Pages with words of their own hold the generated part between two marks. */
export function generated(): Readonly<Record<string, string>> {
  return {
    'docs/schema/config.schema.json': `${JSON.stringify(schema(), null, 2)}\n`,
    'docs/errors.md': page('docs/errors.md', errors()),
    'docs/events.md': page('docs/events.md', events()),
    'docs/plugins/index.md': plugins(),
  };
}

function schema(): object {
  const { $schema: _, ...rest } = z.toJSONSchema(configLayer(), { io: 'input', target: 'draft-7' });
  return { $schema: 'http://json-schema.org/draft-07/schema#', title: 'One layer of agent.config.yaml', ...rest };
}
const BEGIN = '<!-- generated: npm run docs -->';
const END = '<!-- end of generated -->';
function page(path: string, part: string): string {
  let text = '';
  try { text = readFileSync(join(root, path), 'utf8'); } catch { /* made below */ }
  const [before, rest] = text.includes(BEGIN) ? [text.slice(0, text.indexOf(BEGIN)), text.slice(text.indexOf(END) + END.length)] : [text === '' ? `# ${path}\n\n` : `${text}\n`, '\n'];
  return `${before}${BEGIN}\n\n${part}\n${END}${rest}`;
}
function errors(): string {
  return Object.entries(CODES).map(([code, row]) => `### ${code.toLowerCase()}\n\n\`${code}\`: ${row.sentence}\n\nDo: ${row.do}. Exit code ${row.exit}.\n`).join('\n');
}
function events(): string {
  const row = ([name, s]: [string, Shape<any, any>]): string => `| ${name} | ${s.kind} | ${s.on === undefined ? '–' : 'yes'} | ${safe(s)} |`;
  const head = '| event | kind | takes a matcher | a failure counts as |\n|---|---|---|---|';
  return `## The sixteen events\n\n${head}\n${Object.entries(EVENTS).map((e) => row(e as never)).join('\n')}\n\n## Moments\n\n${head}\n${Object.entries(MOMENTS).map((e) => row(e as never)).join('\n')}\n`;
}
function safe(s: Shape<any, any>): string {
  if (s.fails === 'event') return 'the event fails';
  const word = (said: Record<string, unknown> | undefined): string => (said === undefined ? 'nothing said' : String(said['behavior'] ?? said['action'] ?? (said['updatedOutput'] === undefined ? 'blocked' : 'output withheld')));
  return s.policySafe === undefined ? word(s.safe) : `${word(s.safe)}; ${word(s.policySafe)} if the words are policy's`;
}
function plugins(): string {
  const pages = readdirSync(join(root, 'docs/plugins')).filter((f) => f.endsWith('.md') && f !== 'index.md').sort();
  const line = (f: string): string => {
    const text = readFileSync(join(root, 'docs/plugins', f), 'utf8');
    const title = /^# (.+)$/m.exec(text)?.[1] ?? f;
    const first = /## What it does\s+([^\n]+(?:\n(?!\n)[^\n]+)*)/.exec(text)?.[1]?.replace(/\s+/g, ' ').split(/(?<=\.)\s/)[0] ?? '';
    return `| [${title}](${f}) | ${first.replace(/\|/g, '\\|')} |`;
  };
  return `# Plugins that ship\n\nAll of them come through the same door as yours. The list is made from the pages in this folder.\n\n| plugin | what it does |\n|---|---|\n${pages.map(line).join('\n')}\n`;
}

if (process.argv[1]?.endsWith('docs.ts') === true) {
  const check = process.argv.includes('--check');
  let stale = 0;
  for (const [path, text] of Object.entries(generated())) {
    const file = join(root, path);
    let now = '';
    try { now = readFileSync(file, 'utf8'); } catch { /* new */ }
    if (now === text) continue;
    stale++;
    if (check) process.stderr.write(`${path} is out of date: run npm run docs\n`);
    else { mkdirSync(dirname(file), { recursive: true }); writeFileSync(file, text); process.stderr.write(`wrote ${path}\n`); }
  }
  process.exitCode = check && stale > 0 ? 1 : 0;
}
