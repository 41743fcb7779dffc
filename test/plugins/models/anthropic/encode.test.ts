import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Block, NormalizedMessage } from 'tappet/schemas';
import { encode } from '../../../../plugins/models/anthropic/encode.ts';

const said = (role: 'user' | 'assistant', ...content: Block[]): unknown => {
  const bytes = encode({ role, content } satisfies NormalizedMessage);
  return bytes.length === 0 ? null : JSON.parse(Buffer.from(bytes).toString('utf8'));
};
const PNG = { type: 'base64', media_type: 'image/png', data: 'AAAA' };
const image: Block = { type: 'image', source: PNG };

test('thoughts go back with their signature, whole; unsigned and foreign ones do not', () => {
  assert.deepEqual(said('assistant',
    { type: 'thinking', thinking: 'mine', signature: 's', provider: 'anthropic' }, { type: 'thinking', thinking: 'old', signature: 't' }, { type: 'thinking', thinking: 'cut', provider: 'anthropic' },
    { type: 'thinking', thinking: 'theirs', signature: 'u', provider: 'openai' }, { type: 'redacted_thinking', data: 'd', provider: 'anthropic' }, { type: 'redacted_thinking', data: 'e', provider: 'gemini' }, { type: 'text', text: 'x' },
  ), { role: 'assistant', content: [{ type: 'thinking', thinking: 'mine', signature: 's' }, { type: 'thinking', thinking: 'old', signature: 't' }, { type: 'redacted_thinking', data: 'd' }, { type: 'text', text: 'x' }] });
});

test("the vendor's own blocks go back as they came, those of others stay behind", () => {
  const block = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'a' }, extra: [1] };
  assert.deepEqual(said('assistant', { type: 'vendor', provider: 'anthropic', block }, { type: 'vendor', provider: 'openai', block: { type: 'reasoning' } }), { role: 'assistant', content: [block] });
});

test('a call whose input did not parse is sent with an empty input, and never with what came instead', () => {
  assert.deepEqual(said('assistant', { type: 'tool_use', id: 't1', name: 'Bash', input: {}, inputError: { why: 'cut', raw: '{"a":"rm' }, signature: 'g' }), { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'Bash', input: {} }] });
});

test("other vendors' ids and impossible names become possible ones, and two ids stay two", () => {
  const ids = ['call_1|fc_2', 'call_1_fc_2', 'a b', 'a.b', 'é', ''].map((id) => {
    const { content: [use] } = said('assistant', { type: 'tool_use', id, name: 'functions.Read', input: {} }) as { content: { id: string; name: string }[] };
    const { content: [result] } = said('user', { type: 'tool_result', tool_use_id: id, content: 'x' }) as { content: { tool_use_id: string }[] };
    assert.match(use!.id, /^[a-zA-Z0-9_-]+$/);
    assert.equal(use!.id, result!.tool_use_id);
    assert.equal(use!.name, 'functions_Read');
    return use!.id;
  });
  assert.equal(new Set(ids).size, ids.length);
});

test('texts without a visible character are left out; an answer without anything is left out whole', () => {
  assert.deepEqual(said('user', { type: 'text', text: ' \n' }, { type: 'text', text: 'a' }), { role: 'user', content: [{ type: 'text', text: 'a' }] });
  assert.equal(said('assistant', { type: 'text', text: '' }, { type: 'thinking', thinking: 'x' }), null);
  assert.deepEqual(said('user', { type: 'text', text: '' }), { role: 'user', content: [{ type: 'text', text: '(empty message)' }] });
});

test('results stand before words, and pictures of a failed call stand behind the results', () => {
  assert.deepEqual(said('user', { type: 'text', text: 'and now' }, { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'bad' }, { type: 'image', source: PNG }], is_error: true }, { type: 'tool_result', tool_use_id: 'b', content: [{ type: 'image', source: PNG }] }), {
    role: 'user',
    content: [
      { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'bad' }], is_error: true }, { type: 'tool_result', tool_use_id: 'b', content: [image] },
      { type: 'text', text: 'and now' }, image,
    ],
  });
  assert.deepEqual(said('user', { type: 'tool_result', tool_use_id: 'a', content: '', is_error: true }, { type: 'tool_result', tool_use_id: 'b', content: '' }), {
    role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: '(no output)', is_error: true }, { type: 'tool_result', tool_use_id: 'b' }],
  });
});

test('images, documents and citations pass; what an answer cannot hold does not', () => {
  const document: Block = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' }, title: 'T' };
  assert.deepEqual(said('user', image, document), { role: 'user', content: [image, document] });
  assert.deepEqual(said('assistant', { type: 'text', text: 'a', citations: [{ type: 'char_location' }] }, image), { role: 'assistant', content: [{ type: 'text', text: 'a', citations: [{ type: 'char_location' }] }] });
});

test('halves of surrogate pairs are mended wherever they stand, whole pairs are kept', () => {
  const json = Buffer.from(encode({ role: 'assistant', content: [{ type: 'text', text: 'a\ud83d b 👋' }, { type: 'tool_use', id: 't', name: 'n', input: { 'k\udc00': ['\ud800'] } }] })).toString('utf8');
  assert.doesNotMatch(json, /\\ud[89a-f]/i);
  assert.deepEqual(JSON.parse(json), { role: 'assistant', content: [{ type: 'text', text: 'a\ufffd b 👋' }, { type: 'tool_use', id: 't', name: 'n', input: { 'k\ufffd': ['\ufffd'] } }] });
});
