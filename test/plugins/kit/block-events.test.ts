import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { blockEvents, textPieces } from 'tappet/kit';

test('pieces of a text are small, never split a character, and make the text again', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
    const pieces = textPieces(text);
    assert.equal(pieces.join(''), text);
    for (const piece of pieces) {
      assert.ok([...piece.trimEnd()].length <= 20);
      assert.ok(!/[\ud800-\udbff]$/.test(piece) || /[\ud800-\udbff](?![\udc00-\udfff])/.test(text), 'a pair of surrogates stays whole');
    }
  }));
});

test('a tool use streams its input as JSON and ends with the whole block', () => {
  const block = { type: 'tool_use' as const, id: 'a', name: 'Read', input: { file_path: 'some/long/path/to/a/file.txt' } };
  const events = blockEvents(block, 3);
  assert.deepEqual(events[0], { type: 'content_block_start', index: 3, block: { ...block, input: {} } });
  assert.deepEqual(events.at(-1), { type: 'content_block_stop', index: 3, block });
  const json = events.flatMap((e) => (e.type === 'content_block_delta' && e.delta.type === 'input_json_delta' ? [e.delta.partial_json] : []));
  assert.ok(json.length > 1);
  assert.deepEqual(JSON.parse(json.join('')), block.input);
});

test('an input that does not parse is streamed as it is', () => {
  const events = blockEvents({ type: 'tool_use', id: 'a', name: 'Read', input: {}, inputError: { why: 'cut', raw: '{"file' } }, 0);
  assert.deepEqual(events.flatMap((e) => (e.type === 'content_block_delta' && e.delta.type === 'input_json_delta' ? [e.delta.partial_json] : [])), ['{"file']);
});

test('thinking ends with its signature', () => {
  const events = blockEvents({ type: 'thinking', thinking: 'so', signature: 'sig', provider: 'x' }, 0);
  assert.deepEqual(events[0], { type: 'content_block_start', index: 0, block: { type: 'thinking', thinking: '', provider: 'x' } });
  assert.deepEqual(events.at(-2), { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'sig' } });
});
