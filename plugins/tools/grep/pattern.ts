/** A pattern in the dialect of ripgrep, which models write, as a regular expression of this engine. */

export interface SearchPattern {
  /** For one line, or for a whole text where it is `multiline`; global. */
  readonly regex: RegExp;
  readonly multiline: boolean;
  /** Says quickly that no line of a text matches; `null` where this can't be said without looking at each. */
  readonly anywhere: RegExp | null;
}
/** @throws SyntaxError with the engine's words */
export function compileSearch(pattern: string, { ignoreCase = false, multiline = false }: { ignoreCase?: boolean | undefined; multiline?: boolean | undefined }): SearchPattern {
  const said = /^\(\?([a-zA-Z]+)\)/.exec(pattern);
  const asked = said?.[1] ?? '';
  const strange = asked.replace(/[ims]/g, '');
  if (strange !== '') throw new SyntaxError(`the flag "${strange[0]}" is not known here; i, m and s are`);
  const source = translate(pattern.slice(said?.[0].length ?? 0));
  const flags = `g${ignoreCase || asked.includes('i') ? 'i' : ''}${/\\[pP]\{|\\u\{/.test(source) ? 'u' : ''}`;
  if (multiline) return { regex: new RegExp(source, `${flags}ms`), multiline, anywhere: null };
  // Where something is looked for around a match, a line of a text is not the same as a line alone.
  return { regex: new RegExp(source, flags), multiline, anywhere: /\(\?<?[=!]/.test(source) ? null : new RegExp(source, `${flags.replace('g', '')}m`) };
}

const CLASSES: Readonly<Record<string, string>> = {
  alnum: 'A-Za-z0-9', alpha: 'A-Za-z', ascii: '\\x00-\\x7f', blank: '\\t ', cntrl: '\\x00-\\x1f\\x7f', digit: '0-9', graph: '!-~', lower: 'a-z', print: ' -~',
  punct: '!-\\/:-@\\[-`{-~', space: '\\s', upper: 'A-Z', word: '\\w', xdigit: '0-9A-Fa-f',
};
const ESCAPES: Readonly<Record<string, string>> = { A: '^', z: '$', '<': '\\b', '>': '\\b' };
/** What the two dialects spell differently. */
function translate(pattern: string): string {
  let out = '';
  let inClass = false;
  for (let i = 0; i < pattern.length; i++) {
    const c = pattern[i]!;
    const rest = pattern.slice(i);
    if (c === '\\') {
      const code = /^\\x\{([0-9A-Fa-f]{1,6})\}/.exec(rest);
      if (code) { out += `\\u{${code[1]}}`; i += code[0].length - 1; continue; }
      const next = pattern[++i] ?? '';
      out += (inClass ? undefined : ESCAPES[next]) ?? c + next;
    } else if (inClass) {
      const named = /^\[:(\^?)([a-z]+):\]/.exec(rest);
      if (named && named[1] === '' && CLASSES[named[2]!] !== undefined) { out += CLASSES[named[2]!]; i += named[0].length - 1; continue; }
      if (c === ']') inClass = false;
      out += c;
    } else if (c === '[') {
      const open = /^\[\^?\]?/.exec(rest)![0]; // a bracket that closes nothing is one of the characters
      inClass = true;
      out += open.endsWith(']') ? `${open.slice(0, -1)}\\]` : open;
      i += open.length - 1;
    } else if (rest.startsWith('(?P<')) {
      out += '(?<';
      i += 3;
    } else out += c;
  }
  return out;
}
