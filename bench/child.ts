/** Runs the built binary once in a folder and a home of its own, against a peer. */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { clock } from './peer.ts';

const binary = join(dirname(fileURLToPath(import.meta.url)), '../dist/tappet.cjs');
export interface Place { readonly dir: string; readonly home: string; write(file: string, text: string): void; remove(): void }
export function place(): Place {
  const base = mkdtempSync(join(tmpdir(), 'tappet-bench-'));
  const dir = join(base, 'project');
  const home = join(base, 'home');
  for (const d of [dir, home]) mkdirSync(d);
  return { dir, home, write(file, text) { const path = file.startsWith('~/') ? join(home, file.slice(2)) : join(dir, file); mkdirSync(dirname(path), { recursive: true }); writeFileSync(path, text); }, remove: () => rmSync(base, { recursive: true, force: true }) };
}
export interface Ran { readonly started: number; readonly ended: number; readonly code: number; readonly out: string; readonly err: string; /** MB */ readonly rss: number; /** s */ readonly cpu: number }
export function run(p: Place, args: readonly string[], env: Readonly<Record<string, string>>, program: readonly string[] = [binary]): Promise<Ran> {
  return new Promise((resolve) => {
    const started = clock();
    const child = spawn(process.execPath, [...program, ...args], { cwd: p.dir, env: { PATH: process.env['PATH'] ?? '', HOME: p.home, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '';
    let err = '';
    let rss = 0;
    let cpu = 0;
    // The last look at /proc before the end is close enough for a process of this length.
    const look = setInterval(() => {
      try {
        rss = Math.max(rss, Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1] ?? 0) / 1024);
        const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
        cpu = (Number(stat[11]) + Number(stat[12])) / 100;
      } catch { /* it has just ended */ }
    }, 3);
    child.stdout.on('data', (d: Buffer) => { out += d.toString(); });
    child.stderr.on('data', (d: Buffer) => { err += d.toString(); });
    child.on('close', (code) => { clearInterval(look); resolve({ started, ended: clock(), code: code ?? -1, out, err, rss, cpu }); });
  });
}
export const keyed = (url: string): Record<string, string> => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'bench' });
