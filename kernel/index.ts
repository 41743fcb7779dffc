/** The face: what plugin authors may use. Builders and types; no state, no authority. */
export { z } from 'zod';
export { API_VERSION, definePlugin, defineTool, MAX_RESULT_CHARS } from './plugin.ts';
export type { Plugin, PluginDefaults, Scope, ScopeRegistry } from './plugin.ts';
export { answer, fold, tell } from './hooks.ts';
export type { FireEvents, Hooks, Shape, TapContext, TapOptions, Undo } from './hooks.ts';
export { asTappetError, faultError, faultOf, isTappetError, messageOf, nearest, printError, TappetError } from './errors.ts';
export type { Code, CodeRow, ErrorFacts } from './errors.ts';
export { checkedSchema } from './schema.ts';
export * from '../schemas/index.ts';
