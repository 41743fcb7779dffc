/** What a model is told besides the messages: system prompt blocks, project rules as a leading message, tool specs. Made anew only when what they depend on changed. */
import type { Block, NormalizedMessage, PromptParts, SystemPromptBlock, ToolSpec } from '../schemas/index.ts';
import { PROMPT_SLOTS } from '../schemas/message.ts';
import type { Conversation } from './conversation.ts';
import { messageOf } from './errors.ts';

const PART_TIMEOUT_MS = 2000;

export interface PromptSource {
  /** @throws nothing: a part that fails or hangs is left out and said */
  system(model: string, signal: AbortSignal): Promise<readonly SystemPromptBlock[]>;
  tools(): Promise<readonly ToolSpec[]>;
  /** Puts the project's rules before the first message. */
  withUserContext(messages: readonly NormalizedMessage[]): readonly NormalizedMessage[];
}

export function createPrompt(c: Conversation): PromptSource {
  let key = '';
  let parts: PromptParts | undefined;
  let toolKey = '';
  let specs: readonly ToolSpec[] = [];
  let led: { readonly first: NormalizedMessage; readonly text: string; readonly made: NormalizedMessage } | undefined;
  const names = (): readonly string[] => c.tools().map((t) => t.name);

  const render = async (model: string, signal: AbortSignal): Promise<PromptParts> => {
    const context = { cwd: c.cwd(), root: c.kernel.root, model, mode: c.mode().name, tools: names(), fs: c.fs(), now: new Date(), signal };
    const rendered = await Promise.all(c.kernel.registries.promptParts.all().map(async (part) => {
      let timer: NodeJS.Timeout | undefined;
      try {
        const late = new Promise<never>((_, reject) => { timer = setTimeout(() => reject(new Error(`it took longer than ${PART_TIMEOUT_MS} ms`)), PART_TIMEOUT_MS); });
        return { slot: part.slot, blocks: await Promise.race([part.render(context), late]) };
      } catch (e) {
        c.kernel.log({ level: 'warning', name: part.name, text: `left out of the prompt: ${messageOf(e)}` });
        return { slot: part.slot, blocks: [] };
      } finally { clearTimeout(timer); }
    }));
    return Object.fromEntries(PROMPT_SLOTS.map((slot) => [slot, rendered.filter((r) => r.slot === slot).flatMap((r) => [...r.blocks])])) as unknown as PromptParts;
  };

  return {
    async system(model, signal) {
      const now = [model, c.mode().name, c.cwd(), ...names()].join('\n');
      if (now !== key || parts === undefined) { parts = await render(model, signal); key = now; }
      const { overlay } = c;
      const core: readonly SystemPromptBlock[] = overlay.systemPrompt === undefined ? parts.core : overlay.systemPrompt === '' ? [] : [{ text: overlay.systemPrompt, cacheScope: 'session' }];
      const append: readonly SystemPromptBlock[] = overlay.appendSystemPrompt === undefined ? [] : [{ text: overlay.appendSystemPrompt, cacheScope: 'session' }];
      return [...core, ...parts.tools, ...parts.skills, ...parts.memory, ...append, ...parts.dynamic];
    },
    async tools() {
      const tools = c.tools();
      const now = [c.mode().name, ...tools.map((t) => t.name)].join('\n');
      if (now === toolKey) return specs;
      const options = { mode: c.mode().name, tools: names() };
      specs = await Promise.all(tools.map(async (t) => ({ name: t.name, description: await t.description(null, options), input_schema: t.inputSchema().jsonSchema })));
      toolKey = now;
      return specs;
    },
    withUserContext(messages) {
      const text = (parts?.instructions ?? []).map((b) => b.text).join('\n\n');
      const [first, ...rest] = messages;
      if (text === '' || first === undefined) return messages;
      if (led === undefined || led.first !== first || led.text !== text) led = { first, text, made: { role: 'user', content: [{ type: 'text', text } as Block, ...first.content] } };
      return [led.made, ...rest];
    },
  };
}
