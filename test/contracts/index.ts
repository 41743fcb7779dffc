/** Suites that every plugin of a kind passes, ours and yours; and a kernel for tests. Needs fast-check beside it. */
export { collect } from './collect.ts';
export { guardContract } from './guard.ts';
export { modeContract } from './mode.ts';
export { modelProviderSuite } from './model-provider.ts';
export { promptPartContract } from './prompt-part.ts';
export { toolSuite } from './tool.ts';
