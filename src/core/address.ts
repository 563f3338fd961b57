import ipaddr from 'ipaddr.js';

/**
 * The network of an address. For IPv4 it is the address itself, for IPv6 the /64, because one subscriber has all
 * addresses of a /64. A text that is not an address is a network of its own.
 */
export function networkOf(address: string): string {
  if (!ipaddr.IPv6.isValid(address)) return address;
  const parsed = ipaddr.IPv6.parse(address);
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString();
  const groups = parsed.parts.slice(0, 4).map((group) => group.toString(16));
  return `${groups.join(':')}::/64`;
}

/** Whether a host name or an address (with or without brackets) belongs to this machine alone. Asks no resolver. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  return bare === 'localhost' || (ipaddr.isValid(bare) && ipaddr.process(bare).range() === 'loopback');
}

/** The addresses of a host name. Empty if the name has none. Rejects if the look-up fails. */
export type LookUp = (host: string) => Promise<readonly string[]>;

/** A host in the form for a URL: an IPv6 address is put in brackets (RFC 3986 §3.2.2). */
export function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/**
 * The host under which programs on this machine reach a listener, in the form for a URL. 0.0.0.0 and :: mean all
 * addresses.
 */
export function localAddressOf(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return hostInUrl(host === '::' ? '::1' : host);
}

/** Listens on a port, or on a free port if another program uses that one. `listen` rejects with the errors of a Node server. */
export async function listenOrElsewhere(port: number, listen: (port: number) => Promise<unknown>): Promise<void> {
  try {
    await listen(port);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    await listen(0);
  }
}
