import { createHash, createHmac } from 'node:crypto';
import { isSameSecret } from './internal-token.ts';

/**
 * Header with which the portal says on behalf of which of its sessions it calls the gateway. Envoy drops what callers send in
 * headers that begin with `x-weir-`, so the name begins otherwise; engines get headers that the service writes anew, without this one.
 */
export const portalSessionHeader = 'weir-portal-session';

/** What the HMAC is made over: another use of the same secret has other words. */
const use = 'weir-portal-session';

const headerPattern = /^([0-9a-f]{32})\.([\w-]{43})$/;

/** The name of a session at the gateway. It opens nothing, and has the form of no address. */
export function portalSessionName(sessionHash: string): string {
  return createHash('sha256').update(`${use} ${sessionHash}`).digest('hex').slice(0, 32);
}

/**
 * The header's value. The proof is made over one key, so a stranger who has read it could send that key alone with it: guesses at
 * other keys count against their address as ever.
 */
export function portalSessionValue(
  { sessionName, keyHash }: { readonly sessionName: string; readonly keyHash: string },
  sharedSecret: string,
): string {
  const proof = createHmac('sha256', sharedSecret).update(`${use} ${sessionName} ${keyHash}`).digest('base64url');
  return `${sessionName}.${proof}`;
}

/** The name of the session for which the portal sent a key; undefined when the portal did not send it. */
export function provenPortalSession(value: string, keyHash: string, sharedSecret: string): string | undefined {
  const [, sessionName] = headerPattern.exec(value) ?? [];
  if (sessionName === undefined) return undefined;
  return isSameSecret(value, portalSessionValue({ sessionName, keyHash }, sharedSecret)) ? sessionName : undefined;
}
