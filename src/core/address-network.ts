import ipaddr from 'ipaddr.js';

/**
 * The network that is held to account for what comes from an address: an IPv4 address itself, and the /64 of an IPv6
 * address, which one subscriber holds whole. What is no address is its own network.
 */
export function networkOf(address: string): string {
  if (!ipaddr.IPv6.isValid(address)) return address;
  const parsed = ipaddr.IPv6.parse(address);
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString();
  const groups = parsed.parts.slice(0, 4).map((group) => group.toString(16));
  return `${groups.join(':')}::/64`;
}
