/** What a person or a host changes in a running session: its mode, model, rules and folders, each within what policy bounds. */
import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import type { AppState, EventBody, FlagLayer, LineDraft, Message, Origin, PermissionUpdate, Session, SessionChange, SourcedRule } from '../schemas/index.ts';
import { parseRule, ruleText } from '../schemas/permissions.ts';
import { refusal } from './config/admit.ts';
import { changeRules } from './config/load.ts';
import { makeOrigin } from './config/origin.ts';
import { asTappetError, messageOf, TappetError } from './errors.ts';
import type { Kernel } from './kernel.ts';
import { chooseModel } from './models.ts';
import type { Store } from './store.ts';

const SESSION_ORIGIN = makeOrigin('flag', '(session)');
const BYPASS = 'bypassPermissions';

/** What of a session may change while it lives. */
export interface Live { cwd: string; directories: readonly string[]; overlay: FlagLayer; wantedModel: string | undefined; readonly rules: SourcedRule[] }
export interface ChangeParts {
  readonly kernel: Kernel;
  readonly live: Live;
  readonly state: Store<AppState>;
  readonly initialMode: string;
  readonly store: (line: LineDraft) => Promise<void>;
  readonly append: (message: Message) => Promise<void>;
  readonly emit: (body: EventBody) => void;
  /** The rules have changed. */
  readonly syncRules: () => void;
}
export interface Changes {
  set(change: SessionChange): ReturnType<Session['set']>;
  /** What the answer to a question changes beyond the one call. */
  update(updates: readonly PermissionUpdate[]): Promise<void>;
}
type Refused = { readonly refused: string; readonly by: Origin };

export function createChanges(p: ChangeParts): Changes {
  const { kernel, live, state } = p;
  const note = (format: 'mode_changed' | 'model_changed', content: string, data: Record<string, unknown>): Promise<void> => p.append({ type: 'system', format, level: 'info', content, uuid: randomUUID(), timestamp: new Date().toISOString(), data });
  const refuse = (refused: string, by: Origin = SESSION_ORIGIN): Refused => ({ refused, by });

  async function setMode(mode: string): Promise<Refused | null> {
    const now = state.get().toolPermissionContext.mode;
    const known = kernel.registries.permissionModes.all().map((m) => m.name);
    if (!known.includes(mode)) return refuse(new TappetError('E_MODE_UNKNOWN', { mode, known: known.join(', ') }).message);
    const reason = refusal({ path: 'mode', value: mode, layer: 'flag', origin: SESSION_ORIGIN }, admissionOf(kernel));
    if (reason !== null) return refuse(`the mode ${mode} is not allowed: ${reason}`, boundOrigin(kernel, 'mode'));
    if (mode === BYPASS && now !== BYPASS && p.initialMode !== BYPASS && live.overlay.allowBypass !== true) return refuse('bypassPermissions can only be chosen when the session starts, or where --allow-dangerously-skip-permissions was given');
    if (mode === now) return null;
    state.set((s) => ({ ...s, toolPermissionContext: { ...s.toolPermissionContext, mode } }));
    await p.store({ type: 'permission-mode', mode });
    p.emit({ type: 'state.changed', mode });
    await note('mode_changed', `The permission mode is now ${mode}.`, { mode });
    return null;
  }
  async function setModel(model: string | null): Promise<Refused | null> {
    if (model !== null) {
      const reason = refusal({ path: 'model', value: model, layer: 'flag', origin: SESSION_ORIGIN }, admissionOf(kernel));
      if (reason !== null) return refuse(`the model ${model} is not allowed: ${reason}`, boundOrigin(kernel, 'model'));
      try { await chooseModel(kernel, model); } catch (e) { return refuse(messageOf(e)); }
    }
    live.wantedModel = model ?? undefined;
    live.overlay = { ...live.overlay, model: live.wantedModel }; // forks ask the same one
    const name = await chooseModel(kernel, live.wantedModel ?? kernel.settings().model).then((m) => m.name, () => model ?? '(none)');
    state.set((s) => ({ ...s, mainLoopModel: name }));
    if (model !== null) await p.store({ type: 'model', model });
    p.emit({ type: 'state.changed', model: name });
    await note('model_changed', `The model is now ${name}.`, { model: name });
    return null;
  }
  function setDirectories(directories: readonly string[]): void {
    live.directories = directories;
    state.set((s) => ({ ...s, toolPermissionContext: { ...s.toolPermissionContext, additionalDirectories: directories } }));
  }

  /** Into a file that the person owns; a folder that is not trusted lets no allow rule of its own count. */
  async function writeRules(u: RuleUpdate, layer: 'user' | 'project' | 'local', texts: readonly string[]): Promise<void> {
    try {
      await changeRules(kernel.config(), layer, u.behavior, (before) => (u.type === 'removeRules' ? before.filter((r) => !texts.includes(r)) : u.type === 'replaceRules' ? texts : [...before, ...texts.filter((t) => !before.includes(t))]));
      await kernel.refresh();
    } catch (e) { p.emit({ type: 'notice', level: 'error', code: asTappetError(e).code, text: messageOf(e) }); }
  }
  async function updateRules(u: RuleUpdate): Promise<void> {
    // Only policy may allow; the call itself was answered by a person.
    if (u.behavior === 'allow' && kernel.settings().bounds.permissions?.onlyPolicyAllows === true) return;
    const texts = u.rules.map(ruleText);
    const layer = LAYER_OF[u.destination];
    if (layer !== undefined) await writeRules(u, layer, texts);
    const addsAllow = u.type === 'addRules' && u.behavior === 'allow';
    if (layer !== undefined && !addsAllow) return; // an allow holds in this session whatever becomes of the file
    const kept = live.rules.filter((r) => r.source !== 'session' || r.behavior !== u.behavior || u.type === 'addRules' || (u.type === 'removeRules' && !texts.includes(ruleText(r))));
    const added = u.type === 'removeRules' ? [] : u.rules.map((r): SourcedRule => ({ ...r, behavior: u.behavior, source: 'session', origin: SESSION_ORIGIN }));
    live.rules.splice(0, live.rules.length, ...kept, ...added);
    p.syncRules();
  }

  return {
    async set(change) {
      const refused = (change.mode === undefined ? null : await setMode(change.mode)) ?? (change.model === undefined ? null : await setModel(change.model));
      if (refused !== null) return refused;
      if (change.effort !== undefined) live.overlay = { ...live.overlay, effort: change.effort };
      if (change.thinking !== undefined) live.overlay = { ...live.overlay, thinking: change.thinking === null ? undefined : change.thinking === 0 ? false : change.thinking };
      if (change.title !== undefined) {
        const { title } = change;
        state.set((s) => ({ ...s, title }));
        await p.store({ type: 'custom-title', customTitle: title });
        p.emit({ type: 'state.changed', title });
      }
      if (change.directories !== undefined) setDirectories(change.directories.map((d) => resolve(live.cwd, d)));
      return { applied: change };
    },
    async update(updates) {
      for (const u of updates) {
        if (u.type === 'setMode') {
          const refused = await setMode(u.mode);
          if (refused !== null) p.emit({ type: 'notice', level: 'warning', code: 'E_SET_REFUSED', text: refused.refused });
        } else if ('directories' in u) {
          const given = u.directories.map((d) => resolve(live.cwd, d));
          setDirectories(u.type === 'addDirectories' ? [...new Set([...live.directories, ...given])] : live.directories.filter((d) => !given.includes(d)));
        } else await updateRules(u);
      }
    },
  };
}

type RuleUpdate = Extract<PermissionUpdate, { rules: unknown }>;
const LAYER_OF: Readonly<Record<string, 'user' | 'project' | 'local' | undefined>> = { userSettings: 'user', projectSettings: 'project', localSettings: 'local' };

const admissionOf = (kernel: Kernel) => ({ trusted: true, bounds: kernel.settings().bounds, boundOrigin: (path: string) => kernel.config().chain(path.replace('bounds.', '')).find((l) => l.status === 'bound')?.origin ?? null });
const boundOrigin = (kernel: Kernel, key: string): Origin => kernel.config().chain(key).find((l) => l.status === 'bound')?.origin ?? SESSION_ORIGIN;

/** Rules of the command line. What policy does not let a flag allow is left out, and said. @throws E_CONFIG_RULE */
export function flagRules(kernel: Kernel, o: FlagLayer): SourcedRule[] {
  const make = (texts: readonly string[] | undefined, behavior: 'allow' | 'deny', flag: string): SourcedRule[] => (texts ?? []).map((text) => {
    const rule = parseRule(text);
    if (rule === null) throw new TappetError('E_CONFIG_RULE', { rule: text, where: flag });
    return { ...rule, behavior, source: 'cliArg', origin: makeOrigin('flag', flag) };
  });
  const allows = make(o.allow, 'allow', '--allowedTools');
  const refused = allows.length === 0 ? null : refusal({ path: 'permissions.allow', value: o.allow, layer: 'flag', origin: SESSION_ORIGIN }, admissionOf(kernel));
  if (refused !== null) kernel.log({ level: 'warning', name: '--allowedTools', text: `--allowedTools does not count: ${refused}` });
  return [...(refused === null ? allows : []), ...make(o.deny, 'deny', '--disallowedTools')];
}

/** The model of the flags, or of a resumed session where policy still allows it. @throws E_SET_REFUSED */
export function firstModel(kernel: Kernel, overlay: FlagLayer, resumed: string | null): string | undefined {
  const refused = (path: string, value: string): string | null => refusal({ path, value, layer: 'flag', origin: SESSION_ORIGIN }, admissionOf(kernel));
  for (const [flag, path, value] of [['--model', 'model', overlay.model], ['--fallback-model', 'fallbackModel', overlay.fallbackModel]] as const) {
    const reason = value === undefined ? null : refused(path, value);
    if (reason !== null) throw new TappetError('E_SET_REFUSED', { message: `${flag} ${value}: ${reason}`, where: boundOrigin(kernel, 'model') });
  }
  return overlay.model ?? (resumed !== null && refused('model', resumed) === null ? resumed : undefined);
}

/** The mode that a session starts in. A resumed one keeps its mode, but for the two that must be chosen anew. @throws E_MODE_UNKNOWN, E_SET_REFUSED */
export function firstMode(kernel: Kernel, overlay: FlagLayer, resumed: string | null): string {
  const wanted = overlay.mode ?? (resumed !== null && resumed !== 'plan' && resumed !== BYPASS ? resumed : undefined) ?? kernel.settings().mode;
  if (kernel.registries.permissionModes.get(wanted) === undefined) throw new TappetError('E_MODE_UNKNOWN', { mode: wanted, known: kernel.registries.permissionModes.all().map((m) => m.name).join(', ') || 'none is switched on', where: overlay.mode === undefined && wanted === kernel.settings().mode ? kernel.config().chain('mode').find((l) => l.status === 'counts')?.origin : undefined });
  const reason = overlay.mode === undefined && resumed === null ? null : refusal({ path: 'mode', value: wanted, layer: 'flag', origin: SESSION_ORIGIN }, admissionOf(kernel));
  if (reason === null) return wanted;
  if (overlay.mode === undefined) return kernel.settings().mode; // the resumed mode is no longer allowed
  throw new TappetError('E_SET_REFUSED', { message: `--permission-mode ${wanted}: ${reason}`, where: boundOrigin(kernel, 'mode') });
}
