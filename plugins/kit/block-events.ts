/** Finished blocks as the events of a stream: for providers that make up or play back their answers. */
import type { Block, BlockDelta, ModelEvent } from '../../schemas/index.ts';

/** Characters of one delta; a piece ends behind white space where it can. */
const PIECE = /.{1,20}(?:\s+|$)|.{1,20}/gsu;

/** Small pieces that make the text again when joined. */
export const textPieces = (text: string): readonly string[] => text.match(PIECE) ?? [];

/** `rawInput` stands for the JSON of a tool use whose input does not parse. */
export function blockEvents(block: Block, index: number, rawInput?: string): readonly ModelEvent[] {
  const delta = (d: BlockDelta): ModelEvent => ({ type: 'content_block_delta', index, delta: d });
  const whole = (start: Block, deltas: readonly ModelEvent[]): readonly ModelEvent[] =>
    [{ type: 'content_block_start', index, block: start }, ...deltas, { type: 'content_block_stop', index, block }];
  switch (block.type) {
    case 'text':
      return whole({ ...block, text: '' }, textPieces(block.text).map((text) => delta({ type: 'text_delta', text })));
    case 'thinking': {
      const { signature, ...rest } = block;
      const said = textPieces(block.thinking).map((thinking) => delta({ type: 'thinking_delta', thinking }));
      return whole({ ...rest, thinking: '' }, signature === undefined ? said : [...said, delta({ type: 'signature_delta', signature })]);
    }
    case 'tool_use': {
      const { inputError: _, ...rest } = block;
      const json = rawInput ?? block.inputError?.raw ?? JSON.stringify(block.input);
      return whole({ ...rest, input: {} }, textPieces(json).map((partial_json) => delta({ type: 'input_json_delta', partial_json })));
    }
    default:
      return whole(block, []);
  }
}

/** Tokens by the rule of thumb of four characters each, where nobody counts them. */
export const roughTokens = (characters: number): number => Math.ceil(characters / 4);
