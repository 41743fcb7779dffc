/** A model that says again what another has said: records a provider's answers into a file, and plays them back without it. */
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { definePlugin, faultError, faultOf, messageOf, TappetError, z } from 'tappet/kernel';
import type { FaultKind, ModelEvent, ModelRequest, Scope } from 'tappet/kernel';
import { findModel, reEncoder } from 'tappet/kit';
import { REPLAY_CODES, replayError } from './codes.ts';
import { firstDifference } from './difference.ts';
import { collector, eventsOf, readRecording, writeExchange } from './recording.ts';
import type { Exchange, Head, Outcome, Piece } from './recording.ts';
import { redactor } from './secrets.ts';
import { createSteady, mapTexts } from './steady.ts';
import type { Part, Steady } from './steady.ts';

const PROVIDER = 'replay';
/** The model that records. */
const RECORD = 'record';
const MAX_KEPT = 1000;
/** Say nothing of how the model answers, and would stand in the way of every playback. */
const NOT_RECORDED: readonly FaultKind[] = ['aborted', 'auth', 'quota'];

const options = () => z.strictObject({
  record: z.strictObject({
    file: z.string().min(1).describe('the file to record into, counted from the root of the project; it must not exist'),
    provider: z.string().min(1).describe('the provider that answers'),
    model: z.string().min(1).describe('its model'),
  }).optional().describe('record what this model answers: use it as `replay/record`'),
  ignore: z.array(z.string().min(1)).default(['^- System: .*$', '^- Git branch: .*$']).describe('regular expressions: what they find may differ between a recording and its playback'),
});
type Options = z.infer<ReturnType<typeof options>>;

export default definePlugin({
  name: 'models/replay',
  api: 1,
  options,
  codes: REPLAY_CODES,
  apply(scope) {
    const { registries: { modelProviders }, folders: { root, home }, options: { record, ignore }, env } = scope;
    const steady = createSteady({ places: { root, home }, redact: redactor(env), ignore: ignore.map(pattern) });
    const play = player(root, steady);
    const keep = record === undefined ? null : recorder(scope, record, steady);
    const isRecorded = (model: string): boolean => record !== undefined && (model === RECORD || resolve(root, model) === resolve(root, record.file));
    modelProviders.add({
      name: PROVIDER,
      kind: 'stand-in',
      models: () => {
        const info = record === undefined ? undefined : findModel(modelProviders.get(record.provider)?.models() ?? [], record.model);
        return info === undefined ? [] : [{ ...info, id: RECORD, aliases: [record!.file] }];
      },
      available: async () => (record === undefined ? 'no recording is given: name one as replay/FILE' : (modelProviders.get(record.provider)?.available() ?? `no provider is named "${record.provider}"`)),
      // Only says how much there is: who is recorded encodes for itself.
      encode: (message) => new TextEncoder().encode(JSON.stringify(message)),
      stream: (request, signal) => (keep !== null && isRecorded(request.model) ? keep(request, signal) : play(request, signal)),
    });
  },
});

function pattern(source: string): RegExp {
  try {
    return new RegExp(source, 'gm');
  } catch (e) {
    throw new TappetError('E_PLUGIN_OPTIONS', { name: 'models/replay', message: `ignore: ${messageOf(e)}` });
  }
}

type Streamer = (request: ModelRequest, signal: AbortSignal) => AsyncGenerator<ModelEvent, void, void>;

function player(root: string, steady: Steady): Streamer {
  const files = new Map<string, { readonly stamp: string; readonly exchanges: readonly Exchange[] }>();
  /** How often a session has sent one and the same request: a request that failed is sent again. */
  const sent = new Map<string, number>();
  const load = async (file: string): Promise<readonly Exchange[]> => {
    const info = await stat(file).catch(() => null); // what is wrong with the file is said when it is read
    const stamp = info === null ? '' : `${info.ino} ${info.size} ${info.mtimeMs}`;
    const kept = files.get(file);
    if (kept?.stamp === stamp) return kept.exchanges;
    const exchanges = await readRecording(file);
    files.set(file, { stamp, exchanges });
    return exchanges;
  };
  return async function* (request, signal) {
    const stop = (): void => { if (signal.aborted) throw faultError({ kind: 'aborted', message: 'interrupted', provider: PROVIDER, model: request.model, transient: false }); };
    stop();
    const file = resolve(root, request.model);
    const exchanges = await load(file);
    const parts = steady.parts(request);
    const same = exchanges.filter((e) => e.parts.length === parts.length && e.parts.every((p, i) => p.json === parts[i]!.json));
    if (same.length === 0) throw stale(exchanges, parts, file);
    const key = `${request.sessionId} ${file} ${same[0]!.line}`;
    const before = sent.get(key) ?? 0;
    sent.delete(key);
    sent.set(key, before + 1);
    if (sent.size > MAX_KEPT) sent.delete(sent.keys().next().value!);
    const { pieces, outcome } = same[Math.min(before, same.length - 1)]!;
    for (const piece of pieces) for (const event of eventsOf(mapTexts(piece, steady.restore) as Piece)) { stop(); yield event; }
    stop();
    if ('fault' in outcome) throw faultError({ ...outcome.fault, provider: PROVIDER, model: request.model });
  };
}

/** Told of the recorded request that is like this one for longest. */
function stale(exchanges: readonly Exchange[], parts: readonly Part[], file: string): TappetError {
  let best = exchanges[0]!;
  let most = -1;
  for (const exchange of exchanges) {
    let n = 0;
    while (n < parts.length && exchange.parts[n]?.json === parts[n]!.json) n++;
    const nearer = Math.abs(exchange.parts.length - parts.length) < Math.abs(best.parts.length - parts.length);
    if (n > most || (n === most && nearer)) { most = n; best = exchange; }
  }
  const recorded = best.parts[most];
  const now = parts[most];
  const found = firstDifference(recorded?.value, now?.value, (now ?? recorded)!.name)!;
  return replayError('E_REPLAY_DIFFERENT', { path: found.path, where: `${file}:${best.line}:1`, cause: `recorded: ${found.recorded}; now: ${found.now}` });
}

function recorder({ registries: { modelProviders }, folders: { root } }: Scope<Options>, { file: name, provider: providerName, model }: NonNullable<Options['record']>, steady: Steady): Streamer {
  const file = resolve(root, name);
  const reEncode = reEncoder();
  const written: { readonly parts: readonly Part[] }[] = [];
  let writing: Promise<void> = Promise.resolve();

  const write = (parts: readonly Part[], pieces: readonly Piece[], outcome: Outcome): Promise<void> => {
    const mine = writing.then(async () => {
      const clean = mapTexts({ pieces, outcome }, steady.clean) as { pieces: Piece[]; outcome: Outcome };
      const lines = writeExchange(written, parts, clean.pieces, clean.outcome);
      const head: Head = { recording: 1, provider: providerName, model };
      try {
        if (written.length === 0) await mkdir(dirname(file), { recursive: true });
        await writeFile(file, written.length === 0 ? `${JSON.stringify(head)}\n${lines}` : lines, { flag: written.length === 0 ? 'wx' : 'a', mode: 0o600 });
      } catch (e) {
        throw (e as NodeJS.ErrnoException).code === 'EEXIST' ? replayError('E_REPLAY_EXISTS', { file, where: file }) : replayError('E_REPLAY_WRITE', { message: messageOf(e), where: file }, e);
      }
      written.push({ parts });
    });
    writing = mine.catch(() => undefined); // told to the one whose exchange it was
    return mine;
  };

  return async function* (request, signal) {
    // Before the model is asked: an answer that cannot be kept is paid for in vain.
    if (written.length === 0 && (await stat(file).catch(() => null)) !== null) throw replayError('E_REPLAY_EXISTS', { file, where: file });
    const provider = modelProviders.get(providerName);
    if (provider === undefined) throw new TappetError('E_MODEL_UNKNOWN', { provider: providerName, known: modelProviders.all().map((p) => p.name).join(', ') });
    const parts = steady.parts(request);
    const heard = collector();
    try {
      for await (const event of provider.stream({ ...request, model: findModel(provider.models(), model)?.id ?? model, messages: reEncode(provider, request.messages) }, signal)) {
        heard.take(event);
        if (event.type === 'message_stop') await write(parts, heard.pieces(), { end: true });
        yield event;
      }
    } catch (e) {
      const fault = faultOf(e);
      if (fault !== null && !signal.aborted && !NOT_RECORDED.includes(fault.kind)) {
        const { provider: _, model: __, ...rest } = fault;
        await write(parts, heard.pieces(), { fault: rest });
      }
      throw e;
    }
  };
}
