/** Ends synchronous work that may take for ever: a pattern from outside against a text from outside. */

export type TimeBox = <T>(ms: number, work: () => T) => { readonly value: T } | null;
/** Nothing else can interrupt a regular expression within its thread. A call costs some 0.1 ms, so hand it work in portions. */
export async function createTimeBox(): Promise<TimeBox> {
  const { createContext, Script } = await import('node:vm');
  const inside: { work: (() => unknown) | null; value: unknown } = Object.assign(Object.create(null), { work: null, value: null });
  const context = createContext(inside);
  const script = new Script('value = work()');
  return <T>(ms: number, work: () => T) => {
    inside.work = work;
    try {
      script.runInContext(context, { timeout: ms });
      return { value: inside.value as T };
    } catch (e) {
      if (typeof e === 'object' && e !== null && 'code' in e && e.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return null;
      throw e;
    } finally {
      inside.work = null;
      inside.value = null;
    }
  };
}
