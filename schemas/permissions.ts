/** Rules, opinions, decisions: the words in which "may this run?" is asked and answered. */
import { z } from 'zod';
import { once } from './lazy.ts';
import type { Origin } from './origin.ts';

export type Awaitable<T> = T | Promise<T>;

/** What may lift an ask. */
export type Until = 'rule' | 'mode' | 'person';
/** One word of a command line; `null`: made at run time, not known before. */
export interface Arg { readonly text: string | null }

/** What a call is about. `real` is the path behind all links, `null` where it can't be found out. */
export type Subject =
  | { readonly kind: 'command'; readonly argv: readonly Arg[]; readonly text: string }
  | { readonly kind: 'path'; readonly access: 'read' | 'write'; readonly path: string; readonly real: string | null }
  | { readonly kind: 'domain'; readonly host: string }
  | { readonly kind: 'agent' | 'skill' | 'mcp'; readonly name: string }
  | { readonly kind: 'opaque'; readonly why: string };

export type Match = 'yes' | 'no' | 'maybe';

export const RULE_SOURCES = ['userSettings', 'projectSettings', 'localSettings', 'flagSettings', 'policySettings', 'cliArg', 'command', 'session'] as const;
export type PermissionRuleSource = (typeof RULE_SOURCES)[number];
export type RuleBehavior = 'allow' | 'ask' | 'deny';

/** `Bash(git push)`: tool and content; without content every call of the tool. */
export interface PermissionRule { readonly toolName: string; readonly ruleContent?: string | undefined; readonly behavior: RuleBehavior }
/** A rule together with who added it and where it is written. */
export interface SourcedRule extends PermissionRule { readonly source: PermissionRuleSource; readonly origin: Origin }

/** Why a decision fell. Eleven kinds. */
export type DecisionReason =
  | { readonly kind: 'rule'; readonly rule: string; readonly source: PermissionRuleSource }
  | { readonly kind: 'mode'; readonly mode: string }
  | { readonly kind: 'subcommandResults'; readonly parts: readonly { readonly text: string; readonly behavior: string; readonly reason?: DecisionReason | undefined }[] }
  | { readonly kind: 'permissionPromptTool'; readonly tool: string }
  | { readonly kind: 'hook'; readonly hook: string; readonly event: string }
  | { readonly kind: 'asyncAgent'; readonly why: string }
  | { readonly kind: 'sandboxOverride'; readonly why: string }
  | { readonly kind: 'workingDir'; readonly path: string }
  | { readonly kind: 'safetyCheck'; readonly why: string }
  | { readonly kind: 'classifier'; readonly why: string }
  | { readonly kind: 'other'; readonly why: string };
export type DecisionKind = DecisionReason['kind'];
export const DECISION_KINDS = {
  rule: 1, mode: 1, subcommandResults: 1, permissionPromptTool: 1, hook: 1, asyncAgent: 1, sandboxOverride: 1, workingDir: 1, safetyCheck: 1, classifier: 1, other: 1,
} satisfies Record<DecisionKind, 1>;

/** What one voice says. `defer`: the turn ends here, a resume asks again (headless hosts). */
export type Saying =
  | { readonly behavior: 'allow' }
  | { readonly behavior: 'deny'; readonly message: string }
  | { readonly behavior: 'ask'; readonly until: Until; readonly message?: string | undefined }
  | { readonly behavior: 'defer'; readonly message?: string | undefined }
  | { readonly behavior: 'passthrough' };
/** One voice, stamped with its reason and with the origin of the words. */
export type Opinion = Saying & { readonly reason: DecisionReason; readonly origin: Origin };
/** What a guard, mode or tool returns: what it leaves out the kernel fills in (its kind, its own origin). */
export type Said = Saying & { readonly reason?: DecisionReason | undefined; readonly origin?: Origin | undefined };

/** The folded opinions of one call. */
export interface Verdict {
  /** The strictest. */
  readonly opinion: Opinion;
  readonly opinions: readonly Opinion[];
  /** The strictest that policy said: nothing but a person or policy goes below it. */
  readonly floor: Opinion | null;
}

/** A path rule means different folders in different files; this says which. */
export interface MatchPlace {
  readonly cwd: string;
  readonly home: string;
  /** What a leading `/` of a path rule means: the folder of the file that holds the rule. */
  readonly base: string;
  readonly behavior: RuleBehavior | 'tap';
}

/** A call as guards and modes see it: facts only, everything asynchronous has been found out. */
export interface JudgedCall {
  readonly toolUseId: string;
  readonly turnId: string;
  readonly agentId: string | null;
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly subjects: readonly Subject[];
  readonly isReadOnly: boolean;
  readonly cwd: string;
  /** Real paths of the working folder and the additional directories. */
  readonly roots: readonly string[];
  readonly home: string;
  readonly mode: string;
  readonly rules: readonly SourcedRule[];
  /** The tool's own matcher. */
  matches(subject: Subject, spec: string, place: MatchPlace): Match;
}

/** What became of a call, with all reasons: `explain` prints it. */
export interface Decision {
  readonly id: string;
  readonly toolUseId: string;
  readonly toolName: string;
  readonly behavior: 'allow' | 'deny' | 'defer';
  readonly message?: string | undefined;
  readonly reason: DecisionReason;
  readonly origin: Origin;
  readonly opinions: readonly Opinion[];
  /** The mode that judged, and what it said. */
  readonly mode: string;
  readonly by: 'rules' | 'mode' | 'hook' | 'person' | 'nobody' | 'parent';
  readonly updatedInput?: Readonly<Record<string, unknown>> | undefined;
  /** Deny and end the turn as if interrupted. */
  readonly interrupt?: boolean | undefined;
}

export const UPDATE_DESTINATIONS = ['userSettings', 'projectSettings', 'localSettings', 'session', 'cliArg'] as const;
export const permissionUpdate = once(() => {
  const destination = z.enum(UPDATE_DESTINATIONS);
  const rules = z.array(z.object({ toolName: z.string().min(1), ruleContent: z.string().optional() }));
  const behavior = z.enum(['allow', 'deny', 'ask']);
  return z.discriminatedUnion('type', [
    z.object({ type: z.enum(['addRules', 'replaceRules', 'removeRules']), rules, behavior, destination }),
    z.object({ type: z.literal('setMode'), mode: z.string(), destination }),
    z.object({ type: z.enum(['addDirectories', 'removeDirectories']), directories: z.array(z.string()), destination }),
  ]);
});
/** What a person's answer changes beyond this one call. */
export type PermissionUpdate = z.infer<ReturnType<typeof permissionUpdate>>;

/** A tool's own check (`checkPermissions`). */
export interface PermissionResult {
  readonly behavior: 'allow' | 'deny' | 'ask' | 'passthrough';
  readonly until?: Until | undefined;
  readonly message?: string | undefined;
  readonly updatedInput?: Readonly<Record<string, unknown>> | undefined;
  readonly decisionReason?: DecisionReason | undefined;
  readonly suggestions?: readonly PermissionUpdate[] | undefined;
  readonly pendingClassifierCheck?: Readonly<Record<string, unknown>> | undefined;
}

/** `null` where the words are no rule. Content may hold brackets and commas. */
export function parseRule(text: string): { toolName: string; ruleContent?: string } | null {
  const m = /^([A-Za-z*][\w*-]*)(?:\((.*)\))?$/s.exec(text.trim());
  if (!m?.[1]) return null;
  const content = m[2];
  if (content === undefined || content === '*') return { toolName: m[1] };
  return content === '' ? null : { toolName: m[1], ruleContent: content };
}
export const ruleText = (r: { toolName: string; ruleContent?: string | undefined }): string =>
  r.ruleContent === undefined ? r.toolName : `${r.toolName}(${r.ruleContent})`;
