/** What a turn costs beside the model and the tool: the gap between an answer and the next request, and how it grows. */
import { keyed, place, run } from './child.ts';
import { startPeer } from './peer.ts';
import type { Peer } from './peer.ts';
import type { Row } from './table.ts';
import { median } from './table.ts';

const gaps = (peer: Peer): number[] => peer.visits.slice(1).map((v, i) => v.came - peer.visits[i]!.left);
async function session(turns: number, call: (i: number) => { call: string; input: Record<string, unknown> }): Promise<{ gaps: number[]; rss: number }> {
  const peer = await startPeer();
  const p = place();
  p.write('file.txt', `${'a line of text\n'.repeat(20)}`);
  peer.plan = (n) => (n < turns ? { blocks: [call(n)] } : { blocks: [{ text: 'done' }] });
  const ran = await run(p, ['-p', 'go', '--permission-mode', 'bypassPermissions', '--max-turns', String(turns + 5)], { ...keyed(peer.url), IS_SANDBOX: '1' });
  if (ran.code !== 0) throw new Error(`the run failed (${ran.code}): ${ran.err.slice(0, 2000)}`);
  const result = { gaps: gaps(peer), rss: ran.rss };
  await peer.close();
  p.remove();
  return result;
}
async function parallel(call: (i: number) => { call: string; input: Record<string, unknown> }): Promise<number> {
  const peer = await startPeer();
  const p = place();
  for (let i = 0; i < 10; i++) p.write(`f${i}.txt`, 'a line of text\n'.repeat(20));
  peer.plan = (n) => (n === 0 ? { blocks: Array.from({ length: 10 }, (_, i) => call(i)) } : { blocks: [{ text: 'done' }] });
  const all: number[] = [];
  for (let i = 0; i < 7; i++) {
    peer.visits.length = 0;
    const ran = await run(p, ['-p', 'go', '--permission-mode', 'bypassPermissions'], { ...keyed(peer.url), IS_SANDBOX: '1' });
    if (ran.code !== 0) throw new Error(ran.err.slice(0, 2000));
    all.push(gaps(peer)[0]!);
  }
  await peer.close();
  p.remove();
  return median(all);
}
const around = (list: readonly number[], at: number): number => median(list.slice(Math.max(0, at - 10), at + 10));

export async function rows(): Promise<readonly Row[]> {
  const read = (): { call: string; input: Record<string, unknown> } => ({ call: 'Read', input: { file_path: 'file.txt' } });
  const reads = await session(20, read);
  const shells = await session(20, () => ({ call: 'Bash', input: { command: 'true' } }));
  const long = await session(500, read);
  const three = await session(300, read);
  return [
    { what: 'overhead of a Read turn', target: 2, reached: median(reads.gaps.slice(5)), unit: 'ms' },
    { what: 'overhead of a `Bash true` turn', target: 5, reached: median(shells.gaps.slice(5)), unit: 'ms' },
    { what: 'the Read turn at turn 10', target: null, reached: around(long.gaps, 10), unit: 'ms' },
    { what: 'at turn 100', target: null, reached: around(long.gaps, 100), unit: 'ms' },
    { what: 'at turn 300', target: 4, reached: around(long.gaps, 300), unit: 'ms' },
    { what: 'at turn 500', target: 6, reached: around(long.gaps, 490), unit: 'ms' },
    { what: 'ten parallel reads', target: 12, reached: await parallel((i) => ({ call: 'Read', input: { file_path: `f${i}.txt` } })), unit: 'ms' },
    { what: 'peak RSS after 300 turns', target: 130, reached: three.rss, unit: 'MB' },
  ];
}
