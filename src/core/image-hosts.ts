/**
 * The image addresses that may be sent to engines, which fetch images from their own network. `any`: all http and https
 * addresses. A list: only addresses on these hosts. `data:` URLs, which are not fetched, are always allowed.
 */
export type ImageHosts = 'any' | readonly ImageHost[];

interface ImageHost {
  /** As `URL` writes it: lowercase, an IPv6 address in brackets. */
  readonly name: string;
  /** Empty for the usual port of either scheme. */
  readonly port: string;
  /** Matches hosts below this one, but not the host itself. */
  readonly below: boolean;
}

/** The form of the setting, for the message about a malformed one. */
export const imageHostForms = 'expected none, or hosts such as images.example.com,*.example.org,10.0.0.5:8080';

/**
 * An address in the only form that is allowed for a list of hosts, because all parsers agree on its host: no user, no
 * backslash, no white space, no escapes and no letters beyond ASCII in the host.
 */
const plainAddress = /^https?:\/\/([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?(?:[/?#][^\s\\]*)?$/i;

/** The host and port of an address, as `URL` reads them. Undefined: parsers may disagree on it. */
function hostOf(address: string): { readonly name: string; readonly port: string } | undefined {
  const url = plainAddress.test(address) ? URL.parse(address) : null;
  // A dot at the end of a host name does not change the host that it names.
  return url === null ? undefined : { name: url.hostname.replace(/\.$/, ''), port: url.port };
}

function readHost(text: string): ImageHost | undefined {
  const below = text.startsWith('*.');
  const named = below ? text.slice(2) : text;
  // A path, a scheme or a user is no part of a host.
  if (/[/?#@*]/.test(named)) return undefined;
  const host = hostOf(`http://${named}`);
  if (host === undefined || host.name === '') return undefined;
  const isAddress = host.name.startsWith('[') || /^[\d.]+$/.test(host.name);
  return below && isAddress ? undefined : { ...host, below };
}

/** Reads the setting. Undefined when it has none of its forms. */
export function readImageHosts(text: string): ImageHosts | undefined {
  const names = text.split(',').map((name) => name.trim());
  if (names.length === 1 && names[0]?.toLowerCase() === 'none') return [];
  const hosts = names.map(readHost);
  return hosts.every((host) => host !== undefined) ? hosts : undefined;
}

export function isImageAllowed(address: string, hosts: ImageHosts): boolean {
  if (hosts === 'any' || /^data:/i.test(address)) return true;
  const asked = hosts.length === 0 ? undefined : hostOf(address);
  if (asked === undefined) return false;
  return hosts.some(
    ({ name, port, below }) => asked.port === port && (below ? asked.name.endsWith(`.${name}`) : asked.name === name),
  );
}
