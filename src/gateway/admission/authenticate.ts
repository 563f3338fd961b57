import type { Credential, Key, KeyStatus, Store } from '../../core/account.ts';
import type { Clock } from '../../core/clock.ts';
import type { KeyHeader } from '../../core/dialect.ts';
import type { ModelPatterns } from '../../core/model-patterns.ts';
import { Failure } from '../../core/failure.ts';
import { type TokenCaller, type Tokens, verifiedClaimsHeader } from '../../core/identity.ts';
import type { RequestHead } from '../../core/exchange.ts';
import { portalSessionHeader, provenPortalSession } from '../core/portal-session.ts';

export interface AuthenticateOptions {
  readonly store: Store;
  /** Whether a text has the form and checksum of a key. */
  readonly looksLikeKey: (text: string) => boolean;
  /** SHA-256 of a key's text, lowercase hex. */
  readonly hashKey: (text: string) => string;
  readonly clock: Clock;
  /** Address named to suspended callers (docs/reference/api.md §5). */
  readonly abuseContact: string;
  /** The secret that the portal shares (`Store.secret`). */
  readonly sharedSecret: () => string;
  /** Absent: there are keys alone. */
  readonly tokens?: Tokens | undefined;
  /** The status of a key that an operator set while the database was down. */
  readonly blockOf?: ((keyId: string) => KeyStatus | undefined) | undefined;
}

/** How a key is sent in each header, for the message to a caller without a key. */
const forms: Readonly<Record<KeyHeader, string>> = {
  authorization: '"Authorization: Bearer <API_KEY>"',
  'x-api-key': '"x-api-key: <API_KEY>"',
};

/** Text of a bearer credential (RFC 6750 §2.1); the scheme's case does not matter (RFC 9110 §11.1). */
export function bearerText(head: RequestHead): string | undefined {
  return /^bearer +(\S+)$/i.exec(head.header('authorization')?.trim() ?? '')?.[1];
}

const textIn = (head: RequestHead, header: KeyHeader): string | undefined =>
  header === 'authorization' ? bearerText(head) : head.header(header)?.trim();

/**
 * Returns the first text that looks like a key, or like a token. Undefined: no header has one. Clients may send two headers, one with
 * another service's key.
 */
function firstIn(
  head: RequestHead,
  keyHeaders: readonly KeyHeader[],
  isWanted: (text: string) => boolean,
): string | undefined {
  for (const header of keyHeaders) {
    const text = textIn(head, header);
    if (text !== undefined && isWanted(text)) return text;
  }
  return undefined;
}

/** Whom a request names: by its key, or else by its token. Undefined: nobody. */
function callerIn(
  head: RequestHead,
  keyHeaders: readonly KeyHeader[],
  options: AuthenticateOptions,
): (Pick<TokenCaller, 'hash'> & Partial<TokenCaller>) | undefined | Promise<TokenCaller | undefined> {
  const key = firstIn(head, keyHeaders, options.looksLikeKey);
  if (key !== undefined) return { hash: options.hashKey(key) };
  const { tokens } = options;
  if (tokens === undefined) return undefined;
  // A gateway in front that has verified a token may pass it on, too.
  const claims = head.header(verifiedClaimsHeader);
  if (claims !== undefined && claims !== '') return tokens.findVerified(claims);
  const token = firstIn(head, keyHeaders, tokens.looksLikeToken);
  return token === undefined ? undefined : tokens.find(token);
}

/**
 * The origin of a request, for counting failed authentications and arriving bodies: the caller's address, or the portal's session.
 * All users of the portal have the portal's address, so that address says nothing about them. The portal proves each text that it
 * sends as a key, also one that has no form of a key: users of the portal choose these texts.
 */
export function originOf(
  head: RequestHead,
  keyHeaders: readonly KeyHeader[],
  options: Pick<AuthenticateOptions, 'looksLikeKey' | 'hashKey' | 'sharedSecret'>,
): string | undefined {
  const value = head.header(portalSessionHeader);
  const text = firstIn(head, keyHeaders, options.looksLikeKey) ?? bearerText(head);
  if (value === undefined || text === undefined) return head.address;
  return provenPortalSession(value, options.hashKey(text), options.sharedSecret()) ?? head.address;
}

/** Whether a key has expired. Checked for each request, because the store may remember a key beyond its expiry. */
function isExpired({ expiresAt }: Key, now: number): boolean {
  return expiresAt !== undefined && now >= expiresAt;
}

export type Authenticated = Awaited<ReturnType<typeof authenticate>>;

/**
 * Finds the caller by the headers alone; `keyHeaders` are in the order in which they are searched for a key. Throws
 * `unauthenticated` for a missing, mistyped, unknown, revoked or expired key, and `suspended` for a suspended key or workspace
 * (docs/reference/api.md §5).
 */
export async function authenticate(head: RequestHead, keyHeaders: readonly KeyHeader[], options: AuthenticateOptions) {
  const { store } = options;
  const refusal = (why = `send ${keyHeaders.map((header) => forms[header]).join(' or ')}`): Failure =>
    new Failure('unauthenticated', `Missing or invalid API key: ${why}.`);
  const named = callerIn(head, keyHeaders, options);
  const caller = named instanceof Promise ? await named : named;
  if (caller === undefined) throw refusal();
  const { hash, tags } = caller;
  const found = store.findCredential(hash);
  const credential = found instanceof Promise ? await found : found;
  if (credential === undefined) throw refusal();
  const status = options.blockOf?.(credential.key.id) ?? credential.key.status;
  if (status === 'revoked') throw refusal();
  // This answer reveals nothing: only a caller that has sent the key's correct text gets it.
  if (isExpired(credential.key, options.clock.now())) throw refusal('this key has expired');
  if (status === 'suspended' || credential.workspace.status === 'suspended') {
    throw new Failure('suspended', `This account is suspended. Contact ${options.abuseContact}.`);
  }
  return {
    credential,
    /** Tags that its requests have, whatever they send. Undefined: none. */
    tags,
    /** Returns the present credential, with all settlements so far. Undefined: the store does not know the credential. */
    latest: (): Credential | undefined | Promise<Credential | undefined> => {
      const known = store.findCredential(hash);
      // Not every caller of `latest` awaits the promise: its rejection must not go unhandled.
      return known instanceof Promise ? known.catch(() => undefined) : known;
    },
  };
}

export const anyHeader: readonly KeyHeader[] = ['x-api-key', 'authorization'];

/**
 * The models that the key of a catalog request may use. The key may be in the header of either surface. Undefined means
 * the whole catalog, which is public (docs/reference/endpoints.md §4.2): without a valid key, and while keys cannot be looked
 * up.
 */
export function listedModels(
  head: RequestHead,
  options: AuthenticateOptions,
): ModelPatterns | undefined | Promise<ModelPatterns | undefined> {
  const named = callerIn(head, anyHeader, options);
  if (named === undefined) return undefined;
  const modelsOf = (credential: Credential | undefined): ModelPatterns | undefined => {
    if (credential === undefined || credential.key.status === 'revoked') return undefined;
    return isExpired(credential.key, options.clock.now()) ? undefined : credential.key.models;
  };
  const find = (caller: Pick<TokenCaller, 'hash'> | undefined) => caller && options.store.findCredential(caller.hash);
  const found = named instanceof Promise ? named.then(find) : find(named);
  return found instanceof Promise ? found.then(modelsOf, () => undefined) : modelsOf(found);
}
