/** Types, lint, what nothing uses, generated files, the rules of the house: all that can be said without running a test. */
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const node = (...args: string[]): readonly string[] => [process.execPath, ...args];
const steps: Readonly<Record<string, readonly string[]>> = {
  types: node('node_modules/typescript/bin/tsc', '-p', '.'),
  lint: node('node_modules/@biomejs/biome/bin/biome', 'lint', '--config-path=.ci/lint.json', 'kernel', 'plugins', 'schemas', 'test', 'bench', '.ci/build.ts', '.ci/check.ts', '.ci/docs.ts'),
  unused: node('node_modules/knip/bin/knip.js', '--config', '.ci/knip.json', '--no-progress'),
  generated: node('--conditions=tappet-src', '--import', 'tsx', '.ci/docs.ts', '--check'),
  house: node('--conditions=tappet-src', '--import', 'tsx', 'test/run.ts', 'house/'),
};
let failed = false;
for (const [name, [command, ...args]] of Object.entries(steps)) {
  const r = spawnSync(command!, args, { cwd: root, encoding: 'utf8' });
  const ok = r.status === 0;
  process.stdout.write(`${ok ? 'ok    ' : 'FAILED'} ${name}\n`);
  if (!ok) { failed = true; process.stdout.write(`${r.stdout}${r.stderr}\n`); }
}
process.exitCode = failed ? 1 : 0;
