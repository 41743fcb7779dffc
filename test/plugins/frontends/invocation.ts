/** A command line that says nothing but what a test adds. */
import type { Invocation } from 'tappet/kernel';

export const invocation = (more: Partial<Invocation> = {}): Invocation => ({
  cwd: '/', command: null, prompt: null, print: true, outputFormat: 'text', inputFormat: 'text', includePartialMessages: false, replayUserMessages: false, model: 'test/model', fallbackModel: null, mode: null, allowBypass: false,
  permissionPromptTool: null, allowedTools: [], disallowedTools: [], tools: null, addDirs: [], systemPrompt: null, appendSystemPrompt: null, effort: null, thinking: null, continue: false, resume: null, forkSession: false,
  sessionId: null, persist: true, maxTurns: null, maxBudgetUsd: null, timeoutMs: null, setup: null, requireTrust: false, verbose: false, debug: false, color: false, json: false, ...more,
});
