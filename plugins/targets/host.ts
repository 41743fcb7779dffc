/** This machine, as it is: calls run here unless another target is chosen. */
import fs from 'node:fs/promises';
import { definePlugin } from 'tappet/kernel';

export default definePlugin({
  name: 'targets/host',
  api: 1,
  apply({ registries }) {
    registries.executionTargets.add({
      name: 'host',
      fs,
      // A group of its own, so that the whole of it can be ended; no descriptors but the three (Node closes all others at exec).
      // Its module is loaded at the first program: a start that runs none is a few milliseconds shorter.
      spawn: ({ command, args, cwd, env, stdin = 'ignore' }) =>
        process.getBuiltinModule('node:child_process').spawn(command, [...args], { cwd, env: { ...env }, stdio: [stdin, 'pipe', 'pipe'], detached: process.platform !== 'win32', windowsHide: true, shell: false }),
      covers: () => false, // it shields from nothing
      available: () => null,
    });
  },
});
