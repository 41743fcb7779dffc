/** JSON that is nested so deep that writing it again, or copying it, would overflow the stack: nobody means it, and whoever keeps it cannot go on. */

const DEEPEST = 256;

/** Brackets inside strings are none. */
export function nestsTooDeep(text: string): boolean {
  if (text.length <= DEEPEST) return false;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === QUOTE) {
      for (i++; i < text.length && text.charCodeAt(i) !== QUOTE; i++) if (text.charCodeAt(i) === BACKSLASH) i++;
    } else if (c === CURLY || c === SQUARE) {
      if (++depth > DEEPEST) return true;
    } else if (c === CURLY + 2 || c === SQUARE + 2) depth--;
  }
  return false;
}
const QUOTE = 34;
const BACKSLASH = 92;
const CURLY = 123;
const SQUARE = 91;
