/** Schemas at the border: any that can describe itself is taken, any other refused, so that no tool stands without descriptions. */
import type { CheckedSchema, Lazy, Schema } from '../schemas/index.ts';
import { TappetError } from './errors.ts';

interface JsonSchemaMaker { readonly input: (o: { readonly target: string }) => Readonly<Record<string, unknown>> }

/** @throws E_PLUGIN_SCHEMA */
export function checkedSchema<Out>(given: Lazy<Schema<Out>>, what: string): CheckedSchema<Out> {
  const schema = typeof given === 'function' && !('~standard' in given) ? (given as () => Schema<Out>)() : (given as Schema<Out>);
  if (typeof schema !== 'object' && typeof schema !== 'function') throw refuse(what, 'it is no schema');
  if ('jsonSchema' in schema && 'check' in schema) return { jsonSchema: withoutDialect(schema.jsonSchema), check: (v) => schema.check(v) };
  if (!('~standard' in schema)) throw refuse(what, 'it is no schema that is known here');
  const standard = schema['~standard'] as typeof schema['~standard'] & { readonly jsonSchema?: JsonSchemaMaker };
  if (standard.jsonSchema === undefined) throw refuse(what, `${standard.vendor} before 4.2 cannot say its own JSON Schema with its descriptions`);
  const make = standard.jsonSchema;
  let json: Readonly<Record<string, unknown>> | undefined;
  return {
    get jsonSchema() { return (json ??= withoutDialect(make.input({ target: 'draft-07' }))); },
    check: (value) => {
      const done = (r: Awaited<ReturnType<typeof standard.validate>>) => ('issues' in r && r.issues ? { problems: r.issues.map(problem) } : { value: (r as { value: Out }).value });
      const result = standard.validate(value);
      return result instanceof Promise ? result.then(done) : done(result);
    },
  };
}

function problem(issue: { readonly message: string; readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined }): string {
  const path = (issue.path ?? []).map((p) => String(typeof p === 'object' ? p.key : p)).join('.');
  return path === '' ? issue.message : `${path}: ${issue.message}`;
}
function withoutDialect(json: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { $schema: _, ...rest } = json;
  return rest;
}
const refuse = (what: string, message: string) => new TappetError('E_PLUGIN_SCHEMA', { what: what.split(' of ')[0], name: what.split(' of ')[1] ?? what, message });
