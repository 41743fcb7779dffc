/** The fold of seven layers. */
import { checkLayer } from '../kernel/config/check.ts';
import { mergeLayers } from '../kernel/config/merge.ts';
import { readConfigText } from '../kernel/config/read.ts';
import { LAYERS } from '../schemas/origin.ts';
import type { Row } from './table.ts';

export async function rows(): Promise<readonly Row[]> {
  const text = (layer: string): string => `model: test/${layer}\nlimits: { costUsd: 5 }\npermissions:\n  deny:\n${Array.from({ length: 20 }, (_, i) => `    - Read(**/${layer}-${i})\n`).join('')}plugins:\n${Array.from({ length: 30 }, (_, i) => `  acme/${layer.replace('-', '')}${i}: true\n`).join('')}`;
  const layers = await Promise.all(LAYERS.map(async (layer) => checkLayer(await readConfigText(text(layer), `/x/${layer}.yaml`, { layer }), layer, {})));
  const rounds = 300;
  for (let i = 0; i < 50; i++) mergeLayers(layers, { trusted: true });
  const started = process.hrtime.bigint();
  for (let i = 0; i < rounds; i++) mergeLayers(layers, { trusted: true });
  const each = Number(process.hrtime.bigint() - started) / 1e6 / rounds;
  return [{ what: 'merge of 7 layers, 140 rules and 210 plugins', target: 2, reached: each, unit: 'ms' }];
}
