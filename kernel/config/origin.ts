/** Makes origins. Nobody else can: what a plugin hands in as an origin is checked by its brand. */
import type { Layer, Origin } from '../../schemas/index.ts';

class Place implements Origin {
  readonly #genuine = true;
  readonly layer: Layer;
  readonly file: string;
  readonly line: number;
  readonly column: number;
  constructor(layer: Layer, file: string, line: number, column: number) {
    this.layer = layer;
    this.file = file;
    this.line = line;
    this.column = column;
    Object.freeze(this);
  }
  static isGenuine(value: unknown): value is Place { return typeof value === 'object' && value !== null && #genuine in value; }
}
export const makeOrigin = (layer: Layer, file: string, line = 1, column = 1): Origin => new Place(layer, file, line, column);
export const isOrigin = (value: unknown): value is Origin => Place.isGenuine(value);
