/** AppState: one value, replaced by an updater, heard by slice. */
export interface Store<T> {
  get(): T;
  set(update: (state: T) => T): void;
  /** `fn` is called only when what `select` picks has changed. */
  subscribe<S>(select: (state: T) => S, fn: (slice: S) => void): () => void;
}

/** `failed` hears of a listener that throws: it stops neither the change nor the other listeners. */
export function createStore<T>(initial: T, failed: (error: unknown) => void): Store<T> {
  let state = initial;
  const listeners = new Set<() => void>();
  return {
    get: () => state,
    set(update) {
      const next = update(state);
      if (Object.is(next, state)) return;
      state = next;
      for (const fn of [...listeners]) try { fn(); } catch (e) { failed(e); }
    },
    subscribe(select, fn) {
      let slice = select(state);
      const listener = (): void => {
        const next = select(state);
        if (Object.is(next, slice)) return;
        slice = next;
        fn(next);
      };
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
