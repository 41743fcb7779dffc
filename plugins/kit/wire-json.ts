/** JSON for servers that refuse halves of characters, which a file or a cut text may hold. */

/** Halves of surrogate pairs become U+FFFD. `JSON.stringify` writes them, and only them, as `\udXXX`. */
export function wireJson(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes('\\ud') ? text.replace(/\\\\|\\ud[89a-f][\da-f]{2}/g, (found) => (found === '\\\\' ? found : '\ufffd')) : text;
}
