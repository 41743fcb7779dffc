import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import fc from 'fast-check';
import { isTappetError, printError } from 'tappet/kernel';
import { keyStore } from '../../../plugins/keys/store/key-store.ts';
import type { KeyStoreOptions } from '../../../plugins/keys/store/key-store.ts';
import { systemRing } from '../../../plugins/keys/store/ring.ts';
import type { Ring } from '../../../plugins/keys/store/ring.ts';
import { eventually, isAlive } from '../../support/processes.ts';

const KEY = 'sk-test-4f9a1c77e0b2d3-secret';
const OTHER = 'sk-test-000000000000-other';
const isWindows = process.platform === 'win32';

/** A key ring in memory; `trouble` is thrown by whatever is named. */
function fakeRing(trouble: { open?: string; get?: string; set?: string; remove?: string } = {}) {
  const held = new Map<string, string>();
  const calls: string[] = [];
  const check = (what: 'get' | 'set' | 'remove'): void => { calls.push(what); if (trouble[what] !== undefined) throw new Error(trouble[what]); };
  const ring: Ring = {
    async get(p) { check('get'); return held.get(p) ?? null; },
    async set(p, key) { check('set'); held.set(p, key); },
    async remove(p) { check('remove'); return held.delete(p); },
  };
  return { held, calls, trouble, open: async () => { calls.push('open'); if (trouble.open !== undefined) throw new Error(trouble.open); return ring; } };
}
const noRing = fakeRing({ open: 'the package is not installed' }).open;

function place(t: TestContext, o: Partial<KeyStoreOptions> = {}) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'tappet-keys-')));
  t.after(() => rmSync(base, { recursive: true, force: true }));
  const folder = join(base, 'state');
  const file = join(folder, 'keys.json');
  const notices: string[] = [];
  const options: KeyStoreOptions = { env: { PATH: process.env['PATH'] }, folder, ring: noRing, uid: process.geteuid?.() ?? null, helperAt: () => undefined, notice: (text) => void notices.push(text), ...o };
  const write = (text: string, mode = 0o600): void => { mkdirSync(folder, { recursive: true }); writeFileSync(file, text); chmodSync(file, mode); };
  return { base, folder, file, notices, write, read: () => readFileSync(file, 'utf8'), store: keyStore(options), again: (more: Partial<KeyStoreOptions> = {}) => keyStore({ ...options, ...more }) };
}
/** The error as it is printed, with all that could go along. */
async function failure(work: Promise<unknown>): Promise<{ code: string; printed: string; all: string }> {
  try { await work; } catch (e) {
    assert.ok(isTappetError(e), String(e));
    return { code: e.code, printed: printError(e), all: `${printError(e)}\n${e.stack}\n${JSON.stringify(e.facts)}\n${String(e.cause)}` };
  }
  return assert.fail('it did not fail');
}
const NONE = { env: [] };
const node = (script: string): string => `"${process.execPath}" -e "${script}"`;

// ---- finding ---------------------------------------------------------------------------------------------------------------

test('variables are looked at in order, and count before everything else', async (t) => {
  const { store, again } = place(t);
  await store.save('anthropic', OTHER);
  assert.deepEqual(await again({ env: { B: ` ${KEY}\n` } }).find('anthropic', { env: ['A', 'B'], helper: 'exit 1' }), { key: KEY, from: 'the variable B', variable: 'B' });
  assert.deepEqual(await again({ env: { A: KEY, B: OTHER } }).find('anthropic', { env: ['A', 'B'] }), { key: KEY, from: 'the variable A', variable: 'A' });
  assert.equal((await again({ env: { A: '  ' } }).find('anthropic', { env: ['A'] }))?.key, OTHER, 'an empty variable is none');
  assert.equal((await again({ env: { A: KEY } }).find('anthropic', NONE))?.key, OTHER, 'a variable that was not named is not looked at');
});

test('nothing is found where nothing is, and nothing is made', async (t) => {
  const { store, folder } = place(t);
  assert.equal(await store.find('anthropic', { env: ['ANTHROPIC_API_KEY'] }), null);
  assert.deepEqual(await store.list(), []);
  assert.equal(await store.remove('anthropic'), false);
  assert.ok(!existsSync(folder));
});

// ---- the helper ------------------------------------------------------------------------------------------------------------

test('a helper counts before what is stored, is asked once, and anew when its key was refused', async (t) => {
  const { store, base } = place(t);
  await store.save('anthropic', OTHER);
  const counter = join(base, 'n');
  writeFileSync(counter, '');
  const helper = node(`const fs = require('fs'); fs.appendFileSync(${JSON.stringify(counter).replaceAll('"', "'")}, '.'); console.log('key-' + fs.statSync(${JSON.stringify(counter).replaceAll('"', "'")}).size + '  ')`);
  const ask = async () => (await store.find('anthropic', { env: [], helper }))!;
  const both = await Promise.all([ask(), ask()]);
  assert.deepEqual([...both, await ask()], Array(3).fill({ key: 'key-1', from: 'the output of keyHelper' }));
  store.forget('anthropic');
  assert.equal((await ask()).key, 'key-2');
});

test('a helper that fails is named with its exit code, never with its output, and tried again', async (t) => {
  const { store, base } = place(t, { helperAt: () => ({ layer: 'user', file: '/home/u/config.yaml', line: 3, column: 5 }) });
  const helper = `test -f ${base}/ready && echo good-key || { echo ${KEY}; echo ${KEY} >&2; exit 7; }`;
  const { code, printed, all } = await failure(store.find('anthropic', { env: [], helper }));
  assert.equal(code, 'E_KEYS_HELPER');
  assert.match(printed, /keyHelper of anthropic .*exit code is 7/);
  assert.match(printed, /\/home\/u\/config\.yaml:3:5 \(user\)/);
  assert.ok(!all.includes(KEY), all);
  writeFileSync(join(base, 'ready'), '');
  assert.equal((await store.find('anthropic', { env: [], helper }))?.key, 'good-key');
});

test('what a helper prints is no key when it is empty, of several lines, of several words, or endless', async (t) => {
  const { store } = place(t);
  for (const [helper, why] of [['true', /empty/], [`printf '${KEY}\\n${KEY}\\n'`, /more than one line/], [`echo please log in ${KEY}`, /blanks/], [`head -c 100000 /dev/zero | tr '\\0' k`, /longer than/]] as const) {
    const { code, printed, all } = await failure(store.find('p', { env: [], helper }));
    assert.equal(code, 'E_KEYS_HELPER');
    assert.match(printed, why);
    assert.ok(!all.includes(KEY));
  }
});

test('a helper that hangs is ended with all that it started', async (t) => {
  const { store, base } = place(t, { helperMs: 300 });
  const { printed } = await failure(store.find('p', { env: [], helper: `sleep 300 & echo $! > ${base}/pid; wait` }));
  assert.match(printed, /did not end in 0\.3 s/);
  assert.ok(await eventually(() => !isAlive(Number(readFileSync(join(base, 'pid'), 'utf8')))));
});

test('a helper starts in the home, not in the project, and has the whole environment', { skip: isWindows }, async (t) => {
  const { again, base } = place(t);
  const store = again({ env: { PATH: process.env['PATH'], HOME: base, VAULT_TOKEN: 'v' } });
  assert.equal((await store.find('p', { env: [], helper: 'echo "$PWD:$VAULT_TOKEN"' }))?.key, `${base}:v`);
});

// ---- the file --------------------------------------------------------------------------------------------------------------

test('without a key ring a key goes to a file of its owner alone, and says so', async (t) => {
  const { store, again, file, folder } = place(t);
  assert.equal(await store.save('anthropic', ` ${KEY}\n`), `${file} (yours alone; not the key ring: the package is not installed)`);
  assert.deepEqual(await again().find('anthropic', NONE), { key: KEY, from: file });
  assert.deepEqual(await again().list(), [{ provider: 'anthropic', from: file }]);
  if (!isWindows) assert.deepEqual([statSync(file).mode & 0o777, statSync(folder).mode & 0o777], [0o600, 0o700]);
});

test('the file is its owner\'s alone from the first instant, whatever the umask', { skip: isWindows }, async (t) => {
  const { store, file } = place(t);
  const before = process.umask(0);
  t.after(() => process.umask(before));
  await store.save('a', KEY);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  await store.save('b', KEY);
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('many writers at once lose no key', async (t) => {
  const { again } = place(t);
  const names = Array.from({ length: 12 }, (_, i) => `p${i}`);
  await Promise.all(names.map((n) => again().save(n, `${KEY}-${n}`)));
  for (const n of names) assert.equal((await again().find(n, NONE))?.key, `${KEY}-${n}`);
  await Promise.all(names.slice(1).map((n) => again().remove(n)));
  assert.deepEqual((await again().list()).map((k) => k.provider), ['p0']);
});

test('any key that is printable and without blanks comes back as it was, for any provider', async (t) => {
  const { again } = place(t);
  const printable = fc.string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map((n) => String.fromCharCode(n)), minLength: 1, maxLength: 300 });
  await fc.assert(fc.asyncProperty(fc.constantFrom('a', '__proto__', 'constructor', 'my-server'), printable, async (provider, key) => {
    await again().save(provider, key);
    assert.equal((await again().find(provider, NONE))?.key, key);
    assert.equal(await again().remove(provider), true);
    assert.equal(await again().find(provider, NONE), null);
  }), { numRuns: 30 });
});

test('what is no key is refused without being repeated, and nothing is stored', async (t) => {
  const { store, folder } = place(t);
  for (const wrong of ['', '  ', `${KEY} ${KEY}`, `${KEY}\n${KEY}`, `${KEY}ä`, `${KEY}\u0000`, KEY.repeat(1000)]) {
    const { code, all } = await failure(store.save('p', wrong));
    assert.equal(code, 'E_KEYS_VALUE');
    assert.ok(!all.includes(KEY));
  }
  assert.ok(!existsSync(folder));
});

test('a file that others could open is narrowed, with a notice', { skip: isWindows }, async (t) => {
  const { store, write, file, notices } = place(t);
  write(JSON.stringify({ version: 1, keys: { anthropic: { key: KEY } } }), 0o644);
  assert.equal((await store.find('anthropic', NONE))?.key, KEY);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(notices.length, 1);
  assert.match(notices[0]!, /keys\.json could be opened by others \(mode 644\)/);
  await store.find('anthropic', NONE);
  assert.equal(notices.length, 1);
});

test('a file of somebody else is not believed', { skip: isWindows }, async (t) => {
  const { again, write } = place(t);
  write(JSON.stringify({ version: 1, keys: { anthropic: { key: KEY } } }));
  const { code, printed } = await failure(again({ uid: process.geteuid!() + 1 }).find('anthropic', NONE));
  assert.equal(code, 'E_KEYS_FILE');
  assert.match(printed, /belongs to another user/);
});

test('a link or a folder in its place is not followed', { skip: isWindows }, async (t) => {
  const { store, base, folder, file } = place(t);
  mkdirSync(folder);
  const real = join(base, 'elsewhere.json');
  writeFileSync(real, JSON.stringify({ version: 1, keys: { a: { key: KEY } } }), { mode: 0o600 });
  symlinkSync(real, file);
  assert.match((await failure(store.find('a', NONE))).printed, /it is a link/);
  assert.equal((await failure(store.save('a', OTHER))).code, 'E_KEYS_FILE');
  assert.ok(readFileSync(real, 'utf8').includes(KEY));
  rmSync(file);
  mkdirSync(file);
  assert.match((await failure(store.find('a', NONE))).printed, /it is no file/);
});

test('a damaged file is a clear error that quotes nothing, and is never written over', async (t) => {
  const ring = fakeRing();
  const { again, write, read, file } = place(t);
  const store = again({ ring: ring.open });
  for (const [damaged, why] of [
    [`{"version": 1, "keys": {"a": {"key": "${KEY}"}`, /no JSON/], [KEY, /no JSON/], ['[]', /must be/], ['{"version":1}', /must be/], [`{"version":2,"keys":{"a":"${KEY}"}}`, /version 2/],
    [`{"version":1,"keys":{"a":"${KEY}"}}`, /what stands for a is neither/], [`{"version":1,"keys":{"${KEY}":{}}}`, /one of the providers/], [`{"version":1,"keys":{"a":{"key":"${KEY} x"}}}`, /neither/], [`{"version":1,"keys":{"a":{"ring":false}}}`, /neither/],
  ] as const) {
    write(damaged);
    for (const work of [() => store.find('a', NONE), () => store.save('a', OTHER), () => store.remove('a'), () => store.list()]) {
      const { code, printed, all } = await failure(work());
      assert.equal(code, 'E_KEYS_FILE');
      assert.match(printed, why);
      assert.ok(printed.includes(file));
      assert.ok(!all.includes(KEY), all);
      assert.ok(!all.includes(OTHER));
    }
    assert.equal(read(), damaged);
  }
  assert.deepEqual(ring.calls, [], 'nothing was put into the key ring either');
});

test('a start that was killed between making and writing the file left no damage', async (t) => {
  const { store, write } = place(t);
  write('');
  assert.equal(await store.find('a', NONE), null);
  await store.save('a', KEY);
  assert.equal((await store.find('a', NONE))?.key, KEY);
});

// ---- the key ring ----------------------------------------------------------------------------------------------------------

test('with a key ring the file only says that the key is there', async (t) => {
  const ring = fakeRing();
  const { again, read } = place(t);
  assert.equal(await again({ ring: ring.open }).save('openai', KEY), 'the key ring of this system');
  assert.ok(!read().includes(KEY));
  const store = again({ ring: ring.open });
  assert.deepEqual(await store.find('openai', NONE), { key: KEY, from: 'the key ring of this system' });
  ring.calls.length = 0;
  await store.find('openai', NONE);
  assert.deepEqual(ring.calls, [], 'it is asked once');
  store.forget('openai');
  await store.find('openai', NONE);
  assert.deepEqual(ring.calls, ['get']);
  assert.deepEqual(await store.list(), [{ provider: 'openai', from: 'the key ring of this system' }]);
  assert.equal(await store.remove('openai'), true);
  assert.equal(ring.held.size, 0);
  assert.equal(await store.find('openai', NONE), null);
});

test('the key ring is left alone where no key was put into it', async (t) => {
  const ring = fakeRing();
  const { again } = place(t);
  await again().save('a', KEY);
  const store = again({ ring: ring.open });
  await store.find('a', NONE);
  await store.find('b', NONE);
  await store.list();
  await store.remove('a');
  assert.deepEqual(ring.calls, []);
});

test('a key ring that cannot be used is no error but is told, once', async (t) => {
  const ring = fakeRing();
  const { again, notices } = place(t);
  await again({ ring: ring.open }).save('a', KEY);
  const store = again({ ring: fakeRing({ get: 'it is locked' }).open });
  assert.equal(await store.find('a', NONE), null);
  assert.equal(await store.find('a', NONE), null);
  assert.equal(notices.length, 1);
  assert.match(notices[0]!, /key of a is in the key ring .*it is locked/);
});

test('a newer key in the file counts before an older one in the key ring, and both go together', async (t) => {
  const ring = fakeRing();
  const { again } = place(t);
  await again({ ring: ring.open }).save('a', OTHER);
  await again().save('a', KEY);
  const store = again({ ring: ring.open });
  assert.equal((await store.find('a', NONE))?.key, KEY);
  const { printed } = await failure(again().remove('a'));
  assert.match(printed, /key ring .*cannot be used now/);
  assert.equal(await store.remove('a'), true);
  assert.equal(ring.held.size, 0);
});

test('a key ring that fails half way, or forgets, loses no key', async (t) => {
  for (const trouble of [{ get: `no ${KEY}` }, { set: `cannot keep ${KEY}` }]) {
    const ring = fakeRing(trouble);
    const { again, file } = place(t);
    const said = await again({ ring: ring.open }).save('a', KEY);
    assert.ok(said.startsWith(file));
    assert.ok(!said.includes(KEY), 'an error of the ring may repeat what it was given');
    assert.equal((await again({ ring: ring.open }).find('a', NONE))?.key, KEY);
    ring.trouble.get = undefined as never;
    await again({ ring: ring.open }).remove('a');
    assert.equal(ring.held.size, 0);
  }
});

test('the package of the key ring is found in the folder of the configuration, and an old one is refused', async (t) => {
  const { base } = place(t);
  await assert.rejects(systemRing(base)(), /not installed/);
  const folder = join(base, 'node_modules', '@napi-rs', 'keyring');
  mkdirSync(folder, { recursive: true });
  const install = (version: string, body: string): void => { writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: '@napi-rs/keyring', version, main: 'index.js' })); writeFileSync(join(folder, 'index.js'), body); };
  install('2.0.9', 'exports.AsyncEntry = class {};');
  await assert.rejects(systemRing(base)(), /2\.0\.9 is too old/);
});

test('the key ring is one that outlives a boot, and one that hangs is given up', async (t) => {
  const { base } = place(t);
  const folder = join(base, 'node_modules', '@napi-rs', 'keyring');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: '@napi-rs/keyring', version: '2.1.2', main: 'index.js' }));
  writeFileSync(join(folder, 'index.js'), `exports.AsyncEntry = class {
    constructor(...given) { this.given = given; }
    async getPassword() { return JSON.stringify(this.given); }
    setPassword() { return new Promise(() => {}); }
    async deletePassword() { throw new Error('locked'); }
  };`);
  const ring = await systemRing(base, 50)();
  assert.equal(await ring.get('anthropic'), '["tappet","anthropic",{"linux":{"store":"secret-service"}}]');
  await assert.rejects(ring.set('anthropic', KEY), /did not answer in 0\.05 s/);
  await assert.rejects(ring.remove('anthropic'), /locked/);
});
