/** Lists the test files and hands them to node:test; words on the command line choose among them. */
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const words = process.argv.slice(2).filter((w) => !w.startsWith('-'));
const flags = process.argv.slice(2).filter((w) => w.startsWith('-'));
const root = new URL('.', import.meta.url).pathname;
const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((f) => f.endsWith('.test.ts') && (words.length === 0 || words.some((w) => f.includes(w))))
  .sort()
  .map((f) => join(root, f));
if (files.length === 0) {
  process.stderr.write(`no test file has ${words.join(' or ')} in its name\n`);
  process.exit(2);
}
const child = spawn(process.execPath, ['--conditions=tappet-src', '--import', 'tsx', '--test', '--test-reporter=spec', ...flags, ...files], { stdio: 'inherit' });
child.on('exit', (code, signal) => process.exit(signal === null ? (code ?? 1) : 1));
