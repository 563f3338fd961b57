import { lookup } from 'node:dns/promises';
import { open } from 'node:fs/promises';
import { devNull } from 'node:os';
import type { LookUp } from '../../core/address.ts';

/**
 * Resolves names like the system, with `/etc/hosts` and search domains. IPv6 only for a name without IPv4, because each address
 * counts as a program of its own. Rejects if it is not known whether the name has addresses.
 */
export const systemLookUp: LookUp = async (host) => {
  try {
    const found = await lookup(host, { all: true });
    const ipv4 = found.filter(({ family }) => family === 4);
    return (ipv4.length > 0 ? ipv4 : found).map(({ address }) => address);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOTFOUND')) throw error;
    // getaddrinfo returns this code for a name that does not exist or has no addresses, and if no file is left to ask with.
    await (await open(devNull)).close();
    return [];
  }
};
