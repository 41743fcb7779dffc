/** The one value that is replaced, and those who listen to a slice of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createStore } from '../../kernel/store.ts';

const never = (e: unknown): never => { throw e; };

test('a listener hears only when its slice has changed', () => {
  const store = createStore({ a: 1, b: 1 }, never);
  const heard: number[] = [];
  const undo = store.subscribe((s) => s.a, (a) => heard.push(a));
  store.set((s) => ({ ...s, b: 2 }));
  store.set((s) => ({ ...s, a: 2 }));
  store.set((s) => s);
  undo();
  store.set((s) => ({ ...s, a: 3 }));
  assert.deepEqual(heard, [2]);
  assert.deepEqual(store.get(), { a: 3, b: 2 });
});
test('the value is replaced, never changed', () => {
  const first = { n: 0 };
  const store = createStore(first, never);
  store.set((s) => ({ n: s.n + 1 }));
  assert.deepEqual([first.n, store.get().n], [0, 1]);
});
test('a listener that throws stops neither the change nor the listeners behind it', () => {
  const failed: unknown[] = [];
  const store = createStore(0, (e) => failed.push(e));
  const heard: number[] = [];
  store.subscribe((n) => n, () => { throw new Error('no'); });
  store.subscribe((n) => n, (n) => heard.push(n));
  store.set(() => 1);
  assert.deepEqual([store.get(), heard, failed.length], [1, [1], 1]);
});
test('a listener may leave, and may change the value, while it is told', () => {
  const store = createStore(0, never);
  const heard: number[] = [];
  const undo = store.subscribe((n) => n, () => undo());
  store.subscribe((n) => n, (n) => { heard.push(n); if (n === 1) store.set(() => 2); });
  store.set(() => 1);
  assert.deepEqual([store.get(), heard], [2, [1, 2]]);
});
