/** What the wires of the vendors cost: filled in with the providers. */
import type { Row } from './table.ts';
export async function rows(): Promise<readonly Row[]> { return []; }
