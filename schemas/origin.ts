/** Where words were said: the layers of configuration and a place in a file. */

/** Low to high. The order is the law of precedence for values and names, and of the bands of taps. */
export const LAYERS = ['built-in', 'plugin', 'user', 'project', 'local', 'flag', 'policy'] as const;
export type Layer = (typeof LAYERS)[number];

/** Who said something. Only `kernel/config` makes one; `line` and `column` count from 1. */
export interface Origin {
  readonly layer: Layer;
  /** A path, or a word in brackets where there is no file: `(session)`, `--set`. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** Negative when `a` is the lower layer. */
export const compareLayers = (a: Layer, b: Layer): number => LAYERS.indexOf(a) - LAYERS.indexOf(b);

export const place = (o: Origin): string => (o.file.startsWith('(') || o.file.startsWith('--') ? o.file : `${o.file}:${o.line}:${o.column}`);
