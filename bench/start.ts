/** From the start of the process to the first request, and the whole of a one-answer run. A figure without its case says nothing. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { keyed, place, run } from './child.ts';
import type { Place } from './child.ts';
import { startPeer } from './peer.ts';
import type { Row } from './table.ts';
import { median } from './table.ts';

const RUNS = 15;
const USER_CONFIG = `# a person's own\nmode: default\nlimits:\n  costUsd: 20\npermissions:\n  allow:\n${Array.from({ length: 30 }, (_, i) => `    - Bash(npm run task-${i})\n`).join('')}  deny:\n${Array.from({ length: 25 }, (_, i) => `    - Read(**/secret-${i}.env)\n`).join('')}`;
const PLUGIN = "import { definePlugin } from 'tappet/kernel';\nexport default definePlugin({ name: 'acme/nothing', api: 1, apply({ hooks }) { hooks.PreToolUse.tap('acme/nothing', () => undefined); } });\n";

async function measure(prepare: (p: Place) => { env?: Record<string, string>; args?: string[] }, tls?: { key: string; cert: string }): Promise<{ first: number; whole: number; cpu: number; rss: number; kB: number }> {
  const peer = await startPeer(tls);
  const p = place();
  const { env = {}, args = [] } = prepare(p);
  const first: number[] = []; const whole: number[] = []; const cpu: number[] = []; const rss: number[] = [];
  for (let i = 0; i < RUNS + 2; i++) {
    peer.visits.length = 0;
    const ran = await run(p, ['-p', 'hello', ...args], { ...keyed(peer.url), ...env });
    if (ran.code !== 0) throw new Error(`the run failed (${ran.code}): ${ran.err}`);
    if (i < 2) continue; // the first runs write the caches
    first.push(peer.visits[0]!.came - ran.started); whole.push(ran.ended - ran.started); cpu.push(ran.cpu); rss.push(ran.rss);
  }
  const kB = peer.visits[0]!.bytes / 1000;
  await peer.close();
  p.remove();
  return { first: median(first), whole: median(whole), cpu: median(cpu), rss: median(rss), kB };
}

export async function rows(): Promise<readonly Row[]> {
  const p = place();
  const empty: number[] = [];
  for (let i = 0; i < RUNS; i++) { const r = await run(p, ['-e', '0'], {}, []); empty.push(r.ended - r.started); }
  const tls = { key: join(p.dir, 'key.pem'), cert: join(p.dir, 'cert.pem') };
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', tls.key, '-out', tls.cert, '-days', '2', '-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'], { stdio: 'ignore' });
  const plain = await measure(() => ({}));
  const user = await measure((x) => { x.write('~/.config/tappet/config.yaml', USER_CONFIG); return {}; });
  const plugin = await measure((x) => { x.write('plugins/nothing.ts', PLUGIN); return { args: ['--plugin-dir', 'plugins'] }; });
  const https = await measure((x) => { x.write('~/.config/tappet/config.yaml', `providers: { anthropic: { caFile: ${tls.cert} } }\n`); return {}; }, tls);
  p.remove();
  return [
    { what: 'an empty node process', target: null, reached: median(empty), unit: 'ms' },
    { what: 'start to first request, HTTP, empty user folder', target: 60, reached: plain.first, unit: 'ms' },
    { what: 'the same with a user config of 2 kB', target: 70, reached: user.first, unit: 'ms' },
    { what: 'the same with a first loose TypeScript plugin', target: 90, reached: plugin.first, unit: 'ms' },
    { what: 'the same over HTTPS with an own authority', target: 80, reached: https.first, unit: 'ms' },
    { what: 'whole one-answer run', target: 80, reached: plain.whole, unit: 'ms' },
    { what: 'CPU for it', target: 0.1, reached: plain.cpu, unit: 's', note: 'in steps of 10 ms' },
    { what: 'peak RSS, one answer', target: 90, reached: plain.rss, unit: 'MB' },
    { what: 'first request', target: null, reached: plain.kB, unit: 'kB' },
  ];
}
