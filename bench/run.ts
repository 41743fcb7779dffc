/** `npm run bench [-- WORD…]`: prints target, reached, met or not. It asserts nothing. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Row } from './table.ts';
import { printRows } from './table.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
if (!existsSync(join(root, 'dist/tappet.cjs'))) { process.stderr.write('dist/ is missing: npm run prepare\n'); process.exit(2); }
const words = process.argv.slice(2).filter((w) => !w.startsWith('-'));
const suites: Readonly<Record<string, () => Promise<{ rows(): Promise<readonly Row[]> }>>> = {
  hooks: () => import('./hooks.ts'), merge: () => import('./merge.ts'), start: () => import('./start.ts'), turns: () => import('./turns.ts'), models: () => import('./models.ts'),
};
if (process.env['NODE_EXTRA_CA_CERTS'] !== undefined) { process.stdout.write('NODE_EXTRA_CA_CERTS is set: it costs an empty Node 20 process about 30 ms; unset for these runs\n'); delete process.env['NODE_EXTRA_CA_CERTS']; }
process.stdout.write(`node ${process.version}, ${process.platform} ${process.arch}\n\n`);
for (const [name, load] of Object.entries(suites)) {
  if (words.length > 0 && !words.includes(name)) continue;
  printRows(name, await (await load()).rows());
}
