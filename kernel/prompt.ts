/** What a model is told besides the messages: system prompt blocks, project rules as a leading message, tool specs. Made anew only when what they depend on changed. */
import type { NormalizedMessage, PromptSlot, QueryParams, SystemPromptBlock, Tool, ToolSpec } from '../schemas/index.ts';
import type { Conversation } from './conversation.ts';
import { messageOf } from './errors.ts';

const PART_TIMEOUT_MS = 2000;

export interface PromptSource {
  /** The prompt's part of a query. Throws nothing: a part that fails or hangs is left out and said. */
  query(model: string, signal: AbortSignal): Promise<Pick<QueryParams, 'systemPrompt' | 'systemContext' | 'userContext'>>;
  tools(): Promise<readonly ToolSpec[]>;
  /** Puts the project's rules before the first message. */
  lead(messages: readonly NormalizedMessage[], userContext: QueryParams['userContext']): readonly NormalizedMessage[];
}

/** What is sent as the system prompt: the stable blocks first, what changes last and uncached. */
export const systemBlocks = (p: Pick<QueryParams, 'systemPrompt' | 'systemContext'>): readonly SystemPromptBlock[] => [...p.systemPrompt, ...Object.values(p.systemContext).map((text) => ({ text, cacheScope: null }))];

interface Rendered { readonly name: string; readonly slot: PromptSlot; readonly blocks: readonly SystemPromptBlock[] }
export function createPrompt(c: Conversation): PromptSource {
  let key = '';
  let rendered: readonly Rendered[] = [];
  let toolKey = '';
  let specs: readonly ToolSpec[] = [];
  let led: { readonly first: NormalizedMessage; readonly text: string; readonly made: NormalizedMessage } | undefined;
  const names = (): readonly string[] => c.tools().map((t) => t.name);

  const render = (model: string, signal: AbortSignal): Promise<readonly Rendered[]> => {
    const context = { cwd: c.cwd(), root: c.kernel.root, model, mode: c.mode().name, tools: names(), fs: c.fs(), now: new Date(), signal, rules: c.rules(), trusted: c.kernel.config().trust.trusted, settingSources: c.kernel.config().sources.settingSources };
    return Promise.all(c.kernel.registries.promptParts.all().map(async (part): Promise<Rendered> => {
      let timer: NodeJS.Timeout | undefined;
      try {
        const late = new Promise<never>((_, reject) => { timer = setTimeout(() => reject(new Error(`it took longer than ${PART_TIMEOUT_MS} ms`)), PART_TIMEOUT_MS); });
        return { name: part.name, slot: part.slot, blocks: await Promise.race([part.render(context), late]) };
      } catch (e) {
        c.kernel.log({ level: 'warning', name: part.name, text: `left out of the prompt: ${messageOf(e)}` });
        return { name: part.name, slot: part.slot, blocks: [] };
      } finally { clearTimeout(timer); }
    }));
  };
  const slot = (name: PromptSlot): readonly SystemPromptBlock[] => rendered.filter((r) => r.slot === name).flatMap((r) => [...r.blocks]);
  const texts = (name: PromptSlot): Readonly<Record<string, string>> => Object.fromEntries(rendered.filter((r) => r.slot === name && r.blocks.length > 0).map((r) => [r.name, r.blocks.map((b) => b.text).join('\n\n')]));

  /** Made at build for what ships; another layer's tool of the same name has its own. */
  const schemaOf = (t: Tool) => (c.kernel.registries.tools.who(t.name).some((e) => e.item === t && e.origin.layer === 'built-in') ? c.kernel.builtins.toolSchemas?.[t.name] : undefined) ?? t.inputSchema().jsonSchema;

  return {
    async query(model, signal) {
      // Not for a new folder or a new day: thoughts and caches hold only while what stands before them stays the same.
      const now = [model, c.mode().name, ...names()].join('\n');
      if (now !== key) { rendered = await render(model, signal); key = signal.aborted ? '' : now; } // what an interrupt cut off is asked again
      const { systemPrompt, appendSystemPrompt } = c.overlay;
      const core: readonly SystemPromptBlock[] = systemPrompt === undefined ? slot('core') : systemPrompt === '' ? [] : [{ text: systemPrompt, cacheScope: 'session' }];
      const append: readonly SystemPromptBlock[] = appendSystemPrompt === undefined ? [] : [{ text: appendSystemPrompt, cacheScope: 'session' }];
      return { systemPrompt: [...core, ...slot('tools'), ...slot('skills'), ...slot('memory'), ...append], systemContext: texts('dynamic'), userContext: texts('instructions') };
    },
    async tools() {
      const tools = c.tools();
      const now = [c.mode().name, ...tools.map((t) => t.name)].join('\n');
      if (now === toolKey) return specs;
      const options = { mode: c.mode().name, tools: names() };
      const made = await Promise.all(tools.map(async (t): Promise<ToolSpec | null> => {
        try { return { name: t.name, description: await t.description(null, options), input_schema: schemaOf(t) }; } catch (e) {
          c.kernel.log({ level: 'warning', name: t.name, text: `not offered to the model, its description failed: ${messageOf(e)}` });
          return null;
        }
      }));
      specs = made.filter((s) => s !== null);
      toolKey = now;
      return specs;
    },
    lead(messages, userContext) {
      const text = Object.values(userContext).join('\n\n');
      const [first, ...rest] = messages;
      if (text === '' || first === undefined) return messages;
      if (led === undefined || led.first !== first || led.text !== text) led = { first, text, made: { role: 'user', content: [{ type: 'text', text }, ...first.content] } };
      return [led.made, ...rest];
    },
  };
}
