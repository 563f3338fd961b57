import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { type Clock, waitFor } from '../../core/clock.ts';

/** The published documents of an issuer: its own name, as tokens have it, and its keys. */
export interface PublishedKeys {
  readonly issuer: string;
  readonly keys: JSONWebKeySet;
}

/** Asks an issuer. Rejects if it cannot be reached, or answers something else. */
export type ReadIssuer = () => Promise<PublishedKeys>;

/** The keys of an issuer could not be read yet: nothing can be said about its tokens. */
export class IssuerAway extends Error {
  override readonly name = 'IssuerAway';
}

/** One issuer, as it was read last. */
export type Issuer = ReturnType<typeof createIssuer>;

/** An issuer is asked at most so often, whatever arrives: a stranger can send tokens with unknown keys at any rate. */
const minAskMs = 1_000;

/** Tokens that may wait for the next answer of an issuer. Strangers can send as many as they like with keys that nobody knows. */
const maxWaiting = 1_000;

/** Keys are read again after this time, so that a key that the issuer has withdrawn ends. */
export const maxKeyAgeMs = 10 * 60_000;

/**
 * Keeps the keys of an issuer. They are read at its first token, again for a token whose key is not among them, and when they are
 * old. While the issuer is away, those that are known stay good.
 */
export function createIssuer(read: ReadIssuer, clock: Pick<Clock, 'elapsed' | 'after'>) {
  let known: { readonly issuer: string; readonly keyOf: ReturnType<typeof createLocalJWKSet> } | undefined;
  let readAt = -Infinity;
  let askedAt = -Infinity;
  let asking: Promise<void> | undefined;
  let waiting = 0;

  async function ask(): Promise<void> {
    askedAt = clock.elapsed();
    try {
      const { issuer, keys } = await read();
      known = { issuer, keyOf: createLocalJWKSet(keys) };
      readAt = clock.elapsed();
    } catch {
      // `read` reports its failures. Keys that are known stay.
    } finally {
      asking = undefined;
    }
  }

  /** Everyone who waits waits for the same answer. It is asked for as soon as it may be. */
  async function refresh(): Promise<void> {
    asking ??= askInTime();
    if (waiting >= maxWaiting) return;
    waiting += 1;
    await asking;
    waiting -= 1;
  }

  async function refreshAfter(error: unknown): Promise<void> {
    if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
    await refresh();
  }

  async function askInTime(): Promise<void> {
    const waitMs = askedAt + minAskMs - clock.elapsed();
    if (waitMs > 0) await waitFor(waitMs, { clock });
    await ask();
  }

  async function first() {
    await refresh();
    if (known === undefined) throw new IssuerAway('its keys could not be read yet');
    return known;
  }

  return {
    /** Its name in tokens (`iss`). Rejects with `IssuerAway`. */
    name: (): string | Promise<string> => known?.issuer ?? first().then(({ issuer }) => issuer),
    /** The key of a token. Rejects with `IssuerAway`, or with the error of `jose` if there is no such key. */
    keyOf: async (header: Parameters<JWTVerifyGetKey>[0], token: Parameters<JWTVerifyGetKey>[1]) => {
      const { keyOf } = known ?? (await first());
      // Nobody waits for younger keys.
      if (clock.elapsed() - readAt >= maxKeyAgeMs) void refresh();
      const seenAt = clock.elapsed();
      const newest = () => (known?.keyOf ?? keyOf)(header, token);
      return (
        newest()
          .catch((error: unknown) => refreshAfter(error).then(newest))
          // An answer that was on its way when the token came may be older than its key.
          .catch((error: unknown) => (askedAt < seenAt ? refreshAfter(error).then(newest) : Promise.reject(error)))
      );
    },
  };
}
