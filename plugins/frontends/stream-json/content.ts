/** Blocks and model events in the words of the Messages API. What is ours alone stays inside. */
import type { Block, ModelEvent, ModelFault } from 'tappet/kernel';
import type { Fields } from './protocol.ts';

export function wireBlocks(content: string | readonly Block[]): string | readonly Fields[] {
  return typeof content === 'string' ? content : content.map(wireBlock);
}
function wireBlock(block: Block): Fields {
  switch (block.type) {
    case 'tool_use': return { type: 'tool_use', id: block.id, name: block.name, input: block.input };
    case 'thinking': return { type: 'thinking', thinking: block.thinking, signature: block.signature ?? '' };
    case 'redacted_thinking': return { type: 'redacted_thinking', data: block.data };
    case 'vendor': return block.block;
    default: return { ...block };
  }
}

/** Null: nothing of it is known outside. */
export function wireEvent(event: ModelEvent): Fields | null {
  switch (event.type) {
    case 'message_start': return { type: 'message_start', message: { id: event.id, type: 'message', role: 'assistant', model: event.model, content: [], stop_reason: null, stop_sequence: null, usage: event.usage } };
    case 'content_block_start': return { type: 'content_block_start', index: event.index, content_block: wireBlock(event.block) };
    case 'content_block_delta': return { type: 'content_block_delta', index: event.index, delta: event.delta };
    case 'content_block_stop': return { type: 'content_block_stop', index: event.index };
    case 'message_delta': return { type: 'message_delta', delta: { stop_reason: event.stop_reason, stop_sequence: event.stop_sequence ?? null }, usage: event.usage };
    case 'message_stop': return { type: 'message_stop' };
    case 'notice': return null;
  }
}

/** The name that a fault has in an assistant message. */
export function wireFault(fault: ModelFault | undefined): string {
  switch (fault?.kind) {
    case 'auth': return 'authentication_failed';
    case 'quota': return 'billing_error';
    case 'rate_limit': return 'rate_limit';
    case 'overloaded': return 'overloaded';
    case 'not_found': return 'model_not_found';
    case 'invalid_request': case 'context_too_long': return 'invalid_request';
    case 'server_error': case 'connection': case 'broken_stream': case 'timeout_first_byte': case 'timeout_between_bytes': case 'empty_answer': return 'server_error';
    default: return 'unknown';
  }
}
