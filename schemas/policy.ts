/** What only a policy layer may say. */
import { z } from 'zod';
import { once } from './lazy.ts';

const names = (what: string) => z.array(z.string().min(1)).optional().describe(what);
const oneOf = (what: string) => z.strictObject({
  oneOf: z.array(z.string().min(1)).min(1).describe('the values that may be said; names may hold `*`'),
  default: z.string().optional().describe('what counts when nothing else keeps the bound'),
}).optional().describe(what);
export const bounds = once(() => z.strictObject({
  mode: oneOf('permission modes that others may choose'),
  model: oneOf('models that others may choose'),
  permissions: z.strictObject({
    onlyPolicyAllows: z.boolean().optional().describe('allow rules of other layers do not count'),
  }).optional().describe('what other layers may say in rules'),
  plugins: z.strictObject({
    allow: names('plugins beside our own that may load; names may hold `*`'),
    forbid: names('plugins that may not load; names may hold `*`'),
    require: names('plugins without which nothing starts'),
    onlyFrom: names('layers that may bring plugins'),
    hashes: z.record(z.string(), z.string().regex(/^sha256-[0-9a-f]{64}$/)).optional().describe('content that a plugin must have'),
  }).optional().describe('which plugins may load'),
}).describe('what other layers may say; only in a policy file'));
export type Bounds = z.infer<ReturnType<typeof bounds>>;
