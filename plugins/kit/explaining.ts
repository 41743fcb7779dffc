/** What explains itself, as rows for people: where words stand, who spoke of a value, what became of a plugin. */
import { relative } from 'node:path';
import type { ChainLink, Origin, PluginReport } from '../../schemas/index.ts';
import { place } from '../../schemas/origin.ts';
import { cleanText } from './clean-text.ts';
import { columns } from './columns.ts';
import { isInside } from './paths.ts';

/** For whom: the folder they work in, their home, and the width of their terminal, undefined where there is none. */
export interface Reader { readonly cwd: string; readonly home: string; readonly width?: number | undefined }
/** Relative to the folder one works in, or to the home. */
export const shownFile = (file: string, o: Reader): string =>
  (isInside(file, o.cwd) ? relative(o.cwd, file) || '.' : isInside(file, o.home) ? `~/${relative(o.home, file)}` : file);
export const shownPlace = (origin: Origin, o: Reader): string => place({ ...origin, file: shownFile(origin.file, o) });

const VALUE_CHARS = 120;
/** Text as it is, all else as JSON, on one line. */
export function valueText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value) ?? '(nothing)';
  return text.length > VALUE_CHARS ? `${text.slice(0, VALUE_CHARS - 1)}…` : text;
}

/** Layer, place, value, and whether it counts. */
export const chainRows = (links: readonly ChainLink[], o: Reader): string[][] => links.map((l) => [
  l.origin.layer, shownPlace(l.origin, o), ...(l.status === 'bound' ? [`bound: ${l.reason ?? valueText(l.value)}`] : [valueText(l.value), l.reason === undefined ? l.status : `${l.status}: ${l.reason}`]),
]);

/** One plugin: what it is, who spoke of it, what went wrong. */
export function pluginText(p: PluginReport, links: readonly ChainLink[], o: Reader): string {
  const facts = [
    ['plugin', p.name], ['state', p.state], ['from', p.from], ...(p.hash === null ? [] : [['hash', p.hash]]), ['named at', `${shownPlace(p.origin, o)} (${p.origin.layer})`],
    ...(p.adds.length === 0 ? [] : [['adds', p.adds.join(' ')]]), ...(p.state === 'running' ? [['took', `${p.ms.toFixed(1)} ms`]] : []),
  ];
  return [columns(facts, o), ...(links.length === 0 ? [] : [columns(chainRows(links, o), { ...o, indent: 2 })]), ...(p.error === undefined ? [] : ['', cleanText(p.error)])].join('\n');
}
/** Name, state, layer, from, hash, what it adds or why it was left out. */
export const pluginRow = (p: PluginReport): string[] => [p.name, p.state, p.origin.layer, p.from, shortHash(p.hash), p.error === undefined ? p.adds.join(' ') : p.error.split('\n')[0]!];
export const PLUGIN_COLUMNS: readonly string[] = ['NAME', 'STATE', 'LAYER', 'FROM', 'HASH', 'ADDS'];
export const shortHash = (hash: string | null): string => (hash === null ? '-' : hash.replace(/^sha256-/, '').slice(0, 12));
