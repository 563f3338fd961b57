import type { KeyHeader } from '../../core/dialect.ts';
import type { RequestHead } from '../../core/exchange.ts';
import { type AddressGate, throughGate } from './address-gate.ts';
import { authenticate, type Authenticated, type AuthenticateOptions, originOf } from './authenticate.ts';

/** Finds the caller of a request by its key, unless its address is blocked. */
export async function identifyCaller(
  head: RequestHead,
  keyHeaders: readonly KeyHeader[],
  options: AuthenticateOptions & { readonly gate: AddressGate },
): Promise<{ readonly origin: string | undefined; readonly caller: Authenticated }> {
  const origin = originOf(head, keyHeaders, options);
  const caller = await throughGate(origin, options.gate, () => authenticate(head, keyHeaders, options));
  return { origin, caller };
}
