/** What kind of image bytes are, and how large a picture: by their first bytes, never by the name. */

export interface ImageInfo { readonly mediaType: string; /** `null`: the bytes are damaged. */ readonly size: { readonly width: number; readonly height: number } | null }

/** `null`: no image that models take. */
export function imageInfo(bytes: Buffer): ImageInfo | null {
  for (const { mediaType, is, size } of KINDS) {
    if (!is(bytes)) continue;
    try {
      const [width, height] = size(bytes);
      return { mediaType, size: width > 0 && height > 0 ? { width, height } : null };
    } catch (e) {
      if (e instanceof RangeError) return { mediaType, size: null }; // it ends before its head does
      throw e;
    }
  }
  return null;
}

const starts = (bytes: Buffer, with_: string, at = 0): boolean => bytes.toString('latin1', at, at + with_.length) === with_;
const KINDS: readonly { mediaType: string; is(b: Buffer): boolean; size(b: Buffer): [number, number] }[] = [
  { mediaType: 'image/png', is: (b) => starts(b, '\x89PNG\r\n\x1a\n'), size: (b) => [b.readUInt32BE(16), b.readUInt32BE(20)] },
  { mediaType: 'image/jpeg', is: (b) => starts(b, '\xff\xd8\xff'), size: jpegSize },
  { mediaType: 'image/gif', is: (b) => starts(b, 'GIF87a') || starts(b, 'GIF89a'), size: (b) => [b.readUInt16LE(6), b.readUInt16LE(8)] },
  { mediaType: 'image/webp', is: (b) => starts(b, 'RIFF') && starts(b, 'WEBP', 8), size: webpSize },
];

/** From segment to segment until the one that describes the frame. */
function jpegSize(b: Buffer): [number, number] {
  for (let at = 2; ;) {
    if (b.readUInt8(at) !== 0xff) return [0, 0];
    const marker = b.readUInt8(at + 1);
    if (marker === 0xff) { at++; continue; }
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) return [b.readUInt16BE(at + 7), b.readUInt16BE(at + 5)];
    at += 2 + (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8) ? 0 : Math.max(2, b.readUInt16BE(at + 2)));
  }
}
function webpSize(b: Buffer): [number, number] {
  if (starts(b, 'VP8X', 12)) return [1 + b.readUIntLE(24, 3), 1 + b.readUIntLE(27, 3)];
  if (starts(b, 'VP8L', 12)) {
    const bits = b.readUInt32LE(21);
    return [1 + (bits & 0x3fff), 1 + ((bits >>> 14) & 0x3fff)];
  }
  return [b.readUInt16LE(26) & 0x3fff, b.readUInt16LE(28) & 0x3fff];
}
