import type { Credential, Store } from '../core/account.ts';
import type { KeyHeader } from '../core/dialect.ts';
import { Failure } from '../core/failure.ts';
import type { RequestHead } from '../core/exchange.ts';

export interface AuthenticateOptions {
  readonly store: Store;
  /** Whether a text has the form and checksum of a key. */
  readonly looksLikeKey: (text: string) => boolean;
  /** SHA-256 of a key's text, lowercase hex. */
  readonly hashKey: (text: string) => string;
  /** Address named to suspended callers (docs/reference/api.md §5). */
  readonly abuseContact: string;
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
 * The key in the first of these headers that holds one; undefined when there is none. Clients may send two headers, one with
 * another service's key: the first text that looks like a key of Weir counts.
 */
function keyIn(
  head: RequestHead,
  keyHeaders: readonly KeyHeader[],
  { looksLikeKey }: Pick<AuthenticateOptions, 'looksLikeKey'>,
): string | undefined {
  for (const header of keyHeaders) {
    const text = textIn(head, header);
    if (text !== undefined && looksLikeKey(text)) return text;
  }
  return undefined;
}

/** The caller of a request. */
export interface Authenticated {
  readonly credential: Credential;
  /** The credential as it is when called, with all settlements since; undefined when the store cannot tell. */
  readonly latest: () => Credential | undefined | Promise<Credential | undefined>;
}

/**
 * Finds the caller by the headers alone; `keyHeaders` are in the order in which they are searched for a key. Throws
 * `unauthenticated` for a missing, mistyped, unknown or revoked key, and `suspended` for a suspended key or workspace
 * (docs/reference/api.md §5).
 */
export async function authenticate(
  head: RequestHead,
  keyHeaders: readonly KeyHeader[],
  options: AuthenticateOptions,
): Promise<Authenticated> {
  const { store } = options;
  const refusal = (): Failure => {
    const ways = keyHeaders.map((header) => forms[header]).join(' or ');
    return new Failure('unauthenticated', `Missing or invalid API key: send ${ways}.`);
  };
  const text = keyIn(head, keyHeaders, options);
  if (text === undefined) throw refusal();
  const hash = options.hashKey(text);
  const found = store.findCredential(hash);
  const credential = found instanceof Promise ? await found : found;
  if (credential === undefined || credential.key.status === 'revoked') throw refusal();
  if (credential.key.status === 'suspended' || credential.workspace.status === 'suspended') {
    throw new Failure('suspended', `This account is suspended. Contact ${options.abuseContact}.`);
  }
  return {
    credential,
    latest: () => {
      const known = store.findCredential(hash);
      // Not every caller of `latest` awaits the promise: its rejection must not go unhandled.
      return known instanceof Promise ? known.catch(() => undefined) : known;
    },
  };
}
