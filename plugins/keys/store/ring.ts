/** The key ring of the operating system, by the package @napi-rs/keyring if the user installed it: we bring none. */
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** Every function throws where the ring cannot be used now: it is locked, or nobody runs one. */
export interface Ring { get(provider: string): Promise<string | null>; set(provider: string, key: string): Promise<void>; remove(provider: string): Promise<boolean> }
/** @throws where there is none */
export type OpenRing = () => Promise<Ring>;

const PACKAGE = '@napi-rs/keyring';
const SERVICE = 'tappet';
/** A desktop may ask its person to unlock it. */
const RING_MS = 30_000;
/** On Linux the kernel's ring would be taken where no Secret Service runs, and that one forgets at the next boot. */
const LASTING = { linux: { store: 'secret-service' } } as const;
interface Entry { getPassword(): Promise<string | null>; setPassword(key: string): Promise<void>; deletePassword(): Promise<boolean> }
type Module = { readonly AsyncEntry: new (service: string, account: string, options: typeof LASTING) => Entry };

/** Looks beside our own package, then in the folder of the user's configuration. */
export function systemRing(configFolder: string, timeoutMs = RING_MS): OpenRing {
  return async () => {
    const { AsyncEntry } = loadPackage([import.meta.url, join(configFolder, 'package.json')]);
    const use = <T>(provider: string, what: (entry: Entry) => Promise<T>): Promise<T> => inTime(timeoutMs, async () => what(new AsyncEntry(SERVICE, provider, LASTING)));
    return { get: (p) => use(p, (e) => e.getPassword()), set: (p, key) => use(p, (e) => e.setPassword(key)), remove: (p) => use(p, (e) => e.deletePassword()) };
  };
}

function loadPackage(places: readonly string[]): Module {
  for (const place of places) {
    const require = createRequire(place);
    try { require.resolve(PACKAGE); } catch { continue; }
    const { version } = require(`${PACKAGE}/package.json`) as { version: string };
    const [major = 0, minor = 0] = version.split('.').map(Number);
    // Older ones do not know `store`, and would take the kernel's ring.
    if (major < 2 || (major === 2 && minor < 1)) throw new Error(`${PACKAGE} ${version} is too old: 2.1 is needed`);
    return require(PACKAGE) as Module;
  }
  throw new Error(`the package ${PACKAGE} is not installed`);
}

async function inTime<T>(ms: number, work: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => { timer = setTimeout(() => reject(new Error(`it did not answer in ${ms / 1000} s`)), ms); });
  try { return await Promise.race([work(), late]); } finally { clearTimeout(timer); }
}
