/** A tap on PreToolUse: no force pushes, whoever asks for them and whatever allows them. */
import { definePlugin } from 'tappet/kernel';

export default definePlugin({
  name: 'acme/no-force-push',
  api: 1,
  apply({ hooks }) {
    // The matcher is data: calls of other tools do not even reach the function. A tap that throws, hangs longer than its time or answers nonsense counts as a deny here,
    // so the time is short.
    hooks.PreToolUse.tap({ name: 'acme/no-force-push', matcher: 'Bash', timeoutMs: 500 }, ({ input }) => {
      const command = String(input['command']);
      // Command lines can be dressed up in more ways than a pattern knows: this stops a careless model, not a person who wants to get round it.
      if (/\bgit\b.*\bpush\b.*\s(?:--force\b|--force-with-lease\b|-f\b|\+\S)/s.test(command)) return { behavior: 'deny', message: 'no force pushes here; push to a new branch instead' };
      // Nothing returned is nothing said: the call is neither allowed nor asked about.
    });
  },
});
