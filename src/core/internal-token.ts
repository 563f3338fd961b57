import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** The text that the HMAC signs. Another use of the same secret has another text. */
const use = 'weir-internal';

/**
 * The bearer token of `/internal/` on the ops ports, made from the secret that all processes with one database share.
 * Only programs that can read the database have the token, so nothing has to be configured. Never log it.
 */
export function internalToken(sharedSecret: string): string {
  return createHmac('sha256', sharedSecret).update(use).digest('base64url');
}

/** Whether an `Authorization` header has the token. The time does not depend on the header's content. */
export function hasInternalToken(authorization: string | undefined, sharedSecret: string): boolean {
  return isSameSecret(authorization ?? '', `Bearer ${internalToken(sharedSecret)}`);
}

/** Compares in a time that does not depend on where two texts differ, or on their lengths. */
export function isSameSecret(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
