/** name -> item: the nearest layer wins, two in one layer win nothing, forbidden names are never handed out but stay visible. */
import type { Origin, RegistryEntry } from '../schemas/index.ts';
import { compareLayers, place } from '../schemas/origin.ts';
import { TappetError } from './errors.ts';

interface Added<T> { readonly name: string; readonly item: T; readonly owner: string; readonly origin: Origin }

export interface Registry<T> {
  readonly kind: string;
  add(item: T, by: { readonly owner: string; readonly origin: Origin }): void;
  get(name: string): T | undefined;
  all(): readonly T[];
  /** All that stand behind a name, the winner first. */
  who(name: string): readonly RegistryEntry<T>[];
  entries(): readonly RegistryEntry<T>[];
  /** A live list: what it held before goes when it is replaced. */
  source(by: { readonly owner: string; readonly origin: Origin }): { replace(items: readonly { readonly item: T; readonly origin?: Origin }[]): void };
  /** Who else holds the prefix, or one that overlaps it. */
  heldBy(prefix: string, owner: string): { readonly owner: string; readonly prefix: string } | null;
  /** Names below a prefix may come and go at any time; others' items below it are withheld. */
  reserve(prefix: string, by: { readonly owner: string; readonly origin: Origin }): { add(item: T): void; remove(name: string): void };
  subscribe(fn: () => void): () => void;
  /** From now on only sources and reserved prefixes change it. */
  seal(): void;
  /** Names that two plugins of one layer claim. */
  problems(): readonly TappetError[];
  /** What one owner brought. */
  ownedBy(owner: string): readonly string[];
}

export interface RegistryRules {
  /** All count, none is shadowed (guards). */
  readonly additive?: boolean;
  readonly forbidden?: (name: string) => string | null;
}

export function createRegistry<T extends { readonly name: string }>(kind: string, rules: RegistryRules = {}): Registry<T> {
  let added: readonly Added<T>[] = [];
  let view: { readonly entries: readonly RegistryEntry<T>[]; readonly items: ReadonlyMap<string, T>; readonly list: readonly T[]; readonly problems: readonly TappetError[] } | null = null;
  let sealed = false;
  const prefixes = new Map<string, string>();
  const listeners = new Set<() => void>();
  const change = (next: readonly Added<T>[]): void => {
    added = next;
    view = null;
    for (const fn of listeners) fn();
  };
  const now = () => (view ??= look(kind, added, prefixes, rules));
  const heldBy = (prefix: string, owner: string): { owner: string; prefix: string } | null => {
    const held = [...prefixes].find(([p, o]) => o !== owner && (p.startsWith(prefix) || prefix.startsWith(p)));
    return held === undefined ? null : { prefix: held[0], owner: held[1] };
  };
  const put = (item: T, by: { owner: string; origin: Origin }): Added<T> => ({ name: item.name, item, ...by });

  return {
    kind,
    add(item, by) {
      if (sealed) throw new TappetError('E_KERNEL_SEALED', { name: by.owner, what: `add ${kind} "${item.name}"`, where: by.origin });
      change([...added, put(item, by)]);
    },
    get: (name) => now().items.get(name),
    all: () => now().list,
    who: (name) => now().entries.filter((e) => e.name === name),
    entries: () => now().entries,
    source(by) {
      if (sealed) throw new TappetError('E_KERNEL_SEALED', { name: by.owner, what: `take a source of ${kind}`, where: by.origin });
      let mine: readonly Added<T>[] = [];
      return { replace(items) { const next = items.map((i) => put(i.item, { owner: by.owner, origin: i.origin ?? by.origin })); const rest = added.filter((a) => !mine.includes(a)); mine = next; change([...rest, ...next]); } };
    },
    reserve(prefix, by) {
      if (sealed) throw new TappetError('E_KERNEL_SEALED', { name: by.owner, what: `reserve "${prefix}" of ${kind}`, where: by.origin });
      const held = heldBy(prefix, by.owner);
      if (held !== null) throw prefixTaken(kind, prefix, held, by.origin);
      prefixes.set(prefix, by.owner);
      change(added); // what others have below it does not count any more
      return {
        add(item) { if (!item.name.startsWith(prefix)) throw new TappetError('E_KERNEL_SEALED', { name: by.owner, what: `add "${item.name}", which does not begin with ${prefix},`, where: by.origin }); change([...added, put(item, by)]); },
        remove: (name) => change(added.filter((a) => !(a.owner === by.owner && a.name === name && name.startsWith(prefix)))),
      };
    },
    heldBy,
    subscribe(fn) { listeners.add(fn); return () => listeners.delete(fn); },
    seal() { sealed = true; },
    problems: () => now().problems,
    ownedBy: (owner) => added.filter((a) => a.owner === owner).map((a) => a.name),
  };
}

export const prefixTaken = (kind: string, name: string, held: { readonly owner: string; readonly prefix: string }, where: Origin): TappetError =>
  new TappetError('E_NAME_TAKEN', { kind, name, where, cause: `names that begin with ${held.prefix} belong to ${held.owner}` });

function look<T>(kind: string, all: readonly Added<T>[], prefixes: ReadonlyMap<string, string>, rules: RegistryRules) {
  const byName = new Map<string, Added<T>[]>();
  const entries: RegistryEntry<T>[] = [];
  const items = new Map<string, T>();
  const list: T[] = [];
  const problems: TappetError[] = [];
  for (const a of all) {
    const held = [...prefixes].find(([p, owner]) => a.name.startsWith(p) && owner !== a.owner);
    if (held === undefined) { byName.set(a.name, [...(byName.get(a.name) ?? []), a]); continue; }
    problems.push(prefixTaken(kind, a.name, { prefix: held[0], owner: held[1] }, a.origin));
    entries.push({ ...a, status: 'withheld', reason: `names that begin with ${held[0]} belong to ${held[1]}` });
  }
  for (const [name, claims] of byName) {
    const sorted = [...claims].sort((a, b) => compareLayers(b.origin.layer, a.origin.layer));
    const forbidden = rules.forbidden?.(name) ?? null;
    const top = sorted.filter((a) => a.origin.layer === sorted[0]!.origin.layer);
    const clash = !rules.additive && top.length > 1;
    if (clash) problems.push(new TappetError('E_NAME_TAKEN', { kind, name, where: top[0]!.origin, cause: `${top.map((t) => `${t.owner} at ${place(t.origin)}`).join(' and ')}` }));
    for (const a of sorted) {
      const state: Pick<RegistryEntry<T>, 'status' | 'reason'> =
        forbidden !== null ? { status: 'forbidden', reason: forbidden }
        : rules.additive ? { status: 'counts' }
        : clash && top.includes(a) ? { status: 'withheld', reason: 'another of the same layer has this name' }
        : a === sorted[0] ? { status: 'counts' } : { status: 'shadowed', reason: `${sorted[0]!.owner} is nearer` };
      entries.push({ ...a, ...state });
      if (state.status !== 'counts') continue;
      items.set(name, a.item);
      list.push(a.item);
    }
  }
  return { entries, items, list, problems };
}
