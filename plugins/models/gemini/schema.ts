/** A tool's JSON Schema in the part of OpenAPI that Gemini accepts. What it cannot say is left out, or said in the description; nothing is said that is not so. */

type Json = Readonly<Record<string, unknown>>;
interface Root { readonly defs: Json; readonly open: readonly string[]; /** Schemas that may still be written. */ readonly room: { left: number } }

const MAX_DEPTH = 24;
/** Of one tool. References are written out, so that a small schema can stand for more than any memory holds. */
const MOST_SCHEMAS = 2_000;
const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean'];
/** Anything at all: Gemini wants a type everywhere. */
const ANYTHING: readonly Json[] = [{ type: 'STRING' }, { type: 'NUMBER' }, { type: 'BOOLEAN' }, { type: 'OBJECT' }];
const FORMATS: Readonly<Record<string, readonly string[]>> = { STRING: ['date-time'], NUMBER: ['float', 'double'], INTEGER: ['int32', 'int64'] };

/** `null`: the tool takes nothing, and then nothing may be sent. */
export function geminiParameters(schema: Json): Json | null {
  const defs = { ...object(schema.definitions), ...object(schema.$defs) };
  const made = convert({ ...schema, type: schema.type ?? 'object' }, { defs, open: [], room: { left: MOST_SCHEMAS } });
  const whole = Array.isArray(made.anyOf) ? together((made.anyOf as Json[]).filter((a) => a.type === 'OBJECT')) : made;
  return Object.keys(object(whole.properties)).length === 0 ? null : whole;
}
/** The input itself must be one object: it may have what any of its forms has, and must have what all of them must. */
function together(forms: readonly Json[]): Json {
  const required = list(forms[0]?.required).filter((name) => forms.every((f) => list(f.required).includes(name)));
  return { type: 'OBJECT', properties: Object.assign({}, ...forms.map((f) => object(f.properties))) as Json, ...(required.length === 0 ? {} : { required }) };
}

function convert(given: unknown, root: Root): Json {
  if (!isObject(given)) return { anyOf: ANYTHING };
  if (root.open.length > MAX_DEPTH) return described(brief(given), given);
  if (typeof given.$ref === 'string') {
    const name = /^#\/(?:\$defs|definitions)\/(.+)$/.exec(given.$ref)?.[1]?.replaceAll('~1', '/').replaceAll('~0', '~');
    const target = name === undefined ? undefined : root.defs[name];
    // A schema that holds itself is told once and then only as an object.
    if (name === undefined || target === undefined || root.open.includes(name)) return described({ type: 'OBJECT' }, given);
    const { $ref: _, ...beside } = given;
    return convert({ ...object(target), ...beside }, { ...root, open: [...root.open, name] });
  }
  if (--root.room.left < 0) return described(brief(given), given);
  const deeper = { ...root, open: [...root.open, ''] };
  const merged = mergeAll(given, root);
  const choices = [merged.anyOf, merged.oneOf].find((c) => Array.isArray(c)) as readonly unknown[] | undefined;
  if (choices !== undefined && choices.length > 0) return choice(merged, choices, deeper);
  const types = (Array.isArray(merged.type) ? merged.type : [merged.type]).filter((t): t is string => typeof t === 'string');
  const real = types.filter((t) => t !== 'null');
  const nullable = real.length < types.length || merged.nullable === true || (Array.isArray(merged.enum) && merged.enum.includes(null));
  if (real.length > 1) return described(alternatives(real.map((t) => convert({ ...merged, type: t, description: undefined }, deeper)), nullable), merged);
  const type = real[0] ?? guessed(merged);
  if (type === null || !TYPES.includes(type)) return described(alternatives(ANYTHING, nullable), merged);
  return described({ ...typed(type.toUpperCase(), merged, deeper), ...(nullable ? { nullable: true } : {}) }, merged);
}

/** What is left of a schema where there is no room for more. */
function brief({ type }: Json): Json {
  switch (type) {
    case 'object': case 'string': case 'number': case 'integer': case 'boolean': return { type: type.toUpperCase() };
    case 'array': return { type: 'ARRAY', items: { anyOf: ANYTHING } };
    default: return { anyOf: ANYTHING };
  }
}

/** Alternatives may have nothing beside them: what would stand there goes into each. */
function choice(schema: Json, choices: readonly unknown[], root: Root): Json {
  const { anyOf: _a, oneOf: _o, description: _d, ...beside } = schema;
  const isNull = (c: unknown): boolean => isObject(c) && (c.type === 'null' || c.const === null);
  const real = choices.filter((c) => !isNull(c));
  const made = real.map((c) => convert(isObject(c) ? joined(beside, c) : beside, root));
  return described(alternatives(made, real.length < choices.length), schema);
}
function alternatives(some: readonly Json[], nullable: boolean): Json {
  const flat = (some.length === 0 ? ANYTHING : some).flatMap((a) => (Array.isArray(a.anyOf) && Object.keys(a).length === 1 ? (a.anyOf as Json[]) : [a]));
  const each = nullable ? flat.map((a) => ({ ...a, nullable: true })) : flat;
  return each.length === 1 ? each[0]! : { anyOf: each };
}

/** `allOf` as one schema. */
function mergeAll(schema: Json, root: Root): Json {
  if (!Array.isArray(schema.allOf)) return schema;
  const { allOf, ...rest } = schema;
  return (allOf as unknown[]).filter(isObject).map((part) => resolved(part, root)).reduce<Json>(joined, rest);
}
const resolved = (part: Json, root: Root): Json => {
  const name = typeof part.$ref === 'string' ? /^#\/(?:\$defs|definitions)\/(.+)$/.exec(part.$ref)?.[1] : undefined;
  return name === undefined || root.open.includes(name) ? part : object(root.defs[name]);
};
const joined = (a: Json, b: Json): Json => ({
  ...a, ...b,
  ...(isObject(a.properties) || isObject(b.properties) ? { properties: { ...object(a.properties), ...object(b.properties) } } : {}),
  ...(Array.isArray(a.required) || Array.isArray(b.required) ? { required: [...new Set([...list(a.required), ...list(b.required)])] } : {}),
  ...(typeof a.description === 'string' && typeof b.description !== 'string' ? { description: a.description } : {}),
});

function guessed(s: Json): string | null {
  if (isObject(s.properties)) return 'object';
  if (s.items !== undefined || s.prefixItems !== undefined) return 'array';
  const values = s.const === undefined ? list(s.enum).filter((v) => v !== null) : [s.const];
  const kinds = new Set(values.map((v) => typeof v));
  const [only] = kinds;
  return kinds.size === 1 && (only === 'string' || only === 'number' || only === 'boolean') ? only : null;
}

function typed(type: string, s: Json, root: Root): Json {
  const keep = (...keys: readonly string[]): Json => Object.fromEntries(keys.flatMap((k) => (typeof s[k] === 'number' ? [[k, s[k]]] : [])));
  const format = FORMATS[type]?.includes(String(s.format)) === true ? { format: s.format } : {};
  const values = s.const === undefined ? s.enum : [s.const];
  switch (type) {
    case 'OBJECT': {
      const entries = Object.entries(object(s.properties));
      const required = list(s.required).filter((r) => typeof r === 'string' && entries.some(([k]) => k === r));
      return { type, ...(entries.length === 0 ? {} : { properties: Object.fromEntries(entries.map(([k, v]) => [k, convert(v, root)])) }), ...(required.length === 0 ? {} : { required }) };
    }
    case 'ARRAY': {
      const tuple = Array.isArray(s.prefixItems) ? s.prefixItems : Array.isArray(s.items) ? s.items : null;
      const items = tuple === null ? convert(s.items, root) : alternatives(tuple.map((t) => convert(t, root)), false);
      return { type, items, ...keep('minItems', 'maxItems') };
    }
    case 'STRING': {
      const real = list(values).filter((v) => v !== null);
      const words = real.length > 0 && real.every((v) => typeof v === 'string' && v !== '') ? { format: 'enum', enum: real } : {};
      return { type, ...format, ...words, ...keep('minLength', 'maxLength'), ...(isPlain(s.pattern) ? { pattern: s.pattern } : {}) };
    }
    case 'NUMBER':
    case 'INTEGER': {
      const whole = type === 'INTEGER';
      const above = s.exclusiveMinimum === true ? s.minimum : s.exclusiveMinimum;
      const below = s.exclusiveMaximum === true ? s.maximum : s.exclusiveMaximum;
      const low = [s.minimum, typeof above !== 'number' ? undefined : whole ? Math.floor(above) + 1 : above, s.const].filter((n): n is number => typeof n === 'number');
      const high = [s.maximum, typeof below !== 'number' ? undefined : whole ? Math.ceil(below) - 1 : below, s.const].filter((n): n is number => typeof n === 'number');
      return { type, ...format, ...(low.length === 0 ? {} : { minimum: Math.max(...low) }), ...(high.length === 0 ? {} : { maximum: Math.min(...high) }) };
    }
    case 'BOOLEAN': return { type };
    default: return { type: 'OBJECT' };
  }
}
/** Gemini's expressions know neither looking around nor back. */
const isPlain = (pattern: unknown): pattern is string => typeof pattern === 'string' && !/\(\?(?:[=!]|<[=!])|\\[1-9]/.test(pattern);

/** The description, and in words what the type cannot say. */
function described(made: Json, s: Json): Json {
  const said = [typeof s.description === 'string' ? s.description : ''];
  const values = s.const === undefined ? list(s.enum) : [s.const];
  if (values.length > 0 && made.enum === undefined && made.anyOf === undefined) said.push(`One of: ${values.map((v) => JSON.stringify(v)).join(', ')}.`);
  if (s.default !== undefined && s.default !== null) said.push(`Default: ${JSON.stringify(s.default)}.`);
  const text = said.filter((t) => t !== '').join(' ');
  if (text === '') return made;
  return Array.isArray(made.anyOf) ? { anyOf: (made.anyOf as Json[]).map((a) => ({ ...a, description: typeof a.description === 'string' ? `${text} ${a.description}` : text })) } : { ...made, description: text };
}

const isObject = (v: unknown): v is Record<string, unknown> => typeof v === 'object' && v !== null && !Array.isArray(v);
const object = (v: unknown): Json => (isObject(v) ? v : {});
const list = (v: unknown): readonly unknown[] => (Array.isArray(v) ? v : []);
