/** The one tool that a plugin adds, without a kernel; and the services that it gives. */
import { checkedSchema } from 'tappet/kernel';
import type { Plugin, Scope } from 'tappet/kernel';
import type { Tool } from 'tappet/schemas';

export async function toolOf(plugin: Plugin<any>, options: Readonly<Record<string, unknown>> = {}): Promise<{ readonly tool: Tool<any, any>; readonly services: Readonly<Record<string, unknown>>; readonly warnings: readonly string[] }> {
  const tools: Tool<any, any>[] = [];
  const services: Record<string, unknown> = {};
  const warnings: string[] = [];
  const checked = plugin.options === undefined ? { value: {} } : await checkedSchema(plugin.options, `options of ${plugin.name}`).check(options);
  if ('problems' in checked) throw new Error(checked.problems.join('; '));
  const scope = {
    name: plugin.name, options: checked.value, registries: { tools: { add: (tool: Tool) => tools.push(tool) } },
    services: { provide: (name: string, service: unknown) => { services[name] = service; }, get: () => undefined },
    log: { info: () => {}, warn: (text: string) => warnings.push(text), error: () => {} }, env: {},
  } as unknown as Scope<any>;
  await plugin.apply(scope);
  if (tools.length !== 1) throw new Error(`${plugin.name} adds ${tools.length} tools`);
  return { tool: tools[0]!, services, warnings };
}
