/** Text that others wrote, as it may stand on a terminal: an allow-list, so that nothing moves the cursor, hides, or turns the direction of what is read. */

/** Titles, links, clipboard writes and the like, with all that they carry; left open they end with the line. */
const STRINGS = /(?:\u001b[\]P^_X]|[\u009d\u0090\u009e\u009f\u0098])(?:[^\u0007\u001b\u009c]|\u001b(?!\\))*?(?:\u0007|\u001b\\|\u009c|(?=\n)|$)/g;
const SEQUENCES = /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]?|\u001b[ -/]*[0-~]?/g;
/** Formatting characters (directions, zero widths, tags), separators of lines that are none, fillers and selectors that show nothing, halves of characters. */
const INVISIBLE = /[\p{Cf}\p{Zl}\p{Zp}\p{Cs}]|\u034f|[\u115f\u1160\u3164\uffa0]|[\u{e0100}-\u{e01ef}]/gu;
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Lines and tabs stay; other controls become a mark, what cannot be seen its code point. */
export const cleanText = (text: string): string => text
  .replace(/\r\n/g, '\n').replace(STRINGS, '').replace(SEQUENCES, '')
  .replace(CONTROLS, (c) => (c < ' ' ? String.fromCharCode(0x2400 + c.charCodeAt(0)) : c === '\u007f' ? '␡' : point(c))).replace(INVISIBLE, point);
/** The same, on one line. */
export const cleanLine = (text: string): string => cleanText(text).replace(/[\n\t]/g, ' ');
/** JSON for people and programs: what could act on a terminal is written as its code, which reads back as the same value. */
export const jsonText = (value: unknown): string => harmless(JSON.stringify(value, null, 2) ?? 'null');
/** The same, on one line. */
export const jsonLine = (value: unknown): string => harmless(JSON.stringify(value) ?? 'null');
const harmless = (json: string): string => json.replace(/[\u007f-\u009f]/g, escaped).replace(INVISIBLE, escaped);

const escaped = (c: string): string => Array.from({ length: c.length }, (_, i) => `\\u${c.charCodeAt(i).toString(16).padStart(4, '0')}`).join('');
const point = (c: string): string => `<U+${c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}>`;
