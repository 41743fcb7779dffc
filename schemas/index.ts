/** The schemas room as outside code sees it. */
export * from './app-state.ts';
export * from './config.ts';
export * from './contracts.ts';
export * from './events.ts';
export * from './hooks.ts';
export * from './invocation.ts';
export * from './lazy.ts';
export * from './message.ts';
export * from './model.ts';
export * from './origin.ts';
export * from './permissions.ts';
export * from './policy.ts';
export * from './query.ts';
export * from './runtime.ts';
export * from './tool.ts';
export * from './transcript.ts';
