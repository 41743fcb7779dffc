/** What is generated is committed, and docs cannot rot: codes, events and schemas say the same as the code. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { generated } from '../../.ci/docs.ts';
import { CODES } from '../../kernel/errors.ts';
import { configLayer } from '../../schemas/config.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const sources = (room: string): string[] => readdirSync(join(root, room), { recursive: true, encoding: 'utf8' }).filter((f) => f.endsWith('.ts')).map((f) => join(room, f));

test('generated files are as the code says: npm run docs', () => {
  for (const [path, text] of Object.entries(generated())) assert.equal(readFileSync(join(root, path), 'utf8'), text, path);
});
test('every code of the kernel is used, and every code that is used is in a table', () => {
  // The kit knows no table: its codes are plain words on plain errors, for the tools that call it.
  const kit = sources('plugins/kit').map((f) => readFileSync(join(root, f), 'utf8')).join('\n');
  const text = [...sources('kernel'), ...sources('plugins').filter((f) => !f.startsWith('plugins/kit'))].map((f) => readFileSync(join(root, f), 'utf8'));
  const used = new Set(text.flatMap((t) => [...t.matchAll(/['"`](E_[A-Z_]+)['"`]/g)].map((m) => m[1]!)));
  const own = new Set(text.flatMap((t) => [...t.matchAll(/\b(E_[A-Z_]+): \{ sentence/g)].map((m) => m[1]!)));
  assert.deepEqual([...used].filter((c) => !(c in CODES) && !own.has(c) && !kit.includes(`'${c}'`)), []);
  const elsewhere = text.filter((t) => !t.includes('export const CODES')).join('\n');
  assert.deepEqual(Object.keys(CODES).filter((c) => !elsewhere.includes(c)), []);
});
test('every key that a person writes says what it is for', () => {
  const silent: string[] = [];
  const walk = (schema: Record<string, unknown>, path: string): void => {
    for (const [key, value] of Object.entries((schema['properties'] as Record<string, Record<string, unknown>> | undefined) ?? {})) {
      if (value['description'] === undefined && !(path.endsWith('prices') )) silent.push(`${path}.${key}`);
      walk(value, `${path}.${key}`);
    }
  };
  walk(JSON.parse(generated()['docs/schema/config.schema.json']!) as Record<string, unknown>, '');
  assert.deepEqual(silent, ['.stores', '.limits'].filter((s) => silent.includes(s)));
  assert.ok(configLayer() !== undefined);
});
test('no file names a place outside of the repository, a registry\'s host, or how it came to be', () => {
  const text = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'package.json', 'agent.config.yaml'].map((f) => [f, readFileSync(join(root, f), 'utf8')] as const);
  for (const [file, t] of text) assert.doesNotMatch(t, /https?:\/\/registry\.|\/work\//i, file);
});
