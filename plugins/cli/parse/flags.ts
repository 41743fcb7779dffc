/** Every flag of `tappet [PROMPT]`: what it is called, what it takes, what it means. Help, checks and suggestions come from here. */

export interface Flag {
  /** commander's notation; two long names are allowed. */
  readonly flags: string;
  readonly about: string;
  readonly choices?: readonly string[];
  /** `rules`: commas and words that look like rules go on with the list; `repeat`: may be given again. */
  readonly many?: 'rules' | 'repeat';
}
export interface FlagGroup { readonly title: string; readonly flags: readonly Flag[] }

export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

/** These shape the start: the kernel has read them before anybody else may; here they are only known. */
export const EARLY: readonly Flag[] = [
  { flags: '--cwd <folder>', about: 'work in this folder' },
  { flags: '--set <key=value>', about: 'one value of the configuration, above all files but policy; may be repeated', many: 'repeat' },
  { flags: '--settings <file|json>', about: 'one more layer of configuration, as a file or as JSON' },
  { flags: '--setting-sources <layers>', about: 'which of user, project, local are read, separated by commas' },
  { flags: '--plugin-dir <folder>', about: 'load the plugins of a folder; may be repeated', many: 'repeat' },
  { flags: '--verbose', about: 'say more on stderr' },
  { flags: '--debug', about: 'say everything on stderr' },
];
export const NO_COLOR: Flag = { flags: '--no-color', about: 'no colours' };

export const GROUPS: readonly FlagGroup[] = [
  { title: 'Running:', flags: [
    { flags: '-p, --print [prompt]', about: 'answer one prompt without a terminal, then end; the prompt may come on stdin' },
    { flags: '--output-format <format>', about: 'how the answer is printed', choices: ['text', 'json', 'stream-json'] },
    { flags: '--json', about: 'short for --output-format json' },
    { flags: '--input-format <format>', about: 'how prompts arrive on stdin', choices: ['text', 'stream-json'] },
    { flags: '--include-partial-messages', about: 'with stream-json: pieces of messages as they come, too' },
    { flags: '--replay-user-messages', about: 'with stream-json on both sides: repeat the prompts that came in' },
  ] },
  { title: 'Sessions:', flags: [
    { flags: '-c, --continue', about: 'go on with the latest session of this folder' },
    { flags: '-r, --resume [id]', about: 'go on with a session; without an id, choose one in the terminal' },
    { flags: '--fork-session', about: 'with -c or -r: go on in a copy' },
    { flags: '--session-id <uuid>', about: 'the id of the new session' },
    { flags: '--no-session-persistence', about: 'keep nothing on disk' },
    { flags: '--init', about: 'run the hooks of a first start before the prompt' },
    { flags: '--maintenance', about: 'run the hooks of a maintenance before the prompt' },
  ] },
  { title: 'Model:', flags: [
    { flags: '--model <model>', about: 'provider/model, or an alias' },
    { flags: '--fallback-model <models>', about: 'models to try when the first is overloaded, separated by commas' },
    { flags: '--effort <level>', about: 'how hard the model tries', choices: EFFORTS },
    { flags: '--thinking <how>', about: 'whether the model thinks first', choices: ['adaptive', 'disabled'] },
    { flags: '--max-thinking-tokens <n>', about: 'tokens to think with; 0: none' },
    { flags: '--system-prompt <text>', about: 'in the place of the usual system prompt' },
    { flags: '--system-prompt-file <file>', about: 'the same, from a file' },
    { flags: '--append-system-prompt <text>', about: 'behind the usual system prompt' },
    { flags: '--append-system-prompt-file <file>', about: 'the same, from a file' },
  ] },
  { title: 'Permissions:', flags: [
    { flags: '--permission-mode <mode>', about: 'the mode that the session starts in' },
    { flags: '--allowedTools, --allowed-tools <rules>', about: "calls that need no question, such as 'Edit(src/**)'; separated by commas; also --allowedTools", many: 'rules' },
    { flags: '--disallowedTools, --disallowed-tools <rules>', about: 'calls that are refused; also --disallowedTools', many: 'rules' },
    { flags: '--tools <names>', about: "the tools that there are, separated by commas; '': none; default: all", many: 'rules' },
    { flags: '--add-dir <folder>', about: 'a folder beside the project that tools may work in; may be repeated', many: 'repeat' },
    { flags: '--permission-prompt-tool <name>', about: 'who answers questions: stdio (the host), or a tool' },
    { flags: '--permission-prompts <who>', about: 'who answers what would be asked; with none it is denied', choices: ['host', 'none'] },
    { flags: '--dangerously-skip-permissions', about: 'the same as --permission-mode bypassPermissions' },
    { flags: '--allow-dangerously-skip-permissions', about: 'the session may choose bypassPermissions later' },
    { flags: '--require-trust', about: 'end with an error where the folder is not trusted' },
  ] },
  { title: 'Limits:', flags: [
    { flags: '--max-turns <n>', about: 'model requests that one prompt may cause' },
    { flags: '--max-budget-usd <amount>', about: 'US dollars that the session may cost' },
    { flags: '--timeout <time>', about: 'how long one prompt may take: 500ms, 10s, 5m, 1h' },
  ] },
  { title: 'Configuration:', flags: EARLY },
];

export interface LaterFlag { readonly flags: string; readonly then: 'ignored' | 'refused'; readonly why: string }
/**
 * Flags of the habit, and of hosts, that nothing stands behind yet. Ignored: less happens than was asked for. Refused: to go on without it could do more than was
 * asked for, or answer something else.
 */
export const LATER: readonly LaterFlag[] = [
  { flags: '--mcp-config <json>', then: 'ignored', why: 'no MCP servers are started yet, so their tools are not offered' },
  { flags: '--strict-mcp-config', then: 'ignored', why: 'no MCP servers are started yet' },
  { flags: '--await-initialize', then: 'ignored', why: 'what a host brings with its first request is answered there' },
  { flags: '--agents <json>', then: 'ignored', why: 'subagents cannot be started yet' },
  { flags: '--betas <names>', then: 'ignored', why: 'beta features are set in the configuration: providers.NAME.betas' },
  { flags: '--task-budget <tokens>', then: 'ignored', why: 'it is advice to the model, which no provider passes on yet' },
  { flags: '--thinking-display <how>', then: 'ignored', why: 'thoughts are shown as the model gives them' },
  { flags: '--include-hook-events', then: 'ignored', why: 'hooks are not reported one by one yet' },
  { flags: '--session-mirror', then: 'ignored', why: 'the session is kept on disk, and not mirrored to the host' },
  { flags: '--debug-file <file>', then: 'ignored', why: '--debug writes to stderr' },
  { flags: '--plugin-dir-no-mcp <folder>', then: 'ignored', why: 'plugin folders of other harnesses are not read yet' },
  { flags: '--agent <name>', then: 'refused', why: 'agents cannot be chosen yet, and the usual one may do more' },
  { flags: '--json-schema <schema>', then: 'refused', why: 'answers are not checked against a schema yet' },
  { flags: '--managed-settings <json>', then: 'refused', why: 'rules that a host brings cannot be enforced yet' },
  { flags: '--resume-session-at <uuid>', then: 'refused', why: 'a session cannot be cut at a message yet' },
  { flags: '--resume-drops-turn <uuid>', then: 'refused', why: 'a session cannot be cut at a message yet' },
  { flags: '--project-config-root <folder>', then: 'refused', why: 'the configuration is that of the folder worked in: --cwd' },
  { flags: '--worktree [name]', then: 'refused', why: 'worktrees cannot be made yet, and the work would happen in this folder' },
];
