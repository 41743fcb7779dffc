/** The lines that come in: checked for what is used, lenient in all else. And how a line goes out. */
import { z } from 'tappet/kernel';

const word = z.string().min(1);
const orNothing = <T extends z.ZodType>(schema: T) => schema.optional().catch(undefined);

export const userLine = () => z.looseObject({
  message: z.looseObject({ content: z.union([z.string(), z.array(z.looseObject({ type: word }))]).describe('a text, or content blocks') }),
  uuid: orNothing(z.uuid()).describe('the id that the message gets in the session'),
  priority: orNothing(z.enum(['now', 'next', 'later'])).describe('`now` interrupts, `next` joins at the next request, `later` waits for the end'),
  shouldQuery: orNothing(z.boolean()).describe('false: only added, no turn is started'),
  isSynthetic: orNothing(z.boolean()).describe('said by the host, not by a person'),
  client_composed: orNothing(z.boolean()).describe('taken as it is, no commands in it'),
});
export const controlRequestLine = () => z.looseObject({ request_id: word, request: z.looseObject({ subtype: word }) });
export const controlResponseLine = () => z.looseObject({ response: z.looseObject({ subtype: z.string(), request_id: word, response: z.unknown().optional(), error: orNothing(z.string()) }) });

/** Not lenient: a gate that cannot be read must not be left out. */
export const initialize = () => z.looseObject({
  hooks: z.record(z.string(), z.array(z.looseObject({
    matcher: z.string().nullish(), hookCallbackIds: z.array(z.string()), timeout: z.number().positive().nullish().describe('seconds'), onFailure: z.enum(['continue', 'block']).nullish(),
  }))).optional(),
  sdkMcpServers: z.array(word).optional().describe('names of MCP servers that live in the host'),
  systemPrompt: z.union([z.string(), z.array(z.string())]).optional().describe('replaces the default prompt; empty: none'),
  appendSystemPrompt: z.string().optional(),
  title: orNothing(word),
  disallowedTools: z.array(word).optional(),
});
export type Initialize = z.infer<ReturnType<typeof initialize>>;

export const permissionAnswer = () => z.discriminatedUnion('behavior', [
  z.looseObject({ behavior: z.literal('allow'), updatedInput: z.record(z.string(), z.unknown()).nullish(), updatedPermissions: z.array(z.unknown()).nullish() }),
  z.looseObject({ behavior: z.literal('deny'), message: orNothing(z.string()), interrupt: orNothing(z.boolean()) }),
]);

export type Fields = Readonly<Record<string, unknown>>;

/** One line. What JSON cannot hold is left out: a tool's own output may be anything. */
export function lineOf(value: Fields): string {
  let text: string;
  try {
    text = JSON.stringify(value, (_, v: unknown) => (typeof v === 'bigint' ? v.toString() : v));
  } catch {
    text = JSON.stringify({ ...value, tool_use_result: undefined });
  }
  // Line readers of JavaScript also break at these two.
  return `${text.replace(/\u2028/g, '\\u2028').replace(/\u2029/g, '\\u2029')}\n`;
}
