/** Schemas at the border: what can describe itself comes in, all else is refused with the name of whose it is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defineTool, z } from 'tappet/kernel';
import { checkedSchema, describable } from '../../kernel/schema.ts';
import type { Schema } from '../../schemas/index.ts';

const WHAT = 'input schema of tool Look';
const refusal = (schema: unknown): RegExp | string => { try { void checkedSchema(schema as Schema, WHAT).jsonSchema; } catch (e) { return (e as Error).message; } return 'it was taken'; };

test('a schema of ours says its descriptions, its required fields, and what is wrong by field', async () => {
  const schema = checkedSchema(() => z.object({ path: z.string().describe('where'), n: z.number().default(3) }), WHAT);
  assert.deepEqual(schema.jsonSchema, { type: 'object', properties: { path: { type: 'string', description: 'where' }, n: { type: 'number', default: 3 } }, required: ['path'] });
  assert.deepEqual(await schema.check({ path: 'x' }), { value: { path: 'x', n: 3 } });
  const wrong = await schema.check({ path: 7 });
  assert.match('problems' in wrong ? wrong.problems.join() : '', /^path: /);
});
test('a thunk is called once and late; a schema that is a function is no thunk', async () => {
  let calls = 0;
  const tool = defineTool({ name: 'T', description: 'd', inputSchema: () => { calls++; return z.object({}); }, call: () => ({ data: 1 }) });
  assert.equal(calls, 0);
  tool.inputSchema();
  tool.inputSchema();
  assert.equal(calls, 1);
  const callable = Object.assign(() => assert.fail('it was called'), { '~standard': { version: 1, vendor: 'arktype', validate: (value: unknown) => ({ value }), jsonSchema: { input: () => ({ type: 'object', $schema: 'x' }) } } });
  assert.deepEqual(checkedSchema(callable as never, WHAT).jsonSchema, { type: 'object' });
});
test('a plain pair of JSON Schema and check is taken', async () => {
  const schema = checkedSchema({ jsonSchema: { $schema: 'x', type: 'object' }, check: (v: unknown) => (v === 1 ? { value: v } : { problems: ['no'] }) }, WHAT);
  assert.deepEqual(schema.jsonSchema, { type: 'object' });
  assert.deepEqual([await schema.check(1), await schema.check(2)], [{ value: 1 }, { problems: ['no'] }]);
});
test('an asynchronous check is awaited', async () => {
  const schema = checkedSchema(z.object({ a: z.string().refine(async (v) => v !== 'no') }), WHAT);
  // zod itself decides between sync and async; through the standard both come out alike
  assert.ok('problems' in (await schema.check({ a: 'no' })));
});
test('zod 3, with and without the standard, and zod 4.0 are refused with the tool\'s name: their descriptions would be lost', () => {
  const standard = (vendor: string) => ({ version: 1, vendor, validate: (value: unknown) => ({ value }) });
  const cases: readonly [unknown, RegExp][] = [
    [{ _def: { typeName: 'ZodObject' }, parse() {}, safeParse() {} }, /zod before 4\.2/], [{ _def: {}, '~standard': standard('zod') }, /zod before 4\.2/], [{ _zod: { def: {} }, '~standard': standard('zod') }, /zod before 4\.2/], [{ '~standard': standard('valibot') }, /valibot cannot say its own JSON Schema/],
    [{ type: 'object', properties: {} }, /no schema that is known here/], [null, /it is no schema/], ['x', /it is no schema/], [() => null, /it is no schema/], [{ '~standard': null }, /cannot say/], [{ jsonSchema: {}, check: 'no' }, /no schema that is known/],
  ];
  for (const [schema, says] of cases) {
    assert.match(String(refusal(schema)), says);
    assert.match(String(refusal(schema)), /^the input schema of tool Look cannot describe itself/);
  }
});
test('what a schema cannot describe is refused with the tool\'s name, not with a riddle of the library', () => {
  assert.match(String(refusal(z.object({ when: z.date() }))), /^the input schema of tool Look cannot describe itself: /);
});
test('a tool whose input is no object with fields, or no schema of a tool at all, is refused with its name', () => {
  const look = (inputSchema: unknown): void => describable({ name: 'Look', inputSchema } as never);
  assert.throws(() => look(() => checkedSchema(z.string(), WHAT)), /^TappetError: the input schema of tool Look cannot describe itself: it is no object with named fields/);
  for (const none of [() => z.object({}), z.object({}), null, () => null, () => ({ jsonSchema: null, check() {} })]) assert.throws(() => look(none), /make the tool with defineTool/);
  look(() => checkedSchema(z.object({}), WHAT));
});
test('the name may hold the word of', () => {
  assert.throws(() => checkedSchema(5 as never, 'options of acme/king-of of'), /the options of acme\/king-of of cannot/);
});
