/** What every tool must do (`toolSuite`), and what this one does. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collect, toolSuite } from 'tappet/testing';
import plugin from '../plugins/word-count.ts';

const { tools: [tool] } = await collect(plugin, { options: { maxBytes: 100 } });

// Runs each sample: the result fits, is capped, an aborted signal ends it, `isReadOnly` is true on a file system that refuses writes, …
toolSuite({
  tool: tool!,
  samples: [
    { name: 'a file', prepare: (project) => project.file('a.txt', 'one two\nthree\n'), input: { file_path: 'a.txt' }, contains: '3 words, 2 lines, 14 characters' },
    { name: 'an empty file', prepare: (project) => project.file('a.txt', ''), input: { file_path: 'a.txt' }, contains: '0 words, 0 lines' },
    { name: 'no file', input: { file_path: 'gone.txt' }, fails: true, contains: 'there is no file' },
    { name: 'a folder', input: { file_path: '.' }, fails: true, contains: 'is a folder' },
    { name: 'a file that is no text', prepare: (project) => project.file('a.bin', Buffer.from([0, 1, 2, 0])), input: { file_path: 'a.bin' }, fails: true, contains: 'no text file' },
    { name: 'a file that is too large', prepare: (project) => project.file('a.txt', 'x'.repeat(101)), input: { file_path: 'a.txt' }, fails: true, contains: 'at most 100' },
  ],
  wrongInputs: [{}, { file_path: '' }, { file_path: 7 }],
});

test('refuses an option that it does not know', async () => {
  await assert.rejects(collect(plugin, { options: { maxSize: 5 } }), /maxSize/);
});
