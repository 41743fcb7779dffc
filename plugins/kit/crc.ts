/** CRC-32 as eight hex digits: tells a damaged line from a whole one; no protection against intent. */
import { crc32 } from 'node:zlib';

export const crcHex = (...parts: readonly (string | Uint8Array)[]): string => parts.reduce<number>((sum, part) => crc32(part, sum), 0).toString(16).padStart(8, '0');
