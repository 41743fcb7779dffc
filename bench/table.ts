/** One measured line: what, target, reached. */
export interface Row { readonly what: string; /** `null`: no target, for comparison. */ readonly target: number | null; readonly reached: number; readonly unit: string; readonly note?: string }

export function printRows(title: string, rows: readonly Row[]): void {
  const width = Math.max(...rows.map((r) => r.what.length));
  process.stdout.write(`${title}\n`);
  for (const r of rows) {
    const met = r.target === null ? '' : r.reached <= r.target ? 'met' : 'NOT MET';
    process.stdout.write(`  ${r.what.padEnd(width)}  ${(r.target === null ? '–' : `≤ ${r.target}`).padStart(9)}  ${format(r.reached).padStart(9)} ${r.unit.padEnd(4)} ${met}${r.note === undefined ? '' : `  ${r.note}`}\n`);
  }
  process.stdout.write('\n');
}
const format = (n: number): string => (n >= 100 ? n.toFixed(0) : n >= 1 ? n.toFixed(1) : n.toFixed(3));
export function median(list: readonly number[]): number {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
