import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { geminiParameters } from '../../../../plugins/models/gemini/schema.ts';
import { schemaProblems } from '../../../support/mock-gemini.ts';

const of = (properties: object, more: object = {}) => geminiParameters({ type: 'object', properties, ...more }) as Record<string, any> | null;
const property = (schema: object, more: object = {}) => of({ a: schema }, more)!.properties.a;

test('keeps what both know', () => {
  assert.deepEqual(of({ path: { type: 'string', description: 'where', minLength: 1, pattern: '^/' }, n: { type: 'integer', minimum: 1, maximum: 9 }, list: { type: 'array', items: { type: 'string' }, minItems: 1 } }, { required: ['path', 'gone'], additionalProperties: false, $schema: 'x' }), {
    type: 'OBJECT', required: ['path'],
    properties: { path: { type: 'STRING', minLength: 1, pattern: '^/', description: 'where' }, n: { type: 'INTEGER', minimum: 1, maximum: 9 }, list: { type: 'ARRAY', items: { type: 'STRING' }, minItems: 1 } },
  });
});

test('a tool that takes nothing has no parameters', () => {
  assert.equal(geminiParameters({ type: 'object', properties: {} }), null);
  assert.equal(geminiParameters({}), null);
});

test('values that are no words are told in the description', () => {
  assert.deepEqual(property({ type: 'integer', enum: [1, 2], description: 'How many.', default: 1 }), { type: 'INTEGER', description: 'How many. One of: 1, 2. Default: 1.' });
  assert.deepEqual(property({ enum: ['a', 'b', null] }), { type: 'STRING', format: 'enum', enum: ['a', 'b'], nullable: true });
  assert.deepEqual(property({ type: 'string', enum: ['', 'a'] }), { type: 'STRING', description: 'One of: "", "a".' });
  assert.deepEqual(property({ const: 'x' }), { type: 'STRING', format: 'enum', enum: ['x'] });
  assert.deepEqual(property({ const: 3 }), { type: 'NUMBER', minimum: 3, maximum: 3, description: 'One of: 3.' });
});

test('bounds that exclude become bounds that include, never narrower than they were', () => {
  assert.deepEqual(property({ type: 'integer', exclusiveMinimum: 0, exclusiveMaximum: 10 }), { type: 'INTEGER', minimum: 1, maximum: 9 });
  assert.deepEqual(property({ type: 'number', exclusiveMinimum: 0.5 }), { type: 'NUMBER', minimum: 0.5 });
  assert.deepEqual(property({ type: 'integer', minimum: 3, exclusiveMinimum: true }), { type: 'INTEGER', minimum: 4 });
});

test('null beside a type makes it nullable, several types are alternatives', () => {
  assert.deepEqual(property({ type: ['string', 'null'] }), { type: 'STRING', nullable: true });
  assert.deepEqual(property({ anyOf: [{ type: 'string' }, { type: 'null' }], description: 'd' }), { type: 'STRING', nullable: true, description: 'd' });
  assert.deepEqual(property({ type: ['string', 'number'] }), { anyOf: [{ type: 'STRING' }, { type: 'NUMBER' }] });
  assert.deepEqual(property({ oneOf: [{ type: 'object', properties: { k: { type: 'string' } } }, { type: 'boolean' }], description: 'either' }), { anyOf: [{ type: 'OBJECT', properties: { k: { type: 'STRING' } }, description: 'either' }, { type: 'BOOLEAN', description: 'either' }] });
});

test('references are written out, also through allOf; what holds itself ends as an object', () => {
  assert.deepEqual(property({ $ref: '#/$defs/P', description: 'here' }, { $defs: { P: { type: 'string', description: 'there' } } }), { type: 'STRING', description: 'here' });
  assert.deepEqual(property({ allOf: [{ $ref: '#/definitions/P' }, { properties: { y: { type: 'number' } }, required: ['y'] }] }, { definitions: { P: { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] } } }), { type: 'OBJECT', properties: { x: { type: 'NUMBER' }, y: { type: 'NUMBER' } }, required: ['x', 'y'] });
  assert.deepEqual(property({ $ref: '#/$defs/N' }, { $defs: { N: { type: 'object', properties: { next: { $ref: '#/$defs/N' } } } } }), { type: 'OBJECT', properties: { next: { type: 'OBJECT' } } });
});

test('an input of several forms may have what any of them has, and must have what all have', () => {
  assert.deepEqual(geminiParameters({ oneOf: [{ type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } }, required: ['a', 'b'] }, { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }] }), { type: 'OBJECT', properties: { a: { type: 'STRING' }, b: { type: 'STRING' } }, required: ['a'] });
});

test('expressions that look around are left out, unknown formats too', () => {
  assert.deepEqual(property({ type: 'string', pattern: '^(?!x)', format: 'uri' }), { type: 'STRING' });
});

test('a small schema that stands for a huge one is told in part, and truly', () => {
  // Each refers twice to the next: written out, 2^30 schemas.
  const $defs = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`D${n}`, { type: 'object', properties: { l: { $ref: `#/$defs/D${n + 1}` }, r: { $ref: `#/$defs/D${n + 1}` }, name: { type: 'string' }, any: {}, list: { type: 'array' } } }]));
  const made = of({ a: { $ref: '#/$defs/D0' }, last: { type: 'string' } }, { $defs })!;
  assert.ok(JSON.stringify(made).length < 400_000);
  assert.deepEqual([...schemaProblems(made, 'p')].filter((p) => p !== null), []);
  assert.equal(made.properties.last.type, 'STRING');
  assert.deepEqual(made.properties.a.properties.r, { type: 'OBJECT' });
  assert.deepEqual(made.properties.a.properties.name, { type: 'STRING' });
});

test('whatever a tool says, Gemini gets only what it knows', () => {
  const { schema } = fc.letrec<{ schema: unknown }>((tie) => ({
    schema: fc.oneof({ maxDepth: 4 }, fc.constantFrom(true, {}, null, { type: 'null' }, { $ref: '#/$defs/D' }, { $ref: 'http://x' }), fc.record({
      type: fc.constantFrom('string', 'number', 'integer', 'boolean', 'array', 'object', 'any', ['string', 'null'], ['integer', 'object'], 7), description: fc.string(), format: fc.constantFrom('uri', 'date-time', 'int32', 'float'),
      enum: fc.array(fc.oneof(fc.string(), fc.integer(), fc.constant(null)), { maxLength: 3 }), const: fc.oneof(fc.string(), fc.integer(), fc.boolean()), minimum: fc.integer(), exclusiveMaximum: fc.oneof(fc.integer(), fc.boolean()),
      items: fc.oneof(tie('schema'), fc.array(tie('schema'), { maxLength: 2 })), prefixItems: fc.array(tie('schema'), { maxLength: 2 }), properties: fc.dictionary(fc.string({ maxLength: 3 }), tie('schema'), { maxKeys: 3 }), required: fc.array(fc.string({ maxLength: 3 }), { maxLength: 2 }),
      anyOf: fc.array(tie('schema'), { maxLength: 3 }), oneOf: fc.array(tie('schema'), { maxLength: 2 }), allOf: fc.array(tie('schema'), { maxLength: 2 }), not: tie('schema'), additionalProperties: tie('schema'), default: fc.jsonValue(), uniqueItems: fc.boolean(), title: fc.string(),
    }, { requiredKeys: [] })),
  }));
  fc.assert(fc.property(schema, schema, (a, d) => {
    const made = geminiParameters({ type: 'object', properties: { a }, $defs: { D: d } });
    assert.deepEqual([...schemaProblems(made, 'p')].filter((p) => p !== null), []);
  }), { numRuns: 300 });
});
