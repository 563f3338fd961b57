import type { Clock } from '../../core/clock.ts';
import type { RefusedTokens } from '../../core/identity.ts';
import type { TokenRefused } from './find-identity.ts';

/** Refusals that are this old are no problem any more: whoever sends the tokens has stopped, or sends others. */
export const refusedForMs = 10 * 60_000;

/**
 * Remembers the newest refusals, by issuer and fault, of tokens that a known issuer has signed. Tokens that anybody could have
 * written are left out, so that no stranger writes into the list of problems.
 */
export function createRefusedTokens({ elapsed }: Pick<Clock, 'elapsed'>) {
  const refusals = new Map<string, RefusedTokens & { readonly at: number }>();

  function list(): readonly RefusedTokens[] {
    const now = elapsed();
    for (const [name, { at }] of refusals) if (now - at >= refusedForMs) refusals.delete(name);
    return [...refusals.values()].map(({ issuer, fault, reason, count }) => ({ issuer, fault, reason, count }));
  }

  return {
    note: ({ fault, reason = fault, signedBy: issuer }: Pick<TokenRefused, 'fault' | 'reason' | 'signedBy'>): void => {
      if (issuer === undefined) return;
      const name = `${fault} ${issuer}`;
      list();
      refusals.set(name, { issuer, fault, reason, count: (refusals.get(name)?.count ?? 0) + 1, at: elapsed() });
    },
    list,
    clear: (): void => refusals.clear(),
  };
}
