import type { AddressGate } from '../core/address-gate.ts';
import { Failure } from '../core/failure.ts';

/**
 * Lets a request come to its authentication. Throws `rate_limited` while its address is blocked, whatever its key, and
 * tells the gate when authentication fails (docs/reference/api.md §5, rule 5).
 */
export async function throughGate<Found>(
  address: string | undefined,
  gate: AddressGate,
  authenticate: () => Promise<Found>,
): Promise<Found> {
  // Without an address there is nobody to hold to account.
  if (address === undefined) return authenticate();
  const waitMs = gate.blockedMs(address);
  if (waitMs > 0) {
    throw new Failure('rate_limited', 'Too many requests without a valid API key came from this address.', {
      retryAfterSeconds: Math.ceil(waitMs / 1000),
    });
  }
  try {
    return await authenticate();
  } catch (error) {
    if (error instanceof Failure && error.code === 'unauthenticated') gate.failed(address);
    throw error;
  }
}
