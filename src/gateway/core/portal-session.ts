import { createHash, createHmac } from 'node:crypto';
import { isSameSecret } from '../../core/internal-token.ts';

/**
 * Header in which the portal names the session for which it calls the gateway. Envoy drops callers' headers that begin
 * with `x-weir-`, so this name begins differently. Engines do not get it: the service writes their headers.
 */
export const portalSessionHeader = 'weir-portal-session';

/** The text that the HMAC signs. Another use of the same secret has another text. */
const use = 'weir-portal-session';

const headerPattern = /^([0-9a-f]{32})\.([\w-]{43})$/;

/** The name of a session at the gateway. The name grants no access, and it cannot be mistaken for an IP address. */
export function portalSessionName(sessionHash: string): string {
  return createHash('sha256').update(`${use} ${sessionHash}`).digest('hex').slice(0, 32);
}

/**
 * The header's value. The proof covers one text that is sent as a key, whatever its form. A stranger who has read it could use it only with that key; guesses of
 * other keys count against the stranger's address.
 */
export function portalSessionValue(
  { sessionName, keyHash }: { readonly sessionName: string; readonly keyHash: string },
  sharedSecret: string,
): string {
  const proof = createHmac('sha256', sharedSecret).update(`${use} ${sessionName} ${keyHash}`).digest('base64url');
  return `${sessionName}.${proof}`;
}

/** The name of the session for which the portal sent a key; undefined when the portal did not send this key. */
export function provenPortalSession(value: string, keyHash: string, sharedSecret: string): string | undefined {
  const [, sessionName] = headerPattern.exec(value) ?? [];
  if (sessionName === undefined) return undefined;
  return isSameSecret(value, portalSessionValue({ sessionName, keyHash }, sharedSecret)) ? sessionName : undefined;
}
