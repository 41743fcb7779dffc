/** A process that does nothing but replace one file, until somebody kills it. */
import { replaceFile, withLock } from '../../kernel/config/lock.ts';

const [file] = process.argv.slice(2) as [string];
for (let n = 1; ; n++) {
  await withLock(`${file}.lock`, () => replaceFile(file, `# ${String((n % 9) + 1).repeat(100_000)}\n`, null));
  process.send!(n);
}
