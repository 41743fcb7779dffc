/** Schemas at the border: any that can describe itself is taken, any other refused, so that no tool stands without descriptions. */
import type { CheckedSchema, Lazy, Schema, Tool } from '../schemas/index.ts';
import { messageOf, TappetError } from './errors.ts';

interface JsonSchemaMaker { readonly input: (o: { readonly target: string }) => Readonly<Record<string, unknown>> }

/** @throws E_PLUGIN_SCHEMA; what a schema can't describe shows when its `jsonSchema` is first asked for */
export function checkedSchema<Out>(given: Lazy<Schema<Out>>, what: string): CheckedSchema<Out> {
  const schema: unknown = typeof given === 'function' && !('~standard' in given) ? (given as () => Schema<Out>)() : given;
  if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null) throw refuse(what, 'it is no schema');
  if (isPlain<Out>(schema)) return { jsonSchema: withoutDialect(schema.jsonSchema), check: (v) => schema.check(v) };
  if (!('~standard' in schema)) throw refuse(what, '_def' in schema || '_zod' in schema ? 'zod before 4.2 cannot say its own JSON Schema with its descriptions' : 'it is no schema that is known here');
  const standard = schema['~standard'] as Extract<Schema<Out>, { '~standard': unknown }>['~standard'] & { readonly jsonSchema?: JsonSchemaMaker };
  if (typeof standard?.jsonSchema?.input !== 'function' || typeof standard.validate !== 'function') throw refuse(what, `${standard?.vendor === 'zod' ? 'zod before 4.2' : String(standard?.vendor)} cannot say its own JSON Schema with its descriptions`);
  const make = standard.jsonSchema;
  let json: Readonly<Record<string, unknown>> | undefined;
  return {
    get jsonSchema() {
      try { return (json ??= withoutDialect(make.input({ target: 'draft-07' }))); } catch (e) { throw refuse(what, messageOf(e)); }
    },
    check: (value) => {
      const done = (r: Awaited<ReturnType<typeof standard.validate>>) => ('issues' in r && r.issues ? { problems: r.issues.map(problem) } : { value: (r as { value: Out }).value });
      const result = standard.validate(value);
      return result instanceof Promise ? result.then(done) : done(result);
    },
  };
}
/** A tool whose input says what it is: a map of named fields, for no model takes another. @throws E_PLUGIN_SCHEMA */
export function describable(tool: Pick<Tool, 'name' | 'inputSchema'>): void {
  const what = `input schema of tool ${tool.name}`;
  const schema: unknown = typeof tool.inputSchema === 'function' ? tool.inputSchema() : null;
  if (typeof schema !== 'object' || schema === null || !isPlain(schema)) throw refuse(what, 'it is none that a tool here has; make the tool with defineTool');
  if (schema.jsonSchema['type'] !== 'object') throw refuse(what, 'it is no object with named fields');
}

function isPlain<Out>(schema: object): schema is Extract<Schema<Out>, { check: unknown }> {
  const { jsonSchema, check } = schema as { jsonSchema?: unknown; check?: unknown };
  return typeof jsonSchema === 'object' && jsonSchema !== null && typeof check === 'function' && !('~standard' in schema);
}
function problem(issue: { readonly message: string; readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined }): string {
  const path = (issue.path ?? []).map((p) => String(typeof p === 'object' ? p.key : p)).join('.');
  return path === '' ? issue.message : `${path}: ${issue.message}`;
}
function withoutDialect(json: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { $schema: _, ...rest } = json;
  return rest;
}
function refuse(what: string, message: string): TappetError {
  const [part, ...name] = what.split(' of ');
  return new TappetError('E_PLUGIN_SCHEMA', { what: part, name: name.join(' of ') || what, message });
}
