/** Whether a request goes through a proxy, and the tunnel through it. */
import type { Duplex } from 'node:stream';
import { trouble } from './http-fault.ts';

export interface ProxyOptions { readonly proxy?: string | undefined; readonly noProxy?: string | undefined; readonly env: Readonly<Record<string, string | undefined>> }

/** The configuration's word counts before the environment's. The environment's proxy is never used for this very machine: it could not reach it. */
export async function proxyFor(target: URL, o: ProxyOptions): Promise<URL | null> {
  const env = (name: string): string | undefined => o.env[name.toLowerCase()] || o.env[name] || undefined;
  const said = o.proxy ?? env(target.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY') ?? env('ALL_PROXY');
  if (said === undefined) return null;
  // Costs a millisecond of a start, so it comes in where it is needed.
  const net = await import('node:net');
  if (excepted(net, target, o.noProxy ?? env('NO_PROXY') ?? '') || (o.proxy === undefined && isLoopback(net, bare(target.hostname)))) return null;
  const full = /^\w+:\/\//.test(said) ? said : `http://${said}`;
  if (!URL.canParse(full)) throw trouble('the proxy is no URL: write http://host:port', false);
  const proxy = new URL(full);
  if (proxy.protocol !== 'http:' && proxy.protocol !== 'https:') throw trouble(`a proxy must be reached by http or https, not ${proxy.protocol.slice(0, -1)}`, false);
  return proxy;
}

type Net = typeof import('node:net');
const bare = (hostname: string): string => hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '').toLowerCase();
const isLoopback = ({ isIP }: Net, host: string): boolean => host === 'localhost' || host.endsWith('.localhost') || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));

/** `*`, `host`, `.domain`, `*.domain`, `host:port`, `10.0.0.0/8`. */
function excepted(net: Net, target: URL, list: string): boolean {
  const { isIP } = net;
  const host = bare(target.hostname);
  const port = target.port || (target.protocol === 'https:' ? '443' : '80');
  return list.split(/[\s,]+/).filter((s) => s !== '').some((entry) => {
    if (entry === '*') return true;
    const block = /^(.+)\/(\d{1,3})$/.exec(entry);
    if (block !== null) return inSubnet(net, host, block[1]!, Number(block[2]));
    const withPort = isIP(entry) === 6 ? null : /^(.+):(\d+)$/.exec(entry);
    if (withPort !== null && withPort[2] !== port) return false;
    const name = bare(withPort?.[1] ?? entry).replace(/^\*?\./, '');
    return name !== '' && (host === name || (isIP(host) === 0 && host.endsWith(`.${name}`)));
  });
}

function inSubnet({ BlockList, isIP }: Net, host: string, base: string, bits: number): boolean {
  const family = isIP(base);
  if (family === 0 || isIP(host) !== family || bits > (family === 4 ? 32 : 128)) return false;
  const list = new BlockList();
  list.addSubnet(base, bits, family === 4 ? 'ipv4' : 'ipv6');
  return list.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

export function proxyHeaders(proxy: URL): Record<string, string> {
  if (proxy.username === '') return {};
  return { 'proxy-authorization': `Basic ${Buffer.from(`${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`).toString('base64')}` };
}

/** A socket that ends at `host:port` behind the proxy. */
export async function tunnel(proxy: URL, authority: string, signal: AbortSignal | undefined): Promise<Duplex> {
  const { request } = proxy.protocol === 'https:' ? await import('node:https') : await import('node:http');
  return new Promise((resolve, reject) => {
    const req = request({
      method: 'CONNECT', host: bare(proxy.hostname), port: proxy.port || (proxy.protocol === 'https:' ? 443 : 80), path: authority, headers: { host: authority, ...proxyHeaders(proxy) }, agent: false,
      ...(signal === undefined ? {} : { signal }),
    });
    req.once('connect', (res, socket, head) => {
      if (res.statusCode === 200) {
        if (head.length > 0) socket.unshift(head);
        return resolve(socket);
      }
      socket.destroy();
      reject(trouble(`the proxy ${proxy.host} refused the way to ${authority}: ${res.statusCode} ${res.statusMessage ?? ''}`.trim(), (res.statusCode ?? 0) >= 500));
    });
    req.once('response', (res) => { res.destroy(); reject(trouble(`the proxy ${proxy.host} does not open tunnels: ${res.statusCode}`, false)); });
    req.once('error', (cause) => reject(trouble(`the proxy ${proxy.host} cannot be reached: ${(cause as NodeJS.ErrnoException).code ?? cause.message}`, true, cause)));
    req.end();
  });
}
