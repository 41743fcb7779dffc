#!/usr/bin/env node
'use strict';
/* The small uncached file that starts the bundle: each chunk is compiled from our own code cache, which is written after a run that had none. */
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const vm = require('node:vm');
const Module = require('node:module');

const folder = path.join(__dirname, 'chunks');
const env = process.env;
const home = env.HOME || os.homedir();
const cache = path.join(
  process.platform === 'win32' ? path.join(env.LOCALAPPDATA || path.join(home, 'AppData', 'Local'), 'tappet', 'cache') : path.join(env.XDG_CACHE_HOME && path.isAbsolute(env.XDG_CACHE_HOME) ? env.XDG_CACHE_HOME : path.join(home, '.cache'), 'tappet'),
  'code', `${process.version}-${process.arch}`,
);
// A compiled script must not call import() itself; it is handed this one.
globalThis[Symbol.for('tappet.import')] = (url) => import(url);

/** Whoever writes there runs code here: only a folder and files of our own count. */
const uid = process.getuid === undefined ? null : process.getuid();
const ours = (stat) => uid === null || (stat.uid === uid && (stat.mode & 0o022) === 0);
const loaded = new Map();
const fresh = [];

function readCache(name) {
  try {
    if (!ours(fs.statSync(cache))) return undefined;
    const fd = fs.openSync(path.join(cache, name), fs.constants.O_RDONLY | (fs.constants.O_NOFOLLOW || 0));
    try { return ours(fs.fstatSync(fd)) ? fs.readFileSync(fd) : undefined; } finally { fs.closeSync(fd); }
  } catch { return undefined; }
}

function load(name) {
  const known = loaded.get(name);
  if (known !== undefined) return known.exports;
  const filename = path.join(folder, name);
  const module = { exports: {}, filename, id: filename };
  loaded.set(name, module);
  const source = Module.wrap(fs.readFileSync(filename, 'utf8'));
  const cachedData = readCache(name);
  const script = new vm.Script(source, { filename, cachedData });
  if (cachedData === undefined || script.cachedDataRejected === true) fresh.push({ name, script });
  const native = Module.createRequire(filename);
  const require = (id) => (id.startsWith('./') && id.endsWith('.cjs') ? load(id.slice(2)) : native(id));
  require.resolve = native.resolve;
  require.cache = native.cache;
  script.runInThisContext().call(module.exports, module.exports, require, module, filename, folder);
  return module.exports;
}

process.on('exit', (code) => {
  // After the run the functions that it needed are compiled: that is what makes the cache worth having.
  if (fresh.length === 0 || code > 5) return;
  try {
    fs.mkdirSync(cache, { recursive: true, mode: 0o700 });
    for (const { name, script } of fresh) {
      const temp = path.join(cache, `.${name}.${process.pid}`);
      try {
        fs.writeFileSync(temp, script.createCachedData(), { mode: 0o600, flag: 'wx' });
        fs.renameSync(temp, path.join(cache, name));
      } catch (e) {
        fs.rmSync(temp, { force: true }); // half a file would only fill the disk further
        throw e;
      }
    }
  } catch { /* a folder that can't be written is no error: the next start is as slow as this one */ }
});

globalThis[Symbol.for('tappet.face-loader')] = () => load('%FACE%').face;
load('%START%').run(path.join(__dirname, '..', 'agent.config.yaml'));
