/** A feature exists when plugin, entry, doc page and test exist; and taking an entry away takes exactly what is its own. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { REGISTRY_NAMES } from '../../schemas/contracts.ts';
import type { RegistryName } from '../../schemas/index.ts';
import { sourceBuiltins } from '../../kernel/builtins.ts';
import { boot } from '../../kernel/boot.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { project } from '../support/project.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const names = await sourceBuiltins().names();

test('every plugin file has an entry in the built-in layer, and every entry a file', () => {
  const found = readdirSync(join(root, 'plugins'), { recursive: true, encoding: 'utf8' }).map((f) => f.split(sep).join('/'))
    .filter((f) => !f.startsWith('kit/') && (/^[a-z-]+\/[a-z-]+\.ts$/.test(f) || /^[a-z-]+\/[a-z-]+\/index\.ts$/.test(f))).map((f) => f.replace(/(\/index)?\.ts$/, '')).sort();
  assert.deepEqual([...names].sort(), found);
});
test('every plugin has a page with the same five headings, and a test', () => {
  for (const name of names) {
    const page = join(root, 'docs/plugins', `${name.replace('/', '-')}.md`);
    assert.ok(existsSync(page), `no page docs/plugins/${name.replace('/', '-')}.md`);
    const text = readFileSync(page, 'utf8');
    assert.equal(/^# (.+)$/m.exec(text)?.[1], name);
    assert.deepEqual([...text.matchAll(/^## (.+)$/gm)].map((m) => m[1]), ['What it does', 'Options', 'What it adds', 'When it refuses', 'Example'], name);
    const tests = [`test/plugins/${name}.test.ts`, `test/plugins/${name}/index.test.ts`, `test/plugins/${name}`];
    assert.ok(tests.some((f) => existsSync(join(root, f))), `no test for ${name}`);
  }
});

/** Everything that stands in a kernel, as words. */
async function inventory(kernel: Kernel): Promise<Set<string>> {
  const words = new Set<string>();
  for (const kind of Object.keys(REGISTRY_NAMES) as RegistryName[]) for (const e of kernel.registries[kind].entries()) words.add(`${kind}:${e.name} by ${e.owner}`);
  for (const tap of kernel.taps) words.add(`tap:${tap.event} by ${tap.plugin}`);
  const context = { cwd: kernel.root, root: kernel.root, model: 'm', mode: 'default', tools: kernel.registries.tools.all().map((t) => t.name), fs: (await import('node:fs/promises')) as never, now: new Date(0), signal: new AbortController().signal, rules: [], trusted: true, settingSources: ['user', 'project', 'local'] as const };
  for (const part of kernel.registries.promptParts.all()) for (const block of await part.render(context)) words.add(`prompt:${part.name}:${block.text.length}`);
  return words;
}
test('taking an entry away takes exactly its own tools, taps, commands and words of the prompt', async (t) => {
  const p = project(t, { only: names });
  const whole = await boot({ cwd: p.dir, builtins: p.builtins, env: p.env, home: p.home, policy: p.policy });
  t.after(() => whole.dispose());
  const all = await inventory(whole);
  for (const name of names) {
    const needed = whole.reports.filter((r) => r.state === 'running').map((r) => r.name);
    const less = await boot({ cwd: p.dir, builtins: p.builtins, env: p.env, home: p.home, policy: p.policy, set: [`plugins.${name}=false`] });
    const left = await inventory(less);
    const dependents = less.reports.filter((r) => r.state === 'failed').map((r) => r.name);
    const gone = [...all].filter((w) => !left.has(w) && !w.startsWith('prompt:'));
    assert.ok(gone.every((w) => w.endsWith(` by ${name}`) || dependents.some((d) => w.endsWith(` by ${d}`))), `${name} took away ${gone.join(', ')}`);
    assert.ok([...all].filter((w) => w.endsWith(` by ${name}`)).every((w) => !left.has(w)), `${name} left something behind`);
    assert.deepEqual([...left].filter((w) => !all.has(w) && !w.startsWith('prompt:')), [], `without ${name} something new stands`);
    assert.deepEqual(dependents, [], `without ${name} others failed, of ${needed.length}`);
    await less.dispose();
  }
});
test('under a policy a guard that is off refuses the start', async (t) => {
  for (const guard of names.filter((n) => n.startsWith('guards/'))) {
    const p = project(t, { only: names, files: { 'policy:policy.yaml': 'permissions: { deny: ["Bash(rm *)"] }\n' } });
    await assert.rejects(boot({ cwd: p.dir, builtins: p.builtins, env: p.env, home: p.home, policy: p.policy, set: [`plugins.${guard}=false`] }), { code: 'E_POLICY_UNENFORCED' });
    const missing = project(t, { only: names.filter((n) => n !== guard), files: { 'policy:policy.yaml': 'permissions: { deny: ["Bash(rm *)"] }\n' } });
    await assert.rejects(missing.boot(), { code: 'E_POLICY_UNENFORCED' });
  }
});
