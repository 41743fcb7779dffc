/** What exit code 1 means where it is an answer and no failure. */

const SAYS_NO: Readonly<Record<string, string>> = {
  grep: 'no line matches', egrep: 'no line matches', fgrep: 'no line matches', rg: 'no line matches', 'git grep': 'no line matches',
  diff: 'there are differences', 'git diff': 'there are differences', test: 'the condition is false', '[': 'the condition is false', find: 'some folders could not be searched',
};

/** Null: a failure. Where it cannot be told which command gave the code (`a && grep b`), it is one. */
export function answerOf(command: string, exitCode: number | null): string | null {
  if (exitCode !== 1 || /\bpipefail\b|\bset\s+-\w*e/.test(command)) return null;
  const bare = command.replace(/'[^']*'|"(?:\\.|[^"\\])*"|\\./gs, 'Q').trim();
  const last = bare.split(/\|\||[|;\n]/).at(-1)!;
  if (last.includes('&') || /[`(){}]/.test(last)) return null;
  const words = last.trim().split(/\s+/).filter((word, i, all) => !all.slice(0, i + 1).every((w) => /^\w+=/.test(w)));
  return SAYS_NO[`${words[0]} ${words[1]}`] ?? SAYS_NO[words[0] ?? ''] ?? null;
}
