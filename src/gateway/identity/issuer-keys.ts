import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { Clock } from '../../core/clock.ts';

/** Reads the keys of an issuer. Rejects if the issuer cannot be reached, or answers something else. */
export type ReadIssuerKeys = () => Promise<JSONWebKeySet>;

/** The issuer has never given its keys. */
export class IssuerAway extends Error {
  override readonly name = 'IssuerAway';
}

/** The keys of one issuer, as they were read last. */
export interface IssuerKeys {
  /** The key of a token. Rejects with `IssuerAway`, or with the error of `jose` if there is no such key. */
  readonly keyOf: JWTVerifyGetKey;
  /** Since when its keys cannot be read, monotonic milliseconds. Undefined: they could be read the last time. */
  readonly awaySince: () => number | undefined;
}

/** An issuer is asked at most so often, whatever arrives: a stranger can send tokens with unknown keys at any rate. */
export const minAskMs = 1_000;

/** Keys are read again after this time, so that a key that the issuer has withdrawn ends. */
export const maxKeyAgeMs = 10 * 60_000;

/**
 * Keeps the keys of an issuer. They are read at the first token, again for a token whose key is not among them, and when they
 * are old. While the issuer is away, those that are known stay good.
 */
export function createIssuerKeys(read: ReadIssuerKeys, clock: Pick<Clock, 'elapsed'>): IssuerKeys {
  let known: ReturnType<typeof createLocalJWKSet> | undefined;
  let readAt = -Infinity;
  let askedAt = -Infinity;
  let awaySince: number | undefined;
  let asking: Promise<void> | undefined;

  async function ask(): Promise<void> {
    askedAt = clock.elapsed();
    try {
      known = createLocalJWKSet(await read());
      readAt = clock.elapsed();
      awaySince = undefined;
    } catch {
      awaySince ??= askedAt;
    } finally {
      asking = undefined;
    }
  }

  /** Everyone who waits waits for the same answer. */
  function refresh(): Promise<void> | undefined {
    if (asking === undefined && clock.elapsed() - askedAt >= minAskMs) asking = ask();
    return asking;
  }

  return {
    awaySince: () => awaySince,
    keyOf: async (header, token) => {
      if (known === undefined) await refresh();
      // Nobody waits for younger keys.
      else if (clock.elapsed() - readAt >= maxKeyAgeMs) void refresh();
      if (known === undefined) throw new IssuerAway('its keys could not be read yet');
      try {
        return await known(header, token);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
        await refresh();
        return known(header, token);
      }
    },
  };
}
