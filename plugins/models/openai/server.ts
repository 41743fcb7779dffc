/** What the configuration says of one server that speaks OpenAI's language: where it is, which wire, how it is asked. */
import { TappetError } from 'tappet/kernel';
import { keyVariables } from 'tappet/kit';
import type { Origin, ProviderSettings, Settings } from 'tappet/schemas';
import { KNOWN_SERVERS } from './table.ts';

export type Wire = 'responses' | 'chat';
export interface Server {
  readonly name: string;
  readonly settings: ProviderSettings | undefined;
  /** With its version, without the path of an endpoint. */
  readonly baseUrl: string;
  readonly wire: Wire;
  /** The vendor itself, or its models at Azure: strict about fields that others ignore or lack. */
  readonly vendor: boolean;
  readonly loopback: boolean;
  readonly azure: { readonly deployment: string | undefined; readonly apiVersion: string | undefined } | null;
  readonly keyNeeded: boolean;
  readonly headers: Readonly<Record<string, string>>;
  /** More fields for the body of each request. */
  readonly body: Readonly<Record<string, unknown>>;
}

const VENDOR_URL = 'https://api.openai.com/v1';
const OPTIONS = ['wire', 'compatible', 'azure', 'organization', 'project', 'body'];

/** The vendor, and each entry that says `compatible: openai`. @throws E_CONFIG_VALUE */
export function serversOf(settings: Settings, env: Readonly<Record<string, string | undefined>>, origin: (path: string) => Origin | null): readonly Server[] {
  const others = Object.entries(settings.providers).filter(([name, p]) => name !== 'openai' && p.options?.compatible === 'openai');
  return [serverOf('openai', settings.providers.openai, env, origin), ...others.map(([name, p]) => serverOf(name, p, env, origin))];
}

/** @throws E_CONFIG_VALUE */
export function serverOf(name: string, settings: ProviderSettings | undefined, env: Readonly<Record<string, string | undefined>>, origin: (path: string) => Origin | null): Server {
  const wrong = (path: string, message: string): TappetError => {
    const key = `providers.${name}.${path}`;
    return new TappetError('E_CONFIG_VALUE', { key, message, where: origin(key) ?? origin(`providers.${name}`) ?? undefined });
  };
  const options = settings?.options ?? {};
  for (const key of Object.keys(options)) if (!OPTIONS.includes(key)) throw wrong(`options.${key}`, `there is no such option; known here: ${OPTIONS.join(', ')}`);
  const text = (key: string, value: unknown): string | undefined => {
    if (value === undefined || typeof value === 'string') return value;
    throw wrong(`options.${key}`, 'it must be text');
  };
  const object = (key: string, value: unknown): Readonly<Record<string, unknown>> => {
    if (value === undefined) return {};
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
    throw wrong(`options.${key}`, 'it must be a map');
  };
  const known = KNOWN_SERVERS[name];
  const given = settings?.baseUrl ?? (name === 'openai' ? env.OPENAI_BASE_URL?.trim() || VENDOR_URL : known?.baseUrl);
  if (given === undefined) throw wrong('baseUrl', 'it must be said where this server is, for example http://127.0.0.1:8000/v1');
  if (!/^https?:\/\//.test(given) || !URL.canParse(given)) throw wrong('baseUrl', `this is no http or https address${settings?.baseUrl === undefined ? ' (it comes from OPENAI_BASE_URL)' : ''}`);
  const url = new URL(given);
  const azure = options.azure === undefined ? null : object('azure', options.azure === true ? {} : options.azure);
  const apiVersion = text('azure.apiVersion', azure?.apiVersion);
  if (url.pathname === '/') url.pathname = azure === null ? '/v1' : apiVersion === undefined ? '/openai/v1' : '/openai';
  const atHome = url.hostname === 'api.openai.com' || url.hostname.endsWith('.api.openai.com');
  const vendor = atHome || azure !== null;
  const wire = text('wire', options.wire) ?? (vendor ? 'responses' : 'chat');
  if (wire !== 'responses' && wire !== 'chat') throw wrong('options.wire', `it must be responses or chat, not ${wire}`);
  const loopback = isLoopback(url.hostname);
  const organization = text('organization', options.organization);
  const project = text('project', options.project);
  return {
    name, settings, baseUrl: url.href.replace(/\/+$/, ''), wire, vendor, loopback,
    azure: azure === null ? null : { deployment: text('azure.deployment', azure.deployment), apiVersion },
    keyNeeded: settings?.apiKeyEnv !== undefined || (!loopback && (vendor || keyVariables(name, settings).length > 0)),
    headers: {
      ...(organization === undefined ? {} : { 'openai-organization': organization }),
      ...(project === undefined ? {} : { 'openai-project': project }),
      ...(settings?.betas === undefined || settings.betas.length === 0 ? {} : { 'openai-beta': settings.betas.join(',') }),
    },
    body: object('body', options.body),
  };
}

export const isLoopback = (hostname: string): boolean => /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/i.test(hostname);

/** Path and query of an endpoint, behind the base URL. */
export function endpoint(server: Server, what: 'responses' | 'responses/input_tokens' | 'chat/completions' | 'models', model: string): string {
  const { azure } = server;
  if (azure?.apiVersion === undefined) return `/${what}`;
  const place = what === 'chat/completions' ? `deployments/${encodeURIComponent(azure.deployment ?? model)}/${what}` : what;
  return `/${place}?api-version=${encodeURIComponent(azure.apiVersion)}`;
}
