import type { Credential } from '../core/account.ts';
import { Failure } from '../core/failure.ts';
import type { RequestHead } from '../core/exchange.ts';
import type { Store } from '../core/store.ts';

export interface AuthenticateOptions {
  readonly store: Store;
  /** Whether a text has the form and checksum of a key. */
  readonly looksLikeKey: (text: string) => boolean;
  /** SHA-256 of a key's text, lowercase hex. */
  readonly hashKey: (text: string) => string;
  /** Address named to suspended callers (service specification §5). */
  readonly abuseContact: string;
}

const refusal = (): Failure =>
  new Failure('unauthenticated', 'Missing or invalid API key: send "Authorization: Bearer <API_KEY>".');

/** Text of a bearer credential (RFC 6750 §2.1); the scheme's case does not matter (RFC 9110 §11.1). */
export function bearerText(head: RequestHead): string | undefined {
  return /^bearer +(\S+)$/i.exec(head.header('authorization')?.trim() ?? '')?.[1];
}

/**
 * Finds who calls, from the headers alone. Throws `unauthenticated` for a missing, mistyped, unknown or revoked key and
 * `suspended` for a suspended key or workspace (service specification §5).
 */
export async function authenticate(head: RequestHead, options: AuthenticateOptions): Promise<Credential> {
  const text = bearerText(head);
  if (text === undefined || !options.looksLikeKey(text)) throw refusal();
  const found = options.store.findCredential(options.hashKey(text));
  const credential = found instanceof Promise ? await found : found;
  if (credential === undefined || credential.key.status === 'revoked') throw refusal();
  if (credential.key.status === 'suspended' || credential.workspace.status === 'suspended') {
    throw new Failure('suspended', `This account is suspended. Contact ${options.abuseContact}.`);
  }
  return credential;
}

/** The credential of a request that was authenticated, as it is known by now; undefined when nobody can say. */
export function credentialNow(
  head: RequestHead,
  { store, hashKey }: Pick<AuthenticateOptions, 'store' | 'hashKey'>,
): Credential | undefined | Promise<Credential | undefined> {
  const found = store.findCredential(hashKey(bearerText(head) ?? ''));
  // Not all who ask wait for the answer.
  return found instanceof Promise ? found.catch(() => undefined) : found;
}
