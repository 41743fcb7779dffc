import { cliPlace } from './support/cli.ts';
const after: (() => Promise<void>)[] = [];
const p = await cliPlace({ after: (f) => { after.push(f); } }, { plugins: ['cli/parse', 'cli/plugin', 'modes/default','modes/plan', 'guards/rules', 'tools/read'], layer: 'mode: default', files: { 'agent.config.yaml': 'plugins:\n  acme/x: { use: ./x.ts }\n', 'x.ts': 'export default 1;' } });
for (const argv of JSON.parse(process.argv[2]!) as string[][]) { const r = await p.run(argv, { columns: 100, tty: process.argv[3] === 'tty' }); console.log(`$ tappet ${argv.join(' ')}   => ${r.code}\n${r.out}${r.err === '' ? '' : `--- err\n${r.err}`}`); }
for (const f of after) await f();
