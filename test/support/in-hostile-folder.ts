/** Run in a folder that is full of traps: reads its configuration, in the main thread and in a worker, and prints what came of it. `raw`: as anybody else would use cosmiconfig. */
import { join } from 'node:path';
import { isMainThread, Worker } from 'node:worker_threads';

const [how = 'ours', folder = process.cwd()] = process.argv.slice(2);
async function read(): Promise<string> {
  if (how === 'raw') { const { cosmiconfig } = await import('cosmiconfig'); cosmiconfig('tappet'); return 'made'; }
  const { readConfigFile } = await import('../../kernel/config/read.ts');
  const result = await readConfigFile(join(folder, 'agent.config.yaml'), { layer: 'project' });
  return JSON.stringify(result?.value);
}
const said = await read();
process.stdout.write(`${isMainThread ? 'main' : 'worker'} ${said} ${process.cwd() === folder ? 'still here' : 'moved'}\n`);
// A worker has no loader for TypeScript of its own.
const start = `import(${JSON.stringify(import.meta.resolve('tsx/esm/api'))}).then(({ register }) => { register(); return import(${JSON.stringify(import.meta.url)}); })`;
if (isMainThread && how === 'ours') await new Promise((resolve, reject) => { new Worker(start, { eval: true, argv: [how, folder] }).once('exit', resolve).once('error', reject); });
