/** The command line as what a session is opened with: read in one way by all frontends. */
import type { FlagLayer, Host, Invocation, OpenOptions, Uuid } from '../../schemas/index.ts';

/** `more` is what a host adds; it goes above the flags. */
export function openOptions(i: Invocation, host: Host, more: FlagLayer = {}): OpenOptions {
  return {
    cwd: i.cwd,
    host,
    overlay: { ...overlay(i), ...more },
    fork: i.forkSession,
    ephemeral: !i.persist,
    resume: i.resume !== null ? (i.resume as Uuid) : i.continue ? 'latest' : undefined,
    id: (i.sessionId ?? undefined) as Uuid | undefined,
    setup: i.setup ?? undefined,
  };
}

const overlay = (i: Invocation): FlagLayer => ({
  model: i.model ?? undefined,
  fallbackModel: i.fallbackModel ?? undefined,
  mode: i.mode ?? undefined,
  allow: i.allowedTools,
  deny: i.disallowedTools,
  tools: i.tools,
  directories: i.addDirs,
  maxTurns: i.maxTurns ?? undefined,
  costUsd: i.maxBudgetUsd ?? undefined,
  timeMs: i.timeoutMs ?? undefined,
  systemPrompt: i.systemPrompt ?? undefined,
  appendSystemPrompt: i.appendSystemPrompt ?? undefined,
  effort: i.effort ?? undefined,
  thinking: i.thinking ?? undefined,
  allowBypass: i.allowBypass,
});
