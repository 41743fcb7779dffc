/** Values into and out of the files that a person owns, and what became of them. */
import { messageOf, TappetError } from 'tappet/kernel';
import { chainAt, cleanText, jsonText, keysAt, shownFile, shownPlace, valueText } from 'tappet/kit';
import type { Reader } from 'tappet/kit';
import type { SubcommandContext } from 'tappet/schemas';

const LAYERS = ['user', 'project', 'local'] as const;
type OwnLayer = (typeof LAYERS)[number];

export async function setValue(c: SubcommandContext, key: string, reader: Reader): Promise<number> {
  const layer = chosenLayer(c);
  const { parse } = await import('yaml');
  const text = c.args[1]!;
  let value: unknown;
  try { value = parse(text, { maxAliasCount: 0 }); } catch (e) { throw new TappetError('E_USAGE', { message: `the value is no YAML: ${messageOf(e).split('\n')[0]}`, do: `put text in quotes twice: '"a: b"'` }); }
  if (value === null || value === undefined) throw new TappetError('E_USAGE', { message: `"${text}" is no value`, do: `to take ${key} out: tappet config unset ${key}` });
  const { file } = await c.config.write(layer, key, value);
  return tell(c, { key, layer, file, value }, `${key} = ${valueText(value)} is in ${shownFile(file, reader)} (${layer})`, reader);
}

export async function unsetValue(c: SubcommandContext, key: string, reader: Reader): Promise<number> {
  const layer = chosenLayer(c);
  const saying = [...chainAt(c.config, key).filter((l) => l.value !== undefined), ...keysAt(c.config, key).flatMap((k) => c.config.chain(k))].map((l) => l.origin);
  const isBroken = c.config.layers.some((l) => l.layer === layer && l.state !== 'counts' && l.state !== 'absent');
  if (!isBroken && !saying.some((o) => o.layer === layer)) throw new TappetError('E_USAGE', { message: `the ${layer} layer does not say ${key}`, do: saying.length === 0 ? 'no layer does: there is nothing to take out' : `it is said at ${saying.map((o) => `${shownPlace(o, reader)} (${o.layer})`).join(', ')}` });
  const { file } = await c.config.write(layer, key, undefined);
  return tell(c, { key, layer, file, value: null }, `${key} is out of ${shownFile(file, reader)} (${layer})`, reader);
}

function chosenLayer({ options }: SubcommandContext): OwnLayer {
  const chosen = LAYERS.filter((l) => options[l] === true);
  if (chosen.length > 1) throw new TappetError('E_USAGE', { message: `${chosen.map((l) => `--${l}`).join(' and ')} cannot be together`, do: 'choose one file' });
  return chosen[0] ?? 'local';
}

/** Written is not yet counting: another layer may be nearer, a bound or missing trust may set it aside. */
async function tell(c: SubcommandContext, done: { readonly key: string; readonly layer: OwnLayer; readonly file: string; readonly value: unknown }, sentence: string, reader: Reader): Promise<number> {
  const after = await c.config.reload();
  const notes: string[] = [];
  const chain = chainAt(after, done.key);
  const link = done.value === null ? undefined : chain.find((l) => l.origin.layer === done.layer);
  const winner = chain.find((l) => l.status === 'counts');
  if (link?.status === 'set aside') notes.push(`it does not count: ${link.reason ?? 'it was set aside'}`);
  else if (link?.status === 'shadowed' && winner !== undefined) notes.push(`it does not count: ${shownPlace(winner.origin, reader)} (${winner.origin.layer}) says ${valueText(winner.value)}`);
  if (c.config.trust.trusted && after.trust.waits.length > 0) notes.push(`what this folder says has changed: ${after.trust.waits.length} of its settings wait for trust (tappet trust)`);
  c.io.out(c.json ? `${jsonText({ ...done, notes })}\n` : `${cleanText([sentence, ...notes].join('\n'))}\n`);
  return 0;
}
