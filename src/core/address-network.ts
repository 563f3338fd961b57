/**
 * The network that is held to account for what comes from an address: an IPv4 address itself, and the /64 of an IPv6
 * address, which one subscriber holds whole. What is no address is its own network.
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  return `${firstGroups(address)
    .toLowerCase()
    .replace(/\b0+(?=[\da-f])/g, '')}::/64`;
}

const leading = 4;

/** The first 64 bits, as they are written. */
function firstGroups(address: string): string {
  const gap = address.indexOf('::');
  let end = -1;
  for (let group = 0; group < leading; group += 1) {
    end = address.indexOf(':', end + 1);
    if (end === -1 || end === gap) {
      // The gap stands for zeros here, or the first 64 bits end with it.
      return group === leading - 1 ? address.slice(0, end) : fillGap(address, gap);
    }
  }
  return address.slice(0, end);
}

function fillGap(address: string, gap: number): string {
  const before = address.slice(0, gap).split(':').filter(Boolean);
  const after = address
    .slice(gap + 2)
    .split(':')
    .filter(Boolean);
  // The dotted tail that some addresses are written with stands for two groups.
  const written = before.length + after.length + (address.includes('.') ? 1 : 0);
  const zeros = Array.from({ length: Math.max(0, 8 - written) }, () => '0');
  return [...before, ...zeros, ...after].slice(0, leading).join(':');
}
