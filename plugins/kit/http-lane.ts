/** The way to one server: module, pool of connections, proxy and certificates, each loaded at first use. */
import type { Agent, ClientRequest, RequestOptions } from 'node:http';
import type { SecureContext } from 'node:tls';
import { trouble } from './http-fault.ts';
import { proxyFor, proxyHeaders, tunnel } from './http-proxy.ts';
import type { ProxyOptions } from './http-proxy.ts';

export interface LaneOptions extends ProxyOptions {
  readonly baseUrl: string;
  /** PEM files; authorities are trusted beside the usual ones. */
  readonly caFile?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
}
export interface Lane {
  request(o: { method: string; path: string; headers: Record<string, string>; cut: AbortSignal }): ClientRequest;
  /** Lets go of connections that wait for work. */
  dropIdle(): void;
  close(): void;
}

export async function openLane(o: LaneOptions): Promise<Lane> {
  const base = new URL(o.baseUrl);
  if (base.username !== '' || base.password !== '') throw trouble('the base URL holds a name or a password: it is no place for them, write them into providers.NAME.headers', false);
  const secure = base.protocol === 'https:';
  const proxy = await proxyFor(base, o);
  const { request, Agent } = secure ? await import('node:https') : await import('node:http');
  const secureContext = secure ? await certificates(o) : undefined;
  const agent: Agent = new Agent({ keepAlive: true });
  const authority = `${base.hostname}:${base.port || (secure ? 443 : 80)}`;
  if (secure && proxy !== null) {
    const connect = agent.createConnection.bind(agent);
    agent.createConnection = (options, done) => {
      const { cut } = options as { cut?: AbortSignal };
      tunnel(proxy, authority, cut).then((socket) => done?.(null, connect({ ...options, socket } as RequestOptions)!), (e: Error) => done?.(e, null as never));
      return undefined;
    };
  }
  const forward = !secure && proxy !== null ? proxy : null;
  const prefix = base.pathname.replace(/\/+$/, '');
  return {
    request({ method, path, headers, cut }) {
      const url = new URL(prefix + path, base.origin);
      for (const [k, v] of base.searchParams) if (!url.searchParams.has(k)) url.searchParams.set(k, v);
      const line = url.pathname + url.search;
      const to = forward ?? base;
      return request({
        method, agent, host: to.hostname.replace(/^\[|\]$/g, ''), port: to.port || (to.protocol === 'https:' ? 443 : 80), path: forward === null ? line : base.origin + line,
        headers: { host: base.host, ...headers, ...(forward === null ? {} : proxyHeaders(forward)) },
        ...(secureContext === undefined ? {} : { secureContext }), cut,
      } as RequestOptions);
    },
    dropIdle() { for (const sockets of Object.values(agent.freeSockets)) for (const s of sockets ?? []) s.destroy(); },
    close: () => agent.destroy(),
  };
}

/** Made once, and the file's authorities added to what Node trusts anyway: handing it the usual ones as text would cost 15 ms more. */
async function certificates(o: LaneOptions): Promise<SecureContext | undefined> {
  if (o.caFile === undefined && o.certFile === undefined) return undefined;
  const { readFile } = await import('node:fs/promises');
  const { createSecureContext } = await import('node:tls');
  const read = async (key: string, file: string): Promise<string> => {
    const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => { throw trouble(`${key} cannot be read: ${file} (${cause.code})`, false, cause); });
    if (!text.includes('-----BEGIN ')) throw trouble(`${key} is no PEM file: ${file}`, false);
    return text;
  };
  const context = createSecureContext(o.certFile === undefined ? {} : { cert: await read('certFile', o.certFile), key: await read('keyFile', o.keyFile ?? o.certFile) });
  const trust = async (key: string, file: string): Promise<void> => (context.context as { addCACert(pem: string): void }).addCACert(await read(key, file));
  if (o.caFile !== undefined) {
    await trust('caFile', o.caFile);
    // Node 20 forgets these where any are added.
    if (o.env.NODE_EXTRA_CA_CERTS) await trust('NODE_EXTRA_CA_CERTS', o.env.NODE_EXTRA_CA_CERTS);
  }
  return context;
}
