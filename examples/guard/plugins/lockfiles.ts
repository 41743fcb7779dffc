/** A guard: lock files change by the package manager alone, never by hand. */
import { basename } from 'node:path';
import { definePlugin, z } from 'tappet/kernel';
import type { JudgedCall, Said } from 'tappet/kernel';

export default definePlugin({
  name: 'acme/lockfiles',
  api: 1,
  options: () => z.strictObject({
    names: z.array(z.string().min(1)).default(['package-lock.json', 'pnpm-lock.yaml', 'yarn.lock', 'Cargo.lock', 'poetry.lock', 'uv.lock', 'go.sum'])
      .describe('names of files, in any folder'),
  }),
  apply({ registries, options }) {
    // On disks that take `A` and `a` for one name a refusal must mean both.
    const names = new Set(options.names.map((n) => n.toLowerCase()));
    const isLockFile = (path: string): boolean => names.has(basename(path).toLowerCase());
    registries.guards.add({
      name: 'lockfiles',
      // Pure and synchronous: all facts are in the call, so the answer is the same whoever asks and whenever. One opinion for each file that is meant; nothing said
      // is no consent. It sees subjects and not tools: a tool that somebody else wrote is held by it as well.
      judge: ({ subjects }: JudgedCall): Said[] => subjects.flatMap((s) => {
        if (s.kind !== 'path' || s.access !== 'write') return [];
        // A link has two names; a refusal is met by either.
        if (!isLockFile(s.path) && !(s.real !== null && isLockFile(s.real))) return [];
        return [{ behavior: 'deny' as const, message: `${basename(s.path)} is written by the package manager; change the manifest and say that it must be run` }];
      }),
    });
  },
});
