/** Every row of the reports that concern what is built has a test that carries its input, or says why it is open. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
interface Row { readonly id: string; readonly row: string; readonly test?: string; readonly title?: string; readonly carries?: string; readonly breaks?: string; readonly open?: string }
const rows = parse(readFileSync(join(root, 'test/requirements.yaml'), 'utf8')) as Row[];
const AREAS: Readonly<Record<number, readonly number[]>> = {
  2: [1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18], 3: [1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15], 5: [1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15],
  9: [1, 2, 3, 5, 6, 7, 9, 10, 11, 13], 10: [1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15],
};

test('every row is listed once', () => {
  const wanted = Object.entries(AREAS).flatMap(([area, list]) => list.map((n) => `F${area}-${String(n).padStart(2, '0')}`));
  assert.deepEqual(rows.map((r) => r.id), wanted);
});
test('a row has a test whose title and input stand in its file, or says why it is open', () => {
  for (const r of rows) {
    if (r.open !== undefined) { assert.equal(r.test, undefined, r.id); assert.ok(r.open.length > 10, r.id); continue; }
    const file = join(root, r.test ?? '');
    assert.ok(r.test !== undefined && existsSync(file), `${r.id}: there is no ${r.test}`);
    const text = readFileSync(file, 'utf8');
    assert.ok(text.includes(r.title!), `${r.id}: no test in ${r.test} is called "${r.title}"`);
    assert.ok(text.includes(r.carries!), `${r.id}: ${r.test} does not carry "${r.carries}"`);
    const place = r.breaks!.split(' ')[0]!;
    assert.ok(place.includes('*') || existsSync(join(root, place)), `${r.id}: there is no ${place}`);
  }
});
