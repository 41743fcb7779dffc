/** Suites that every plugin of a kind passes, ours and yours. Needs fast-check beside it. */
export { collect } from './collect.ts';
export { guardContract } from './guard.ts';
export { modeContract } from './mode.ts';
export { modelProviderSuite } from './model-provider.ts';
export { promptPartContract } from './prompt-part.ts';
export { toolSuite } from './tool.ts';
export type { CollectOptions } from './collect.ts';
export type { ProviderUnderTest } from './model-provider.ts';
