/** `tappet trust`: what a folder's own files would do, and a person's word that they may. Runs when the configuration is broken. */
import { createInterface } from 'node:readline/promises';
import { definePlugin, TappetError } from 'tappet/kernel';
import { columns, jsonText, shortHash, shownPlace } from 'tappet/kit';
import type { Reader } from 'tappet/kit';
import { place } from 'tappet/schemas';
import type { ConfigView, Io, Origin, TrustView } from 'tappet/schemas';

export default definePlugin({
  name: 'cli/trust',
  api: 1,
  apply: ({ registries, folders }) => registries.subcommands.add({
    name: 'trust', summary: 'show what this folder would do, and let it', needs: 'config', verbs: [],
    options: [{ flags: '--yes', description: 'trust it without being asked' }, { flags: '--revoke', description: 'take the trust back' }],
    async run({ config, options, json, io, cwd }) {
      const { trust } = config;
      if (options['yes'] === true && options['revoke'] === true) throw new TappetError('E_USAGE', { message: '--yes and --revoke cannot be together', do: 'leave one of them out' });
      const reader = { cwd, home: folders.home, width: io.isTTY ? io.columns : undefined };
      const say = (trusted: boolean, text: string): number => { io.out(json ? `${jsonText({ root: trust.root, trusted })}\n` : `${text}\n`); return 0; };

      if (options['revoke'] === true) {
        await config.revokeTrust();
        return say(Object.keys(trust.files).length === 0, `${trust.root} is not trusted any more`);
      }
      const waits = waiting(config);
      if (json && options['yes'] !== true) { io.out(`${jsonText({ ...trust, waits })}\n`); return 0; }
      if (Object.keys(trust.files).length === 0) return say(true, `nothing in ${trust.root} needs trust`);
      if (trust.trusted) return say(true, `${trust.root} is trusted\n${filesText(trust, reader)}`);
      if (waits.length === 0 && options['yes'] !== true) return say(false, `nothing in ${trust.root} waits for trust\n${filesText(trust, reader)}`);
      if (!json) io.out(`${trust.root} is not trusted: ${trust.why ?? ''}\n${filesText(trust, reader)}\n${waitsText(waits, reader)}\n`);
      if (options['yes'] !== true) {
        if (!io.isTTY || io.stdin.isTTY !== true) throw new TappetError('E_USAGE', { message: 'nobody can be asked here whether to trust it', where: trust.root, do: 'look at what waits, then: tappet trust --yes' });
        if (!(await asks(io, 'Trust it as it is now? Any change is asked about again. [y/N] '))) { io.out('it stays untrusted\n'); return 3; }
      }
      await config.grantTrust();
      return say(true, `${trust.root} is trusted`);
    },
  }),
});

interface Waiting { readonly key: string; readonly value: unknown; readonly origin: Origin }
/** The whole values: what is hidden in a shortened list would be trusted unseen. */
const waiting = (config: ConfigView): Waiting[] => config.keys().flatMap((key) => config.chain(key)
  .filter((l) => l.status === 'set aside' && config.trust.waits.some((w) => w.what.startsWith(`${key}: `) && place(w.origin) === place(l.origin)))
  .map(({ value, origin }) => ({ key, value, origin })));

const filesText = (trust: TrustView, reader: Reader): string => columns([['FILE', 'CONTENT'], ...Object.entries(trust.files).map(([file, hash]) => [file, hash === 'missing' ? 'missing' : shortHash(hash)])], { ...reader, indent: 2 });
const waitsText = (waits: readonly Waiting[], reader: Reader): string => {
  const rows = waits.flatMap(({ key, value, origin }) => (Array.isArray(value) ? value : [value]).map((v: unknown) => [shownPlace(origin, reader), key, typeof v === 'string' ? v : JSON.stringify(v)]));
  return `what waits for it:${rows.length === 0 ? ' nothing' : ''}\n${columns(rows, { ...reader, indent: 2 })}`.trimEnd();
};

/** Only a plain yes is one; the end of the input is none. */
async function asks(io: Io, question: string): Promise<boolean> {
  io.err(question);
  const lines = createInterface({ input: io.stdin, terminal: false });
  try {
    for await (const line of lines) return /^\s*y(?:es)?\s*$/i.test(line);
    return false;
  } finally {
    lines.close();
  }
}
