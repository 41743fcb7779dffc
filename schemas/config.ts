/** One layer of `agent.config.yaml`: every key that a person may write. */
import { z } from 'zod';
import { once } from './lazy.ts';
import type { Bounds } from './policy.ts';
import { bounds } from './policy.ts';

export const pluginEntry = once(() => z.union([
  z.boolean().describe('`true`: our own plugin of this name; `false`: switched off'),
  z.strictObject({
    use: z.string().min(1).optional().describe('where it comes from: a path that starts with a dot (counted from this file), or an installed npm package; left out: our own plugin of this name'),
    with: z.record(z.string(), z.unknown()).optional().describe('its options; the plugin checks them'),
  }),
]));

const positive = z.number().positive();
export const limits = once(() => z.strictObject({
  costUsd: positive.optional().describe('US dollars that one session may spend'),
  turns: z.number().int().positive().optional().describe('model requests that one prompt may cause'),
  timeMs: z.number().int().positive().optional().describe('milliseconds that one prompt may take'),
  outputTokens: z.number().int().positive().optional().describe('tokens that one session may have generated'),
}).describe('numbers that may be used up; the tightest of all layers counts'));

export const provider = once(() => z.strictObject({
  baseUrl: z.url({ protocol: /^https?$/ }).optional().describe('address of the API, without the path of the endpoint'),
  apiKeyEnv: z.string().regex(/^[A-Za-z_]\w*$/).optional().describe('name of the environment variable that holds the key'),
  keyHelper: z.string().min(1).optional().describe('a command whose output is the key'),
  headers: z.record(z.string(), z.string()).optional().describe('more HTTP headers for each request'),
  betas: z.array(z.string()).optional().describe('beta features of the API to switch on'),
  proxy: z.string().min(1).optional().describe('HTTP proxy for this provider'),
  noProxy: z.string().optional().describe('hosts that are reached without the proxy, separated by commas'),
  caFile: z.string().min(1).optional().describe('PEM file with certificates of authorities to trust beside the usual ones'),
  certFile: z.string().min(1).optional().describe('PEM file with a client certificate'),
  keyFile: z.string().min(1).optional().describe('PEM file with the key of the client certificate'),
  timeouts: z.strictObject({
    firstByteMs: z.number().int().positive().optional().describe('milliseconds until the first byte of an answer'),
    betweenBytesMs: z.number().int().positive().optional().describe('milliseconds between two events of an answer'),
  }).optional().describe('how long a silent server is waited for'),
  options: z.record(z.string(), z.unknown()).optional().describe('settings that only this provider knows'),
}));

export const modelEntry = once(() => z.strictObject({
  id: z.string().min(1).optional().describe('the id that the API knows; left out: the name of this entry after the slash'),
  aliases: z.array(z.string().min(1)).optional().describe('short names'),
  contextWindow: z.number().int().positive().optional().describe('tokens that fit into one request with its answer'),
  maxOutputTokens: z.number().int().positive().optional().describe('tokens of the longest answer'),
  prices: z.strictObject({ input: z.number().min(0), output: z.number().min(0), cacheRead: z.number().min(0).optional(), cacheWrite: z.number().min(0).optional() }).optional().describe('US dollars for a million tokens'),
  can: z.array(z.enum(['tools', 'images', 'documents', 'thinking', 'cache', 'effort'])).optional().describe('what it can do'),
}));

const rules = (what: string) => z.array(z.string().min(1)).optional().describe(what);
export const configLayer = once(() => z.strictObject({
  $schema: z.string().optional().describe('the JSON schema of this file, for editors'),
  model: z.string().min(1).optional().describe('which model answers: `provider/model`, or an alias such as `sonnet`'),
  fallbackModel: z.string().min(1).optional().describe('models to try when the first is overloaded or refuses, separated by commas'),
  mode: z.string().min(1).optional().describe('the permission mode that a session starts in: default, plan, acceptEdits, dontAsk, bypassPermissions'),
  plugins: z.record(z.string().regex(/^[a-z0-9-]+\/[a-z0-9-]+$/, 'a plugin is named kind/name or publisher/name'), pluginEntry()).optional().describe('plugins by name: true, false, or where it is and its options'),
  permissions: z.strictObject({
    allow: rules('calls that need no question'),
    ask: rules('calls that a person is asked about, whatever the mode'),
    deny: rules('calls that are refused, whatever else is said'),
  }).optional().describe('rules such as `Bash(npm test)` or `Edit(src/**)`'),
  directories: z.array(z.string().min(1)).optional().describe('folders beside the project that tools may work in'),
  env: z.record(z.string().regex(/^[A-Za-z_]\w*$/), z.string()).optional().describe('environment variables of the programs that tools start'),
  limits: limits().optional(),
  providers: z.record(z.string().regex(/^[a-z0-9-]+$/), provider()).optional().describe('how model providers are reached; never in a project\'s file'),
  models: z.record(z.string().regex(/^[a-z0-9-]+\/.+$/, 'a model is named provider/model'), modelEntry()).optional().describe('models that the table does not know, or knows differently'),
  stores: z.strictObject({ sessions: z.string().optional().describe('the plugin that keeps sessions') }).optional().describe('which plugin keeps what'),
  earlyStart: z.boolean().optional().describe('start harmless calls while the model is still writing'),
  effort: z.string().min(1).optional().describe('how hard the model tries, where it can be told'),
  thinking: z.union([z.literal('adaptive'), z.literal(false), z.number().int().positive()]).optional().describe('tokens to think with, `adaptive`, or false'),
  bounds: bounds().optional(),
}));
/** Which plugins honour a key: where a policy uses it they cannot be switched off. `*`: whatever the policy says. */
export const ENFORCED_BY: Readonly<Record<string, readonly string[]>> = {
  '*': ['guards/workspace', 'guards/protected-paths'],
  permissions: ['guards/rules'],
  bounds: ['guards/rules'],
  directories: ['guards/workspace'],
};
/** One layer, as written. */
export type ConfigLayer = z.infer<ReturnType<typeof configLayer>>;
export type ConfigKey = keyof ConfigLayer;
export type PluginEntry = z.infer<ReturnType<typeof pluginEntry>>;
export type ProviderSettings = z.infer<ReturnType<typeof provider>>;
export type ModelEntry = z.infer<ReturnType<typeof modelEntry>>;
export type Limits = z.infer<ReturnType<typeof limits>>;

/** The fold of all layers: plain, frozen, complete. */
export interface Settings {
  readonly model: string | undefined;
  readonly fallbackModel: string | undefined;
  readonly mode: string;
  readonly plugins: Readonly<Record<string, PluginEntry>>;
  readonly permissions: { readonly allow: readonly string[]; readonly ask: readonly string[]; readonly deny: readonly string[] };
  readonly directories: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly limits: Limits;
  readonly providers: Readonly<Record<string, ProviderSettings>>;
  readonly models: Readonly<Record<string, ModelEntry>>;
  readonly stores: { readonly sessions?: string | undefined };
  readonly earlyStart: boolean;
  readonly effort: string | undefined;
  readonly thinking: 'adaptive' | false | number | undefined;
  readonly bounds: Bounds;
}
