/** Words before commander sees them: what habits and hosts write that no parser takes by itself. */
import type { Option } from 'commander';
import { usage } from './usage.ts';
import { looksLikeRule } from './values.ts';

/** `rules`: the long names of flags whose list goes on in further words. */
export function tidyWords(argv: readonly string[], options: readonly Option[], rules: readonly string[]): string[] {
  const find = (word: string): Option | undefined => options.find((o) => o.long === word || o.short === word);
  const words: string[] = [];
  for (let i = 0; i < argv.length; i++) {
    const word = argv[i]!;
    if (word === '--') return [...words, ...argv.slice(i)];
    words.push(word);
    const option = find(word);
    if (option === undefined) continue;
    if (!option.required && !option.optional) {
      if (argv[i + 1] === '') i++; // hosts write `--replay-user-messages ''` for a flag that takes nothing
      continue;
    }
    if (!option.required) continue;
    const value = argv[++i];
    if (value === undefined) throw usage(`${word} needs a value`, `write ${option.flags}`);
    const other = find(value.replace(/=.*$/s, ''));
    if (other !== undefined && value.startsWith('--')) throw usage(`${word} needs a value, and ${value} is a flag`, `write ${option.flags}; if it is really meant: ${word}=${value}`);
    words.push(value);
    if (!rules.includes(option.long ?? '')) continue;
    while (looksLikeRule(argv[i + 1] ?? '')) words.push(word, argv[++i]!);
  }
  return words;
}
